//! Names from run directories and traces: whatever they contain, nothing on standard output, on standard error or in a
//! report controls the terminal, reverses the direction of text, or becomes HTML.

mod program;

use program::{Lab, schedlab};
use schedlab_plan::manifest::{Design, FORMAT_VERSION, OrderKnown};
use schedlab_plan::plain::is_control_char;
use schedlab_plan::*;
use schedlab_run::RunWriter;
use std::path::Path;

/// A control sequence, a title, a C1 sequence, a bell; an override, an isolate and the marks; HTML; a link; a fence.
const EVIL: &str =
    "x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}<img src=x onerror=y>[a](b)```;\r\ny";

fn clean(what: &str, text: &str) {
    let found: Vec<char> = text.chars().filter(|c| is_control_char(*c) && !matches!(c, '\n' | '\t')).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
}

fn record(trial: u64) -> TrialRecord {
    let (block, position) = (trial as u32 / 4, trial as u32 % 4);
    let metric =
        |name: &str, direction| Metric { name: name.into(), value: 100.0 + trial as f64, unit: EVIL.into(), direction };
    let outcome = TrialOutcome {
        workload: "pipe/1".into(),
        operations: 10,
        operation: EVIL.into(),
        metrics: vec![metric("time_s", Direction::LowerIsBetter), metric(EVIL, Direction::HigherIsBetter)],
        counters: vec![Counter {
            name: EVIL.into(),
            scope: "workload".into(),
            source: EVIL.into(),
            count: Count::NotCounted(EVIL.into()),
        }],
        native_lines: vec![EVIL.into()],
        notes: vec![EVIL.into()],
        ..TrialOutcome::default()
    };
    TrialRecord {
        trial,
        workload: 0,
        arm: Some([0, 1, 1, 0][position as usize]),
        block,
        position,
        repeats_block: None,
        warm_up: false,
        status: if trial == 5 { TrialStatus::Failed(EVIL.into()) } else { TrialStatus::Ok },
        marks: vec![Mark::Thermal { evidence: EVIL.into() }],
        started_unix_ns: trial,
        wall_ns: 1,
        boot_id: EVIL.into(),
        outcome: (trial != 5).then_some(outcome),
    }
}

fn manifest() -> Manifest {
    let evil = || EVIL.to_owned();
    let check = Check {
        id: "x".into(),
        title: evil(),
        state: CheckState::Warning,
        value: evil(),
        effect: evil(),
        evidence: evil(),
        fix: evil(),
    };
    let environment = Environment {
        hostname: evil(),
        kernel_release: evil(),
        cpu_model: evil(),
        cmdline: evil(),
        boot_id: evil(),
        checks: vec![check],
        ..Environment::default()
    };
    let arm = |name: String| Arm { name, settings: Vec::new() };
    Manifest {
        format_version: FORMAT_VERSION,
        schedlab_version: evil(),
        command: vec!["schedlab".into(), evil()],
        title: evil(),
        created_unix_s: 1,
        plan_toml: evil(),
        arms: vec![arm(format!("a{EVIL}")), arm(format!("b{EVIL}"))],
        workloads: vec!["pipe".parse().unwrap()],
        workload_ids: vec![evil()],
        primary: vec![vec!["time_s".into()]],
        sesoi: 0.01,
        alpha: 0.05,
        design: Design::Fixed { blocks: 8 },
        switchback_window_ns: None,
        stamping: Stamping::Sampled,
        counters: CounterLevel::Full,
        load: vec![Vec::new()],
        load_group: LoadGroup::Same,
        seed: 1,
        order: OrderKnown::Randomized,
        environment_end: Some(Environment { kernel_version: evil(), ..environment.clone() }),
        environment,
        looks: Vec::new(),
        ended: format!("planned{EVIL}"),
        warnings: vec![evil()],
        sweeps: Vec::new(),
        factorial: None,
        boots: None,
        kernels: Vec::new(),
    }
}

fn hostile_run(dir: &Path) {
    let mut writer = RunWriter::create(dir, &manifest()).unwrap();
    (0..32).for_each(|trial| drop(writer.append(&record(trial)).unwrap()));
    std::fs::write(dir.join("trials/00000099.rec"), "torn").unwrap();
}

#[test]
fn a_run_directory_steers_no_reader() {
    let lab = Lab::new("hostile-run");
    let out = lab.path("run\u{202e}\u{1b}[2J");
    hostile_run(Path::new(&out));
    let text = schedlab(&["report", &out]).success();
    clean("report", &text.stdout);
    clean("its talk", &text.stderr);
    let json = schedlab(&["report", &out, "--json"]).success();
    clean("JSON", &json.stdout);
    let title = serde_json::from_str::<serde_json::Value>(&json.stdout).unwrap()["title"].clone();
    assert_eq!(title, EVIL, "what JSON says is the same");
    let other = lab.path("other\u{202e}\u{1b}[2J");
    hostile_run(Path::new(&other));
    clean("compare", &schedlab(&["compare", &out, &other]).success().stdout);
    let (html, md, svg) = (lab.path("r.html"), lab.path("r.md"), lab.path("svg"));
    schedlab(&["report", &out, "--html", &html, "--md", &md, "--svg", &svg]).success();
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let (html, md) = (read(&html), read(&md));
    clean("HTML", &html);
    clean("Markdown", &md);
    assert!(!html.contains("<img src"), "HTML");
    // Indented code is shown verbatim.
    let prose = md.lines().filter(|line| !line.starts_with("    ")).collect::<Vec<_>>().join("\n");
    assert!(
        md.contains("&lt;img src") && !prose.contains("<img") && !prose.contains("](") && !prose.contains("```"),
        "{md}"
    );
    let pictures: Vec<_> = std::fs::read_dir(svg).unwrap().flatten().collect();
    assert!(!pictures.is_empty());
    for picture in pictures {
        let picture = std::fs::read_to_string(picture.path()).unwrap();
        clean("SVG", &picture);
        assert!(!picture.contains("<img"));
    }
    clean("an error", &schedlab(&["report", &lab.path("none\u{1b}[2J")]).failure().stderr);
}

#[test]
fn a_trace_steers_no_reader() {
    let lab = Lab::new("hostile-trace");
    let file = lab.path("trace.txt");
    let mut text = String::from("# tracer: nop\n#\n");
    let evil = "e\u{1b}[2Jv\u{9b}\u{202e}l";
    for at in 0..40 {
        let (prev, next, prev_pid, next_pid) =
            if at % 2 == 0 { (evil, "swapper/0", 7, 0) } else { ("swapper/0", evil, 0, 7) };
        let state = if prev_pid == 0 { "R" } else { "S" };
        if prev_pid == 0 {
            text += &format!(
                "          <idle>-0     [000] d.h.. 10.{:06}: sched_waking: comm={evil} pid=7 prio=120 target_cpu=000\n",
                at * 100 - 10
            );
        }
        text += &format!(
            "          {prev}-{prev_pid}     [000] d.... 10.{:06}: sched_switch: prev_comm={prev} prev_pid={prev_pid} \
             prev_prio=120 prev_state={state} ==> next_comm={next} next_pid={next_pid} next_prio=120\n",
            at * 100
        );
    }
    std::fs::write(&file, text).unwrap();
    let views: [&[&str]; 8] = [
        &["latency"],
        &["latency", "--json"],
        &["states"],
        &["map"],
        &["map", "--switches"],
        &["map", "--switches", "--json"],
        &["timehist"],
        &["check"],
    ];
    for view in views {
        let ran = schedlab(&[&["trace"], view, &[&file]].concat());
        clean(&view.join(" "), &ran.stdout);
        clean(&view.join(" "), &ran.stderr);
        assert!(ran.stdout.contains('v') && ran.stdout.len() > 100, "{view:?}: {} {}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_small_trace_does_not_fill_a_disk() {
    let lab = Lab::new("hostile-map");
    let file = lab.path("trace.txt");
    let mut text = String::from("# tracer: nop\n#\n");
    for at in 0..8_000 {
        // The largest number of CPUs that a trace can name.
        let cpu = if at == 0 { 8_191 } else { at % 2 };
        let (prev, next) = [(7, 0), (0, 7)][at / 2 % 2];
        let name = |pid: i32| if pid == 0 { "swapper/0" } else { "task" };
        text += &format!(
            "            task-{prev}     [{cpu:03}] d.... 10.{at:06}: sched_switch: prev_comm={} prev_pid={prev} prev_prio=120 \
             prev_state=S ==> next_comm={} next_pid={next} next_prio=120\n",
            name(prev),
            name(next)
        );
    }
    std::fs::write(&file, text).unwrap();
    let ran = schedlab(&["trace", "map", "--switches", &file]).failure();
    assert!(ran.stdout.len() < 270 << 20, "{} bytes", ran.stdout.len());
    assert!(ran.stderr.contains("256 MiB") && ran.stderr.contains("--time"), "{}", ran.stderr);
    let part = schedlab(&["trace", "map", "--switches", &file, "--time", "10.005,10.0051"]).success();
    assert!(part.stdout.lines().count() > 50);
}

#[test]
fn lines_for_programs_have_room_unless_they_say_for_how_many() {
    let lab = Lab::new("lines-room");
    let file = lab.path("trace.txt");
    let switch = |at: usize| {
        let (prev, next) = if at.is_multiple_of(2) { ("task-7", "idle-8") } else { ("idle-8", "task-7") };
        let of = |side: &str, text: &str| {
            let (comm, pid) = text.split_once('-').unwrap();
            format!("{side}_comm={comm} {side}_pid={pid} {side}_prio=120")
        };
        let (from, to) = (of("prev", prev), of("next", next));
        format!("{prev} [000] d.... 10.{at:06}: sched_switch: {from} prev_state=R ==> {to}\n")
    };
    std::fs::write(&file, (0..400).map(switch).collect::<String>()).unwrap();
    let lines = |words: &[&str]| schedlab(&[&["trace"], words, &[&file, "--json"]].concat()).success();
    let usual = lines(&["timehist"]);
    assert!(usual.stdout.len() <= 20_000 && usual.stdout.lines().count() > 10, "{}", usual.stdout.len());
    assert!(usual.stderr.contains("--top 0 all"), "{}", usual.stderr);
    let all = lines(&["timehist", "--top", "0"]);
    assert!(all.stdout.starts_with(&usual.stdout) && all.stdout.len() > 20_000, "{}", all.stdout.len());
    for words in [&["timehist", "--top", "3"][..], &["map", "--switches", "--top", "3"]] {
        assert_eq!(lines(words).stdout.lines().count(), 3, "{words:?}");
    }
}
