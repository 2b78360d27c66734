use super::*;
use schedlab_stats::Random;

/// A known surface, with the noise that trials have.
struct Lab {
    truth: fn(&[usize]) -> Vec<f64>,
    /// The error of one arm in one block; the control's error is shared.
    error: f64,
    random: Random,
    /// Points with this value of the first knob are impossible.
    barred: Option<usize>,
}

impl Lab {
    fn new(truth: fn(&[usize]) -> Vec<f64>, error: f64, seed: u64) -> Self {
        Self { truth, error, random: Random::new(seed), barred: None }
    }

    fn answer(&mut self, ask: &Ask) -> Vec<PointResult> {
        let objectives = (self.truth)(&ask.points[0]).len();
        let mut draw = || self.error * self.random.normal();
        let control: Vec<Vec<f64>> = (0..objectives).map(|_| (0..ask.blocks).map(|_| draw()).collect()).collect();
        let point = |point: &Point| {
            if self.barred == Some(point[0]) {
                return PointResult::LeftOut("the kernel refuses it".into());
            }
            let of_objective = |(mean, control): (f64, &Vec<f64>)| control.iter().map(|c| mean - c + draw()).collect();
            PointResult::Gains((self.truth)(point).into_iter().zip(&control).map(of_objective).collect())
        };
        ask.points.iter().map(point).collect()
    }

    fn run(&mut self, mut search: Search) -> (Vec<Ask>, Outcome) {
        let mut asked = Vec::new();
        while let Some(ask) = search.ask() {
            search.tell(self.answer(&ask));
            asked.push(ask);
            assert!(asked.len() < 500, "it never ends");
        }
        (asked, search.outcome(0.95))
    }
}

fn square(levels: usize) -> Space {
    let values: Vec<f64> = (0..levels).map(|i| 1.2f64.powi(i as i32)).collect();
    Space::new(&[(Scale::Log, values.clone()), (Scale::Log, values)])
}

/// A hill of 30 % at (9, 4) of 16 by 16, and 10 % worse than the default far away.
fn hill(at: &[usize]) -> Vec<f64> {
    let (x, y) = ((at[0] as f64 - 9.0) / 6.0, (at[1] as f64 - 4.0) / 6.0);
    vec![0.4 * (-x * x - y * y).exp() - 0.1]
}

fn options(strategy: Strategy, budget: u64) -> Options {
    Options {
        strategy,
        objectives: 1,
        budget,
        points: 8,
        blocks: 2,
        confirmed: 3,
        fresh_blocks: 6,
        least: 0.01,
        seed: 1,
    }
}

fn search(strategy: Strategy, budget: u64, seed: u64) -> Search {
    Search::new(square(16), Options { seed, ..options(strategy, budget) })
}

#[test]
fn what_halving_and_a_grid_will_take_is_known_before() {
    for (strategy, space, budget) in
        [(Strategy::Halving, square(2), 5000), (Strategy::Halving, square(4), 5000), (Strategy::Grid, square(4), 5000)]
    {
        let search = Search::new(space.clone(), options(strategy, budget));
        let planned = search.planned().unwrap();
        let (_, outcome) = Lab::new(|at| vec![0.01 * at[0] as f64], 0.02, 3).run(search);
        assert_eq!(outcome.trials, planned, "{strategy:?} over {} points", space.len());
        assert!(planned <= budget, "{planned} of {budget}");
    }
    // An exploring rung finds no new point around kept ones at the edge.
    let exploring = search(Strategy::Halving, BUDGET, 1);
    let planned = exploring.planned().unwrap();
    let (_, outcome) = Lab::new(hill, 0.04, 1).run(exploring);
    assert!((BUDGET / 2..=planned).contains(&outcome.trials) && planned <= BUDGET, "{} of {planned}", outcome.trials);
    assert_eq!(search(Strategy::Surrogate, BUDGET, 1).planned(), None);
}

/// 15 % of what a grid of 256 points in six blocks would take.
const BUDGET: u64 = 540;

#[test]
fn the_surrogate_finds_the_hill_and_keeps_to_its_budget() {
    let mut found = 0;
    for seed in 0..8 {
        let (asked, outcome) = Lab::new(hill, 0.04, seed).run(search(Strategy::Surrogate, BUDGET, seed));
        let spent: u64 = asked.iter().map(|ask| Options::trials_of(ask.points.len(), ask.blocks)).sum();
        assert!(spent == outcome.trials && spent <= BUDGET, "{spent}");
        found += u32::from(hill(&outcome.confirmed[0].point)[0] > 0.27);
    }
    assert!(found >= 7, "{found} of 8");
}

#[test]
fn halving_ends_with_a_good_point_and_keeps_to_its_budget() {
    let (mut good, mut spent) = (0, 0);
    for seed in 0..20 {
        let (asked, outcome) = Lab::new(hill, 0.04, seed).run(search(Strategy::Halving, BUDGET, seed));
        spent = outcome.trials;
        assert!(spent <= BUDGET, "{spent}");
        assert_eq!(asked.last().unwrap().points.len(), 3);
        good += u32::from(hill(&outcome.confirmed[0].point)[0] > 0.2);
    }
    assert!(good >= 18 && spent > BUDGET / 2, "{good} of 20, {spent} trials");
}

/// A halving finishes its rungs, whatever is left of the budget.
#[test]
fn why_no_more_was_looked_for_is_the_strategys_own_reason() {
    let stopped = |strategy, budget| Lab::new(hill, 0.04, 1).run(search(strategy, budget, 1)).1.stopped;
    assert_eq!(stopped(Strategy::Halving, 4000), Some(Stopped::Done));
    assert_eq!(stopped(Strategy::Grid, 10_000), Some(Stopped::Done));
    assert_eq!(stopped(Strategy::Surrogate, 200), Some(Stopped::Budget));
}

#[test]
fn intervals_are_at_the_level_asked_for_and_of_pairs() {
    let mut search = search(Strategy::Halving, BUDGET, 1);
    let mut lab = Lab::new(hill, 0.04, 1);
    while let Some(ask) = search.ask() {
        search.tell(lab.answer(&ask));
    }
    let half = |of: &Candidate| of.fresh[0].unwrap().interval.half_width();
    let (wide, narrow) = (search.outcome(0.99), search.outcome(0.8));
    assert!(half(&wide.confirmed[0]) > 2.0 * half(&narrow.confirmed[0]));
    // With one block there is no error estimate: for the points that left after the first rung.
    assert!(wide.measured.last().unwrap().search[0].interval.is_none_or(|of| of.level == 0.99));
    let [winner, second] = &wide.confirmed[..2] else { panic!("two were confirmed") };
    assert_eq!(winner.over_winner, None);
    let over = second.over_winner.unwrap();
    assert!((over.mean - (second.fresh[0].unwrap().mean - winner.fresh[0].unwrap().mean)).abs() < 1e-12);
    // The error of the control is in both gains, so it cancels out.
    assert!(over.se < 2f64.sqrt() * 0.04, "{over:?}");
}

#[test]
fn the_grid_measures_every_point_once() {
    let space = square(4);
    let (asked, outcome) = Lab::new(hill, 0.001, 3).run(Search::new(space, options(Strategy::Grid, 10_000)));
    assert_eq!(asked.iter().map(|ask| ask.points.len()).collect::<Vec<_>>(), [8, 8, 3]);
    assert_eq!(outcome.measured.len(), 16);
    assert_eq!(outcome.confirmed[0].point, [3, 3], "the corner next to the hill");
}

/// The luckiest of many equal points looks better than it is; its confirmation trials do not.
#[test]
fn the_winners_luck_ends_with_its_fresh_trials() {
    let (mut seen, mut fresh, mut held) = (0.0, 0.0, 0);
    for seed in 0..60 {
        let flat = |_: &[usize]| vec![0.0];
        let (_, outcome) = Lab::new(flat, 0.05, seed).run(search(Strategy::Halving, BUDGET, seed));
        let winner = &outcome.confirmed[0];
        let again = winner.fresh[0].unwrap();
        seen += winner.search[0].mean / 60.0;
        fresh += again.mean / 60.0;
        held += u32::from(again.interval.contains(0.0));
    }
    assert!(seen > 0.01, "{seen}");
    assert!(fresh.abs() < 0.01, "{fresh}");
    assert!(held >= 54, "{held} of 60 intervals of 95 % hold nothing");
}

#[test]
fn a_search_ends_where_nothing_is_to_be_gained() {
    let flat = |_: &[usize]| vec![0.0];
    let (_, outcome) = Lab::new(flat, 0.002, 5).run(search(Strategy::Surrogate, 100_000, 5));
    assert!(matches!(outcome.stopped, Some(Stopped::NothingToGain(hope)) if hope < 0.001), "{:?}", outcome.stopped);
    assert!(outcome.trials < 400, "{}", outcome.trials);
}

#[test]
fn what_cannot_be_is_left_out_with_its_reason() {
    for strategy in [Strategy::Surrogate, Strategy::Halving, Strategy::Grid] {
        let mut lab = Lab { barred: Some(9), ..Lab::new(hill, 0.02, 1) };
        let budget = if strategy == Strategy::Grid { 10_000 } else { BUDGET };
        let (asked, outcome) = lab.run(search(strategy, budget, 1));
        assert!(outcome.left_out.iter().all(|(point, why)| point[0] == 9 && why == "the kernel refuses it"));
        assert!(!outcome.left_out.is_empty() && outcome.confirmed.iter().all(|c| c.point[0] != 9), "{strategy:?}");
        let twice = |(i, ask): (usize, &Ask)| {
            asked[..i].iter().any(|a| a.points.iter().any(|p| p[0] == 9 && ask.points.contains(p)))
        };
        assert!(!asked.iter().enumerate().any(twice), "{strategy:?}: what was refused is not asked for again");
    }
}

#[test]
fn a_value_that_is_refused_everywhere_is_asked_for_no_more() {
    let mut search = search(Strategy::Surrogate, BUDGET, 1);
    // Value 9 is always refused; value 2 only together with 3 of the other knob.
    let is_refused = |point: &Point| point[0] == 9 || *point == [2, 3];
    let (mut lab, mut refused) = (Lab::new(hill, 0.02, 1), 0);
    while let Some(ask) = search.ask() {
        let answers = lab.answer(&ask).into_iter().zip(&ask.points);
        let answers: Vec<PointResult> = answers
            .map(|(answer, point)| if is_refused(point) { PointResult::LeftOut("no".into()) } else { answer })
            .collect();
        refused += answers.iter().filter(|answer| matches!(answer, PointResult::LeftOut(_))).count();
        search.tell(answers);
    }
    assert!(refused <= 8, "{refused} of 17 points that are refused were asked for");
}

#[test]
fn values_are_refused_by_points_that_differ_in_every_other_knob() {
    let out = |points: &[[usize; 2]]| {
        let left_out = points.iter().map(|point| (point.to_vec(), "no".to_owned())).collect();
        let mut ledger = Ledger { left_out, ..Ledger::default() };
        ledger.refuse_values(square(16).axes());
        ledger.refused
    };
    assert_eq!(out(&[[2, 3], [9, 1], [9, 4]]), [(0, 9)]);
    assert_eq!(out(&[[2, 3], [5, 3]]), [(1, 3)]);
    assert!(out(&[[2, 3], [5, 4]]).is_empty(), "they may clash");
}

#[test]
fn nothing_that_can_be_is_an_end_without_a_winner() {
    let mut search = Search::new(square(2), options(Strategy::Surrogate, 10_000));
    let ask = search.ask().unwrap();
    search.tell(ask.points.iter().map(|_| PointResult::LeftOut("no".into())).collect());
    assert_eq!(search.ask(), None);
    assert!(search.outcome(0.95).confirmed.is_empty());
}

/// Speed along the first knob costs steadiness; the second knob has no effect.
fn trade(at: &[usize]) -> Vec<f64> {
    let x = at[0] as f64 / 15.0;
    vec![0.2 * x, 0.1 - 0.2 * x]
}

#[test]
fn several_objectives_have_a_front_and_the_best_of_each_is_confirmed() {
    let two = Options { objectives: 2, ..options(Strategy::Surrogate, BUDGET) };
    let (_, outcome) = Lab::new(trade, 0.01, 2).run(Search::new(square(16), two));
    let fast = &outcome.confirmed[0];
    assert!(fast.point[0] >= 13, "{:?}", fast.point);
    assert!(outcome.confirmed[1].point[0] <= 2, "the steadiest: {:?}", outcome.confirmed[1].point);
    assert!(outcome.front.len() >= 2);
    let on_front = |at: usize| outcome.front.contains(&at);
    let position = |c: &Candidate| outcome.measured.iter().position(|m| m.point == c.point).unwrap();
    assert!(on_front(position(fast)));
}

#[test]
fn the_same_answers_give_the_same_questions_and_an_ask_is_patient() {
    for strategy in [Strategy::Surrogate, Strategy::Halving, Strategy::Grid] {
        let (asked, outcome) = Lab::new(hill, 0.04, 8).run(search(strategy, BUDGET, 4));
        let (again, same) = Lab::new(hill, 0.04, 8).run(search(strategy, BUDGET, 4));
        assert_eq!((asked, outcome), (again, same));
    }
    let mut search = search(Strategy::Surrogate, BUDGET, 4);
    assert_eq!(search.ask(), search.ask());
}

#[test]
fn the_least_budget_holds_a_search() {
    for strategy in [Strategy::Surrogate, Strategy::Halving, Strategy::Grid] {
        let least = options(strategy, 0).least_budget(&square(16));
        let (asked, outcome) = Lab::new(hill, 0.04, 1).run(search(strategy, least, 1));
        assert!(outcome.trials <= least && asked.len() >= 2, "{strategy:?}: {least}");
        assert!(asked.last().unwrap().is_fresh);
    }
}
