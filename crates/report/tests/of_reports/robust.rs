//! For any input, reports are well-formed, contain only finite numbers, and let no markup of the input through.

use crate::*;

#[test]
fn pictures_and_page_are_well_formed() {
    let made = Made::new(made::manifest(), made::trials());
    let all = pictures(&made.input());
    assert!(all.len() >= 14, "{} pictures", all.len());
    for (name, svg) in &all {
        xml::check(svg).unwrap_or_else(|why| panic!("{name}: {why}"));
        // What an image viewer shows: the title, the machine, and the time.
        assert!(svg.matches("class=\"head\"").count() >= 1 && svg.contains("6.12.9-amd64 · "), "{name}: {svg}");
        assert!(svg.contains("<title>") && svg.contains("<desc>") && svg.contains("role=\"img\""), "{name}");
    }
    let names: std::collections::BTreeSet<&String> = all.iter().map(|(n, _)| n).collect();
    assert_eq!(names.len(), all.len(), "two pictures of one name overwrite each other");
    let page = made.output("report.html");
    let inline: Vec<&str> = page.split("<svg").skip(1).collect();
    // All questions; for two workloads trials by arm and in order, latency, placement, noise; and a drawn interval per
    // contrast.
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

/// Values that no machine produces: every writer must stay finite and well-formed.
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

/// Puts odd numbers into every number of the findings.
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

/// A row without an interval would be empty, and would look like a defect of the picture.
#[test]
fn an_effect_that_has_no_ratio_says_so_in_its_row() {
    let mut made = small();
    let metric = made.findings.workloads[0].metrics[0].name.clone();
    let of_arm = made.trials.iter_mut().filter(|t| t.arm == Some(2) && !t.warm_up);
    let outcome = of_arm.filter_map(|t| t.outcome.as_mut()).next().unwrap();
    outcome.metrics.iter_mut().filter(|m| m.name == metric).for_each(|m| m.value = 0.0);
    let made = Made::new(made.manifest, made.trials);
    let contrasts = &made.findings.workloads[0].metrics[0].contrasts;
    let differs =
        contrasts.iter().filter(|c| c.effect.is_some_and(|e| e.scale == schedlab_analyze::Scale::Difference)).count();
    assert_eq!(differs, 1, "of arm 2: {contrasts:?}");
    let picture = made.output("1-messaging-effects.svg");
    assert!(picture.contains(">no ratio: a trial measured 0 or less<"), "{picture}");
    let html = made.output("report.html");
    assert!(html.contains("no ratio: a trial measured 0 or less)"), "in the description, too");
    assert!(!small().output("1-messaging-effects.svg").contains("no ratio"));
}
