//! Searches over surfaces that are known: how often the point that a search names is within 3 % of the best, for at most 15 % of
//! the trials of the whole grid, beside random search, an optimiser on single samples, Optuna's TPE (`pip install optuna`, left
//! out without it), and the grid itself. Surfaces are drawn, or recorded by whole grids (benches/data/search). About 10 minutes;
//! `-- --seeds N`, `-- --tpe-seeds N`, `-- --python PYTHON`, `-- --only METHOD`, `-- --surface WORDS`.
//! `-- --record RUN` prints the surface of a run of a grid; `--fixed m=1,3` of the part at these values of m.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod lab;
mod optuna;
mod recording;
mod rivals;
mod surface;

use anyhow::{Context, Result};
use lab::Lab;
use schedlab_benches::table;
use schedlab_tune::search::{Options, Outcome, Search, Strategy};
use std::time::Instant;
use surface::Surface;

/// Blocks of the grid that a search is compared with, and of the confirmation.
const GRID_BLOCKS: u32 = 6;
/// Share of the grid's trials.
const SHARE: f64 = 0.15;
/// What counts as near enough to the best.
const NEAR: f64 = 0.97;

/// Columns of the tables.
const METHODS: [&str; 6] =
    ["surrogate", "halving", "random, paired", "single samples", "TPE", "whole grid, all its trials"];

/// The point that a method named, and the trials it took.
struct Named {
    point: usize,
    trials: u64,
    /// Whether the interval of its confirmation trials contains the truth.
    held: Option<bool>,
}

fn main() -> Result<()> {
    let started = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, default: u64| {
        option(name).map_or(Ok(default), |text| text.parse().with_context(|| format!("{name} {text}")))
    };
    if let Some(run) = option("--record") {
        let fixed = option("--fixed").map(|text| text.split_once('=').context("--fixed KNOB=VALUE,VALUE"));
        let fixed = fixed.transpose()?.map(|(knob, values)| (knob, values.split(',').collect()));
        print!("{}", recording::text(run.as_ref(), fixed)?);
        return Ok(());
    }
    let (seeds, tpe_seeds) = (number("--seeds", 200)?, number("--tpe-seeds", 10)?);
    let python = optuna::Python::find(option("--python").map_or("python3", String::as_str));
    if let Err(why) = &python {
        eprintln!("Optuna's TPE is left out: {why}");
    }
    let (mut shares, mut costs) = (Vec::new(), Vec::new());
    let is_asked = |surface: &Surface| option("--surface").is_none_or(|words| surface.name.contains(words));
    for surface in surface::drawn().into_iter().chain(surface::recorded()?).filter(is_asked) {
        let budget = budget(&surface);
        let mut row = vec![
            surface.name.clone(),
            surface.len().to_string(),
            format!("{:.1} %", 100.0 * surface.near(NEAR) as f64 / surface.len() as f64),
            budget.to_string(),
        ];
        let mut cost = vec![surface.name.clone()];
        let mut count = |found: Option<Vec<Named>>| match found {
            Some(found) => {
                row.push(share(&surface, &found));
                cost.push(loss(&surface, &found));
            }
            None => [&mut row, &mut cost].into_iter().for_each(|cells| cells.push("–".into())),
        };
        for method in METHODS {
            let is_asked = option("--only").is_none_or(|only| only == method);
            let found = match method {
                _ if !is_asked => None,
                "surrogate" => ours(&surface, Strategy::Surrogate, budget, seeds),
                "halving" => ours(&surface, Strategy::Halving, budget, seeds),
                "random, paired" => Some(all(seeds, |seed| rivals::random(&surface, budget, seed))),
                "single samples" => Some(all(seeds, |seed| rivals::single_samples(&surface, budget, seed))),
                "TPE" => python.as_ref().ok().map(|python| python.tpe(&surface, budget, tpe_seeds)).transpose()?,
                _ => Some(all(seeds, |seed| rivals::grid(&surface, seed))),
            };
            count(found);
        }
        eprintln!("{}: {:.0} s", row.join(" | "), started.elapsed().as_secs_f64());
        shares.push(row);
        costs.push(cost);
    }
    table::print(
        "The point named is within 3 % of the best",
        &[&["surface", "points", "of them within 3 %", "trials (15 %)"][..], &METHODS].concat(),
        &shares,
    );
    table::print(
        "Mean loss against the best; trials taken; fresh interval holds the truth",
        &[&["surface"][..], &METHODS].concat(),
        &costs,
    );
    println!(
        "\nBar: surrogate ≥ 95 % of {seeds} seeds (TPE: {tpe_seeds}), where the grid with all its trials has it too."
    );
    table::closing("search", started.elapsed());
    Ok(())
}

/// Trials of the whole grid with one control, and the part of them that a search may use.
fn budget(surface: &Surface) -> u64 {
    (SHARE * Options::trials_of(surface.len(), GRID_BLOCKS) as f64) as u64
}

/// A search as `schedlab run` would do it; `None` if the budget is too small for one.
fn ours(surface: &Surface, strategy: Strategy, budget: u64, seeds: u64) -> Option<Vec<Named>> {
    let options = Options { least: 0.01, ..Options::for_budget(strategy, &surface.space(), 1, budget) };
    (options.least_budget(&surface.space()) <= budget)
        .then(|| all(seeds, |seed| one(surface, Options { seed, ..options.clone() })))
}

fn one(surface: &Surface, options: Options) -> Named {
    let mut lab = Lab::new(surface, options.seed);
    let mut search = Search::new(surface.space(), options);
    while let Some(ask) = search.ask() {
        search.tell(lab.answer(&ask));
    }
    let Outcome { confirmed, trials, .. } = search.outcome(0.95);
    let point = surface.number(&confirmed[0].point);
    let held = confirmed[0].fresh[0].map(|fresh| fresh.interval.contains(surface.gains[point]));
    Named { point, trials, held }
}

/// Runs one search for each seed, on all CPUs.
fn all(seeds: u64, one: impl Fn(u64) -> Named + Sync) -> Vec<Named> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let of_thread = |thread: u64| (0..seeds).filter(move |seed| seed % threads == thread);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let one = &one;
                    move || of_thread(thread).map(one).collect::<Vec<Named>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no seed panics")).collect()
    })
}

fn share(surface: &Surface, found: &[Named]) -> String {
    let near = found.iter().filter(|named| surface.is_near(named.point, NEAR)).count();
    format!("{:.1} %", 100.0 * near as f64 / found.len() as f64)
}

/// `1.2 %; 430; 95 %`.
fn loss(surface: &Surface, found: &[Named]) -> String {
    let n = found.len() as f64;
    let loss = found.iter().map(|named| 1.0 - surface.of_best(named.point)).sum::<f64>() / n;
    let trials = found.iter().map(|named| named.trials).sum::<u64>() as f64 / n;
    let held = found.iter().filter(|named| named.held == Some(true)).count();
    let held = found[0].held.map_or_else(String::new, |_| format!("; {:.1} %", 100.0 * held as f64 / n));
    format!("{:.1} %; {trials:.0}{held}", 100.0 * loss)
}
