//! What the tests of the importers share: the files in `logs/`, random numbers, and shortcuts to read an import.
#![allow(dead_code, reason = "each test binary uses a part")]

use schedlab_import::{Imported, Kind, Options, Source, import};
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{Count, Direction, TrialOutcome, TrialStatus};
use schedlab_stats::Random;

/// As without any option on the command line.
pub(crate) fn no_options() -> Options {
    Options { metric: None, unit: None, direction: Direction::Neutral, sesoi: 0.01 }
}

pub(crate) fn source(name: &str, text: &str) -> Source {
    Source { name: name.into(), file: name.into(), text: text.into() }
}

/// A file of `logs/`.
pub(crate) fn log(file: &str) -> Source {
    let path = format!("{}/tests/logs/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    source(file, &text)
}

/// Two logs as two arms; they may be the same file.
pub(crate) fn pair(kind: Kind, a: &str, b: &str) -> Imported {
    import(Some(kind), &[log(a), log(b)], &no_options()).unwrap_or_else(|e| panic!("{a} and {b}: {e}"))
}

/// The error of a text read as a kind.
pub(crate) fn refused(kind: Kind, text: &str) -> String {
    import(Some(kind), &[source("it", text)], &no_options()).unwrap_err().to_string()
}

/// The workload specs as printed.
pub(crate) fn specs(run: &Imported) -> Vec<String> {
    run.manifest.workloads.iter().map(ToString::to_string).collect()
}

/// `(workload, arm, value)` of a metric, without trials that lack it. An import never pairs logs.
pub(crate) fn values(run: &Imported, metric: &str) -> Vec<(u32, u32, f64)> {
    assert_eq!(run.manifest.order, OrderKnown::Unknown);
    let blocks: std::collections::BTreeSet<u32> = run.trials.iter().map(|t| t.block).collect();
    assert_eq!(blocks.len(), run.trials.len(), "no two rows share a block");
    let of = |o: &TrialOutcome| o.metrics.iter().find(|m| m.name == metric).map(|m| m.value);
    run.trials.iter().filter_map(|t| Some((t.workload, t.arm?, of(t.outcome.as_ref()?)?))).collect()
}

/// Unit and direction of a metric in the first trial that has it.
pub(crate) fn form(run: &Imported, metric: &str) -> (String, Direction) {
    let metrics = run.trials.iter().filter_map(|t| t.outcome.as_ref()).flat_map(|o| &o.metrics);
    let mut of_name = metrics.filter(|m| m.name == metric);
    of_name.next().map(|m| (m.unit.clone(), m.direction)).unwrap_or_else(|| panic!("no metric {metric}"))
}

/// A counter of a trial.
pub(crate) fn counter(run: &Imported, trial: usize, name: &str, scope: &str) -> Count {
    let outcome = run.trials[trial].outcome.as_ref().unwrap();
    let found = outcome.counters.iter().find(|c| c.name == name && c.scope == scope);
    found.map(|c| c.count.clone()).unwrap_or_else(|| panic!("no {name} of {scope} in {:?}", outcome.counters))
}

/// Why a trial failed.
pub(crate) fn failure(run: &Imported, trial: usize) -> String {
    match &run.trials[trial].status {
        TrialStatus::Failed(why) => why.clone(),
        other => panic!("{other:?}"),
    }
}

/// Draws the data of tests.
pub(crate) struct Draw(Random);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(crate) fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len() as u64) as usize]
    }
}
