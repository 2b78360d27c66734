use super::*;

#[test]
fn an_interval_beyond_the_axis_is_known_to_be() {
    let row = |interval, units: &[f64]| {
        let text = String::new;
        let (label, value, bracket, verdict) = (text(), text(), text(), text());
        Line::Row(ForestRow {
            arm: 1,
            label,
            interval: Some(interval),
            units: units.iter().map(|u| (*u, false)).collect(),
            value,
            bracket,
            note: String::new(),
            verdict,
            tone: "open",
            weak: false,
        })
    };
    let beyond = |intervals: &[(f64, f64, f64)]| {
        let lines = intervals.iter().map(|i| row(*i, &[])).collect();
        Forest { lines, sesoi: 0.05, dense: false, plain: false }.reaches_beyond()
    };
    assert!(!beyond(&[(1.0, 0.9, 1.1), (2.0, 1.5, 2.7)]));
    assert!(beyond(&[(1.0, 0.9, 1.1), (0.003, 0.0003, 0.03)]));
}

/// Once an axis was made from the interval alone: 68 of 106 blocks were beyond it and were not drawn.
#[test]
fn every_unit_is_drawn_or_counted_beyond_the_axis() {
    // Evenly spaced, so that no two dots coincide.
    let mut units: Vec<(f64, bool)> = (-53..53).map(|i| (f64::from(i).mul_add(0.011, 0.003).exp(), false)).collect();
    units.push((0.001, true));
    let text = String::new;
    let (label, value, bracket, verdict) = (text(), text(), text(), text());
    let row = ForestRow {
        arm: 1,
        label,
        interval: Some((1.0, 0.96, 1.04)),
        units: units.clone(),
        value,
        bracket,
        note: String::new(),
        verdict,
        tone: "open",
        weak: false,
    };
    let forest = Forest { lines: vec![Line::Row(row)], sesoi: 0.01, dense: false, plain: false };
    for width in [360.0, 760.0] {
        let drawn = forest.draw(width).inline("", "");
        let path = drawn.split("class=\"dot\"").nth(1).and_then(|d| d.split('>').next()).unwrap_or_default();
        let dots = path.matches("h0").count();
        // Ignore the title of a shortened text.
        let is_text = |at: usize| !drawn[..at].rsplit_once('>').is_some_and(|(before, _)| before.ends_with("<title"));
        let seen =
            |(at, _): (usize, &str)| drawn[..at].rsplit('>').next()?.parse::<usize>().ok().filter(|_| is_text(at));
        let beyond: usize = drawn.match_indices(" beyond, ").filter_map(seen).sum();
        assert!(dots >= 80 && dots + beyond == units.len(), "{dots} drawn, {beyond} counted: {drawn}");
        assert!(drawn.contains(" beyond, 0.001…0.6\u{a0}×"), "{drawn}");
    }
    assert!(forest.reaches_beyond());
}
