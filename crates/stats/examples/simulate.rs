//! Coverage, type I error and stopping times of the three designs on simulated blocks; the evidence of
//! docs/evidence/estimators.md.
//!
//! Each block is ABBA or BAAB by a coin: four log-values that share the block's drift, contrast mean(B) − mean(A).
//! Rows: `fixed` t interval at n blocks; `budgeted` 5 looks at equal fractions with the repeated interval at the stop;
//! `open` the t-mixture sequence until zero is excluded or the interval fits inside ±SESOI, at most 200 blocks. Under
//! `effect` the true log-ratio is what a fixed test of the full budget finds with 80 % power.
//!
//! `cargo run --release -p schedlab-stats --example simulate [-- --json]`
#![allow(clippy::print_stdout)]
use schedlab_stats::{
    GroupSequential, Look, Random, TMixture, Verdict, decide, minimum_detectable, repeated_interval, t_estimate,
};

/// Simulations per row; `-- 40000` runs more (a minute or two).
static RUNS: std::sync::LazyLock<usize> =
    std::sync::LazyLock::new(|| std::env::args().find_map(|a| a.parse().ok()).filter(|&runs| runs > 0).unwrap_or(2000));
const LEVEL: f64 = 0.95;
const CAP: usize = 200;

type Draw = fn(&mut Random, usize) -> f64;

/// Noise of one log-value, by name; the linear drift uses the position.
const SHAPES: [(&str, Draw); 6] = [
    ("normal", |r, _| 0.02 * r.normal()),
    ("t3", |r, _| 0.02 * r.normal() / ((0..3).map(|_| r.normal().powi(2)).sum::<f64>() / 3.0).sqrt()),
    ("drift", |r, position| 0.005 * position as f64 + 0.02 * r.normal()),
    ("two_modes", |r, _| 0.005 * r.normal() + if r.uniform() < 0.3 { -0.06 } else { 0.0 }),
    ("stalls_10%", |r, _| 0.01 * r.normal() - if r.uniform() < 0.1 { 0.03 * r.normal().exp() } else { 0.0 }),
    ("stalls_2%", |r, _| 0.01 * r.normal() - if r.uniform() < 0.02 { 0.1 * r.normal().exp() } else { 0.0 }),
];

/// Contrasts of `n` blocks with true log-ratio `effect`.
fn contrasts(random: &mut Random, name: &str, draw: Draw, n: usize, effect: f64) -> Vec<f64> {
    let (mut walk, mut position) = (0.0, 0);
    let mut block = |random: &mut Random| {
        let sign = if random.uniform() < 0.5 { 1.0 } else { -1.0 };
        let mut contrast = effect;
        for arm in [-1.0, 1.0, 1.0, -1.0] {
            walk += if name == "drift" { 0.01 * random.normal() } else { 0.0 };
            contrast += 0.5 * sign * arm * (walk + draw(random, position));
            position += 1;
        }
        contrast
    };
    (0..n).map(|_| block(random)).collect()
}

/// What one design did over all runs.
#[derive(Default)]
struct Tally {
    covered: usize,
    claimed: usize,
    equivalent: usize,
    used: usize,
}

fn print(json: bool, shape: &str, design: &str, effect: f64, budget: usize, tally: &Tally) {
    let share = |count: usize| count as f64 / *RUNS as f64;
    let (covered, claimed, equal) = (share(tally.covered), share(tally.claimed), share(tally.equivalent));
    let used = tally.used as f64 / (*RUNS * budget) as f64;
    if json {
        println!(
            r#"{{"shape":"{shape}","design":"{design}","effect":{effect:.5},"budget":{budget},"coverage":{covered},"claimed":{claimed},"equivalent":{equal},"used":{used:.4}}}"#
        );
    } else {
        println!(
            "{shape:<11} {design:<9} {budget:>4}  {effect:>7.4}  {covered:>7.4}  {claimed:>7.4}  {equal:>6.3}  {used:>6.3}"
        );
    }
}

fn fixed(seed: u64, name: &str, draw: Draw, n: usize) -> Tally {
    let mut random = Random::new(seed);
    let mut tally = Tally { used: *RUNS * n, ..Tally::default() };
    for _ in 0..*RUNS {
        let estimate = t_estimate(&contrasts(&mut random, name, draw, n, 0.0), LEVEL).expect("enough blocks");
        tally.covered += usize::from(estimate.interval.contains(0.0));
        tally.claimed += usize::from(estimate.p_value < 1.0 - LEVEL);
    }
    tally
}

fn looks(budget: usize) -> Vec<(usize, Look)> {
    let mut sequence = GroupSequential::new(1.0 - LEVEL).expect("alpha is a probability");
    let ends = (1..=5).map(|k| budget * k / 5);
    ends.map(|n| (n, sequence.push_look(n as f64 / budget as f64).expect("looks rise"))).collect()
}

fn budgeted(seed: u64, name: &str, draw: Draw, budget: usize, effect: f64) -> Tally {
    let (mut random, looks) = (Random::new(seed), looks(budget));
    let mut tally = Tally::default();
    for _ in 0..*RUNS {
        let xs = contrasts(&mut random, name, draw, budget, effect);
        for (n, look) in &looks {
            let estimate = repeated_interval(&xs[..*n], look).expect("enough blocks");
            let claimed = estimate.p_value <= look.nominal_p;
            if claimed || *n == budget {
                tally.covered += usize::from(estimate.interval.contains(effect));
                tally.claimed += usize::from(claimed);
                tally.used += n;
                break;
            }
        }
    }
    tally
}

fn open(seed: u64, name: &str, draw: Draw, sesoi: f64, effect: f64) -> Tally {
    let (mut random, sequence) = (Random::new(seed), TMixture::new(1.0 - LEVEL, TMixture::DEFAULT_TUNING));
    let mut tally = Tally::default();
    for _ in 0..*RUNS {
        let xs = contrasts(&mut random, name, draw, CAP, effect);
        for n in 6..=CAP {
            let estimate = sequence.interval(&xs[..n]).expect("bounded from 6 on");
            let verdict = decide(estimate.interval, sesoi, true);
            if verdict != Verdict::Inconclusive || n == CAP {
                tally.covered += usize::from(estimate.interval.contains(effect));
                tally.claimed += usize::from(matches!(verdict, Verdict::Better | Verdict::Worse));
                tally.equivalent += usize::from(verdict == Verdict::Equivalent);
                tally.used += n;
                break;
            }
        }
    }
    tally
}

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    if !json {
        let error = 1.96 * (LEVEL * (1.0 - LEVEL) / *RUNS as f64).sqrt();
        println!("{} runs a row; sampling error of a coverage of 0.95: ±{error:.4} (95 %)", *RUNS);
        println!("shape       design  blocks   effect  covered  claimed   equal    used");
    }
    for (index, (name, draw)) in SHAPES.into_iter().enumerate() {
        let seed = 1000 * index as u64;
        let pilot = contrasts(&mut Random::new(seed + 999), name, draw, 20_000, 0.0);
        let sd = t_estimate(&pilot, LEVEL).expect("a pilot").se * (20_000f64).sqrt();
        for n in [8, 12, 20, 50] {
            print(json, name, "fixed", 0.0, n, &fixed(seed + n as u64, name, draw, n));
        }
        for budget in [30, 40, 100] {
            for effect in [0.0, minimum_detectable(sd, budget, 0.05, 0.8)] {
                print(
                    json,
                    name,
                    "budgeted",
                    effect,
                    budget,
                    &budgeted(seed + 200 + budget as u64, name, draw, budget, effect),
                );
            }
        }
        let sesoi = 0.6 * sd;
        for effect in [0.0, 0.5 * sd, sd] {
            print(json, name, "open", effect, CAP, &open(seed + 500, name, draw, sesoi, effect));
        }
    }
}
