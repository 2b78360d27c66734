//! A KVM that works only for some kernels: the first QEMU in $PATH is a script, which with KVM does what a test wants,
//! and otherwise runs the real QEMU.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::guests::{KERNEL, can_boot};
use program::{Lab, Ran, json, schedlab, trials_in};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// With KVM, the copy of a kernel hangs; any other kernel is emulated, which looks like a working one. The accelerator
/// with which QEMU was started is written to a file.
const QEMU: &str = r#"#!/bin/sh
case " $* " in
    *" -accel tcg"*) echo tcg >> "$0.started";;
    *" -accel kvm "*)
        echo kvm >> "$0.started"
        case " $* " in *" -bios "*|*/copy*) exec sleep 600;; esac
        # What a guest is told stands in its last argument.
        for word; do
            shift
            [ "$word" = kvm ] && word=tcg,thread=multi
            [ "$word" = host ] && word=max
            set -- "$@" "$word"
        done;;
esac
PATH=${PATH#*:}
exec qemu-system-x86_64 "$@"
"#;

/// A lab with that QEMU, the user's kernels, a copy of one, and no stored results.
fn half_working(test: &str, name: &str) -> Option<Lab> {
    if !can_boot(test) {
        return None;
    }
    if fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_err() {
        eprintln!("schedlab-skip: {test}: needs writable /dev/kvm");
        return None;
    }
    let lab = Lab::new(name);
    fs::create_dir_all(lab.path("bin")).unwrap();
    fs::write(lab.path("bin/qemu-system-x86_64"), QEMU).unwrap();
    fs::set_permissions(lab.path("bin/qemu-system-x86_64"), PermissionsExt::from_mode(0o755)).unwrap();
    let listed = schedlab(&["vm", "list"]).stdout;
    let is_it = |line: &&str| line.starts_with(KERNEL) && line.contains("  amd64  ");
    let entry = listed.lines().find(is_it).unwrap().split("  ").last().unwrap().to_owned();
    fs::create_dir_all(lab.path("cache")).unwrap();
    let kernels = std::path::Path::new(&entry).parent().unwrap();
    std::os::unix::fs::symlink(kernels, lab.path("cache/kernels")).unwrap();
    // A different checksum, but the same kernel.
    let mut copy = fs::read(format!("{entry}/kernel")).unwrap();
    copy.push(0);
    fs::write(lab.path("copy"), copy).unwrap();
    Some(lab)
}

fn command(lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = program::command();
    let path = format!("{}:{}", lab.path("bin"), std::env::var("PATH").unwrap());
    command.args(arguments).current_dir(lab.path("")).env("PATH", path);
    command.env("TMPDIR", lab.path("")).env("SCHEDLAB_CACHE", lab.path("cache"));
    command
}

fn ran(lab: &Lab, arguments: &[&str]) -> Ran {
    command(lab, arguments).output().unwrap().into()
}

fn started(lab: &Lab) -> Vec<String> {
    let text = fs::read_to_string(lab.path("bin/qemu-system-x86_64.started")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_real_guest_whose_kvm_hangs_is_translated_and_its_results_say_so() {
    let test = "a_real_guest_whose_kvm_hangs_is_translated_and_its_results_say_so";
    let Some(lab) = half_working(test, "vm-accel") else { return };
    let bench = ["vm", "run", "--kernel", "./copy", "--", "bench", "pipe:loops=20", "--json", "a.json"];
    let first = ran(&lab, &bench).success();
    let told: Vec<&str> = first.stderr.lines().filter(|line| line.contains("KVM")).collect();
    assert!(told.len() == 1 && told[0].contains("its kernel said nothing"), "{}", first.stderr);
    let notes = json(&fs::read_to_string(lab.path("a.json")).unwrap())["notes"].to_string();
    assert!(notes.contains("without KVM, since the kernel of a guest of this run said nothing under it"), "{notes}");
    let second = ran(&lab, &bench).success();
    assert!(second.stderr.contains("--accel kvm tries it again"), "{}", second.stderr);
    assert_eq!(started(&lab), ["kvm", "tcg", "tcg"]);
    // The cached kernel would run under this KVM; but the result of a real guest takes precedence.
    let doctor = ran(&lab, &["doctor", "--json"]).success();
    let checks = json(&doctor.stdout)["environment"]["checks"].clone();
    let kvm = checks.as_array().unwrap().iter().find(|check| check["id"] == "kvm").unwrap().clone();
    assert_eq!(kvm["value"], "starts, and hangs", "{kvm}");
}

#[test]
fn a_plan_of_which_one_kernel_hangs_under_kvm_has_all_its_guests_translated() {
    let test = "a_plan_of_which_one_kernel_hangs_under_kvm_has_all_its_guests_translated";
    let Some(lab) = half_working(test, "vm-accel-plan") else { return };
    let plan = format!(
        "trials = 6\ntrial = \"20ms\"\nlatency = \"off\"\ncounters = \"basic\"\n[guest]\ncpus = 1\n\
         [[workload]]\nrun = \"pipe:pin=same\"\n[[arm]]\nname = \"a\"\nset = \"kernel:{KERNEL}\"\n\
         [[arm]]\nname = \"b\"\nset = \"kernel:{}\"\n",
        lab.path("copy")
    );
    fs::write(lab.path("plan.toml"), plan).unwrap();
    let mut child = command(&lab, &["run", "plan.toml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(300);
    while trials_in(&lab.path("out/plan")) < 1 && Instant::now() < deadline && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    schedlab_sys::process::kill(child.id(), 2).unwrap();
    let said = String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr).into_owned();
    assert!(said.contains("all guests of the plan run under TCG"), "{said}");
    let started = started(&lab);
    assert_eq!(started[..5], ["kvm", "kvm", "tcg", "tcg", "tcg"], "both arms again, and then trials: {said}");
    assert!(started[5..].iter().all(|one| one == "tcg"), "{started:?}");
    let run = schedlab_run::RunReader::open(std::path::Path::new(&lab.path("out/plan"))).unwrap();
    let lane = run.manifest.environment.checks.iter().find(|check| check.id == "guest_lane").unwrap();
    assert!(lane.value.starts_with("real, tcg, ") && lane.effect.contains("without KVM"), "{lane:?}");
    assert!(run.manifest.environment.cmdline.contains("schedlab.kvm=hangs"), "{}", run.manifest.environment.cmdline);
    // The stored result settles it before anything is booted.
    fs::remove_file(lab.path("bin/qemu-system-x86_64.started")).unwrap();
    let dry = ran(&lab, &["run", "plan.toml", "--dry-run"]).success();
    assert!(!dry.stdout.contains("-accel kvm") && dry.stdout.contains("-accel tcg"), "{}", dry.stdout);
}

#[test]
fn an_accelerator_has_one_name_in_both_places() {
    let Some(lab) = half_working("an_accelerator_has_one_name_in_both_places", "vm-accel-name") else { return };
    let line = |options: &[&str]| {
        let words = [&["vm", "run", "--kernel", KERNEL, "--dry-run"], options, &["--", "list"]].concat();
        ran(&lab, &words)
    };
    assert!(line(&[]).success().stdout.contains("-accel kvm -cpu host"));
    for translated in [&["--accel", "tcg"][..], &["--no-kvm"]] {
        let printed = line(translated).success().stdout;
        assert!(printed.contains("-accel tcg") && printed.contains("schedlab.kvm=unwanted"), "{printed}");
    }
    assert!(!line(&["--lane", "virtual"]).success().stdout.contains("schedlab.kvm"), "a seed's words stay as they are");
    assert!(line(&["--accel", "kvm", "--lane", "virtual"]).failure().stderr.contains("--lane real"));
    assert_eq!(line(&["--accel", "kvm", "--no-kvm"]).code, 2);
    assert!(line(&["--accel", "hvf"]).failure().stderr.contains("auto, kvm, tcg"));
    let plan = format!(
        "trials = 6\n[guest]\nkernel = \"{KERNEL}\"\ncpus = 1\naccelerator = \"tcg\"\n[[workload]]\nrun = \"pipe\"\n\
         [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"boot:preempt=full\"\n"
    );
    fs::write(lab.path("plan.toml"), plan).unwrap();
    let dry = ran(&lab, &["run", "plan.toml", "--dry-run"]).success().stdout;
    assert!(dry.contains("accelerator = \"tcg\"") && !dry.contains("-accel kvm"), "{dry}");
}
