//! Reports of a made-up run against files: `SCHEDLAB_BLESS=1 cargo test -p schedlab-report` writes them anew. And what
//! must hold whatever comes in: well-formed pictures, nothing that is not a finite number, nothing that breaks out.

mod made;
mod room;
mod xml;

use schedlab_analyze::{Findings, Role, Verdict, compare};
use schedlab_report::{Input, More, bench_text, checks_text, html, json, markdown, pictures, summary, text};
use schedlab_run::{Manifest, TrialRecord, TrialStatus};
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
            ("report.json".to_owned(), written(&|out| json(&input, out))),
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

/// The same run with findings by hand.
fn by_hand() -> Made {
    let made = small();
    let findings = made::findings::findings(&made.manifest, &made.trials);
    Made { findings, ..made }
}

/// The same run without its A/A arm: the control alone certifies the noise.
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
        (small(), "tell a difference from none if it is"),
        (without_aa_arm(), "tell a difference from none if it is"),
    ] {
        assert_eq!(made.findings.workloads[0].certificates.len(), 1);
        for name in ["report.txt", "narrow.txt", "report.md", "report.html", "report.json"] {
            let text = strip_ansi(&made.output(name)).replace("&#39;", "'");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(says), "{name} lacks `{says}`");
        }
    }
    assert!(without_aa_arm().output("report.json").contains("control_twice"));
}

/// Numbers that are none must not reach a reader. Sentences of our own hold neither word.
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

/// Whatever was compared: two runs, rows of others, a factorial, a crowd, names of any length, nothing at all.
#[test]
fn a_summary_is_less_than_a_screen_and_holds_every_question() {
    let (manifest, trials) = made::crowd::run(2, 7, 4, false);
    let crowd = Made::new(manifest, trials);
    let (manifest, trials) = made::crowd::run(2, 12, 6, true);
    let larger = Made::new(manifest, trials);
    let empty = Made::new(made::manifest(), Vec::new());
    let all = Made::new(made::manifest(), made::trials());
    let commands = {
        let mut made = small();
        made.manifest.arms[2].name = "B".into();
        Made::new(made.manifest, made.trials)
    };
    for (what, made) in [
        ("small", small()),
        ("by hand", by_hand()),
        ("all", all),
        ("crowd", crowd),
        ("larger crowd", larger),
        ("designed", designed()),
        ("two runs", two_runs()),
        ("imported", imported()),
        ("long names", with_long_names()),
        ("a short name", commands),
        ("empty", empty),
    ] {
        for width in [60, 80, 120, 200] {
            let text = made.summary(width);
            let lines = text.lines().count();
            assert!(lines <= 25 || width == 60, "{what}: {lines} lines at {width}:\n{text}");
            text.lines().for_each(|line| assert!(columns(line) <= width, "{what} at {width}: {line}\n{text}"));
            assert!(text.ends_with("schedlab report out/quickstart --full\n"), "{text}");
            assert_finite(what, &text);
        }
        let first = made.summary(200).lines().next().unwrap().to_owned();
        let claim = made.findings.claims.first().map_or("No claim: there is nothing to compare.", |c| &c.sentence);
        assert!(made.findings.void.is_some() || first.starts_with(&claim[..claim.len().min(60)]), "{what}: {first}");
    }
}

/// Columns, a wide letter counted as one, as the tables do.
fn columns(line: &str) -> usize {
    line.chars().count()
}

/// What is decided has a row with its interval drawn; what is open is counted in one line, and its warning has a fix.
#[test]
fn decided_questions_are_rows_and_the_others_one_line() {
    let made = by_hand();
    let text = made.summary(80);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = |of: &str| text.lines().find(|line| line.starts_with(&format!("  {of}"))).unwrap_or_default().to_owned();
    assert!(row("batch ").contains('●') && row("batch ").ends_with("better"), "{text}");
    assert!(row("other ").contains('│') && row("other ").ends_with("control"), "{text}");
    assert!(row("messaging: messages per second, higher is better").len() > 20, "{text}");
    assert_eq!(text.matches("slice 10ms").count(), 2, "its line and its warning: {text}");
    assert!(row("No verdict (1): slice 10ms").len() > 20, "{text}");
    assert!(said.contains("! `slice 10ms` is not applied") && said.contains("Fix: `schedlab tune show`"), "{text}");
    assert!(said.contains("Fix: cpupower frequency-set -g performance."), "{text}");
    assert!(text.contains("not the ratio of medians"), "{text}");
}

#[test]
fn bytes_depend_on_the_input_alone() {
    assert_eq!(small().outputs(), small().outputs());
}

#[test]
fn the_first_line_is_the_claim_and_mails_are_narrow() {
    let made = by_hand();
    let claim = &made.findings.claims[0].sentence;
    assert!(made.output("report.txt").starts_with(&format!("• {claim}")));
    let mail = made.output("report.md");
    let first = mail.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    assert_eq!(first, format!("**{claim}.**"));
    for line in mail.lines().filter(|l| !l.starts_with("    ")) {
        assert!(line.chars().count() <= 78, "{line}");
    }
    let page = made.output("report.html");
    let headline = page.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap();
    assert!(headline.contains("2.8 times faster") && headline.contains("6 blocks"), "{headline}");
}

/// On the first screen of a desktop (1280 × 800): the claim, and every question with its interval in one plot.
#[test]
fn every_question_is_drawn_at_the_head_of_the_page() {
    let (manifest, trials) = made::crowd::run(2, 7, 4, false);
    let crowd = Made::new(manifest, trials);
    for (what, made) in
        [("all", Made::new(made::manifest(), made::trials())), ("two runs", two_runs()), ("crowd", crowd)]
    {
        let page = made.output("report.html");
        let (_, after) = page.split_once("</h1>").unwrap();
        let (head, _) = after.split_once("class=\"claims\"").unwrap();
        let svg = head.split("<svg").nth(1).unwrap_or_else(|| panic!("{what}: no plot above the other claims"));
        let (view, _) = svg.split_once("viewBox=\"").unwrap().1.split_once('"').unwrap();
        let height: f64 = view.split(' ').nth(3).unwrap().parse().unwrap();
        assert!(height < 600.0 || what == "two runs", "{what}: {height} px");
        let primaries = made.findings.workloads.iter().flat_map(|w| &w.metrics).filter(|m| m.role == Role::Primary);
        let contrasts: Vec<_> = primaries.flat_map(|m| &m.contrasts).collect();
        assert!(contrasts.len() > 2, "{what}");
        let svg = svg.split("</svg>").next().unwrap();
        let rows = svg.matches("<g class=\"a").count();
        assert!(rows >= contrasts.len(), "{what}: {rows} rows for {} questions", contrasts.len());
        assert!(!page.contains("Effect on the primary metric"), "{what}: it is not drawn again");
    }
    assert!(
        designed().output("report.html").contains("Effect on the primary metric"),
        "arms of a factorial are no questions"
    );
}

/// The pictures are not pushed down by a list of dozens, and no claim is lost.
#[test]
fn many_claims_are_folded_away() {
    let (manifest, trials) = made::crowd::run(2, 7, 4, false);
    let made = Made::new(manifest, trials);
    let claims = made.findings.claims.len();
    assert!(claims >= 12, "{claims}");
    let page = made.output("report.html");
    let list = page.split("</h1>").nth(1).and_then(|rest| rest.split("class=\"byline\"").next()).unwrap();
    let (open, folded) = list.split_once("<details>").expect("some are folded away");
    assert_eq!(open.matches("<li>").count(), 7);
    assert_eq!(folded.matches("<li>").count(), claims - 8);
    let said = format!("{} more comparisons: inconclusive, without a verdict, or of the A/A control", claims - 8);
    for name in ["report.html", "report.txt", "report.md"] {
        let text = made.output(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&said), "{name}");
    }
}

/// Whatever an arm is called, tables of a mail stay narrow and its rows can be told apart.
#[test]
fn long_names_do_not_widen_a_mail() {
    let mut manifest = made::manifest();
    manifest.arms[1].name = "the control's settings once more, for the noise".into();
    manifest.arms[2].name = "a policy for work that waits, as long as a name may be".into();
    manifest.arms[3].name = "a policy for work that waits, but not as long a name".into();
    let made = Made::new(manifest, made::trials());
    let mail = made.output("report.md");
    for line in mail.lines().filter(|l| !l.starts_with("    ")) {
        assert!(line.chars().count() <= 78, "{line}");
    }
    for table in mail.split("\n\n").filter(|part| part.starts_with('|')) {
        let names: Vec<&str> = table.lines().map(|row| row.split('|').nth(1).unwrap_or_default()).collect();
        let told_apart: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(told_apart.len(), names.len(), "{table}");
    }
    assert!(mail.contains("| a polic…ay be |") && mail.contains("| a polic… name |"), "{mail}");
    for line in made.output("report.txt").lines().filter(|l| !l.contains("schedlab run")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// A terminal narrower or wider than most: the report is as wide, and no wider than its tables must be.
#[test]
fn text_takes_the_width_it_is_given() {
    let made = small();
    let widest = |width: usize| {
        let text = written(&|out| text(&made.input(), width, false, out));
        let sentences =
            text.lines().filter(|l| l.starts_with("• ") || l.starts_with("  - ")).map(|l| l.chars().count());
        sentences.max().unwrap()
    };
    assert!((50..=60).contains(&widest(60)) && (100..=120).contains(&widest(120)), "{} {}", widest(60), widest(120));
    let outcome = made.trials.iter().find_map(|t| t.outcome.as_ref()).unwrap();
    for width in [80, 120] {
        let shown = written(&|out| bench_text(outcome, width, out));
        let own = shown.lines().skip_while(|l| !l.starts_with("messaging/1"));
        own.for_each(|l| assert!(l.chars().count() <= width, "{l}"));
        let checks = written(&|out| checks_text(&made.manifest.environment, width, false, out));
        checks.lines().for_each(|l| assert!(l.chars().count() <= width, "{l}"));
    }
}

/// One tier in every arm is no picture and no table, but it is said.
#[test]
fn a_placement_without_a_choice_is_a_sentence() {
    let mut made = small();
    let placed = |made: &Made| pictures(&made.input()).iter().any(|(name, _)| name.ends_with("placement"));
    assert!(placed(&made));
    for facts in &mut made.findings.workloads[0].arms {
        facts.tiers.truncate(1);
        facts.tiers.iter_mut().for_each(|t| t.share = 1.0);
    }
    assert!(!placed(&made));
    for name in ["report.txt", "report.md", "report.html"] {
        let text = made.output(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("Placement: same CPU in every operation of every arm."), "{name}");
    }
}

#[test]
fn pictures_and_page_are_well_formed() {
    let made = Made::new(made::manifest(), made::trials());
    let all = pictures(&made.input());
    assert!(all.len() >= 14, "{} pictures", all.len());
    for (name, svg) in &all {
        xml::check(svg).unwrap_or_else(|why| panic!("{name}: {why}"));
        // What a viewer of files shows: the title, and where and when.
        assert!(svg.matches("class=\"head\"").count() >= 1 && svg.contains("6.12.9-amd64 · "), "{name}: {svg}");
        assert!(svg.contains("<title>") && svg.contains("<desc>") && svg.contains("role=\"img\""), "{name}");
    }
    let names: std::collections::BTreeSet<&String> = all.iter().map(|(n, _)| n).collect();
    assert_eq!(names.len(), all.len(), "two pictures of one name overwrite each other");
    let page = made.output("report.html");
    let inline: Vec<&str> = page.split("<svg").skip(1).collect();
    // All questions; trials by arm and in order, latency, placement, noise of two workloads; a drawn interval a contrast.
    assert!(page.matches("<figure").count() >= 11);
    assert!(page.matches("<svg class=\"cell").count() >= 12);
    for svg in inline {
        let svg = svg.split("</svg>").next().unwrap();
        xml::check(&format!("<svg{svg}</svg>")).unwrap();
    }
}

#[test]
fn the_page_reaches_for_nothing_outside() {
    let page = small().output("report.html");
    for outside in ["http://", "https://", "<link", "@import", "url(", "<img", "src="] {
        assert!(!page.contains(outside), "the page holds {outside}");
    }
}

#[test]
fn names_and_reasons_cannot_break_out() {
    const EVIL: &str = "</script><script>alert(1)</script><b a=\"x' onload='y\">&\u{1b}[2J|`x";
    let mut manifest = made::manifest();
    manifest.title = EVIL.into();
    manifest.arms[2].name = EVIL.into();
    manifest.plan_toml = EVIL.into();
    manifest.command = vec![EVIL.into()];
    manifest.warnings = vec![EVIL.into()];
    manifest.environment.hostname = EVIL.into();
    manifest.environment.checks[0].value = EVIL.into();
    let mut trials = made::trials();
    for trial in &mut trials {
        if matches!(trial.status, TrialStatus::Failed(_)) {
            trial.status = TrialStatus::Failed(EVIL.into());
        }
        if let Some(outcome) = &mut trial.outcome {
            outcome.native_lines = vec![EVIL.into()];
            outcome.notes = vec![EVIL.into()];
            outcome.metrics[1].name = EVIL.into();
        }
    }
    let made = Made::new(manifest, trials);
    for (name, text) in made.outputs() {
        if name == "report.html" {
            assert_eq!(text.matches("<script>").count(), 1, "{name}");
            assert!(!text.contains("<b a="), "{name}");
        }
        if name.ends_with(".svg") {
            xml::check(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        if name.ends_with(".txt") {
            assert!(!text.contains("\u{1b}[2J"), "{name} lets an escape sequence through");
        }
    }
}

#[test]
fn nothing_measured_is_still_a_report() {
    let mut manifest = made::manifest();
    let empty = Made::new(manifest.clone(), Vec::new());
    assert!(!empty.outputs().is_empty());
    assert!(empty.output("report.html").contains("<h1>"));

    manifest.workloads.clear();
    manifest.arms.clear();
    let nothing = Made::new(manifest, Vec::new());
    for (name, text) in nothing.outputs() {
        assert_finite(&name, &text);
    }
    assert!(nothing.output("report.txt").contains("nothing to compare"));
}

#[test]
fn an_arm_without_data_is_shown_as_such() {
    let trials: Vec<TrialRecord> = made::trials().into_iter().filter(|t| t.arm != Some(2)).collect();
    let made = Made::new(made::manifest(), trials);
    let contrast = &made.findings.workloads[0].metrics[0].contrasts[1];
    assert!(matches!(contrast.verdict, Verdict::NoVerdict { .. }), "{:?}", contrast.verdict);
    let page = made.output("report.html");
    assert!(page.contains("no trial measured"));
    assert!(made.output("report.txt").contains("no verdict"));
}

/// Values no machine gives: every writer must stay finite and well-formed.
#[test]
fn no_number_is_too_odd() {
    const ODD: [f64; 9] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e308, -1e308, 5e-324, 1.0];
    for shift in 0..ODD.len() {
        let mut made = by_hand();
        let mut at = shift;
        let mut odd = || {
            at += 1;
            ODD[at % ODD.len()]
        };
        bend(&mut made.findings, &mut odd);
        made.manifest.sesoi = odd();
        for trial in &mut made.trials {
            for metric in trial.outcome.iter_mut().flat_map(|o| &mut o.metrics) {
                metric.value = odd();
            }
        }
        for (name, text) in made.outputs() {
            assert_finite(&name, &text);
            if name.ends_with(".svg") {
                xml::check(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
            }
        }
    }
}

/// Puts odd numbers wherever the findings hold one.
fn bend(findings: &mut Findings, odd: &mut impl FnMut() -> f64) {
    let maybe = |x: &mut Option<f64>, odd: &mut dyn FnMut() -> f64| *x = Some(odd());
    findings.rules.sesoi = odd();
    for workload in &mut findings.workloads {
        for metric in &mut workload.metrics {
            for values in &mut metric.values {
                maybe(&mut values.median, odd);
                values.trials.iter_mut().for_each(|t| t.value = odd());
            }
            for contrast in &mut metric.contrasts {
                maybe(&mut contrast.p, odd);
                maybe(&mut contrast.p_adjusted, odd);
                if let Some(effect) = &mut contrast.effect {
                    (effect.value, effect.lo, effect.hi) = (odd(), odd(), odd());
                }
                contrast.unit_effects.iter_mut().for_each(|u| u.value = odd());
            }
        }
        for facts in &mut workload.arms {
            facts.tiers.iter_mut().for_each(|t| t.share = odd());
            facts.per_operation.iter_mut().for_each(|p| p.median = Some(odd()));
            facts.loads.iter_mut().for_each(|l| l.achieved_share = Some(odd()));
            facts.stamping_cost_share = Some(odd());
            facts.distributions.iter_mut().flat_map(|d| &mut d.cdf).for_each(|p| *p = (odd(), odd()));
        }
        if let Some(v) = &mut workload.variance {
            (v.trial_sd, v.block_share, v.trial_share, v.tier_explained) = (odd(), odd(), odd(), Some(odd()));
        }
        for split in &mut workload.tier_splits {
            (split.total_ns, split.within_ns, split.between_shares_ns) = (odd(), odd(), odd());
        }
    }
}

#[test]
fn a_shared_unit_is_short_whatever_the_width() {
    let made = small();
    let narrow = made.output("narrow.txt");
    let plain: String = strip_ansi(&narrow);
    let command = made.findings.command.join(" ");
    for line in plain.lines().filter(|l| !l.contains(command.split(' ').next().unwrap())) {
        // Tables of numbers may need more than 60 columns; sentences may not.
        assert!(line.chars().count() <= 60 || line.starts_with("  ") && !line.starts_with("  - "), "{line}");
    }
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

/// The same run as a sweep over two values and as a factorial of two factors, one of which cannot be set.
fn designed() -> Made {
    let mut manifest = made::manifest();
    let values = ["1", "2"].map(str::to_owned).into();
    manifest.sweeps =
        vec![schedlab_run::manifest::Sweep { option: "copies".into(), parallel: true, values, workloads: vec![0, 1] }];
    let factor = |name: &str, not_applied: Option<&str>| schedlab_run::manifest::Factor {
        name: name.into(),
        low: String::new(),
        high: format!("sysctl:kernel.{name}=1"),
        not_applied: not_applied.map(str::to_owned),
    };
    let factors = vec![factor("thp", None), factor("audit", Some("no audit on this kernel; use a guest"))];
    let levels = (0..manifest.arms.len()).map(|arm| vec![arm % 2 == 1, false]).collect();
    manifest.factorial = Some(schedlab_run::manifest::Factorial { factors, levels });
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
    manifest.order = schedlab_run::manifest::OrderKnown::Unknown;
    Made::new(manifest, made::trials())
}

/// Names as long as people give them, in letters of every width.
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

#[test]
fn no_text_lies_outside_its_picture() {
    let all = Made::new(made::manifest(), made::trials());
    let (manifest, trials) = made::crowd::run(2, 5, 12, true);
    let crowd = Made::new(manifest, trials);
    for (what, made) in
        [("small", small()), ("by hand", by_hand()), ("all", all), ("crowd", crowd), ("long names", with_long_names())]
    {
        let (mut seen, mut beyond) = (0, Vec::new());
        for (name, text) in
            made.outputs().into_iter().filter(|(name, _)| name.ends_with(".svg") || name.ends_with(".html"))
        {
            seen += text.matches("<text").count();
            beyond.extend(room::outside(&text).into_iter().map(|text| format!("{name}: {text}")));
        }
        assert!(beyond.is_empty(), "{what}: {} texts of {seen}\n{}", beyond.len(), beyond.join("\n"));
        assert!(seen > 100, "{what}: {seen} texts");
    }
}
