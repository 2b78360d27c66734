//! How wide and how long reports are, and what comes first.

use crate::*;

/// For any comparison: two runs, imported rows, a factorial, very many arms, names of any length, nothing at all.
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

/// At most three by name; a report of one run has no such line.
#[test]
fn a_summary_of_two_runs_names_the_knobs_in_which_they_differ() {
    let differing = |mut made: Made, n: u32| {
        let knob =
            |i: u32| schedlab_analyze::Change { what: format!("knob k{i}"), before: "0".into(), after: "1".into() };
        made.findings.environment.changes.extend((0..n).map(knob));
        made.summary(80)
    };
    assert!(!differing(two_runs(), 0).contains("Knobs that differ"));
    let text = differing(two_runs(), 2);
    assert!(text.lines().any(|line| line == "  Knobs that differ (2): k0, k1") && text.lines().count() <= 25, "{text}");
    let text = differing(two_runs(), 5);
    assert!(text.contains("\n  Knobs that differ (5): k0, k1, k2, …\n") && text.lines().count() <= 25, "{text}");
    assert!(!differing(small(), 2).contains("Knobs that differ"));
}

/// Number of columns; a wide character counts as one, as in the tables.
fn columns(line: &str) -> usize {
    line.chars().count()
}

/// A decided question has a row with its interval drawn; open ones are counted in one line, and their warning has a
/// fix.
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

/// If a workload has several metrics, each question in the line names its metric.
#[test]
fn a_question_of_one_of_several_metrics_names_it() {
    let mut made = by_hand();
    let metrics = &mut made.findings.workloads[0].metrics;
    let mut other = metrics[0].clone();
    other.name = "latency_p99_ns".into();
    metrics.insert(1, other);
    let text = made.summary(120).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "No verdict (2): slice 10ms on messaging, messages per second; slice 10ms on messaging, 99th-percentile latency";
    assert!(text.contains(line), "{text}");
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

/// A list of dozens of claims does not push down the pictures, and no claim is lost.
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

/// Whatever the names of arms, tables of a mail stay narrow, and their rows can be distinguished.
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

/// On a terminal narrower or wider than usual, the report has that width, and is no wider than its tables require.
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
    let mut outcome = made.trials.iter().find_map(|t| t.outcome.clone()).unwrap();
    outcome.histograms.iter_mut().for_each(|h| h.name = "leg_parent_write_to_child_read_of_a_long_name".into());
    for width in [80, 120] {
        let shown = written(&|out| bench_text(&outcome, width, out));
        let own = shown.lines().skip_while(|l| !l.starts_with("messaging/1"));
        own.for_each(|l| assert!(l.chars().count() <= width, "{l}"));
        let checks = written(&|out| checks_text(&made.manifest.environment, width, false, out));
        checks.lines().for_each(|l| assert!(l.chars().count() <= width, "{l}"));
    }
}

/// A single tier in every arm has neither a picture nor a table, but a sentence.
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
