//! Complete entries are found, and nothing else is.

use super::*;
use crate::kernel::image::{Architecture, Image};
use crate::kernel::modules::Module;

const KERNEL: &[u8] = b"the kernel itself";

fn add(cache: &Cache, version: &str, fetched: u64, modules: &[&str]) -> PathBuf {
    let _lock = cache.lock(&mut |_| {}).unwrap();
    let part = cache.begin().unwrap();
    let image = Image { architecture: Architecture::X86_64, release: "6.1.0-test".into() };
    let mut writer = Writer::new(&part, "debian:6.1", image, KERNEL, None).unwrap();
    for name in modules {
        writer.module(Module { name: (*name).into(), ..Module::default() }, name.as_bytes()).unwrap();
    }
    let package = Package { name: "linux-image".into(), version: version.into(), checksum: "ab".repeat(32) };
    let mut entry = writer.entry(vec![package]);
    entry.fetched_unix_s = fetched;
    cache.finish(&part, &entry).unwrap()
}

#[test]
fn the_newest_whole_entry_is_found_with_its_modules() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    assert_eq!(cache.find("debian:6.1", "amd64").unwrap(), None);
    add(&cache, "6.1.1-1", 10, &[]);
    add(&cache, "6.1.2-1", 20, &["veth"]);
    let found = cache.find("debian:6.1", "amd64").unwrap().unwrap();
    assert_eq!(found.image.release, "6.1.0-test");
    assert_eq!(found.modules.len(), 1);
    assert!(found.path.to_str().unwrap().contains("debian-6.1_6.1.2-1_amd64_abababababab"), "{:?}", found.path);
    assert_eq!(cache.find("debian:6.1", "arm64").unwrap(), None);
    assert_eq!(cache.find("debian:6.12", "amd64").unwrap(), None);
}

#[test]
fn an_entry_fetched_again_replaces_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    let first = add(&cache, "6.1.1-1", 10, &[]);
    assert_eq!(add(&cache, "6.1.1-1", 11, &["veth", "sch_tbf"]), first);
    assert_eq!(cache.entries().unwrap().len(), 1);
    let names: Vec<String> = cache.entries().unwrap()[0].0.modules().map(str::to_owned).collect();
    assert_eq!(names, ["veth", "sch_tbf"]);
}

#[test]
fn half_and_damaged_entries_are_never_used() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    let entry = add(&cache, "6.1.1-1", 10, &["veth"]);
    // A writer was killed: its directory is not an entry, and the next writer removes it.
    let part = directory.path().join("kernels/.part-1");
    fs::create_dir_all(&part).unwrap();
    fs::copy(entry.join(DESCRIPTION), part.join(DESCRIPTION)).unwrap();
    assert_eq!(cache.entries().unwrap().len(), 1);
    drop(cache.lock(&mut |_| {}).unwrap());
    assert!(!part.exists());
    for (file, damage) in [("veth.ko", &b"vetx"[..]), ("kernel", b"")] {
        let whole = fs::read(entry.join(file)).unwrap();
        fs::write(entry.join(file), damage).unwrap();
        let error = cache.find("debian:6.1", "amd64").unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("schedlab vm fetch debian:6.1"), "{error}");
        fs::write(entry.join(file), whole).unwrap();
    }
    fs::write(entry.join(DESCRIPTION), "{").unwrap();
    assert_eq!(cache.find("debian:6.1", "amd64").unwrap(), None);
}
