//! Coordinated omission, shown: a stall of 100 ms in every second is planted into the tasks that serve. Values counted from the
//! instant they were meant for move as theory says; those that begin when the server is ready do not. Fails unless
//! both hold. Where the machine itself stood still meanwhile, as guests do, the trial is repeated. About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::sentinel::Sentinels;
use schedlab_benches::{program, table};
use schedlab_plan::{Histogram, TrialOutcome};
use schedlab_sys::rights;
use std::time::Instant;

const STALL_MS: f64 = 100.0;
const EVERY_MS: f64 = 1_000.0;
const PLANT: &str = "plant=stall:100ms/1s";
/// A priority above everything else, if permitted: waiting for the CPU is also a stall, but not a planted one.
const POLICY: &str = "policy=fifo:50";
/// Two complete stalls; short, because the trial must not include one of the 100 ms in which some hosts take a CPU
/// away.
const DURATION: &str = "duration=2s";
const QUANTILES: [f64; 2] = [0.95, 0.99];
/// Tolerance: a measured quantile also contains the ordinary latency and the time to serve the backlog, some 0.1 ms.
const WITHIN: f64 = 0.05;

/// A stall of the machine itself from this length on would be visible among the planted ones, ms.
const OWN_STALL_MS: f64 = 5.0;
/// Trials of one kind before the machine is reported as too restless.
const ATTEMPTS: usize = 10;

/// How requests arrive.
#[derive(Clone, Copy, PartialEq)]
enum Loop {
    /// At their intended times, whatever the server does.
    Open,
    /// One after the other: none begins while the server is stalled.
    Closed,
}

/// A workload and those of its histograms that are compared.
struct Case {
    spec: &'static str,
    series: &'static [(&'static str, &'static str, Loop)],
}

const CASES: [Case; 3] = [
    Case {
        spec: "timer:interval=1ms",
        series: &[
            ("latency", "timer, each period", Loop::Open),
            ("wake_latency", "timer, each wakeup (what cyclictest keeps)", Loop::Closed),
        ],
    },
    Case {
        spec: "wakeup:1x1,rate=1000,think=0,work=0",
        series: &[("latency", "wakeup, a request each ms", Loop::Open)],
    },
    Case {
        spec: "wakeup:1x1,think=1ms,work=0",
        series: &[("latency", "wakeup, the next request 1 ms after the last", Loop::Closed)],
    },
];

/// Latency at a quantile according to theory, ms: with evenly spaced arrivals, the share stall / period arrives during
/// a stall, and waits for its end, for a time evenly distributed between zero and the whole stall. `None` below the
/// stalled share, where it is the same as without stalls.
fn predicted_ms(quantile: f64) -> Option<f64> {
    let (beyond, stalled) = (1.0 - quantile, STALL_MS / EVERY_MS);
    (beyond < stalled).then(|| STALL_MS * (1.0 - beyond / stalled))
}

fn main() -> Result<()> {
    let started = Instant::now();
    let (mut rows, mut missed, mut repeats) = (Vec::new(), 0, Vec::new());
    let policy = if rights::try_fifo().is_ok() { POLICY } else { "policy=other" };
    for case in &CASES {
        let spec = format!("{},{DURATION}", case.spec);
        let plain = measure(&spec, policy, &mut repeats)?;
        let stalled = measure(&spec, &format!("{policy};{PLANT}"), &mut repeats)?;
        for &(series, name, kind) in case.series {
            let (plain, stalled) = (histogram(&plain, series)?, histogram(&stalled, series)?);
            for quantile in QUANTILES {
                let (row, met) = row(name, kind, quantile, &plain, &stalled)?;
                missed += usize::from(!met);
                rows.push(row);
            }
        }
    }
    let header = [
        "values",
        "loop",
        "quantile",
        "without a stall, ms",
        "predicted, ms",
        "with stalls, ms",
        "values, with stalls",
        "as predicted",
    ];
    table::print(&format!("A stall of 100 ms in each second, {policy}"), &header, &rows);
    if !repeats.is_empty() {
        let repeats: Vec<String> = repeats.iter().map(|ms| format!("{ms:.0} ms")).collect();
        println!("\nTrials repeated because the machine itself stood still: {}.", repeats.join(", "));
    }
    table::closing("omission", started.elapsed());
    if missed > 0 {
        bail!("{missed} quantiles are not as theory says");
    }
    Ok(())
}

/// A trial in which the machine itself did not stall; the stalls of repeated ones are added to `repeats`, ms.
fn measure(spec: &str, settings: &str, repeats: &mut Vec<f64>) -> Result<TrialOutcome> {
    for _ in 0..ATTEMPTS {
        let sentinels = Sentinels::start()?;
        let outcome = program::trial(None, &[spec, "--latency", "all", "--counters", "basic", "--set", settings]);
        let stall_ms = sentinels.end()? as f64 / 1e6;
        let outcome = outcome?;
        if stall_ms < OWN_STALL_MS {
            return serde_json::from_value(outcome).context("the trial's JSON is not an outcome");
        }
        eprintln!("{spec} under {settings}: the machine stood still for {stall_ms:.0} ms, so it is repeated");
        repeats.push(stall_ms);
    }
    bail!("the machine stands still by itself: {ATTEMPTS} trials in a row, in each {OWN_STALL_MS} ms or more")
}

fn histogram(outcome: &TrialOutcome, series: &str) -> Result<Histogram> {
    let whole = outcome.histograms.iter().find(|named| named.name == series && named.tier.is_none());
    whole.map(|named| named.histogram.clone()).with_context(|| format!("the trial has no {series}"))
}

fn ms(histogram: &Histogram, quantile: f64) -> Result<f64> {
    histogram.quantile_ns(quantile).map(|ns| ns / 1e6).context("no values")
}

fn row(name: &str, kind: Loop, quantile: f64, plain: &Histogram, stalled: &Histogram) -> Result<(Vec<String>, bool)> {
    let (without, with) = (ms(plain, quantile)?, ms(stalled, quantile)?);
    let waits = predicted_ms(quantile).context("a quantile below the stalled share")?;
    let (predicted, met) = match kind {
        Loop::Open => (format!("{waits:.1}"), (with / waits - 1.0).abs() <= WITHIN),
        // Two of some two thousand values wait, so no quantile here may come near that of the open loop.
        Loop::Closed => ("as without".to_owned(), with < without + WITHIN * STALL_MS),
    };
    eprintln!(
        "{name}, p{}: {without:.3} ms without, {with:.3} ms with stalls, {predicted} predicted",
        100.0 * quantile
    );
    let loop_name = if kind == Loop::Open { "open" } else { "closed" };
    let row = vec![
        name.to_owned(),
        loop_name.to_owned(),
        format!("p{}", 100.0 * quantile),
        format!("{without:.3}"),
        predicted,
        format!("{with:.3}"),
        stalled.count().to_string(),
        table::met(met),
    ];
    Ok((row, met))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One arrival per millisecond over two periods, each served at once or at the end of the stall during which it
    /// arrives.
    #[test]
    fn theory_is_what_counting_says() {
        let begin = (EVERY_MS - STALL_MS) / 2.0;
        let wait = |at: u32| {
            let within = f64::from(at) % EVERY_MS;
            if (begin..begin + STALL_MS).contains(&within) { begin + STALL_MS - within } else { 0.0 }
        };
        let mut waits: Vec<f64> = (0..2 * EVERY_MS as u32).map(wait).collect();
        waits.sort_by(f64::total_cmp);
        for quantile in [0.905, 0.92, 0.95, 0.99, 0.995] {
            let counted = waits[(waits.len() as f64 * quantile) as usize];
            let predicted = predicted_ms(quantile).unwrap();
            assert!((counted - predicted).abs() <= 1.5, "{quantile}: {counted} counted, {predicted} predicted");
        }
        assert_eq!((predicted_ms(0.89), predicted_ms(0.5)), (None, None));
    }
}
