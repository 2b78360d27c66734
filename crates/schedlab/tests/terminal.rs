//! What a user sees first: comparisons that fit on a screen, and no table wider than the terminal. `SCHEDLAB_BLESS=1
//! cargo test -p schedlab --test terminal` rewrites the golden outputs.

mod program;

use program::{Lab, Ran};
use std::collections::BTreeSet;
use std::path::Path;

const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/traces");

/// Runs in a directory, on a terminal of this width; 0: without a terminal.
fn at(lab: &Lab, columns: usize, arguments: &[&str]) -> Ran {
    let mut command = program::command();
    command.args(arguments).current_dir(lab.path("")).env_remove("COLUMNS");
    if columns > 0 {
        command.env("COLUMNS", columns.to_string());
    }
    Ran::from(command.output().expect("the binary starts"))
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Two studies of the same name, the second of which has a clear effect.
fn studies(name: &str) -> Lab {
    let lab = Lab::new(name);
    let pairs = |of: &dyn Fn(usize) -> f64| -> String {
        (0..12).map(|i| format!("{},{}\n", 100 + i % 3, of(i))).fold("before,after\n".to_owned(), |all, row| all + &row)
    };
    for (study, pairs) in [("open", pairs(&|i| 100.0 + (i % 4) as f64)), ("clear", pairs(&|i| 80.0 + (i % 3) as f64))] {
        std::fs::create_dir(lab.path(study)).unwrap();
        std::fs::write(lab.path(&format!("{study}/study.csv")), pairs).unwrap();
    }
    lab
}

#[test]
fn comparisons_are_as_they_were_on_80_and_120_columns() {
    let lab = studies("golden");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for columns in [80, 120] {
        let import = |name: &str| {
            let (file, out) = (format!("{name}/study.csv"), format!("{name}-{columns}"));
            let options = ["--metric", "requests_per_s", "--unit", "1/s", "--higher-is-better", "--out", &out];
            at(&lab, columns, &[&["import", &file], &options[..]].concat()).success().stdout
        };
        let [open, clear] = ["open", "clear"].map(|name| format!("{name}-{columns}"));
        for (name, now) in [
            ("import-open", import("open")),
            ("import", import("clear")),
            ("report", at(&lab, columns, &["report", &clear]).success().stdout),
            ("compare", at(&lab, columns, &["compare", &open, &clear]).success().stdout),
        ] {
            assert!(now.lines().count() <= 25 && widest(&now) <= columns, "{name} at {columns}:\n{now}");
            let file = golden.join(format!("{name}-{columns}.txt"));
            if std::env::var_os("SCHEDLAB_BLESS").is_some() {
                std::fs::write(&file, &now).unwrap();
            }
            let then = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(now, then, "{name} at {columns}; SCHEDLAB_BLESS=1 writes it anew");
        }
    }
}

#[test]
fn a_measured_comparison_is_less_than_a_screen_and_full_is_all_of_it() {
    let lab = Lab::new("screen");
    let arguments = ["ab", "-w", "pipe:pin=same", "-w", "messaging:5x5", "--b", "plant=spin:20us", "--trials", "6"];
    let ran = at(&lab, 0, &[&arguments[..], &["--trial", "20ms", "--out", "run"]].concat()).success();
    assert!(ran.stdout.lines().count() <= 25 && widest(&ran.stdout) <= 80, "{}", ran.stdout);
    assert!(ran.stdout.contains("round trips per second"), "{}", ran.stdout);
    // If the machine is taken away for long enough, nothing is decided, and undecided results have no plot.
    let decided = program::json(&at(&lab, 0, &["report", "run", "--json"]).success().stdout);
    let decided = decided["claims"].as_array().unwrap().iter().any(|claim| claim["verdict"]["kind"] == "worse");
    assert!(ran.stdout.contains('●') || !decided, "{}", ran.stdout);
    assert!(ran.stdout.contains("Report: run/report.html\nAll of it: schedlab report run --full\n"), "{}", ran.stdout);
    let full = at(&lab, 0, &["report", "run", "--full"]).success().stdout;
    assert!(full.lines().count() > 50 && full.contains("Exploratory metrics"), "{full}");
}

#[test]
fn no_table_is_wider_than_the_terminal() {
    let lab = studies("widths");
    at(&lab, 80, &["import", "clear/study.csv", "--out", "run"]).success();
    let trace = |name: &str| format!("{TRACES}/{name}.txt");
    let (waits, work) = (trace("rt_inversion"), trace("twenty_items"));
    let mut all: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["list", "workloads"],
        vec!["list", "knobs"],
        vec!["list", "counters"],
        vec!["list", "analyses"],
        vec!["tune", "show"],
        vec!["doctor"],
        vec!["report", "run"],
    ];
    for analysis in schedlab_report::ANALYSES.iter().map(|row| row.name).chain(["latency"]) {
        all.push(vec!["trace", analysis, &waits]);
    }
    all.extend([vec!["trace", "kworkers", &work], vec!["trace", "latency", &work]]);
    for (columns, width) in [(0, 80), (80, 80), (100, 100)] {
        for arguments in &all {
            let text = at(&lab, columns, arguments).success().stdout;
            assert!(widest(&text) <= width, "{arguments:?} at {columns}: {} columns\n{text}", widest(&text));
        }
    }
}

#[test]
fn a_log_has_a_line_for_each_look_with_what_is_left_and_the_estimate() {
    let lab = Lab::new("looks");
    let run = |options: &[&str], out: &str| {
        let ab = ["ab", "-w", "pipe:pin=same,loops=50", "--b", "plant=spin:50us", "--out", out];
        at(&lab, 0, &[&ab[..], options].concat()).success().stderr
    };
    let said = run(&["--until-decided", "--max-blocks", "12"], "open");
    assert!(said.lines().any(|line| line.starts_with("pipe: block ") && line.contains(" of 12 at most")), "{said}");

    let said = run(&["--trials", "30"], "fixed");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains(" of 30, about ")).collect();
    assert!((5..=10).contains(&lines.len()), "{said}");
    assert!(lines.iter().all(|line| line.starts_with("pipe: block ") && line.contains(" left")), "{said}");
    assert!(lines.last().unwrap().contains(": B "), "{said}");

    let said = run(&["--budget", "6s"], "budget");
    let manifest = program::json(&std::fs::read_to_string(lab.path("budget/manifest.json")).unwrap());
    let looks = manifest["looks"].as_array().unwrap().len();
    // The look at the end of the budget replaces one at the same block.
    let of_a_look = |line: &'_ str| {
        let (block, rest) = line.split_once(" % of the budget, block ")?.1.split_once(',')?;
        rest.contains(" left").then(|| block.to_owned())
    };
    let blocks: BTreeSet<String> = said.lines().filter_map(of_a_look).collect();
    assert_eq!(blocks.len(), looks, "{said}");
    // On a busy machine fewer than the four blocks that a look needs may be complete within the budget.
    let found = program::json(&at(&lab, 0, &["report", "budget", "--json"]).success().stdout);
    let used = found["workloads"][0]["counts"]["used"].as_u64().unwrap();
    assert!(looks > 0 || used < 4 * schedlab_plan::MIN_UNITS as u64, "{said}");
}
