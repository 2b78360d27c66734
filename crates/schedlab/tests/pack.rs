//! Packs a run and repeats it: effects that exist are found again, others are contradicted, and changed or hostile
//! packs are refused before anything is done.

mod program;

use program::guests::from;
use program::{Lab, json, schedlab};
use std::path::Path;

/// The spin makes a round trip several times as long, so that no disturbance hides it.
const SLOWER: &str = "plant=spin:1ms";
const NOT: &str = "plant=spin:0ns";

/// The text in one line, however wide the terminal is.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes a run with the effect, and packs it.
fn packed(lab: &Lab) {
    let arms = ["--a", NOT, "--b", SLOWER, "--latency", "off", "--counters", "basic"];
    // With a number of loops, not a time: a trial that gets no CPU for a while still completes its work.
    let run = ["ab", "-w", "pipe:pin=same,loops=100", "--trials", "8", "-o", "run"];
    from(lab, &[&run[..], &arms].concat()).success();
    from(lab, &["pack", "run", "-o", "p.json"]).success();
}

/// Changes a part of the pack as its author could have written it.
fn rewritten(lab: &Lab, name: &str, change: impl Fn(&mut serde_json::Value)) {
    let mut pack = json(&std::fs::read_to_string(lab.path("p.json")).unwrap());
    change(&mut pack);
    let members = pack.as_object_mut().unwrap();
    members.remove("crc32");
    let object = serde_json::to_string_pretty(&pack).unwrap();
    let body = object.strip_suffix("\n}").unwrap();
    let crc = crc32fast::hash(body.as_bytes());
    std::fs::write(lab.path(name), format!("{body},\n  \"crc32\": \"{crc:08x}\"\n}}")).unwrap();
}

#[test]
fn an_effect_that_is_there_is_reproduced_and_one_that_is_not_is_contradicted() {
    let lab = Lab::new("repeat");
    packed(&lab);
    let answer = from(&lab, &["repeat", "p.json", "--json"]).success().stdout;
    assert_eq!(json(&answer)["answer"], "reproduced", "{answer}");
    assert_eq!(json(&answer)["effects"][0]["answer"], "reproduced");
    assert!(Path::new(&lab.path("out/repeat-p/tables")).is_dir(), "the run is kept");
    // A complete run gives the same result again, without a trial.
    let again = from(&lab, &["repeat", "p.json", "--resume", "--json"]).success();
    assert_eq!(json(&again.stdout), json(&answer), "{}", again.stderr);
    for (options, needle) in [
        (&["--resume", "--trials", "12"][..], "is not a run of this pack under these options (--trials, --kernel)"),
        (&["--resume", "-o", "nosuch"], "nosuch does not exist, so there is nothing to resume"),
    ] {
        let ran = from(&lab, &[&["repeat", "p.json"], options].concat());
        assert!(ran.code == 1 && ran.stderr.contains(needle), "{options:?}: {}", ran.stderr);
    }
    // The same claim for a setting without effect.
    rewritten(&lab, "nothing.json", |pack| {
        let plan = pack["plan_toml"].as_str().unwrap().replace(SLOWER, "nice=0").replace(NOT, "");
        pack["plan_toml"] = plan.into();
    });
    let ran = from(&lab, &["repeat", "nothing.json", "--fail-on", "contradicted"]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(unwrapped(&ran.stdout).contains("Contradicted: not found again: 1 of 1 effect"), "{}", ran.stdout);
    // A larger machine may satisfy the needs.
    rewritten(&lab, "larger.json", |pack| {
        let plan = pack["plan_toml"].as_str().unwrap().replace(SLOWER, "nice=0").replace(NOT, "");
        (pack["plan_toml"], pack["machine"]["cpus"]) = (plan.into(), 4096.into());
    });
    let ran = from(&lab, &["repeat", "larger.json", "--fail-on", "contradicted"]);
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    assert!(unwrapped(&ran.stdout).contains("there were 4096, which it may need"), "{}", ran.stdout);
}

#[test]
fn a_pack_names_neither_host_nor_place() {
    let lab = Lab::new("pack-plain");
    packed(&lab);
    let pack = std::fs::read_to_string(lab.path("p.json")).unwrap();
    let manifest = json(&std::fs::read_to_string(lab.path("run/manifest.json")).unwrap());
    let environment = &manifest["environment"];
    for named in ["boot_id", "cmdline", "cgroup"].map(|key| environment[key].as_str().unwrap()) {
        assert!(named.len() < 4 || !pack.contains(named), "{named}");
    }
    assert!(!pack.contains(&lab.path("")) && !pack.contains("\"hostname\"") && !pack.contains("ffff8"), "{pack}");
    assert!(pack.len() < 1 << 20);
    // The preview equals what is written, and writes nothing.
    let shown = from(&lab, &["pack", "run", "--dry-run", "--json"]).success().stdout;
    let mut written = json(&pack);
    written.as_object_mut().unwrap().remove("crc32");
    let mut shown = json(&shown);
    shown.as_object_mut().unwrap().remove("schema");
    assert_eq!(shown, written);
    assert!(!Path::new(&lab.path("run.pack.json")).exists());
    let text = from(&lab, &["repeat", "p.json", "--dry-run"]).success().stdout;
    assert!(text.contains("run = \"pipe/1:") && text.contains("out/repeat-p"), "{text}");
    // Missing hardware is reported before anything is run.
    let there = |text: &str| text.replace("cpus=all", "cpus=4000");
    rewritten(&lab, "larger", |pack| {
        pack["plan_toml"] = there(pack["plan_toml"].as_str().unwrap()).into();
        pack["workloads"][0] = there(pack["workloads"][0].as_str().unwrap()).into();
    });
    let larger = json(&from(&lab, &["repeat", "larger", "--dry-run", "--json"]).success().stdout);
    assert!(larger["not_here"].as_str().is_some_and(|why| why.contains("CPU 4000")), "{larger}");
    assert!(!Path::new(&lab.path("out")).exists(), "nothing was run");
}

#[test]
fn what_was_changed_or_is_newer_or_of_another_machine_is_one_sentence() {
    let lab = Lab::new("pack-refused");
    packed(&lab);
    let whole = std::fs::read_to_string(lab.path("p.json")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(lab.path(name), text).unwrap();
    write("tampered", &whole.replace("pin=same", "pin=apart"));
    write("newer", &whole.replace("\"pack_version\": 1", "\"pack_version\": 2"));
    write("cut", &whole[..whole.len() / 2]);
    write("long", &" ".repeat(2 << 20));
    write("plan.toml", "trials = 6\n");
    rewritten(&lab, "elsewhere", |pack| pack["machine"]["machine"] = "s390x".into());
    rewritten(&lab, "up", |pack| {
        let plan = pack["plan_toml"].as_str().unwrap();
        pack["plan_toml"] = format!("{plan}\n[guest]\nkernel = \"build:../../x\"\n").into();
    });
    rewritten(&lab, "id", |pack| pack["workload_ids"] = serde_json::json!(["messaging/1"]));
    rewritten(&lab, "two-ways", |pack| {
        let mut other = pack["effects"][0].clone();
        other["direction"] = "lower_is_better".into();
        pack["effects"].as_array_mut().unwrap().push(other);
    });
    rewritten(&lab, "twice", |pack| {
        let same = pack["effects"][0].clone();
        pack["effects"].as_array_mut().unwrap().push(same);
    });
    rewritten(&lab, "zero", |pack| pack["pack_version"] = 0.into());
    rewritten(&lab, "huge", |pack| pack["effects"][0]["units"] = serde_json::json!(1u64 << 40));
    for (name, needle) in [
        ("tampered", "its content is not what `schedlab pack` wrote"),
        ("newer", "use a newer schedlab"),
        ("cut", "it is not a pack written by `schedlab pack`"),
        ("long", "larger than 1024 kB"),
        ("plan.toml", "it is not a pack written by `schedlab pack`"),
        ("up", "`build:../../x`"),
        ("huge", "it is not a pack written by `schedlab pack`"),
        ("id", "is not a workload messaging/1"),
        ("two-ways", "contradict each other"),
        ("twice", "contradict each other"),
        ("zero", "format 0 does not exist"),
    ] {
        let ran = from(&lab, &["repeat", name, "--trust"]);
        assert!(ran.code == 1 && ran.stderr.contains(needle), "{name}: {} {}", ran.code, ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    let ran = from(&lab, &["repeat", "elsewhere", "--fail-on", "contradicted"]);
    assert!(
        ran.code == 4 && unwrapped(&ran.stdout).contains("Cannot tell here: it was measured on s390x"),
        "{}",
        ran.stdout
    );
    assert!(!Path::new(&lab.path("out")).exists(), "nothing was run");
    // A metric that is better if lower there is a rate here.
    rewritten(&lab, "reversed", |pack| {
        (pack["effects"][0]["unit"], pack["effects"][0]["direction"]) = ("ms".into(), "lower_is_better".into());
    });
    let ran = from(&lab, &["repeat", "reversed", "--fail-on", "contradicted"]);
    let said = unwrapped(&ran.stdout);
    assert!(ran.code == 4 && said.contains("is another metric here (1/s, higher is better)"), "{said}");
}

#[test]
fn a_stranger_runs_no_command_unasked() {
    let lab = Lab::new("pack-trust");
    packed(&lab);
    rewritten(&lab, "hostile", |pack| {
        let plan = pack["plan_toml"].as_str().unwrap();
        let begin = plan.find("run = ").unwrap();
        let end = begin + plan[begin..].find('\n').unwrap();
        pack["plan_toml"] = format!("{}run = \"exec:command='touch owned'\"{}", &plan[..begin], &plan[end..]).into();
        pack["workloads"] = serde_json::json!(["exec:command='touch owned'"]);
        pack["workload_ids"] = serde_json::json!(["exec/1"]);
    });
    let ran = from(&lab, &["repeat", "hostile"]);
    assert!(ran.code == 1 && ran.stderr.contains("touch owned") && ran.stderr.contains("--trust"), "{}", ran.stderr);
    let shown = from(&lab, &["repeat", "hostile", "--dry-run"]).success().stdout;
    assert!(shown.contains("Only with --trust") && shown.contains("touch owned"), "{shown}");
    assert!(!Path::new(&lab.path("owned")).exists() && !Path::new(&lab.path("out")).exists());
    // A policy that a workload gives its own threads, or that an arm sets with an option of the workload.
    for (spec, settings) in [("timer/1:policy=fifo:99", NOT), ("timer/1:policy=other", "option:policy=fifo:99")] {
        rewritten(&lab, "first", |pack| {
            let plan = pack["plan_toml"].as_str().unwrap().replace(NOT, settings);
            let begin = plan.find("run = ").unwrap();
            let end = begin + plan[begin..].find('\n').unwrap();
            pack["plan_toml"] = format!("{}run = \"{spec}\"{}", &plan[..begin], &plan[end..]).into();
            pack["workloads"] = serde_json::json!([spec]);
            pack["workload_ids"] = serde_json::json!(["timer/1"]);
        });
        let ran = from(&lab, &["repeat", "first"]);
        let asks = ran.stderr.contains("under policy=fifo:99") && ran.stderr.contains("--trust");
        assert!(ran.code == 1 && asks, "{spec}: {}", ran.stderr);
        assert!(!Path::new(&lab.path("out")).exists(), "{spec}");
    }
}

#[test]
fn a_run_that_decided_nothing_is_no_pack() {
    let lab = Lab::new("pack-nothing");
    let ran = schedlab(&["pack", &lab.path("absent")]);
    assert!(ran.code == 1 && ran.stderr.contains("is not there"), "{}", ran.stderr);
    std::fs::write(lab.path("a.csv"), "before,after\n1,2\n1,2.1\n1,2.2\n1,2\n1,2.1\n1,2.2\n").unwrap();
    from(&lab, &["import", "a.csv", "--lower-is-better", "-o", "imported"]).success();
    let ran = from(&lab, &["pack", "imported"]);
    assert!(ran.code == 1 && ran.stderr.contains("it has no plan to run again"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_kernel_that_is_not_to_be_had_is_no_answer_and_says_what_to_name() {
    let lab = Lab::new("pack-kernels");
    packed(&lab);
    let guests = |pack: &mut serde_json::Value| {
        let plan = pack["plan_toml"].as_str().unwrap().replacen(
            "\n[[workload]]",
            "\n[guest]\nkernel = \"build:mine\"\n[[workload]]",
            1,
        );
        pack["plan_toml"] = plan.into();
        let source = serde_json::json!({"kind": "build", "version": "6.1.192", "config": "CONFIG_HZ=250\n",
            "patches": ["--- a/kernel/sched/fair.c\n+++ b/kernel/sched/fair.c\n@@ -1 +1 @@\n-a\n+b\n"]});
        pack["kernels"] = serde_json::json!([{"arms": [0, 1], "name": "build:mine", "release": "6.1.192",
            "crc32": "0badcafe", "source": source}]);
    };
    rewritten(&lab, "built", guests);
    let repeat =
        |arguments: &[&str]| from(&lab, &[&["repeat", "built", "--fail-on", "contradicted"], arguments].concat());
    let untrusted = repeat(&[]);
    assert!(untrusted.code == 1 && untrusted.stderr.contains("builds build:mine"), "{}", untrusted.stderr);
    let shown = repeat(&["--dry-run"]).success().stdout;
    assert!(shown.contains("Linux 6.1.192, a configuration of 1 line, 1 patch"), "{shown}");
    assert!(unwrapped(&shown).contains("It cannot be repeated here: kernel build:mine is not available"), "{shown}");
    std::fs::create_dir(lab.path("tree")).unwrap();
    let makefile = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\nEXTRAVERSION =\n";
    for (arguments, needle) in [
        (&["--trust"][..], "name its tree by --tree (Debian: linux-source-6.1)"),
        (&["--trust", "--tree", "tree"], "is not a kernel source tree"),
        (&["--trust", "--tree", "other"], "and other is Linux 6.12.3"),
    ] {
        let _ = std::fs::create_dir(lab.path("other"));
        std::fs::write(lab.path("other/Makefile"), makefile).unwrap();
        let ran = repeat(arguments);
        let said = unwrapped(&ran.stdout);
        assert!(
            ran.code == 4 && said.contains("Cannot tell here: kernel build:mine is not available"),
            "{said}{}",
            ran.stderr
        );
        assert!(said.contains(needle), "{said}");
    }
    // Guests of another architecture are another machine, whatever could be fetched or built.
    rewritten(&lab, "elsewhere", |pack| {
        guests(pack);
        pack["machine"]["machine"] = "s390x".into();
    });
    let ran = from(&lab, &["repeat", "elsewhere", "--trust", "--tree", "tree", "--fail-on", "contradicted"]);
    let said = unwrapped(&ran.stdout);
    assert!(ran.code == 4 && said.contains("measured on s390x, and the guests of its plan are here"), "{said}");
    for (arguments, needle) in [
        (["--kernel", "debian:6.1=debian:6.12"], "it has build:mine"),
        (["--kernel", "build:mine"], "debian:6.1=debian:6.12"),
    ] {
        let ran = repeat(&arguments);
        assert!(ran.code == 2 && ran.stderr.contains(needle), "{}", ran.stderr);
    }
    let of_host = from(&lab, &["repeat", "p.json", "--kernel", "debian:6.1=debian:6.12"]);
    assert!(of_host.code == 2 && of_host.stderr.contains("schedlab vm run --kernel"), "{}", of_host.stderr);
    assert!(!Path::new(&lab.path("out")).exists(), "nothing was run");
}
