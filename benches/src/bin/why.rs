//! Screens of twelve simulated factors, of which one or two change a difference and two interact: how often the active
//! ones are named, how often a false one, and with what share of the full factorial's trials; beside them the usual way, each
//! factor alone with as many trials. A difference of 20 %, noise as this machine has it
//! (docs/evidence/false-alarms.md): 5 % of SD in a block. About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use schedlab_benches::draws::t3;
use schedlab_benches::table;
use schedlab_plan::factorial;
use schedlab_stats::screen::{Screen, Sought};
use schedlab_stats::{Random, holm, t_estimate};
use std::time::Instant;

const SCREENS: u64 = 200;
const ALPHA: f64 = 0.05;
/// The difference whose cause is searched for, as a logarithm; a cause of half of it must not be missed.
const DIFFERENCE: f64 = 0.2;

/// How two factors interact.
#[derive(Clone, Copy)]
enum Pair {
    None,
    /// Only both together change the value.
    Both,
    /// Each changes it, and the other one then adds nothing.
    Either,
    /// Each changes it, but both together do not: DELAY_DEQUEUE and PREEMPT_SHORT as published, +41 %, +38 %, -6 %.
    Cancel,
}

/// The active factors, and the size of their effects.
struct Truth {
    /// Single effects: factor and change.
    alone: Vec<(usize, f64)>,
    pair: (Pair, usize, usize),
}

impl Truth {
    fn value(&self, row: &[bool]) -> f64 {
        let alone: f64 = self.alone.iter().filter(|(factor, _)| row[*factor]).map(|(_, change)| change).sum();
        let (pair, a, b) = self.pair;
        let together = match (pair, row[a], row[b]) {
            (Pair::Both, true, true) => DIFFERENCE,
            (Pair::Either, a, b) if a || b => DIFFERENCE,
            (Pair::Cancel, true, false) => 0.34,
            (Pair::Cancel, false, true) => 0.32,
            (Pair::Cancel, true, true) => -0.06,
            _ => 0.0,
        };
        alone + together
    }

    fn active(&self) -> Vec<usize> {
        let (pair, a, b) = self.pair;
        let of_pair = if matches!(pair, Pair::None) { Vec::new() } else { vec![a, b] };
        let mut active: Vec<usize> = self.alone.iter().map(|(factor, _)| *factor).chain(of_pair).collect();
        active.sort_unstable();
        active
    }
}

/// One kind of screen.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    factors: usize,
    /// Number of factors with single effects; each has its share of the difference.
    alone: usize,
    pair: Pair,
    sd: f64,
    draw: fn(&mut Random) -> f64,
    /// The spread given to the screen, as a fraction of the true one.
    told: f64,
}

/// In another mode one time in three, as with task placement.
fn two_modes(random: &mut Random) -> f64 {
    let mode = if random.uniform() < 0.3 { 1.4 } else { -0.6 };
    mode + 0.4 * random.normal()
}

const ONE: Kind =
    Kind { name: "one", factors: 12, alone: 1, pair: Pair::None, sd: 0.05, draw: Random::normal, told: 1.0 };

const KINDS: [Kind; 15] = [
    Kind { name: "none", alone: 0, ..ONE },
    ONE,
    Kind { name: "two, half of the difference each", alone: 2, ..ONE },
    Kind { name: "a pair, only both", alone: 0, pair: Pair::Both, ..ONE },
    Kind { name: "a pair, either", alone: 0, pair: Pair::Either, ..ONE },
    Kind { name: "a pair that cancels, +41 %, +38 %, -6 %", alone: 0, pair: Pair::Cancel, ..ONE },
    Kind { name: "one, and a pair, only both", pair: Pair::Both, ..ONE },
    Kind { name: "two, and a pair that cancels", alone: 2, pair: Pair::Cancel, ..ONE },
    Kind { name: "one, and a pair, only both; heavy tails", pair: Pair::Both, draw: t3, ..ONE },
    Kind { name: "one, and a pair, only both; two modes", pair: Pair::Both, draw: two_modes, ..ONE },
    Kind { name: "one, and a pair, only both; spread told as half", pair: Pair::Both, told: 0.5, ..ONE },
    Kind { name: "one, and a pair, only both; 10 % SD", pair: Pair::Both, sd: 0.1, ..ONE },
    Kind { name: "one of 40", factors: 40, ..ONE },
    Kind { name: "one of 40, and a pair, only both", factors: 40, pair: Pair::Both, ..ONE },
    Kind { name: "two of 40, and a pair that cancels", factors: 40, alone: 2, pair: Pair::Cancel, ..ONE },
];

/// Sums over the screens of a kind.
#[derive(Default)]
struct Tally {
    all_named: u64,
    false_named: u64,
    asked: usize,
    most: usize,
    alone_named: u64,
    alone_false: u64,
}

fn main() {
    let started = Instant::now();
    let rows: Vec<Vec<String>> = KINDS.iter().map(row).collect();
    table::print(
        "Screens of 12 factors, and of 40",
        &[
            "active",
            "all named",
            "≥ 95 %",
            "false names",
            "≤ 5 %",
            "blocks, mean (most)",
            "of the full factorial's",
            "≤ 25 %",
            "each alone: all named",
            "false names",
        ],
        &rows,
    );
    table::closing("why", started.elapsed());
}

fn row(kind: &Kind) -> Vec<String> {
    let mut tally = Tally::default();
    (0..SCREENS).for_each(|seed| screen(kind, seed, &mut tally));
    let share = |count: u64| count as f64 / SCREENS as f64;
    let percent = |count: u64| format!("{:.1} %", 100.0 * share(count));
    let none = kind.alone == 0 && matches!(kind.pair, Pair::None);
    let unless_none = |cell: String| if none { "–".to_owned() } else { cell };
    let full = (1u64 << kind.factors) as f64;
    let mean = tally.asked as f64 / SCREENS as f64;
    vec![
        kind.name.into(),
        unless_none(percent(tally.all_named)),
        unless_none(table::met(share(tally.all_named) >= 0.95)),
        percent(tally.false_named),
        table::met(share(tally.false_named) <= 0.05),
        format!("{mean:.0} ({})", tally.most),
        format!("{:.1} %", 100.0 * mean / full),
        table::met(tally.most as f64 <= full / 4.0),
        unless_none(percent(tally.alone_named)),
        percent(tally.alone_false),
    ]
}

fn screen(kind: &Kind, seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed + 1);
    let truth = drawn(kind, &mut random);
    let mut block = |row: &[bool]| truth.value(row) + kind.sd * (kind.draw)(&mut random);
    let mut screen = Screen::new(Sought {
        factors: kind.factors,
        size: DIFFERENCE / 2.0,
        sd: kind.sd * kind.told,
        alpha: ALPHA,
        seed,
        fraction: factorial::levels,
    });
    let mut asked = 0;
    while let Some(request) = screen.ask() {
        asked += request.rows.len() * request.blocks;
        let values: Vec<Vec<f64>> =
            request.rows.iter().map(|row| (0..request.blocks).map(|_| block(row)).collect()).collect();
        screen.tell(&values).expect("as asked for");
    }
    let named = &screen.outcome_at_end().expect("at its end").named;
    let alone = each_alone(kind.factors, asked, &mut block);
    let active = truth.active();
    let all = |named: &[usize]| u64::from(active.iter().all(|factor| named.contains(factor)));
    let wrong = |named: &[usize]| u64::from(named.iter().any(|factor| !active.contains(factor)));
    tally.all_named += all(named);
    tally.false_named += wrong(named);
    tally.alone_named += all(&alone);
    tally.alone_false += wrong(&alone);
    tally.asked += asked;
    tally.most = tally.most.max(asked);
}

fn drawn(kind: &Kind, random: &mut Random) -> Truth {
    let mut factors: Vec<usize> = (0..kind.factors).collect();
    random.shuffle(&mut factors);
    let change = DIFFERENCE / kind.alone.max(1) as f64;
    let mut sign = || if random.uniform() < 0.5 { -1.0 } else { 1.0 };
    let alone = factors[..kind.alone].iter().map(|&factor| (factor, sign() * change)).collect();
    Truth { alone, pair: (kind.pair, factors[kind.alone], factors[kind.alone + 1]) }
}

/// The usual way with the same number of blocks: each factor alone against none, in pairs, Holm over all.
fn each_alone(factors: usize, blocks: usize, block: &mut impl FnMut(&[bool]) -> f64) -> Vec<usize> {
    let each = blocks / (2 * factors);
    let p_value = |factor: usize| {
        let row: Vec<bool> = (0..factors).map(|other| other == factor).collect();
        let pairs: Vec<f64> = (0..each).map(|_| block(&row) - block(&vec![false; factors])).collect();
        t_estimate(&pairs, 1.0 - ALPHA).map_or(1.0, |estimate| estimate.p_value)
    };
    let adjusted = holm(&(0..factors).map(p_value).collect::<Vec<_>>());
    (0..factors).filter(|&factor| adjusted[factor] <= ALPHA).collect()
}
