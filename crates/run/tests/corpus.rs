//! Replays the corpora of the fuzz targets `pack`, `plan` and `run_reader`, so that a problem once found stays found.

#[path = "../../../fuzz/bodies/pack.rs"]
mod pack;
#[path = "../../../fuzz/bodies/plan.rs"]
mod plan;
#[path = "../../../fuzz/bodies/run_reader.rs"]
mod run_reader;

fn replay(target: &str, check: impl Fn(&[u8])) {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/").to_owned() + target;
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{dir} holds the seeds of the fuzzer");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        // Every prefix too: the worst inputs for a parser are the beginnings of good ones.
        (0..=bytes.len()).step_by(1 + bytes.len() / 200).for_each(|n| check(&bytes[..n]));
        check(&bytes);
    }
}

#[test]
fn plans() {
    replay("plan", plan::check);
}

#[test]
fn packs() {
    replay("pack", pack::check);
}

#[test]
fn trial_files_and_manifests() {
    replay("run_reader", run_reader::check);
}

#[test]
fn every_experiment_in_the_repository_is_a_plan() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let of = |dir: &str| std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let files = [of(dir), of(&format!("{dir}/gallery"))].concat();
    let plans = files.iter().filter(|f| f.extension().is_some_and(|x| x == "toml"));
    let parsed = plans.map(|f| schedlab_plan::Plan::parse(&std::fs::read_to_string(f).unwrap()).expect("a plan"));
    assert!(parsed.map(|plan| assert_eq!(schedlab_plan::Plan::parse(&plan.to_toml()), Ok(plan))).count() >= 1);
}
