use super::*;

#[test]
fn a_file_is_compared_without_its_white_space_and_never_created() {
    let tree = tempfile::tempdir().unwrap();
    let knob = Knob::file(tree.path().join("tcp_rmem"));
    assert!(knob.write("1").is_err());
    std::fs::write(knob.path(), "4096\t131072\t6291456\n").unwrap();
    assert_eq!(knob.read().unwrap(), "4096 131072 6291456");
    knob.write("1 2 3").unwrap();
    assert_eq!(knob.read().unwrap(), "1 2 3");
}

#[test]
fn a_feature_is_one_word_of_its_file() {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("features");
    std::fs::write(&path, "PLACE_LAG NO_WA_IDLE WA_WEIGHT \n").unwrap();
    let feature = |word: &str| Knob::Feature { path: path.clone(), word: word.into() }.read();
    assert_eq!(feature("WA_IDLE").unwrap(), "NO_WA_IDLE");
    assert_eq!(feature("WA_WEIGHT").unwrap(), "WA_WEIGHT");
    assert_eq!(feature("LAG").unwrap_err().kind(), io::ErrorKind::NotFound);
    let knob = Knob::Feature { path: path.clone(), word: "WA_IDLE".into() };
    knob.write("WA_IDLE").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "PLACE_LAG WA_IDLE WA_WEIGHT \n", "the others stay");
    knob.write("NO_WA_IDLE").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "PLACE_LAG NO_WA_IDLE WA_WEIGHT \n");
}

#[test]
fn a_choice_is_the_word_in_brackets() {
    let tree = tempfile::tempdir().unwrap();
    let knob = Knob::Choice { path: tree.path().join("enabled") };
    std::fs::write(knob.path(), "always [madvise] never\n").unwrap();
    assert_eq!(knob.read().unwrap(), "madvise");
    knob.write("never").unwrap();
    assert_eq!(std::fs::read_to_string(knob.path()).unwrap(), "always madvise [never]\n");
    knob.write("madvise").unwrap();
    assert_eq!(std::fs::read_to_string(knob.path()).unwrap(), "always [madvise] never\n");
    assert_eq!(knob.write("sometimes").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    std::fs::write(knob.path(), "none voluntary (full)\n").unwrap();
    knob.write("none").unwrap();
    assert_eq!(std::fs::read_to_string(knob.path()).unwrap(), "(none) voluntary full\n");
    assert_eq!(chosen("none voluntary (full)\n"), Some("full"), "sched/preempt");
    assert_eq!(chosen("4096 131072"), None);
}

#[test]
fn files_that_belong_together_are_one_value() {
    let tree = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..3).map(|i| tree.path().join(i.to_string())).collect();
    paths.iter().for_each(|path| std::fs::write(path, "0\n").unwrap());
    let knob = Knob::Files { paths: paths.clone() };
    assert_eq!(knob.read().unwrap(), "0 0 0");
    knob.write("0 1 1").unwrap();
    assert_eq!(knob.read().unwrap(), "0 1 1");
    assert_eq!(knob.write("1").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    std::fs::remove_file(&paths[1]).unwrap();
    assert!(knob.read().is_err() && knob.open_for_write().is_err());
}

#[test]
fn bytes_and_ratio_are_partners_both_ways() {
    let partner = |name: &str| Knob::file(format!("/proc/sys/vm/{name}")).partner();
    assert_eq!(partner("dirty_bytes"), Some(Knob::file("/proc/sys/vm/dirty_ratio")));
    assert_eq!(partner("dirty_background_ratio"), Some(Knob::file("/proc/sys/vm/dirty_background_bytes")));
    assert_eq!(partner("overcommit_kbytes"), Some(Knob::file("/proc/sys/vm/overcommit_ratio")));
    assert_eq!(partner("overcommit_ratio"), Some(Knob::file("/proc/sys/vm/overcommit_kbytes")));
    assert_eq!(partner("swappiness"), None);
    let allowed = "tcp_allowed_congestion_control";
    assert_eq!(partner("tcp_congestion_control"), Some(Knob::file(format!("/proc/sys/vm/{allowed}"))));
    assert_eq!(partner(allowed), None, "what is allowed does not change the default");
}
