//! The references' own output: that of hwbinder's latency test and of schd-dbg, with their keys in their order, so that
//! scripts written for them can read ours. There are five significant digits instead of two, percentiles come from
//! narrow buckets instead of ones 0.39 ms wide, and the deadline applies to both classes. A class that was not
//! permitted, or not timed, has null for its numbers.

use super::config::Config;
use super::measured::{ClassMeasured, Measured};
use super::report::{Class, Tally};

/// If more than this share of transactions was served on the caller's CPU, the references print GOOD.
const GOOD_SYNC_SHARE: f64 = 0.6;

/// `GOOD` or `POOR`, by the references' rule.
pub(super) fn sync_word(not_sync: u64, of: u64) -> &'static str {
    if sync_share(not_sync, of) > GOOD_SYNC_SHARE { "GOOD" } else { "POOR" }
}

/// R of the references.
pub(super) fn sync_share(not_sync: u64, of: u64) -> f64 {
    1.0 - not_sync as f64 / of.max(1) as f64
}

/// A number with five significant digits, without an exponent; null if there is none.
pub(super) fn five_digits(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "null".to_owned() };
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    format!("{rounded}")
}

fn milliseconds(ns: Option<f64>) -> String {
    five_digits(ns.map(|ns| ns / 1e6))
}

/// `{ "avg":…, "wst":…, "bst":…, "miss":…, "meetR":…}`.
fn times(class: &ClassMeasured) -> String {
    let histogram = &class.histogram;
    let timed = histogram.count() > 0;
    let extreme = |ns: u64| milliseconds(timed.then_some(ns as f64));
    let miss = if timed { class.tally.misses.to_string() } else { "null".to_owned() };
    format!(
        "{{ \"avg\":{}, \"wst\":{}, \"bst\":{}, \"miss\":{miss}, \"meetR\":{}}}",
        milliseconds(histogram.mean_ns()),
        extreme(histogram.max_ns),
        extreme(histogram.min_ns),
        five_digits(class.met_share())
    )
}

/// `{ "p50":…, "p90":…, "p95":…, "p99":…}`.
fn percentiles(class: &ClassMeasured) -> String {
    let p = |q: f64| milliseconds(class.histogram.quantile_ns(q));
    format!("{{ \"p50\":{}, \"p90\":{}, \"p95\":{}, \"p99\":{}}}", p(0.5), p(0.9), p(0.95), p(0.99))
}

/// The head of an object: its name, SYNC, S, I and R.
fn head(name: &str, not_sync: u64, of: u64) -> String {
    let (word, ratio) = (sync_word(not_sync, of), five_digits(Some(sync_share(not_sync, of))));
    format!("\"{name}\":{{\"SYNC\":\"{word}\",\"S\":{},\"I\":{of},\"R\":{ratio},", of - not_sync)
}

fn config_line(config: &Config, measured: &Measured, passthrough: &str) -> String {
    let (iterations, pairs) = (measured.iterations(config), config.pairs);
    let deadline_us = config.deadline_ns as f64 / 1e3;
    format!("\"cfg\":{{\"pair\":{pairs},\"iterations\":{iterations},\"deadline_us\":{deadline_us}{passthrough}}},")
}

/// The output of `libhwbinder_latency`: cfg, raw data if asked for, ALL, P0…, inheritance.
pub(super) fn hwbinder(config: &Config, measured: &Measured) -> Vec<String> {
    // Passthrough is a call inside one process; our client and server are always two processes.
    let mut lines = vec!["{".to_owned(), config_line(config, measured, ",\"passthrough\":0")];
    if config.raw_data {
        for (number, pair) in measured.pairs.iter().enumerate() {
            let ns: Vec<String> = pair.kept[Class::Fifo as usize].iter().map(|kept| kept.ns.to_string()).collect();
            lines.push(format!("\"fifo_{number}_data\": [{}],", ns.join(", ")));
        }
    }
    let names = (0..measured.pairs.len()).map(|number| format!("P{number}"));
    let named = std::iter::once(("ALL".to_owned(), &measured.all)).chain(names.zip(&measured.pairs));
    for (name, pair) in named {
        let Tally { transactions, not_sync, .. } = pair.both();
        let (other, fifo) = (pair.class(Class::Other), pair.class(Class::Fifo));
        lines.push(head(&name, not_sync, transactions));
        lines.push(format!("  \"other_ms\":{},", times(other)));
        lines.push(format!("  \"fifo_ms\": {},", times(fifo)));
        lines.push(format!("  \"otherdis\":{},", percentiles(other)));
        lines.push(format!("  \"fifodis\": {}", percentiles(fifo)));
        lines.push("},".to_owned());
    }
    lines.extend(tail(measured));
    lines
}

/// The output of `schd-dbg`: cfg, P0…, inheritance; its R counts as out of sync only transactions whose server ran at
/// the highest FIFO priority, but divides by all transactions.
pub(super) fn schd_dbg(config: &Config, measured: &Measured) -> Vec<String> {
    let mut lines = vec!["{".to_owned(), config_line(config, measured, "")];
    for (number, pair) in measured.pairs.iter().enumerate() {
        let Tally { transactions, not_sync_at_fifo, .. } = pair.both();
        lines.push(head(&format!("P{number}"), not_sync_at_fifo, transactions));
        lines.push(format!("  \"other_ms\":{},", times(pair.class(Class::Other))));
        lines.push(format!("  \"fifo_ms\": {}", times(pair.class(Class::Fifo))));
        lines.push("},".to_owned());
    }
    lines.extend(tail(measured));
    lines
}

/// The references judge by the priority alone; unlike them, a kernel or transport that cannot inherit is N/A here, not
/// FAIL.
fn tail(measured: &Measured) -> [String; 2] {
    [format!("\"inheritance\": \"{}\"", measured.inheritance.priority.word()), "}".to_owned()]
}

/// A line for each transaction, where the references' `-v` prints several.
pub(super) fn verbose(measured: &Measured) -> Vec<String> {
    let policy = |policy: u8| match policy {
        0 => "SCHED_OTHER",
        1 => "SCHED_FIFO",
        2 => "SCHED_RR",
        3 => "SCHED_BATCH",
        5 => "SCHED_IDLE",
        6 => "SCHED_DEADLINE",
        _ => "SCHED_?",
    };
    let mut lines = Vec::new();
    for (number, pair) in measured.pairs.iter().enumerate() {
        for iteration in 0..pair.kept[Class::Other as usize].len() {
            for class in [Class::Fifo, Class::Other] {
                let Some(kept) = pair.kept[class as usize].get(iteration) else { continue };
                let server = kept.server;
                lines.push(format!(
                    "P{number} {iteration} {}-caller tid: {} cpu: {} -> server cpu: {} {} {} nice {}: {} ms",
                    class.name(),
                    kept.caller_tid,
                    kept.caller_cpu,
                    kept.server_cpu,
                    policy(server.policy),
                    server.priority,
                    server.nice,
                    milliseconds(Some(kept.ns as f64))
                ));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests;
