//! The output of `--json`: each schema is in the registry and in `docs/json.md`, and what the commands print matches
//! them. `SCHEDLAB_BLESS=1 cargo test -p schedlab --test json` rewrites the page.

#![allow(clippy::print_stderr)] // What was not met says why.

mod page;
#[path = "../program/mod.rs"]
mod program;
mod real;
mod shapes;
mod studies;

use page::ANSWERS;
use program::guests::from;
use program::sources::{git, write as source};
use program::{Lab, Ran, json, schedlab};
use real::{Met, ROOM};
use schedlab_report::ANALYSES;
use shapes::{Shape, Shapes};
use std::collections::BTreeSet;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn shapes() -> Shapes {
    Shapes::of(&root().join("crates"))
}

#[test]
fn the_page_says_what_every_member_is() {
    let (page, path) = (page::page(&shapes()), root().join("docs/json.md"));
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).find(|(kept, made)| kept != made);
    assert!(kept == page, "docs/json.md is old, {differs:?}: SCHEDLAB_BLESS=1 cargo test -p schedlab --test json");
}

#[test]
fn a_schema_is_explained_and_another_one_is_told_what_is_near() {
    let all = schedlab(&["explain-json"]).success().stdout;
    assert_eq!(all.lines().count(), ANSWERS.len(), "{all}");
    for answer in ANSWERS.iter() {
        let line = all.lines().find(|line| line.split_whitespace().next() == Some(answer.schema.as_str()));
        assert!(line.is_some_and(|line| line.ends_with(&answer.command)), "{}: {line:?}", answer.schema);
        let told = schedlab(&["explain-json", &answer.schema]).success().stdout;
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{}: {told}", answer.schema);
        let (of, name) = &answer.of;
        for (_, field) in shapes().members(of, name) {
            let line = format!("  {}  (", field.name);
            assert!(told.lines().any(|told| told.starts_with(&line)), "{}: {line} in {told}", answer.schema);
        }
    }
    let of_bisect = schedlab(&["explain-json", "bisect/1"]).success().stdout;
    assert!(of_bisect.contains("\nBisectMember\n") && !of_bisect.contains("]("), "{of_bisect}");
    let refused = schedlab(&["explain-json", "schedlab/bisekt/1"]);
    assert!(refused.code == 2 && refused.stderr.contains("did you mean `schedlab/bisect/1`"), "{}", refused.stderr);
}

const TRACE: &str = "\
A-10 [000] d..2. 1.000010: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
B-11 [001] d.h2. 1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.000025: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
A-10 [000] d..2. 1.000030: sched_waking: comm=B pid=11 prio=120 target_cpu=001
A-10 [000] d..2. 1.000045: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";
const ARMS: [&str; 6] = ["--a", "plant=spin:0ns", "--b", "plant=spin:1ms", "--trials", "8"];
const PLAN: &str =
    "trials = 6\nlatency = \"off\"\ncounters = \"basic\"\n[[workload]]\nrun = \"pipe:pin=same,loops=60\"\n";
const TWO: &str = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"plant=spin:1ms\"\n";
const KNOB: &str = "title = \"k\"\nstrategy = \"halving\"\nbudget = \"60s\"\ntrial = \"20ms\"\nlatency = \"off\"\ncounters = \"basic\"\n\
    [[workload]]\nrun = \"pipe:pin=same\"\n[[knob]]\nset = \"nice\"\nvalues = [\"3\", \"9\"]\n\
    [[knob]]\nset = \"timer_slack\"\nrange = [\"1us\", \"50us\"]\nsteps = 2\n";
const FACTORS: &str =
    "[[factor]]\nname = \"spin\"\nhigh = \"plant=spin:100us\"\n[[factor]]\nname = \"nice\"\nhigh = \"nice=3\"\n";

/// Commands that work everywhere, in this order: later ones read the output of earlier ones. After them comes each
/// analysis of [`ANALYSES`].
const EVERYWHERE: &[&str] = &[
    "run two.toml -o two --json",
    "report run --json",
    "report factors --json",
    "compare run two --json",
    "report knob --json",
    "import pairs.csv --lower-is-better -o imported --json",
    "bench pipe:pin=same,loops=60 --json -",
    "bench pipe:loops=60 --sweep copies=1,2 --json -",
    "ab -w pipe:loops=60 --sweep copies=1,2 --b nice=3 --trials 6 -o sweep --json",
    "doctor --json",
    "doctor --against run --json",
    "list --json",
    "list counters --json",
    "tune catalog --json",
    "tune show --json",
    "bisect 0 3 --plan two.toml --arms arms --dry-run --json",
    "bisect 0 3 --plan two.toml --arms arms --no-why --json",
    "pack run -o p.json --json",
    "repeat p.json --dry-run --json",
    "repeat p.json --json",
    "trace latency trace.txt --json",
    "trace kworkers trace.txt --json",
    "trace map trace.txt --json",
    "trace diff trace.txt other.txt --json",
    "kernel related second_fn --tree history --range v1.. --json",
];

/// Commands that need more than every machine has: privileges, or a kernel whose features can be switched.
const SOMEWHERE: &[&str] = &[
    "why two.toml --dry-run --json",
    "why two --dry-run --json",
    "profile --json -- dd if=/dev/zero of=/dev/null bs=1M count=1000 status=none",
    "bench transact:loops=200,pairs=2 --trace traced --json -",
    "trace slow traced --json",
    "trace copies traced --json",
    "record -o recorded --json -- true",
    "record --self-test --trials 6 --trial 30ms -o cost --json",
    "bench pipe:copies=2,loops=200 --trace beside --json -",
    "trace copies beside --json",
    "run traced.toml -o of_arms --json",
    "trace copies of_arms --json",
    "trace kworkers of_arms --json",
];

/// Types of which these commands need not print an object: they belong to other plans or longer traces, or depend on
/// the machine or on chance.
const RARE: &[&str] = &[
    "analyze::Annotation",
    "analyze::BestArm",
    "analyze::ChainRow",
    "analyze::Change",
    "analyze::Curve",
    "analyze::CurveRegion",
    "analyze::DiffDecile",
    "analyze::DiffShift",
    "analyze::Figures",
    "analyze::FunctionRow",
    "analyze::Gap",
    "analyze::InstructionShare",
    "analyze::InversionRow",
    "analyze::LeftOut",
    "analyze::LinkRow",
    "analyze::LoadAchieved",
    "analyze::LongestItem",
    "analyze::LowerPart",
    "analyze::LowerRow",
    "analyze::MarkedBlock",
    "analyze::Parts",
    "analyze::PathRow",
    "analyze::PoolRow",
    "analyze::Reason",
    "analyze::RegionBoundary",
    "analyze::StatementFindings",
    "analyze::StepRow",
    "analyze::TierRow",
    "analyze::TierSplit",
    "analyze::Tradeoff",
    "analyze::TradeoffObjective",
    "plan::BootedKernel",
    "plan::KernelPackage",
    "plan::KernelSource",
    "plan::LoadReport",
    "plan::Window",
    // On a loaded machine.
    "analyze::Problem",
    "analyze::ModeFindings",
    "analyze::Mode",
    "analyze::Certificate",
    "analyze::VarianceSplit",
    "analyze::MoreUnits",
    "analyze::Noise",
    "analyze::UnitEffect",
    "analyze::FunctionShare",
    "analyze::ChainShare",
    "analyze::TaskShare",
    "analyze::PerOperation",
    "tune::Special",
    "tune::PlaceOfKnob",
    "analyze::Step",
    "analyze::Effect",
];

#[test]
fn what_is_printed_is_what_is_listed_and_has_room() {
    let lab = Lab::new("json");
    let write = |name: &str, text: &str| std::fs::write(lab.path(name), text).unwrap();
    write("trace.txt", TRACE);
    write("other.txt", &TRACE.replace("1.000045", "1.000055"));
    write("two.toml", &format!("{PLAN}{TWO}"));
    write("three.toml", &format!("{PLAN}{TWO}[[arm]]\nname = \"c\"\nset = \"plant=spin:100us\"\n"));
    let traced = PLAN.replace("pipe:pin=same,loops=60", "pipe:copies=2,loops=200");
    write(
        "traced.toml",
        &format!(
            "{traced}{}",
            TWO.replace("plant=spin:1ms", "nice=1;trace=on").replace("\"a\"", "\"a\"\nset = \"trace=on\"")
        ),
    );
    write("factors.toml", &format!("{PLAN}{FACTORS}"));
    write("knob.toml", KNOB);
    write("arms", "plant=spin:1ns\nplant=spin:2ns\nplant=spin:300us\nplant=spin:301us\n");
    history(&lab);
    write("pairs.csv", "before,after\n1,2\n1,2.1\n1,2.2\n1,2\n1,2.1\n1,2.2\n");
    let (shapes, mut met) = (shapes(), Met::default());
    let run = ["ab", "-w", "pipe:pin=same,loops=60", "-o", "run", "--json", "--top", "0"];
    let whole = from(&lab, &[&run[..], &ARMS].concat()).success().stdout;
    met.check(&shapes, &whole);
    from(&lab, &["run", "factors.toml", "-o", "factors"]).success();
    from(&lab, &["run", "knob.toml", "-o", "knob"]).success();
    let analyses: Vec<String> = ANALYSES.iter().map(|row| format!("trace {} trace.txt --json", row.name)).collect();
    let analyses: Vec<&str> = analyses.iter().map(String::as_str).collect();
    for line in [EVERYWHERE, &analyses, SOMEWHERE].concat() {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = from(&lab, &words);
        if ran.code != 0 && SOMEWHERE.contains(&line) {
            eprintln!("not met: {line}: {}", ran.stderr);
            continue;
        }
        // These two runs have different stamping levels, so the result is that nothing is compared.
        let answered =
            |ran: Ran| if words[0] == "compare" && ran.code == 5 { ran.stdout } else { ran.success().stdout };
        let text = answered(ran);
        assert!(text.len() < ROOM, "{line}: {} bytes", text.len());
        met.check(&shapes, &text);
        // In full, so that members without space in the default output are seen as well.
        let reads = ["report", "compare", "doctor", "list", "tune", "trace"].contains(&words[0]);
        if reads && !json(&text)["shortened"].is_null() {
            met.check(&shapes, &answered(from(&lab, &[&words[..], &["--top", "0"]].concat())));
        }
    }
    for (analysis, schema) in
        [("timehist", "schedlab/trace-timehist-line/2"), ("map --switches", "schedlab/trace-map-line/1")]
    {
        let words: Vec<&str> =
            ["trace"].into_iter().chain(analysis.split(' ')).chain(["trace.txt", "--json"]).collect();
        let lines = from(&lab, &words).success().stdout;
        lines.lines().for_each(|line| met.check(&shapes, line));
        assert!(met.schemas.contains(schema), "{lines}");
    }
    from(&lab, &["run", "three.toml", "-o", "three"]).success();
    for text in studies::answers(lab.path("run").as_ref(), lab.path("three").as_ref()) {
        assert!(text.len() < ROOM, "{} bytes", text.len());
        met.check(&shapes, &text);
    }
    let unmet = unmet(&shapes, &met);
    eprintln!("schemas met: {} of {}; types not met: {unmet:?}", met.schemas.len(), ANSWERS.len());
    let missed: Vec<&String> = unmet.iter().filter(|name| !RARE.contains(&name.as_str())).collect();
    assert!(missed.is_empty(), "not met, and not known to be rare: {missed:?}");
    let of_all = ["findings/2", "search/1", "outcome/1", "bisect/1", "pack/1", "repeat/1", "knobs/1"];
    let of_all: BTreeSet<&str> = of_all.into_iter().chain(["why/1", "why-kernels/1", "recorder-cost/1"]).collect();
    assert!(of_all.iter().all(|schema| met.schemas.contains(&format!("schedlab/{schema}"))), "{:?}", met.schemas);
}

/// A checkout with two commits of one mail thread after its tag.
fn history(lab: &Lab) {
    git(lab, "", &["init", "-q", &lab.path("history")]);
    for text in ["int first_fn;\n", "int second_fn;\n", "int second_fn = 1;\n"] {
        source(lab, "history/x.c", text.as_bytes());
        git(lab, "history", &["add", "-A"]);
        git(lab, "history", &["commit", "-qm", "one\n\nLink: https://example.org/1"]);
        if text.contains("first") {
            git(lab, "history", &["tag", "v1"]);
        }
    }
}

/// A backport with a hunk, a renamed file and a part that is skipped; and the differences of the two trees.
#[test]
fn the_lines_of_a_back_port_and_a_dossier_are_what_is_listed() {
    let (lab, shapes, mut met) = (Lab::new("json-kernel"), shapes(), Met::default());
    let old = "int f(int a)\n{\n\tint b = a;\n\n\treturn b;\n}\n";
    for (tree, text) in [("old", old), ("new", &*old.replace("return b", "return g(b)"))] {
        source(&lab, &format!("{tree}/kernel/x.c"), text.as_bytes());
        source(&lab, &format!("{tree}/kernel/y.c"), b"int y;\n");
    }
    let patch = "Subject: [PATCH] one\n\n---\ndiff --git a/kernel/x.c b/kernel/x.c\n--- a/kernel/x.c\n+++ b/kernel/x.c\n\
        @@ -2,5 +2,5 @@ int f(int a)\n {\n \tint b = a;\n \n-\treturn b;\n+\treturn g(b);\n }\n\
        diff --git a/kernel/y.c b/kernel/z.c\nsimilarity index 100%\nrename from kernel/y.c\nrename to kernel/z.c\n\
        diff --git a/logo.bin b/logo.bin\nBinary files a/logo.bin and b/logo.bin differ\n";
    std::fs::write(lab.path("one.patch"), patch).unwrap();
    let lines = from(&lab, &["kernel", "port", "one.patch", "--onto", "old", "--json"]).success().stdout;
    for line in lines.lines() {
        met.check(&shapes, line);
    }
    from(&lab, &["kernel", "dossier", "old", "new", "-o", "page"]).success();
    met.check(&shapes, &std::fs::read_to_string(lab.path("page/dossier.json")).unwrap());
    for kind in ["kernel-port-hunk-line", "kernel-port-file-line", "kernel-port-skipped-line", "dossier"] {
        assert!(met.schemas.contains(&format!("schedlab/{kind}/1")), "{kind}: {lines}");
    }
}

/// Types in the printed outputs of which no object was printed.
fn unmet(shapes: &Shapes, met: &Met) -> BTreeSet<String> {
    let (mut left, mut all) = (Vec::new(), BTreeSet::new());
    for answer in ANSWERS.iter().filter(|answer| met.schemas.contains(&answer.schema)) {
        left.push((answer.of.0.to_owned(), answer.of.1.clone()));
    }
    while let Some((of, name)) = left.pop() {
        if matches!(shapes.get(&of, &name).1, Shape::Object(_)) && all.insert((of.clone(), name.clone())) {
            for (its, field) in shapes.members(&of, &name) {
                shapes.in_words(&its, &field.of, &mut left);
            }
        }
    }
    all.difference(&met.types).map(|(of, name)| format!("{of}::{name}")).collect()
}
