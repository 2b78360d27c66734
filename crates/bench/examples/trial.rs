//! Runs one workload once and prints what it measured: `trial SPEC [off|sampled|all] [plant NS] [load SPEC]`. The
//! fidelity bench execs it as the trial command would: as a small single-threaded process.
#![allow(clippy::print_stdout, reason = "an example's purpose is to print")]

use schedlab_bench::{Limits, Quiet, RunOrder, Topology, load::Load};
use schedlab_plan::{Stamping, WorkloadSpec};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let spec: WorkloadSpec =
        args.first().ok_or("usage: trial SPEC [off|sampled|all] [plant NS] [load SPEC]")?.parse()?;
    let after = |word: &str| args.iter().position(|arg| arg == word).and_then(|at| args.get(at + 1));
    let stamping = match args.get(1).map(String::as_str) {
        Some("sampled") => Stamping::Sampled,
        Some("all") => Stamping::All,
        _ => Stamping::Off,
    };
    let workload = schedlab_bench::parse(&spec)?;
    workload.check(&Limits::raise_and_read(Path::new("/proc"))?)?;
    let delay_spin_ns = after("plant").map(|ns| ns.parse()).transpose()?;
    let order = RunOrder { delay_spin_ns, ..RunOrder::plain(stamping, 1, Topology::read(Path::new("/sys"))?) };
    let load =
        after("load").map(|spec| Load::start(&[spec.parse()?], false).map_err(Box::<dyn Error>::from)).transpose()?;
    let outcome = workload.run(&order, &mut Quiet)?;
    println!("{}: {} {}s", workload.spec(), outcome.operations, outcome.operation);
    outcome.native_lines.iter().for_each(|line| println!("{line}"));
    for metric in &outcome.metrics {
        println!("{:<28} {:>16.4} {}", metric.name, metric.value, metric.unit);
    }
    for phase in &outcome.phases {
        println!("{:<28} {:>16} ns", phase.name, phase.end_ns - phase.start_ns);
    }
    for named in &outcome.histograms {
        let (h, tier) = (&named.histogram, named.tier.map_or("all", |tier| tier.name()));
        let (name, n, p50, p99) = (&named.name, h.count(), h.quantile_ns(0.5), h.quantile_ns(0.99));
        println!(
            "{name:<34} {tier:<9} n {n:>8} p50 {:>9.0} p99 {:>9.0} max {:>10}",
            p50.unwrap_or(0.0),
            p99.unwrap_or(0.0),
            h.max_ns
        );
    }
    println!("{:?}", outcome.stamping);
    outcome.notes.iter().for_each(|note| println!("note: {note}"));
    if let Some(load) = load {
        println!("{:?}", load.stop(0));
    }
    Ok(())
}
