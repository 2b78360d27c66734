//! Checks the references' schemas, and every number against the samples behind it.

use super::*;
use crate::transact::config;
use crate::transact::inheritance::Circumstances;
use crate::transact::measured::PairMeasured;
use crate::transact::message::Attributes;
use crate::transact::report::Kept;
use crate::transport::Transport;
use schedlab_plan::Histogram;
use schedlab_plan::histogram::{BUCKETS, bucket_of};
use serde_json::Value;

const DEADLINE_NS: u64 = 2_500_000;

fn histogram(ns: &[u64]) -> Histogram {
    let mut cells = vec![0; BUCKETS];
    ns.iter().for_each(|&ns| cells[bucket_of(ns)] += 1);
    let (min, max) = (ns.iter().min().copied().unwrap_or(0), ns.iter().max().copied().unwrap_or(0));
    Histogram::from_dense(&cells, ns.iter().sum(), min, max)
}

/// A pair whose classes took these times, `not_sync` of them on another CPU.
fn pair(other: &[u64], fifo: &[u64], not_sync: [u64; 2]) -> PairMeasured {
    let samples = [other, fifo];
    let class = |i: usize| ClassMeasured {
        tally: Tally {
            transactions: samples[i].len() as u64,
            misses: samples[i].iter().filter(|&&ns| ns > DEADLINE_NS).count() as u64,
            not_sync: not_sync[i],
            ..Tally::default()
        },
        histogram: histogram(samples[i]),
    };
    let server = Attributes::default();
    let kept = |ns: &u64| Kept { ns: *ns, caller_tid: 7, caller_cpu: 0, server_cpu: 1, server };
    PairMeasured { classes: [class(0), class(1)], kept: samples.map(|ns| ns.iter().map(kept).collect()) }
}

fn measured(pairs: Vec<PairMeasured>) -> Measured {
    Measured::new(
        pairs,
        (0, 0),
        None,
        Circumstances { transport: Transport::Unix, fifo_refused: None, kernel_inherits_real_time: false },
    )
}

fn config(text: &str) -> Config {
    config::read(&text.parse().unwrap()).unwrap()
}

/// Parses the JSON, after checking that its keys come in this order.
fn parsed(lines: &[String], keys: &[&str]) -> Value {
    let text = lines.join("\n");
    let mut rest = text.as_str();
    for key in keys {
        let quoted = format!("\"{key}\":");
        let at = rest.find(&quoted).unwrap_or_else(|| panic!("{key} is missing or out of order in:\n{text}"));
        rest = &rest[at + quoted.len()..];
    }
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

const CLASS_KEYS: [&str; 19] = [
    "SYNC", "S", "I", "R", "other_ms", "avg", "wst", "bst", "miss", "meetR", "fifo_ms", "avg", "wst", "bst", "miss",
    "meetR", "otherdis", "p50", "p99",
];

fn near(value: &Value, expected: f64) -> bool {
    // Equal to five significant digits; for a quantile, the caller allows 0.4 %.
    value.as_f64().is_some_and(|v| (v - expected).abs() <= expected.abs() * 5e-5)
}

#[test]
fn hwbinders_keys_order_and_numbers() {
    let (other, fifo) = ([10_000, 30_000, 20_000, 3_000_000], [15_052, 11_111, 2_500_000, 4_000_000]);
    let measured = measured(vec![pair(&other, &fifo, [1, 2]), pair(&[40_000; 4], &[50_000; 4], [0, 0])]);
    let lines = hwbinder(&config("transact:pairs=2,loops=4,raw-data=yes"), &measured);
    let mut keys = vec!["cfg", "pair", "iterations", "deadline_us", "passthrough", "fifo_0_data", "fifo_1_data"];
    for name in ["ALL", "P0", "P1"] {
        keys.push(name);
        keys.extend(CLASS_KEYS);
    }
    keys.push("inheritance");
    let json = parsed(&lines, &keys);

    assert_eq!(json["cfg"], serde_json::json!({"pair": 2, "iterations": 4, "deadline_us": 2500, "passthrough": 0}));
    assert_eq!(json["fifo_0_data"], serde_json::json!(fifo));
    let p0 = &json["P0"];
    assert_eq!((p0["S"].as_u64(), p0["I"].as_u64(), p0["SYNC"].as_str()), (Some(5), Some(8), Some("GOOD")));
    assert_eq!(p0["R"], 0.625);
    assert!(near(&p0["other_ms"]["avg"], 0.765) && near(&p0["other_ms"]["wst"], 3.0), "{p0}");
    assert!(near(&p0["fifo_ms"]["bst"], 0.011111) && near(&p0["fifo_ms"]["avg"], 6_526_163.0 / 4e6), "{p0}");
    // A transaction exactly at the deadline meets it; the deadline applies to both classes.
    assert_eq!((p0["fifo_ms"]["miss"].as_u64(), p0["other_ms"]["miss"].as_u64()), (Some(1), Some(1)));
    assert_eq!(p0["other_ms"]["meetR"], 0.75);
    let p50 = json["P1"]["fifodis"]["p50"].as_f64().unwrap();
    assert!((p50 / 0.05 - 1.0).abs() < 0.004, "{p50}");
    let all = &json["ALL"];
    assert_eq!((all["I"].as_u64(), all["S"].as_u64()), (Some(16), Some(13)));
    assert_eq!(all["fifo_ms"]["meetR"], 0.875);
    assert_eq!(json["inheritance"], "N/A", "a unix socket cannot inherit");
}

#[test]
fn schd_dbgs_keys_and_its_own_r() {
    let mut one = pair(&[10_000; 10], &[12_000; 10], [10, 10]);
    // Eight FIFO transactions were served at FIFO 99 on another CPU: only these count, relative to both classes.
    one.classes[Class::Fifo as usize].tally.not_sync_at_fifo = 8;
    let lines = schd_dbg(&config("transact:loops=10"), &measured(vec![one]));
    let keys =
        ["cfg", "pair", "iterations", "deadline_us", "P0", "SYNC", "S", "I", "R", "other_ms", "fifo_ms", "inheritance"];
    let json = parsed(&lines, &keys);
    assert_eq!((json["P0"]["S"].as_u64(), json["P0"]["R"].as_f64()), (Some(12), Some(0.6)));
    assert_eq!(json["P0"]["SYNC"], "POOR", "above 0.6, not at it");
    assert!(
        json.get("ALL").is_none() && json["cfg"].get("passthrough").is_none() && json["P0"].get("fifodis").is_none()
    );
}

#[test]
fn what_was_not_measured_is_null_and_the_text_stays_json() {
    let measured = measured(vec![pair(&[10_000; 3], &[], [3, 0])]);
    let json = parsed(&hwbinder(&config("transact:loops=3"), &measured), &["cfg", "ALL", "P0", "inheritance"]);
    assert_eq!(
        json["ALL"]["fifo_ms"],
        serde_json::json!({"avg": null, "wst": null, "bst": null, "miss": null, "meetR": null})
    );
    assert_eq!(json["ALL"]["R"], 0);
    let nothing = measured_nothing();
    parsed(&hwbinder(&config("transact:loops=3"), &nothing), &["cfg", "ALL", "P0", "inheritance"]);
    parsed(&schd_dbg(&config("transact:loops=3"), &nothing), &["cfg", "P0", "inheritance"]);
}

fn measured_nothing() -> Measured {
    measured(vec![PairMeasured::default()])
}

#[test]
fn numbers_have_five_digits_and_no_exponent() {
    for (value, text) in [
        (0.004_821_349, "0.0048213"),
        (15.052_49, "15.052"),
        (1.0, "1"),
        (0.999_996, "1"),
        (0.000_000_123_456_7, "0.00000012346"),
        (123_456_789.0, "123460000"),
        (0.0, "0"),
    ] {
        assert_eq!(five_digits(Some(value)), text);
    }
    assert_eq!((five_digits(None), five_digits(Some(f64::NAN))), ("null".to_owned(), "null".to_owned()));
}

#[test]
fn every_kept_transaction_has_its_line() {
    let lines = verbose(&measured(vec![pair(&[10_000, 20_000], &[30_000, 40_000], [0, 0])]));
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[2], "P0 1 fifo-caller tid: 7 cpu: 0 -> server cpu: 1 SCHED_OTHER 0 nice 0: 0.04 ms");
}
