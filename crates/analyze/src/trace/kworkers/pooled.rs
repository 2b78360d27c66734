//! The work of several traces combined: the trials of an arm are summed, so that arms can be compared.

use super::{DEFINITIONS, Figures, FunctionRow, Kworkers, Parts, figures_of};
use crate::trace::Definition;
use schedlab_plan::InOrder;
use schedlab_plan::histogram::Histogram;
use serde::Serialize;

/// Version of the JSON document.
pub const POOLED_SCHEMA: &str = "schedlab/trace-kworkers-pooled/1";

/// The work of one arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ArmWork {
    /// Its name.
    pub arm: String,
    /// Traces that were added up.
    pub traces: u64,
    /// Items that were started.
    pub started: u64,
    /// Functions, by total wait, longest first.
    pub functions: Vec<FunctionRow>,
}

/// Arms beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledKworkers {
    /// [`POOLED_SCHEMA`].
    pub schema: &'static str,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events of each trace are not sufficient for.
    pub lacking: Vec<String>,
    /// Problems of the traces, each with its arm.
    pub problems: Vec<String>,
    /// In the order of the plan.
    pub arms: Vec<ArmWork>,
}

impl PooledKworkers {
    /// Without any arm.
    pub fn new() -> Self {
        let (lacking, problems, arms) = (Vec::new(), Vec::new(), Vec::new());
        Self { schema: POOLED_SCHEMA, definitions: DEFINITIONS, lacking, problems, arms }
    }

    /// Adds the work of an arm, from all its traces.
    pub fn arm(&mut self, arm: &str, traces: &[Kworkers]) {
        // With a few dozen functions, a linear search costs less than a map.
        let mut functions: Vec<FunctionRow> = Vec::new();
        for row in traces.iter().flat_map(|trace| &trace.functions) {
            match functions.iter_mut().find(|sum| is_same(sum, row)) {
                Some(sum) => add(sum, row),
                None => functions.push(row.clone()),
            }
        }
        functions.in_order_by_key(|row| std::cmp::Reverse(row.latency.histogram.sum_ns));
        let started = traces.iter().map(|trace| trace.started).sum();
        self.arms.push(ArmWork { arm: arm.to_owned(), traces: traces.len() as u64, started, functions });
        for trace in traces {
            let news: Vec<String> = trace.lacking.iter().filter(|lack| !self.lacking.contains(lack)).cloned().collect();
            self.lacking.extend(news);
            self.problems.extend(trace.trace.problems.iter().map(|problem| format!("{arm}: {problem}")));
        }
    }

    /// Functions that have at least `least` items in some arm, each with its row in every arm that has it; the largest
    /// total wait comes first.
    pub fn by_function(&self, least: u64) -> Vec<Vec<(usize, &FunctionRow)>> {
        let mut all: Vec<Vec<(usize, &FunctionRow)>> = Vec::new();
        for (number, arm) in self.arms.iter().enumerate() {
            for row in &arm.functions {
                match all.iter_mut().find(|rows| is_same(rows[0].1, row)) {
                    Some(rows) => rows.push((number, row)),
                    None => all.push(vec![(number, row)]),
                }
            }
        }
        all.retain(|rows| rows.iter().any(|(_, row)| row.latency.count >= least));
        let waited =
            |rows: &[(usize, &FunctionRow)]| rows.iter().map(|(_, row)| row.latency.histogram.sum_ns).sum::<u64>();
        all.in_order_by_key(|rows| std::cmp::Reverse(waited(rows)));
        all
    }
}

impl Default for PooledKworkers {
    fn default() -> Self {
        Self::new()
    }
}

fn is_same(a: &FunctionRow, b: &FunctionRow) -> bool {
    a.function == b.function && a.workqueue == b.workqueue
}

fn add(sum: &mut FunctionRow, row: &FunctionRow) {
    if row.latency.max_ns > sum.latency.max_ns {
        sum.longest.clone_from(&row.longest);
    }
    let merged = |a: &Figures, b: &Figures| {
        let mut both: Histogram = a.histogram.clone();
        both.merge(&b.histogram);
        figures_of(both)
    };
    sum.latency = merged(&sum.latency, &row.latency);
    sum.execution = merged(&sum.execution, &row.execution);
    let Parts { inactive_ns, busy_ns, waiting_ns, other_ns } = row.parts;
    sum.parts.inactive_ns += inactive_ns;
    sum.parts.busy_ns += busy_ns;
    sum.parts.waiting_ns += waiting_ns;
    sum.parts.other_ns += other_ns;
    sum.unbound += row.unbound;
    sum.unseen += row.unseen;
    sum.censored += row.censored;
}
