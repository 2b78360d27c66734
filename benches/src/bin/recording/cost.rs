//! What recording adds to an operation, compared with enabling the same events only and with `perf record` of them:
//! arms in random order in each block, costs as differences within blocks.

use super::{Lab, counter};
use anyhow::{Context, Result, bail};
use schedlab_benches::{program, table};
use schedlab_stats::{Estimate, Random, ratio_of_means, t_estimate};
use std::ffi::OsString;

/// A workload whose operations become slower.
pub(crate) struct Subject {
    /// The workload, without a length.
    pub(crate) workload: &'static str,
    /// Length of a trial.
    length: &'static str,
    /// The metric, operations per second.
    metric: &'static str,
    /// What an operation is.
    operation: &'static str,
    /// Maximum share that recording may add; `None` if the bar is the cost of the events alone.
    most: Option<f64>,
}

/// The busiest workload there is for a recorder.
pub(crate) const PING_PONG: Subject = Subject {
    workload: "pipe:pin=same",
    length: "duration=500ms",
    metric: "round_trips_per_s",
    operation: "round trip",
    most: None,
};

/// hackbench, 4 groups, pipes.
pub(crate) const HACKBENCH: Subject = Subject {
    workload: "messaging:groups=4,transport=pipe",
    length: "duration=1s",
    metric: "msgs_per_s",
    operation: "message",
    most: Some(0.05),
};

/// How an operation is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Plain,
    Unread,
    Recorded,
    /// By our recorder, from perf ring buffers.
    Rings,
    Perf,
}

impl Arm {
    const ALL: [Self; 5] = [Self::Plain, Self::Unread, Self::Recorded, Self::Rings, Self::Perf];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "nothing",
            Self::Unread => "the events alone, unread",
            Self::Recorded => "schedlab record",
            Self::Rings => "schedlab record --source perf",
            Self::Perf => "perf record",
        }
    }
}

/// The perf to compare with: `$SCHEDLAB_PERF`, or the one in PATH.
fn perf() -> OsString {
    std::env::var_os("SCHEDLAB_PERF").unwrap_or_else(|| "perf".into())
}

/// ns of an operation in each arm, by block.
pub(crate) fn cost(subject: &Subject, lab: &Lab, blocks: usize) -> Result<()> {
    let missing =
        if std::env::var_os("SCHEDLAB_PERF").is_some() { None } else { program::missing("perf", "linux-perf") };
    let arms: Vec<Arm> = Arm::ALL.into_iter().filter(|arm| *arm != Arm::Perf || missing.is_none()).collect();
    let (mut random, mut times) = (Random::new(4), vec![Vec::with_capacity(blocks); Arm::ALL.len()]);
    for arm in &arms {
        ns_an_operation(*arm, subject, lab)?;
    }
    for _ in 0..blocks {
        let mut order = arms.clone();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        for arm in order {
            times[arm as usize].push(ns_an_operation(arm, subject, lab)?);
        }
    }
    let plain = &times[Arm::Plain as usize];
    let added = |arm: Arm| -> Vec<f64> { times[arm as usize].iter().zip(plain).map(|(t, p)| t - p).collect() };
    let mut rows = Vec::new();
    for arm in arms.into_iter().filter(|arm| *arm != Arm::Plain) {
        rows.push(row(subject, arm, plain, &added)?);
    }
    let plain = t_estimate(plain, 0.95).context("too few blocks")?.mean;
    let Subject { workload, operation, .. } = subject;
    let title =
        format!("sched_switch and sched_waking of {workload}: a {operation} takes {plain:.0} ns, {blocks} blocks");
    let adds = format!("adds, ns a {operation}");
    table::print(&title, &["recorder", &adds, "of it", "to the events alone", "to perf record", "bars"], &rows);
    if let Some(sentence) = missing {
        println!("\n{sentence}");
    }
    Ok(())
}

fn row(subject: &Subject, arm: Arm, plain: &[f64], added: &dyn Fn(Arm) -> Vec<f64>) -> Result<Vec<String>> {
    let costs = added(arm);
    let cost = t_estimate(&costs, 0.95).context("too few blocks")?;
    let share = ratio_of_means(plain, &costs, 0.95);
    let to = |of: Arm| ratio_of_means(&added(of), &costs, 0.95).filter(|_| arm != of);
    let (to_floor, to_perf) = (to(Arm::Unread), to(Arm::Perf).filter(|_| arm != Arm::Unread));
    let show = |e: Estimate, digits: usize, unit: f64| {
        let [mean, lo, hi] = [e.mean, e.interval.lo, e.interval.hi].map(|x| x * unit);
        format!("{mean:.digits$} [{lo:.digits$}, {hi:.digits$}]")
    };
    let ratio = |e: Option<Estimate>| e.map_or_else(|| "–".into(), |e| show(e, 2, 1.0));
    let mut bars = Vec::new();
    if arm == Arm::Recorded {
        bars.push(match subject.most {
            // The cost of the events alone is in the row above: if it exceeds the bar, no recorder can meet it.
            Some(most) => {
                format!("≤ {:.0} %: {}", 100.0 * most, table::met(share.is_some_and(|e| e.mean <= most)))
            }
            None => format!("≤ 1.15 × alone: {}", table::met(to_floor.is_some_and(|e| e.mean <= 1.15))),
        });
        if let Some(to_perf) = to_perf {
            bars.push(format!("≤ 0.5 × perf: {}", table::met(to_perf.mean <= 0.5)));
        }
    }
    Ok(vec![
        arm.name().to_owned(),
        show(cost, 0, 1.0),
        share.map_or_else(|| "–".into(), |e| show(e, 1, 100.0) + " %"),
        ratio(to_floor),
        ratio(to_perf),
        bars.join(", "),
    ])
}

fn ns_an_operation(arm: Arm, subject: &Subject, lab: &Lab) -> Result<f64> {
    let separator = if subject.workload.contains(':') { ',' } else { ':' };
    let spec = format!("{}{separator}{}", subject.workload, subject.length);
    let bench = [spec.as_str(), "--latency", "off", "--counters", "basic"];
    let (dir, data) = (lab.path("short")?, lab.path("perf.data")?);
    // Left by the previous trial, if there was one.
    _ = std::fs::remove_dir_all(&dir);
    let traced = ["--trace", dir.as_str(), "--events", "min"];
    let outcome = match arm {
        Arm::Plain => program::trial(None, &bench)?,
        Arm::Unread => program::trial(None, &[&bench[..], &["--set", "trace=unread:min"]].concat())?,
        Arm::Recorded => program::trial(None, &[&bench[..], &traced].concat())?,
        Arm::Rings => program::trial(None, &[&bench[..], &traced, &["--source", "perf"]].concat())?,
        Arm::Perf => {
            let program = program::schedlab()?;
            let program = program.to_str().context("the binary's path is not text")?;
            let perf = perf();
            let perf = perf.to_str().context("the path of perf is not text")?;
            let record = "record -q -a -m 1024 -c 1 -e sched:sched_switch -e sched:sched_waking -o";
            let words: Vec<&str> = record.split(' ').chain([data.as_str(), "--", program, "bench"]).collect();
            let command = program::on_cpus(None, perf, &[&words, &bench[..], &["--json", "-", "--top", "0"]].concat());
            serde_json::from_slice(&program::output(command)?.stdout).context("the trial's JSON")?
        }
    };
    if let Some(lost) = counter(&outcome, "trace_lost").ok().filter(|lost| *lost > 0 && arm == Arm::Recorded) {
        bail!("{lost} events were lost, so this is not the cost of recording them");
    }
    Ok(1e9 / program::metric(&outcome, subject.metric)?)
}
