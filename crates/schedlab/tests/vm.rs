//! Guests as a user starts them: real Debian kernels in a real QEMU. Each test reports what it needs; a guest takes a
//! few seconds.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::guests::{KERNEL, can_boot, from};
use program::{Lab, Ran, json};
use schedlab_plan::lane::Virtual;
use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `schedlab vm run --kernel K OPTIONS -- WORDS`, from inside a directory.
fn in_guest(lab: &Lab, options: &str, words: &str) -> Ran {
    let arguments = format!("vm run --kernel {KERNEL} {options} -- {words}");
    from(lab, &arguments.split_whitespace().collect::<Vec<_>>())
}

fn read(lab: &Lab, name: &str) -> Vec<u8> {
    std::fs::read(lab.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn transactions_pass_over_the_real_binder_driver_and_take_their_callers_nice() {
    if !can_boot("transactions_pass_over_the_real_binder_driver_and_take_their_callers_nice") {
        return;
    }
    let lab = Lab::new("vm-transact");
    let line = "bench transact:transport=binder,pairs=2,loops=100 --json transact.json";
    let ran = in_guest(&lab, "--cpus 1", line).success();
    assert!(ran.stdout.contains("over binder") && ran.stdout.contains("nice PASS"), "{}", ran.stdout);
    assert!(ran.stdout.contains("policy and priority N/A"), "mainline's binder hands on nice alone: {}", ran.stdout);
    let outcome = json(&String::from_utf8(read(&lab, "transact.json")).unwrap());
    assert_eq!((&outcome["workload"], &outcome["operations"]), (&"transact/1".into(), &400.into()));
}

#[test]
fn throughput_passes_over_the_real_binder_driver() {
    if !can_boot("throughput_passes_over_the_real_binder_driver") {
        return;
    }
    let lab = Lab::new("vm-throughput");
    let line = "bench throughput:transport=binder,loops=20 --benchmark_format=json";
    let ran = in_guest(&lab, "--cpus 1", line).success();
    let printed = json(&ran.stdout);
    let names: Vec<&str> =
        printed["benchmarks"].as_array().unwrap().iter().filter_map(|b| b["name"].as_str()).collect();
    assert_eq!((names.len(), names[0]), (15, "BM_sendVec_binderize/4"));
}

#[test]
fn a_comparison_in_a_guest_is_a_run_directory_of_the_host() {
    if !can_boot("a_comparison_in_a_guest_is_a_run_directory_of_the_host") {
        return;
    }
    let lab = Lab::new("vm-ab");
    let line = "ab -w pipe:pin=same --b policy=batch --trials 6 --trial 50ms --counters basic";
    let topology = "--cpus 2 --topology sockets=2,nodes=2,distance=31";
    let ran = in_guest(&lab, topology, line).success();
    assert!(ran.stdout.contains("round trips per second"), "{}", ran.stdout);
    let manifest = json(&String::from_utf8(read(&lab, "out/ab-pipe-pin-same/manifest.json")).unwrap());
    assert!(Path::new(&lab.path("out/ab-pipe-pin-same/tables/checksums.txt")).exists(), "sealed");
    let environment = &manifest["environment"];
    assert!(environment["kernel_release"].as_str().unwrap().starts_with("6.1."), "{environment}");
    let check = |id: &str| {
        let checks = environment["checks"].as_array().unwrap();
        checks.iter().find(|c| c["id"] == id).map(|c| c["value"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert!(check("guest_lane").starts_with("real, "), "{}", check("guest_lane"));
    assert!(check("sched_domains").ends_with("sd_llc_size 1"), "a cache for each socket: {}", check("sched_domains"));
    assert!(check("topology").contains("2 sockets, 2 nodes"), "{}", check("topology"));
    let crc32 = check("guest_kernel").trim_start_matches("CRC-32 ").len();
    assert_eq!(crc32, 8, "{}", check("guest_kernel"));
    let typed: Vec<&str> = manifest["command"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(typed[1..5], ["vm", "run", "--kernel", KERNEL], "what repeats it on the host");
    // The host reads it like any other run.
    assert!(from(&lab, &["report", "out/ab-pipe-pin-same", "--full"]).success().stdout.contains("pipe/1"));
}

#[test]
fn modules_are_loaded_when_the_kernel_asks_for_them() {
    if !can_boot("modules_are_loaded_when_the_kernel_asks_for_them") {
        return;
    }
    let lab = Lab::new("vm-modules");
    // A veth pair and a token bucket, whose modules are not loaded at the start.
    let line = "bench stream:1,duration=200ms,link=veth,rate=100mbit --counters basic";
    let ran = in_guest(&lab, "--cpus 1", line).success();
    assert!(ran.stdout.contains("stream/1"), "{}", ran.stdout);
}

#[test]
fn the_virtual_lane_repeats_to_the_bit_and_burns_what_its_seed_says() {
    if !can_boot("the_virtual_lane_repeats_to_the_bit_and_burns_what_its_seed_says") {
        return;
    }
    let lab = Lab::new("vm-virtual");
    // The same words each time, because the length of a name changes the number of instructions, too.
    let run = |options: &str| {
        let line = "bench messaging:2x2,groups=1,loops=20 --json outcome.json";
        in_guest(&lab, &format!("--lane virtual --cpus 1 {options}"), line).success();
        read(&lab, "outcome.json")
    };
    let (first, again) = (run("--seed 1"), run("--seed 1"));
    assert!(first == again, "{}\n{}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&again));
    // On one CPU the set-up takes longer by what the four tasks burn; the guest is exact, so this does not depend on
    // timing.
    let at_once = run("--seed 2 --dither 0");
    let outcome = |bytes: &[u8]| json(std::str::from_utf8(bytes).unwrap());
    let setup_ns = |bytes: &[u8]| {
        let phase = &outcome(bytes)["phases"][0];
        assert_eq!(phase["name"], "setup");
        phase["end_ns"].as_u64().unwrap() - phase["start_ns"].as_u64().unwrap()
    };
    let parameters = Virtual { shift: 3, seed: 1, quantum_us: None, dither_us: 12_000 };
    let burnt_ns: u64 = (0..4).map(|task| parameters.dither().unwrap().ns_of(task)).sum();
    assert!(setup_ns(&first) > setup_ns(&at_once) + burnt_ns / 2, "{burnt_ns} ns were to be burnt");
    // The time burnt is not part of what the workload is reported to have used.
    let cpu_ns = |bytes: &[u8]| -> u64 {
        outcome(bytes)["tasks"].as_array().unwrap().iter().map(|task| task["cpu_ns"].as_u64().unwrap()).sum()
    };
    assert!(cpu_ns(&first) < burnt_ns, "{} ns, of which {burnt_ns} are not the workload's", cpu_ns(&first));
}

#[test]
fn several_virtual_cpus_repeat_to_the_bit_or_ask_for_a_newer_qemu() {
    let test = "several_virtual_cpus_repeat_to_the_bit_or_ask_for_a_newer_qemu";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-virtual-2");
    let options = "--lane virtual --cpus 2 --seed 1";
    let advice = in_guest(&lab, &format!("{options} --dry-run"), "list").success().stderr;
    if advice.contains("use QEMU 10 or newer") {
        eprintln!(
            "schedlab-skip: {test}: needs QEMU 10 (Debian 12: apt-get install -t bookworm-backports qemu-system-x86)"
        );
        return;
    }
    let run = || {
        in_guest(&lab, options, "bench messaging:2x2,groups=1,loops=20 --json outcome.json").success();
        read(&lab, "outcome.json")
    };
    assert!(run() == run());
}

#[test]
fn what_goes_wrong_is_said_with_its_step_and_leaves_no_qemu() {
    if !can_boot("what_goes_wrong_is_said_with_its_step_and_leaves_no_qemu") {
        return;
    }
    let lab = Lab::new("vm-wrong");
    let list = "list workloads";
    for (options, words, needle) in [
        ("--module no_such_module", list, "vm fetch debian:6.1 --module no_such_module"),
        ("--boot-timeout 300ms", list, "did not start within 300ms"),
        ("--cmdline rdinit=/nowhere --cpus 1", list, "panicked while it started"),
        ("--cmdline init=/x --memory 64m", list, "--memory"),
        ("--timeout 300ms --cpus 1", "bench pipe:duration=20s", "did not end its command within 300ms"),
        ("--cpus 1", "bench pipe:pin=smt", "no two CPUs"),
    ] {
        let ran = in_guest(&lab, options, words).failure();
        assert!(ran.stderr.contains(needle), "{options} {words}: {}", ran.stderr);
    }
    // Other tests have guests, too.
    let left: Vec<_> =
        qemus_of(std::process::id()).into_iter().filter(|(_, line)| line.contains(&lab.path(""))).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_killed_command_leaves_no_qemu() {
    if !can_boot("a_killed_command_leaves_no_qemu") {
        return;
    }
    let mut child = program::command()
        .args(["vm", "run", "--kernel", KERNEL, "--", "bench", "pipe:duration=60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let guests = loop {
        let guests = qemus_of(child.id());
        // The probe of KVM is a guest, too, for two seconds at most.
        if !guests.is_empty() && guests.iter().all(|(_, line)| line.contains("rdinit=/init")) {
            break guests;
        }
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "no guest came up");
        std::thread::sleep(Duration::from_millis(20));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = |pid: u32| !Path::new(&format!("/proc/{pid}/cmdline")).exists() || command_line(pid).is_empty();
    while !guests.iter().all(|&(pid, _)| gone(pid)) {
        assert!(Instant::now() < deadline, "{guests:?} outlived their starter");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Process ids and command lines of the QEMUs below a process.
fn qemus_of(pid: u32) -> Vec<(u32, String)> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            let line = command_line(child);
            if line.contains("qemu-system") {
                found.push((child, line));
            }
            found.extend(qemus_of(child));
        }
    }
    found
}

#[test]
fn bad_input_is_one_line_before_anything_boots() {
    let lab = Lab::new("vm-input");
    let file = lab.path("no-kernel");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let cpus = (std::thread::available_parallelism().unwrap().get() + 1).to_string();
    let listed: &[&str] = &["--", "list"];
    let bench = |words: &'static [&str]| [&["vm", "run", "--kernel", file.as_str(), "--", "bench"][..], words].concat();
    for (arguments, needle) in [
        (&["vm", "boot", &file][..], "not a kernel image"),
        (&bench(&["nosuch"]), "unknown workload `nosuch`"),
        (&bench(&["pipe:loop=3"]), "loops"),
        (&bench(&["pipe:bytes=none"]), "bytes=none"),
        (&bench(&["pipe", "--loops", "few"]), "loops=few"),
        (&bench(&["pipe:loops=3", "--set", "nonsense"]), "nonsense"),
        (&bench(&["pipe", "--json", "nowhere/a.json"]), "no directory"),
        (&bench(&["pipe", "--json", "/tmp/../a.json"]), "without `..`"),
        (&["vm", "boot", "/nowhere/bzImage"], "/nowhere/bzImage"),
        (&["vm", "boot", "/dev/zero"], "not a regular file"),
        (&["vm", "boot", "debian:1.0"], "schedlab vm fetch debian:1.0"),
        (&["vm", "boot", "debian:1.0", "--aarch64"], "schedlab vm fetch debian:1.0 --aarch64"),
        (&["vm", "boot", "debain:6.1"], "debian:VERSION"),
        (&["vm", "boot", "build:never-built"], "schedlab vm build"),
        (&["vm", "build", "/proc"], "not a kernel source tree"),
        (&["vm", "build", "/proc", "--name", "a/b"], "--name"),
        (&["vm", "build", "/proc", "--name", ""], "--name"),
        (&bench(&["pipe", "--json", "/proc/a.json"]), "no place for the result /proc/a.json"),
        (&["vm", "fetch", "/boot/vmlinuz"], "needs no fetching"),
        (&["vm", "run", "--kernel", &file, "--", "tune", "restore"], "run it there"),
        (&["vm", "run", "--kernel", &file, "--", "doctor", "--against", "out"], "run it there"),
        (&["vm", "run", "--kernel", &file, "--", "run", "p.toml", "--resume"], "boot is a unit"),
    ] {
        let ran = from(&lab, arguments).failure();
        let complaint: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("schedlab: ")).collect();
        assert!(complaint.len() == 1 && complaint[0].contains(needle), "{arguments:?}: {}", ran.stderr);
    }
    if !can_boot("bad_input_is_one_line_before_anything_boots") {
        return;
    }
    for (options, needle) in [
        (&["--cpus", &cpus][..], "--oversubscribe"),
        (&["--topology", "core=2"], "unknown key `core`"),
        (&["--memory", "1m"], "at least 64m"),
        (&["--seed", "1"], "--lane virtual"),
        (&["--dither", "1ms"], "--lane virtual"),
        (&["--lane", "virtual", "--dither", "1s"], "at most 100ms"),
        (&["--lane", "virtual", "--dither", "1"], "'1' for '--dither <TIME>'"),
        (&["--lane", "virtual", "--quantum", "0"], "--quantum"),
        (&["--add", "relative"], "HOST_PATH:GUEST_PATH"),
        (&["--add", "/nowhere/file"], "/nowhere/file"),
        (&["--dry-run", "--add", "/nowhere/file"], "/nowhere/file"),
        (&["--dry-run", "--module", "nosuch"], "--module nosuch"),
        (&["--dry-run", "--memory", "64m"], "alone take"),
        (&["--dry-run", "--memory", "900g"], "this host has"),
    ] {
        let ran = from(&lab, &[&["vm", "run", "--kernel", KERNEL], options, listed].concat()).failure();
        let mut lines = ran.stderr.lines();
        assert!(lines.any(|l| l.starts_with("schedlab: ") && l.contains(needle)), "{options:?}: {}", ran.stderr);
    }
}

#[test]
fn a_cpu_that_goes_offline_during_a_run_voids_it() {
    if !can_boot("a_cpu_that_goes_offline_during_a_run_voids_it") {
        return;
    }
    let lab = Lab::new("vm-hot-plug");
    // The guest has no shell and no libraries.
    let unplug = "#include <fcntl.h>\n#include <unistd.h>\nint main(void)\n{\n\
        return write(open(\"/sys/devices/system/cpu/cpu1/online\", O_WRONLY), \"0\", 1) != 1;\n}\n";
    std::fs::write(lab.path("unplug.c"), unplug).unwrap();
    let compiled = ["-static", "-o", "unplug", "unplug.c"];
    if !Command::new("cc").args(compiled).current_dir(lab.path("")).status().is_ok_and(|status| status.success()) {
        eprintln!("schedlab-skip: a_cpu_that_goes_offline_during_a_run_voids_it: needs cc and a static libc");
        return;
    }
    let plan = "trials = 6\nlatency = \"off\"\n[[workload]]\nrun = \"exec:command=/unplug\"\n[[arm]]\nname = \"a\"\n\
        [[arm]]\nname = \"b\"\nset = \"debugfs:sched/min_granularity_ns=9000000\"\n";
    std::fs::write(lab.path("p.toml"), plan).unwrap();
    let options = format!("--cpus 2 --add {}:/unplug", lab.path("unplug"));
    let ran = in_guest(&lab, &options, "run p.toml --out plugged").failure();
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    // Whichever is checked first: the list of CPUs, or the knob, which the kernel has recomputed.
    let why =
        ["online CPUs changed from `0-1` to `0`", "CPUs went on- or offline since, and the kernel computed it anew"];
    assert!(ran.stdout.contains("VOID, nothing is compared: "), "{}{}", ran.stdout, ran.stderr);
    assert!(why.iter().any(|why| ran.stderr.contains(why)), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn results_arrive_beside_and_below_the_current_directory() {
    if !can_boot("results_arrive_beside_and_below_the_current_directory") {
        return;
    }
    let lab = Lab::new("vm-places");
    std::fs::create_dir_all(lab.path("below")).unwrap();
    let name = lab.path("").trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
    let words = format!("bench pipe:loops=20,pin=same --counters basic --json ../{name}/below/a.json");
    in_guest(&lab, "--cpus 1", &words).success();
    assert_eq!(json(&String::from_utf8(read(&lab, "below/a.json")).unwrap())["operations"], 20);
}

/// Whether the guest can be sent orders through QEMU's port: `input-path` exists since 8.1.
fn takes_orders(test: &str) -> bool {
    let lab = Lab::new("vm-orders");
    let line = in_guest(&lab, "--dry-run", "list").success().stdout;
    if !line.contains("input-path=") {
        eprintln!(
            "schedlab-skip: {test}: needs QEMU 10 (Debian 12: apt-get install -t bookworm-backports qemu-system-x86)"
        );
    }
    line.contains("input-path=")
}

#[test]
fn what_a_command_has_measured_outlives_its_time_limit_and_ctrl_c() {
    let test = "what_a_command_has_measured_outlives_its_time_limit_and_ctrl_c";
    if !can_boot(test) || !takes_orders(test) {
        return;
    }
    let lab = Lab::new("vm-cut");
    // A guest that mostly waits for its timer leaves the CPU to others.
    let words = "ab -w timer --b policy=fifo --trials 60 --trial 300ms --counters basic --out";
    let kept = |out: &str, stderr: &str| {
        let run = schedlab_run::RunReader::open(Path::new(&lab.path(out))).unwrap_or_else(|e| panic!("{e}: {stderr}"));
        assert!(!run.trials.is_empty() && run.manifest.ended == "interrupted", "{out}: {stderr}");
    };
    let ran = in_guest(&lab, "--cpus 1 --timeout 15s", &format!("{words} late")).failure();
    assert!(ran.code == 1 && ran.stderr.contains("within 15s") && ran.stderr.contains("--timeout"), "{}", ran.stderr);
    kept("late", &ran.stderr);
    let cut = |out: &str, end: &dyn Fn(u32)| {
        let mut child = program::command()
            .args(["vm", "run", "--kernel", KERNEL, "--cpus", "1", "--"])
            .args(words.split(' '))
            .arg(out)
            .current_dir(lab.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut said, mut ending) = (String::new(), false);
        for line in std::io::BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
            // The guest's own progress line: a tenth of its blocks are done.
            if line.starts_with("timer: block ") && !ending {
                ending = true;
                end(child.id());
            }
            said += &line;
        }
        let code = child.wait().unwrap().code();
        assert!(code == Some(if out == "died" { 1 } else { 130 }), "{out}, {code:?}: {said}");
        said
    };
    let said = cut("cut", &|pid| schedlab_sys::process::kill(pid, 2).unwrap());
    assert!(said.contains("Ctrl-C again ends the guest at once"), "{said}");
    kept("cut", &said);
    // A guest that dies has already sent each completed trial.
    let said = cut("died", &|pid| {
        qemus_of(pid).into_iter().for_each(|(qemu, _)| schedlab_sys::process::kill(qemu, 9).unwrap());
    });
    assert!(said.contains("QEMU ended while its command ran") && said.contains("is kept"), "{said}");
    let run = schedlab_run::RunReader::open(Path::new(&lab.path("died"))).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert!(!run.trials.is_empty() && run.problems.is_empty() && !run.sealed, "{:?}", run.problems);
    assert!(from(&lab, &["report", "died", "--full"]).success().stdout.contains("timer/1"));
}
