//! Compares reports of a made-up run with files; `SCHEDLAB_BLESS=1 cargo test -p schedlab-report` writes these again.
//! Also tests what must hold for any input: well-formed pictures, only finite numbers, no markup from the input.

mod made;
mod of_reports;
mod room;
mod xml;

use schedlab_analyze::{Findings, Role, Verdict, compare};
use schedlab_plan::{Manifest, TrialRecord, TrialStatus};
use schedlab_report::{Input, More, bench_text, checks_text, html, markdown, pictures, summary, text};
use std::io::Write;
use std::path::Path;

type Writer<'a> = &'a dyn Fn(&mut dyn Write) -> std::io::Result<()>;

fn written(write: Writer<'_>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a Vec takes every byte");
    String::from_utf8(bytes).expect("reports are UTF-8")
}

struct Made {
    manifest: Manifest,
    trials: Vec<TrialRecord>,
    findings: Findings,
}

impl Made {
    fn new(manifest: Manifest, trials: Vec<TrialRecord>) -> Self {
        let findings = compare(&manifest, &trials);
        Self { manifest, trials, findings }
    }

    fn input(&self) -> Input<'_> {
        Input { manifest: &self.manifest, trials: &self.trials, findings: &self.findings }
    }

    /// Every output as text, by name.
    fn outputs(&self) -> Vec<(String, String)> {
        let input = self.input();
        let mut all = vec![
            ("summary.txt".to_owned(), self.summary(80)),
            ("summary-120.txt".to_owned(), self.summary(120)),
            ("report.txt".to_owned(), written(&|out| text(&input, 80, false, out))),
            ("report-120.txt".to_owned(), written(&|out| text(&input, 120, false, out))),
            ("narrow.txt".to_owned(), written(&|out| text(&input, 60, true, out))),
            ("report.md".to_owned(), written(&|out| markdown(&input, out))),
            ("report.json".to_owned(), schedlab_plan::json::pretty(input.findings).unwrap() + "\n"),
            ("report.html".to_owned(), written(&|out| html(&input, out))),
            ("doctor.txt".to_owned(), written(&|out| checks_text(&self.manifest.environment, 80, false, out))),
        ];
        if let Some(outcome) = self.trials.iter().find_map(|t| t.outcome.as_ref()) {
            all.push(("bench.txt".to_owned(), written(&|out| bench_text(outcome, 80, out))));
        }
        all.extend(pictures(&input).into_iter().map(|(name, svg)| (format!("{name}.svg"), svg)));
        all
    }

    fn summary(&self, width: usize) -> String {
        let command = "schedlab report out/quickstart --full".into();
        let more = More { page: "out/quickstart/report.html".into(), command };
        written(&|out| summary(&self.input(), &more, width, false, out))
    }

    fn output(&self, name: &str) -> String {
        self.outputs().into_iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
    }
}

fn small() -> Made {
    let mut manifest = made::manifest();
    manifest.workloads.truncate(1);
    manifest.workload_ids.truncate(1);
    manifest.primary.truncate(1);
    manifest.load.truncate(1);
    let trials = made::trials().into_iter().filter(|t| t.workload == 0).collect();
    Made::new(manifest, trials)
}

/// The same run with hand-made findings.
fn by_hand() -> Made {
    let made = small();
    let findings = made::findings::findings(&made.manifest, &made.trials);
    Made { findings, ..made }
}

/// The same run without its A/A arm: the A/A comparison uses only the control.
fn without_aa_arm() -> Made {
    let Made { mut manifest, trials, .. } = small();
    for arm in manifest.arms.iter_mut().skip(1).filter(|arm| arm.settings.is_empty()) {
        arm.settings = vec!["nice=1".parse().expect("a SPEC")];
    }
    Made::new(manifest, trials)
}

#[test]
fn every_report_shows_the_noise_and_the_certificate() {
    for (made, says) in [
        (small(), "which have the same settings"),
        (without_aa_arm(), "the control's second trial of a block against its first"),
        (small(), "with this scatter"),
        (without_aa_arm(), "with this scatter"),
    ] {
        assert_eq!(made.findings.workloads[0].aa_comparisons.len(), 1);
        for name in ["report.txt", "narrow.txt", "report.md", "report.html", "report.json"] {
            let text = strip_ansi(&made.output(name)).replace("&#39;", "'");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(says), "{name} lacks `{says}`");
        }
    }
    assert!(without_aa_arm().output("report.json").contains("control_twice"));
}

/// NaN and infinity must not reach a reader. Our own sentences contain neither word.
fn assert_finite(name: &str, text: &str) {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    for token in text.split(|c| !word(c)) {
        let near = || {
            text.find(token)
                .map(|i| text[..i].chars().rev().take(80).collect::<Vec<_>>().iter().rev().collect::<String>())
        };
        assert!(!matches!(token, "NaN" | "nan" | "inf" | "Infinity"), "{name} holds `{token}` after {:?}", near());
    }
}

#[test]
fn reports_are_as_they_were() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let made = by_hand();
    for name in [
        "summary.txt",
        "summary-120.txt",
        "report.txt",
        "report-120.txt",
        "report.md",
        "report.json",
        "report.html",
        "doctor.txt",
        "bench.txt",
        "1-messaging-effects.svg",
    ] {
        let now = made.output(name);
        let file = golden.join(name);
        if std::env::var_os("SCHEDLAB_BLESS").is_some() {
            std::fs::write(&file, &now).expect("the golden file can be written");
        }
        let then = std::fs::read_to_string(&file).unwrap_or_default();
        if now != then {
            let at = now.lines().zip(then.lines()).position(|(a, b)| a != b).unwrap_or(0);
            let line =
                |text: &str| text.lines().nth(at).unwrap_or("(no such line)").chars().take(400).collect::<String>();
            panic!(
                "{name} differs at line {}:\n- {}\n+ {}\nSCHEDLAB_BLESS=1 writes it anew",
                at + 1,
                line(&then),
                line(&now)
            );
        }
    }
}

#[test]
fn bytes_depend_on_the_input_alone() {
    assert_eq!(small().outputs(), small().outputs());
}

fn strip_ansi(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            out.push(c);
        }
    }
    out
}

/// The same run as a sweep over two values, and as a factorial of two factors, one of which cannot be set.
fn designed() -> Made {
    let mut manifest = made::manifest();
    let values = ["1", "2"].map(str::to_owned).into();
    manifest.sweeps =
        vec![schedlab_plan::manifest::Sweep { option: "copies".into(), parallel: true, values, workloads: vec![0, 1] }];
    let factor = |name: &str, not_applied: Option<&str>| schedlab_plan::manifest::Factor {
        name: name.into(),
        low: String::new(),
        high: format!("sysctl:kernel.{name}=1"),
        not_applied: not_applied.map(str::to_owned),
    };
    let factors = vec![factor("thp", None), factor("audit", Some("no audit on this kernel; use a guest"))];
    let levels = (0..manifest.arms.len()).map(|arm| vec![arm % 2 == 1, false]).collect();
    manifest.factorial = Some(schedlab_plan::manifest::Factorial { factors, levels });
    Made::new(manifest, made::trials())
}

#[test]
fn sweeps_and_factorials_are_in_every_report() {
    let made = designed();
    assert_eq!((made.findings.scalings.len(), made.findings.factors.len()), (1, 2));
    for name in ["report.txt", "report.md", "report.html"] {
        let text = made.output(name);
        for expected in ["Scaling: ", "linearity", "ain effects on", "thp", "no audit on this kernel"] {
            assert!(text.contains(expected), "{name} lacks `{expected}`");
        }
        assert_finite(name, &text);
    }
    for (name, svg) in pictures(&made.input()) {
        xml::check(&svg).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(made.output("1-messaging-main-effects.svg").contains("thp"));
    let json = made.output("report.json");
    assert!(json.contains("\"scalings\"") && json.contains("\"main_effects\"") && json.contains("\"aliases\""));
    for line in made.output("report.md").lines().filter(|l| !l.starts_with("    ")) {
        assert!(line.chars().count() <= 78, "{line}");
    }
}

#[test]
fn two_runs_and_imported_rows_have_reports_too() {
    let pair = two_runs();
    let page = pair.output("report.html");
    assert!(page.contains("not interleaved") && page.contains("6.18.0"));
    assert!(pair.output("report.txt").contains("B: batch"));
    assert!(imported().output("report.html").contains("order unknown"));
}

fn two_runs() -> Made {
    let (a, mut b) = ((made::manifest(), made::trials()), (made::manifest(), made::trials()));
    b.0.title = "The other kernel".into();
    b.0.environment.kernel_release = "6.18.0".into();
    b.1.iter_mut().for_each(|t| t.boot_id = "another boot".into());
    let findings = schedlab_analyze::compare_runs(&a, &b);
    Made { manifest: a.0, trials: a.1, findings }
}

fn imported() -> Made {
    let mut manifest = made::manifest();
    manifest.order = schedlab_plan::manifest::OrderKnown::Unknown;
    Made::new(manifest, made::trials())
}

/// Very long names, with characters of every width.
fn with_long_names() -> Made {
    let mut manifest = made::manifest();
    let names = [
        "mainline 6.12-rc3 with the EEVDF slice patch, take two",
        "調度器的基準線與改良後的喚醒搶佔策略（第二版）",
        "MWMWMWMWMWMWMWMWMWMWMWMWMWMWMWMW",
    ];
    for (arm, name) in manifest.arms.iter_mut().zip(names.iter().cycle()) {
        arm.name = (*name).to_owned();
    }
    manifest.title = names[1].repeat(3);
    let mut trials = made::trials();
    for metric in trials.iter_mut().filter_map(|t| t.outcome.as_mut()).flat_map(|o| &mut o.metrics) {
        if metric.unit == "1/s" {
            metric.unit = "transactions of the whole machine/s".to_owned();
        }
        if metric.name.contains("per_op") {
            metric.name = format!("{}_as_it_is_counted_on_the_whole_machine_in_the_steady_state", metric.name);
        }
    }
    Made::new(manifest, trials)
}
