//! Our own summary of a run: both classes, for all pairs and for each, the share in sync, missed deadlines with an
//! interval, inheritance.

use super::compat::{five_digits, sync_share, sync_word};
use super::config::{Config, FIFO_THREADS, word};
use super::measured::{ClassMeasured, Measured, PairMeasured};
use super::report::{Class, Tally};
use schedlab_plan::units::show_ns;

/// The lines above the metrics.
pub(super) fn lines(config: &Config, measured: &Measured) -> Vec<String> {
    let pairs = if config.pairs == 1 { "1 pair".to_owned() } else { format!("{} pairs", config.pairs) };
    let mut lines = vec![format!(
        "{pairs} × {} iterations over {}, deadline {}, FIFO thread {}",
        measured.iterations(config),
        config.transport.name(),
        show_ns(config.deadline_ns),
        word(&FIFO_THREADS, &config.fifo_thread)
    )];
    let pairs = measured.pairs.iter().enumerate().map(|(number, pair)| (format!("P{number}"), pair));
    // One pair is all of them.
    let each = pairs.filter(|_| measured.pairs.len() > 1);
    for (name, pair) in std::iter::once(("ALL".to_owned(), &measured.all)).chain(each) {
        lines.extend([Class::Fifo, Class::Other].map(|class| class_line(&name, class, pair, measured)));
        let Tally { transactions, not_sync, .. } = pair.both();
        lines.push(format!(
            "{name:<4} SYNC  {}: the server ran on the caller's CPU in {} of {transactions}, R {}",
            sync_word(not_sync, transactions),
            transactions - not_sync,
            five_digits(Some(sync_share(not_sync, transactions)))
        ));
    }
    lines.push(format!("inheritance: {}", measured.inheritance));
    lines
}

fn class_line(name: &str, class: Class, pair: &PairMeasured, measured: &Measured) -> String {
    let one = pair.class(class);
    let histogram = &one.histogram;
    let what = class.name();
    match (&measured.fifo_refused, class) {
        (Some(why), Class::Fifo) => return format!("{name:<4} {what:<5} N/A: {why}"),
        _ if histogram.count() == 0 => return format!("{name:<4} {what:<5} not timed"),
        _ => {}
    }
    let ns = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| show_ns(ns.round() as u64));
    let quantile = |q: f64| ns(histogram.quantile_ns(q));
    format!(
        "{name:<4} {what:<5} avg {}, best {}, p50 {}, p90 {}, p99 {}, worst {}; missed {}",
        ns(histogram.mean_ns()),
        show_ns(histogram.min_ns),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        show_ns(histogram.max_ns),
        missed(one)
    )
}

/// `3 of 1000, 0.3% (95 % interval 0.10–0.88%)`.
fn missed(class: &ClassMeasured) -> String {
    let (misses, of) = (class.tally.misses, class.histogram.count());
    let percent = |share: f64| five_digits(Some((share * 1e6).round() / 1e4));
    let (low, high) = wilson_95(misses, of);
    let share = percent(misses as f64 / of.max(1) as f64);
    format!("{misses} of {of}, {share} % (95 % interval {} to {} %)", percent(low), percent(high))
}

/// Wilson's interval for a share, at 95 %: unlike the normal approximation it is not empty if nothing was missed (then
/// it ends at about 3.8 / n). It treats transactions as independent, which a disturbance that spans several of them
/// violates. Wilson, "Probable inference", JASA 22 (1927).
fn wilson_95(hits: u64, of: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Values of the published formula, computed independently of this code.
        for (hits, of, low, high) in [
            (0, 100, 0.0, 0.036_994),
            (10, 100, 0.055_229, 0.174_366),
            (100, 100, 0.963_006, 1.0),
            (1, 2, 0.094_531, 0.905_469),
        ] {
            let (a, b) = wilson_95(hits, of);
            assert!((a - low).abs() < 1e-5 && (b - high).abs() < 1e-5, "{hits} of {of}: {a} {b}");
        }
        assert_eq!(wilson_95(0, 0), (0.0, 1.0));
    }
}
