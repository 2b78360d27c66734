//! Workloads run as their own process would, on this machine's topology.

use schedlab_bench::{BenchError, Observer, Quiet, RunOrder, Topology};
use schedlab_plan::{Stamping, TrialOutcome};
use std::path::Path;

pub(crate) fn order(stamping: Stamping) -> RunOrder {
    RunOrder::plain(stamping, 3, Topology::read(Path::new("/sys")).unwrap())
}

pub(crate) fn run_with(spec: &str, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
    schedlab_bench::parse(&spec.parse().unwrap()).unwrap().run(order, observer)
}

pub(crate) fn run(spec: &str, stamping: Stamping) -> TrialOutcome {
    run_with(spec, &order(stamping), &mut Quiet).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

pub(crate) fn value(outcome: &TrialOutcome, name: &str) -> Option<f64> {
    outcome.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}
