use super::*;

fn effect(value: f64, half: f64) -> Effect {
    Effect { scale: Scale::Ratio, value, lo: value - half, hi: value + half, level: 0.95 }
}

fn findings(verdict: Verdict, winner: f64, over_winner: Effect) -> SearchFindings {
    let point = |name: &str, value, over_winner| SearchedPoint {
        name: name.into(),
        spec: name.into(),
        units: 4,
        search: vec![seen(1.09, Some(0.02))],
        fresh: vec![Some(effect(value, 0.01))],
        over_winner,
        fresh_units: 6,
    };
    let confirmed = vec![point("slice=3ms", winner, None), point("slice=6ms", 1.05, Some(over_winner))];
    SearchFindings {
        schema: SEARCH_SCHEMA,
        title: "t".into(),
        workload: "pipe".into(),
        strategy: "surrogate".into(),
        seed: 1,
        control: String::new(),
        knobs: Vec::new(),
        objectives: vec![Objective {
            metric: "ops_per_s".into(),
            unit: "1/s".into(),
            direction: Direction::HigherIsBetter,
            scale: Scale::Ratio,
            control: 1.0,
        }],
        points: 9,
        rounds: 3,
        trials: 100,
        seconds: 20.0,
        ended: "finished".into(),
        stopped: "the budget is spent".into(),
        sesoi: 0.01,
        level: 0.95,
        measured: confirmed.clone(),
        confirmed,
        front: vec![0],
        left_out: Vec::new(),
        warnings: Vec::new(),
        keep: Vec::new(),
        verdict: Some(verdict),
    }
}

fn seen(value: f64, half: Option<f64>) -> Seen {
    let (lo, hi) = (half.map(|half| value - half), half.map(|half| value + half));
    Seen { scale: Scale::Ratio, value, lo, hi, level: 0.95 }
}

/// The search's estimate also has an error, of one block or of a few noisy ones; a smaller difference does not
/// contradict it.
#[test]
fn what_the_search_saw_is_weighed_with_its_own_error() {
    let shrinkage = |of: Seen| {
        let mut found = findings(Verdict::Better, 1.05, effect(1.0, 0.01));
        found.confirmed[0].search = vec![of];
        found.shrinkage().unwrap()
    };
    assert!(shrinkage(seen(1.09, Some(0.02))).contains("do not bear it out"));
    assert!(shrinkage(seen(1.09, Some(0.05))).contains("do not contradict it"));
    let alone = shrinkage(seen(1.09, None));
    assert!(alone.contains("9 % faster (4 blocks)") && alone.contains("the first that have an error"), "{alone}");
}

/// Two intervals may still overlap although pairs separate the points.
#[test]
fn a_runner_up_is_told_from_the_winner_by_pairs() {
    let rivals = |over| findings(Verdict::Better, 1.05, over).rivals();
    assert_eq!(rivals(effect(0.99, 0.005)), [""; 0], "1 % slower in the same blocks, though the intervals overlap");
    let same = rivals(effect(0.99, 0.02));
    assert_eq!(
        same,
        ["slice=6ms cannot be told apart from it: 1 % slower [1 % faster, 3 % slower] in the same blocks"]
    );
    assert!(rivals(effect(1.03, 0.01))[0].contains("did better, 3 % faster [2, 4] in the same"));
}

#[test]
fn the_claim_is_that_of_the_fresh_trials() {
    let found = findings(Verdict::Better, 1.05, effect(1.0, 0.01));
    assert_eq!(found.claim(), "slice=3ms makes pipe 5 % faster [4, 6]: 6 fresh blocks, 95 % interval");
    let shrinkage = found.shrinkage().unwrap();
    assert!(shrinkage.contains("had seen 9 % faster") && shrinkage.contains("do not bear it out"), "{shrinkage}");
    let same = findings(Verdict::Equivalent, 1.001, effect(1.0, 0.01)).claim();
    assert!(same.starts_with("the default is as good on pipe"), "{same}");
}
