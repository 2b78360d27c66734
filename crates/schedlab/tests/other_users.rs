//! Root and traps set by an ordinary user: they are refused or harmless, and nothing blocks on them.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, schedlab, trials_in};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

fn mode(path: &str) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A finished run of six blocks.
fn run(lab: &Lab) -> String {
    let out = lab.path("run");
    let arms = ["ab", "-w", "pipe:pin=same,loops=10", "--b", "nice=1", "--trials", "6", "--counters", "basic"];
    schedlab(&[&arms[..], &["-o", &out]].concat()).success();
    out
}

/// Runs a shell script as root with its own `/run`, in which `$S` is the binary; `None` if this process may not do
/// that.
fn with_own_run(script: &str) -> Option<String> {
    let all = format!("mount -t tmpfs none /run || exit 77\n{script}");
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-ec", &all]).env("S", program::binary());
    let ran = shell.output().ok()?;
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.code() == Some(77) || said.contains("unshare: unshare failed") {
        return None;
    }
    assert!(ran.status.success(), "{said}");
    Some(said)
}

#[test]
fn nobody_else_can_hold_what_restoring_needs() {
    let test = "nobody_else_can_hold_what_restoring_needs";
    // As left by an older schedlab, or by whoever was first: others could open the lock, and hold it.
    let Some(said) = with_own_run(
        "mkdir -p /run/schedlab/trace; touch /run/schedlab/lock; chmod 644 /run/schedlab/lock; chmod 755 /run/schedlab
         $S bench pipe:loops=10 --set sysctl:kernel.sched_cfs_bandwidth_slice_us=4000 >/dev/null
         stat -c '%a %n' /run/schedlab /run/schedlab/lock
         setpriv --reuid 65534 --regid 65534 --clear-groups flock -n /run/schedlab/lock true 2>/dev/null && exit 1
         $S tune restore",
    ) else {
        eprintln!("schedlab-skip: {test}: needs root");
        return;
    };
    assert!(said.contains("700 /run/schedlab\n600 /run/schedlab/lock\n"), "{said}");
}

#[test]
fn after_roots_use_others_measure_and_restore_what_is_theirs() {
    let test = "after_roots_use_others_measure_and_restore_what_is_theirs";
    let lab = Lab::new("others-after-root");
    std::fs::set_permissions(lab.path(""), PermissionsExt::from_mode(0o777)).unwrap();
    let script = format!(
        "cd {}; cp $S s
         $S bench pipe:loops=10 --set sysctl:kernel.sched_cfs_bandwidth_slice_us=4000 >/dev/null
         mkdir /run/schedlab/trace /run/schedlab/netns
         export HOME=$PWD; unset XDG_STATE_HOME
         # Another test's write of a sysctl voids a run, which is not what is asked here.
         void() {{ [ $1 = 5 ]; }}
         as() {{ setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"; }}
         as ./s tune restore 2>&1
         # As with root's HOME: nothing of theirs can be in it, and what changes no knob needs none.
         mkdir -m 700 closed; HOME=$PWD/closed as ./s bench pipe:loops=10 >/dev/null
         HOME=$PWD/closed as ./s tune restore 2>&1 && exit 1
         as ./s ab -w pipe:pin=same,loops=10 --b nice=1 --trials 6 --counters basic -o user >/dev/null 2>&1 || void $?
         as unshare -Ur true || {{ echo no user namespaces; exit; }}
         as unshare -Ur ./s tune restore 2>&1
         as unshare -Ur ./s ab -w pipe:pin=same,loops=10 --b nice=1 --trials 6 --counters basic -o root >/dev/null 2>&1 || void $?",
        lab.path("")
    );
    let Some(said) = with_own_run(&script) else {
        eprintln!("schedlab-skip: {test}: needs root");
        return;
    };
    if said.contains("no user namespaces") {
        eprintln!("schedlab-skip: {test}: its second half needs user namespaces");
    }
    let nothing = "0 settings restored";
    let restored = said.lines().filter(|line| *line == nothing).count();
    assert_eq!(restored, if said.contains("no user namespaces") { 1 } else { 2 }, "{said}");
    assert_eq!(said.matches("closed/.local/state/schedlab cannot be used").count(), 1, "{said}");
}

#[test]
fn a_state_directory_that_others_may_write_to_is_refused_in_one_sentence() {
    let test = "a_state_directory_that_others_may_write_to_is_refused_in_one_sentence";
    let Some(said) = with_own_run(
        "mkdir /run/schedlab; chown 65534 /run/schedlab
         $S bench pipe:loops=10 --set sysctl:kernel.sched_cfs_bandwidth_slice_us=4000 && exit 1
         ls -A /run/schedlab",
    ) else {
        eprintln!("schedlab-skip: {test}: needs root");
        return;
    };
    assert!(said.trim_end().lines().count() == 1 && said.contains("belongs to another user"), "{said}");
}

#[test]
fn a_cache_of_another_user_is_refused() {
    let lab = Lab::new("others-cache");
    let cache = lab.path("cache");
    std::fs::create_dir_all(lab.path("cache/kernels")).unwrap();
    if chown(&cache, Some(NOBODY), None).is_err() {
        eprintln!("schedlab-skip: a_cache_of_another_user_is_refused: needs root");
        return;
    }
    let precious = lab.path("precious");
    std::fs::write(&precious, "data").unwrap();
    symlink(&precious, lab.path("cache/lock")).unwrap();
    // A pipe without a writer in place of a kernel's description: reading it would block.
    std::fs::create_dir(lab.path("cache/kernels/theirs")).unwrap();
    drop(schedlab_sys::fd::named_pipe(Path::new(&lab.path("cache/kernels/theirs/entry.json"))).unwrap());
    // The parts of a source tree that are checked before the cache.
    for file in ["Makefile", "Kconfig", "kernel/sched/core.c"] {
        let file = lab.path("tree/") + file;
        std::fs::create_dir_all(Path::new(&file).parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let build = ["vm", "build", &lab.path("tree")];
    let run = ["vm", "run", "--kernel", "debian:6.1", "--", "list"];
    for words in [&run[..], &["vm", "fetch", "debian:6.1"], &["vm", "list"], &build] {
        let ran = program::command().args(words).env("SCHEDLAB_CACHE", &cache).output();
        let said = String::from_utf8(ran.unwrap().stderr).unwrap();
        assert!(said.contains("belongs to another user") && said.contains("SCHEDLAB_CACHE"), "{words:?}: {said}");
    }
    assert!(!Path::new(&lab.path("cache/builds")).exists());
    assert_eq!(std::fs::read(&precious).unwrap(), b"data", "nothing is written through a link");
}

#[test]
fn what_is_written_beside_other_files_goes_through_no_link() {
    let lab = Lab::new("others-links");
    let out = run(&lab);
    let precious = lab.path("precious");
    std::fs::write(&precious, "data").unwrap();
    symlink(&precious, lab.path("report.html.part")).unwrap();
    // A temporary file of a killed process, whose lock the kernel released.
    let killed = lab.path(".schedlab-0123456789abcdef.part");
    std::fs::write(&killed, "half").unwrap();
    schedlab(&["report", &out, "--html", &lab.path("report.html")]).success();
    assert!(!Path::new(&killed).exists());
    // Every picture that would be written already exists, created by another user.
    let svg = lab.path("svg");
    schedlab(&["report", &out, "--svg", &svg]).success();
    for picture in std::fs::read_dir(&svg).unwrap() {
        let picture = picture.unwrap().path();
        std::fs::remove_file(&picture).unwrap();
        symlink(&precious, &picture).unwrap();
    }
    schedlab(&["report", &out, "--svg", &svg]).success();
    assert!(Path::new(&lab.path("report.html")).exists());
    // An unsealed run whose log and manifest were prepared by another user.
    let going = lab.path("going");
    let arms = ["ab", "-w", "pipe:pin=same,loops=10", "--b", "nice=1", "--trials", "30", "--counters", "basic"];
    let started = program::command().args(arms).args(["-o", &going]).stderr(Stdio::null()).spawn();
    let mut started = started.unwrap();
    while trials_in(&going) < 8 && started.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    started.kill().unwrap();
    started.wait().unwrap();
    std::fs::remove_file(format!("{going}/log.txt")).unwrap();
    symlink(&precious, format!("{going}/log.txt")).unwrap();
    symlink(&precious, format!("{going}/manifest.json.part")).unwrap();
    schedlab(&[&arms[..], &["--resume", "-o", &going]].concat()).success();
    assert_eq!(std::fs::read(&precious).unwrap(), b"data", "nothing is written through a link");
}

#[test]
fn what_is_recorded_is_its_owners() {
    let test = "what_is_recorded_is_its_owners";
    let lab = Lab::new("others-read");
    let out = lab.path("trace");
    let recorded = program::recordings::traced(test, &["record", "-o", &out, "-d", "10ms"]);
    if recorded.is_none() {
        return;
    }
    assert_eq!((mode(&out), mode(&format!("{out}/trace.slt"))), (0o700, 0o600));
    // A profile already exists that others may read.
    let folded = lab.path("folded");
    std::fs::write(&folded, "").unwrap();
    std::fs::set_permissions(&folded, PermissionsExt::from_mode(0o644)).unwrap();
    let ran = schedlab(&["profile", "--folded", &folded, "-d", "10ms"]);
    assert!(ran.code != 0 || mode(&folded) == 0o600, "{}", ran.stderr);
}
