//! Curves with a known boundary, and without one: how often a region is invented, how often the boundary is found, and how
//! often its interval holds it. 16 points from 1 to 30 in equal ratios, six repeats each, noise of 5 % as messaging has it in
//! the virtual lane (docs/studies/cfs-granularity.md); the truth lies between two points. About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use schedlab_benches::table;
use schedlab_stats::{Cutting, Random, regions};
use std::time::Instant;

const CURVES: usize = 500;
const POINTS: usize = 16;
const REPEATS: usize = 6;
const NOISE: f64 = 0.05;
/// Where the curve changes, as the logarithm of the knob's value.
const TRUTH: f64 = 2.1;

/// One kind of curve: its name, the mean at x, the spread at x in units of the noise, and the draw behind it.
struct Kind {
    name: &'static str,
    mean: fn(f64) -> f64,
    spread: fn(f64) -> f64,
    draw: fn(&mut Random) -> f64,
    /// The error that all repeats of a point share, in units of the noise.
    shared: f64,
    has_boundary: bool,
}

const FLAT: Kind =
    Kind { name: "flat", mean: |_| 0.0, spread: |_| 1.0, draw: Random::normal, shared: 0.0, has_boundary: false };
const CHANGES: Kind = Kind { has_boundary: true, ..FLAT };

fn beyond(x: f64) -> f64 {
    if x > TRUTH { 1.0 } else { 0.0 }
}

/// Student's t with three degrees of freedom: one repeat in fifty is an outlier.
fn t3(random: &mut Random) -> f64 {
    random.normal() / ((0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0).sqrt()
}

const KINDS: [Kind; 14] = [
    FLAT,
    Kind { name: "a slope: 10 % for e times the value", mean: |x| 0.1 * x, ..FLAT },
    Kind { name: "flat, heavy tails (t with 3 df)", draw: t3, ..FLAT },
    Kind { name: "flat, repeats of a point share ± 5 %", shared: 1.0, ..FLAT },
    Kind { name: "flat, repeats of a point share ± 2.5 %", shared: 0.5, ..FLAT },
    Kind { name: "level, 5 %", mean: |x| 0.05 * beyond(x), ..CHANGES },
    Kind { name: "level, 8 %", mean: |x| 0.08 * beyond(x), ..CHANGES },
    Kind { name: "level, 10 %", mean: |x| 0.1 * beyond(x), ..CHANGES },
    Kind { name: "level, 30 % (the study's step)", mean: |x| 0.3 * beyond(x), ..CHANGES },
    Kind { name: "slope, from 0 to 10 %", mean: |x| 0.1 * (x - TRUTH) * beyond(x), ..CHANGES },
    Kind { name: "slope, from 0 to 20 %", mean: |x| 0.2 * (x - TRUTH) * beyond(x), ..CHANGES },
    Kind { name: "spread, twice", spread: |x| 1.0 + beyond(x), ..CHANGES },
    Kind { name: "spread, three times", spread: |x| 1.0 + 2.0 * beyond(x), ..CHANGES },
    Kind { name: "level 10 %, heavy tails", mean: |x| 0.1 * beyond(x), draw: t3, ..CHANGES },
];

fn main() {
    let started = Instant::now();
    let x: Vec<f64> = (0..POINTS).map(|i| 30f64.ln() * i as f64 / (POINTS - 1) as f64).collect();
    let rows: Vec<Vec<String>> = KINDS.iter().map(|kind| row(kind, &x)).collect();
    table::print(
        "Regions of a curve",
        &["change", "curves cut", "in one place", "right gap", "interval holds it", "gaps in it", "bar"],
        &rows,
    );
    println!("\nBar: no cut in 95 % of the curves without a boundary; the interval holds the boundary in 93 to 97 %.");
    table::closing("regions", started.elapsed());
}

fn row(kind: &Kind, x: &[f64]) -> Vec<String> {
    let truth = x.iter().filter(|x| **x < TRUTH).count() - 1;
    let mut random = Random::new(11);
    let (mut cut, mut once, mut right, mut held, mut gaps) = (0, 0, 0, 0, 0);
    for seed in 0..CURVES as u64 {
        let found = regions(x, &curve(kind, x, &mut random), &Cutting { seed, ..Cutting::default() });
        let found = found.expect("enough points").boundaries;
        cut += usize::from(!found.is_empty());
        if let [boundary] = &found[..] {
            let (first, last) = boundary.interval;
            once += 1;
            right += usize::from(boundary.after == truth);
            held += usize::from((first..=last).contains(&truth));
            gaps += last - first + 1;
        }
    }
    let share = |part: usize, of: usize| part as f64 / of as f64;
    let mut cells = vec![kind.name.into(), format!("{:.1} %", 100.0 * share(cut, CURVES))];
    if kind.has_boundary {
        let holds = share(held, once);
        cells.extend([
            format!("{:.1} %", 100.0 * share(once, CURVES)),
            format!("{:.0} %", 100.0 * share(right, once)),
            format!("{:.1} %", 100.0 * holds),
            format!("{:.1}", share(gaps, once)),
            table::met((0.93..=0.97).contains(&holds)),
        ]);
    } else {
        cells.extend(["–", "–", "–", "–"].map(String::from));
        cells.push(table::met(share(cut, CURVES) <= 0.05));
    }
    cells
}

fn curve(kind: &Kind, x: &[f64], random: &mut Random) -> Vec<Vec<f64>> {
    let point = |&x: &f64| {
        let shared = kind.shared * random.normal();
        let mut repeat = || (kind.mean)(x) + NOISE * (shared + (kind.spread)(x) * (kind.draw)(random));
        (0..REPEATS).map(|_| repeat()).collect()
    };
    x.iter().map(point).collect()
}
