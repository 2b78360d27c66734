//! Where `vm fetch` takes its packages from, with a fake apt-get: nothing is downloaded.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, Ran};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// `vm fetch debian:6.1` with an apt whose index targets are `fetched`, and whose sources name `named`; nothing can be
/// downloaded.
fn fetch(lab: &Lab, fetched: &str, named: &str, options: &[&str]) -> Ran {
    fs::create_dir_all(lab.path("bin")).unwrap();
    let apt = format!(
        "#!/bin/sh\ncase \"$*\" in\n  \"indextargets --no-release-info \"*) printf '{named}';;\n  \
         \"indextargets \"*) printf '{fetched}';;\n  *) echo 'E: no network' >&2; exit 100;;\nesac\n"
    );
    for name in ["apt-get", "apt-cache"] {
        let file = lab.path(&format!("bin/{name}"));
        let _ = fs::remove_file(&file);
        fs::write(&file, if name == "apt-get" { &apt } else { "#!/bin/sh\n" }).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", lab.path("bin"), std::env::var("PATH").unwrap());
    let mut command = program::command();
    command
        .args(["vm", "fetch", "debian:6.1"])
        .args(options)
        .env("PATH", path)
        .env("SCHEDLAB_CACHE", lab.path("cache"));
    command.output().unwrap().into()
}

#[test]
fn a_host_whose_sources_name_no_debian_is_told_to_name_a_mirror() {
    let lab = Lab::new("vm-fetch-none");
    let ubuntu = "http://u.example/ubuntu/|noble|Ubuntu|main\\n";
    for (fetched, named) in [(ubuntu, ubuntu), ("", "http://u.example/ubuntu/|noble|$(ORIGIN)|main\\n"), ("", "")] {
        let ran = fetch(&lab, fetched, named, &[]).failure();
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("name no Debian archive") && ran.stderr.contains("--mirror URL"), "{}", ran.stderr);
    }
    assert!(!Path::new(&lab.path("cache/apt/sources.list")).exists());
    let wrong = fetch(&lab, "", "", &["--mirror", "m.example/debian"]).failure().stderr;
    assert!(wrong.contains("--mirror m.example/debian: not a URL"), "{wrong}");
}

#[test]
fn packages_come_from_the_named_mirror_or_from_the_hosts() {
    let test = "packages_come_from_the_named_mirror_or_from_the_hosts";
    if !Path::new(KEYRING).exists() {
        eprintln!("schedlab-skip: {test}: needs debian-archive-keyring");
        return;
    }
    let lab = Lab::new("vm-fetch");
    // Every suite is tried, and the last one is left in the file.
    let sources = || fs::read_to_string(lab.path("cache/apt/sources.list")).unwrap();
    let host = "http://h.example/debian/|bookworm|Debian|main\\n";
    let ran = fetch(&lab, host, "", &[]).failure();
    assert!(ran.stderr.contains("E: no network"), "{}", ran.stderr);
    assert!(sources().contains("] http://h.example/debian sid main"), "{}", sources());
    assert!(ran.stderr.contains("no mirror of Debian's security suites"), "{}", ran.stderr);
    let both = ["--mirror", "http://m.example/debian/", "--mirror", "http://m.example/debian-security"];
    let ran = fetch(&lab, host, "", &both).failure();
    assert!(sources().contains("] http://m.example/debian sid main"), "{}", sources());
    assert!(!ran.stderr.contains("no mirror of"), "{}", ran.stderr);
}
