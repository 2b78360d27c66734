//! The JSON of Android's binder latency tests: `libhwbinder_latency` (with `ALL`, distributions and, with `-raw_data`,
//! every FIFO latency) and its predecessor `schd-dbg` (pairs only). The first versions of the former print exactly what
//! the latter prints (AOSP's libhwbinder/vts/performance/Latency.cpp before `passthrough`,
//! frameworks/native/libs/binder/tests/schd-dbg.cpp), so such a document does not show which tool wrote it. A document
//! is one run, so `cat` the documents of an arm into one file. The two tools count SYNC differently and are separate
//! workloads. Latencies are printed in ms.

use crate::json::{documents, number, text};
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Source};
use schedlab_plan::Direction::{LowerIsBetter, Neutral};
use schedlab_plan::histogram::{BUCKETS, bucket_of};
use schedlab_plan::{Count, Counter, Histogram, NamedHistogram};
use serde_json::{Map, Value};

const CUT_SHORT: &str = "the test stopped at its first miss (-trace) or was killed; -v also breaks its JSON";
const CLASSES: [&str; 2] = ["fifo", "other"];
/// The tool's name, our name, and whether it is a latency in ms.
const LATENCIES: [(&str, &str); 3] = [("avg", "mean"), ("wst", "worst"), ("bst", "best")];
const QUANTILES: [&str; 4] = ["p50", "p90", "p95", "p99"];

/// Whether the text is a document of these tests, complete or truncated.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains("\"cfg\"") && text.contains("\"deadline_us\"")
}

/// All documents of a file.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let documents = documents(source, CUT_SHORT)?;
    if documents.is_empty() {
        return Err(ImportError::Empty(source.file.clone()));
    }
    for (line, document) in documents {
        let wrong = |why: String| ImportError::line(source, line, why);
        let cfg =
            object(&document, "cfg").ok_or_else(|| wrong("this JSON has no `cfg`; it is not hwbinder's".into()))?;
        let args: Vec<(String, String)> = cfg.iter().filter_map(|(key, v)| Some((key.clone(), plain(v)?))).collect();
        let args: Vec<(&str, &str)> = args.iter().map(|(key, v)| (key.as_str(), v.as_str())).collect();
        let is_hwbinder = document.contains_key("ALL") || cfg.contains_key("passthrough");
        if !is_hwbinder {
            table.warn(format!(
                "{}: schd-dbg and the first libhwbinder_latency print this in the same way; which of the two it is cannot be known",
                source.file
            ));
        }
        let name = if is_hwbinder { "hwbinder-latency" } else { "binder-latency" };
        let measured = measured(&document).map_err(wrong)?;
        let mut means = measured.metrics.iter().filter(|m| m.name.ends_with("_mean_ns"));
        if means.all(|m| has_two_digits(m.value)) {
            table.warn(format!(
                "{}: printed with two significant digits; changes below 5 % are invisible in it",
                source.file
            ));
        }
        if document.contains_key("ALL") {
            table.warn("percentiles of this test are the middles of buckets 0.39 ms wide, not of its samples".into());
        }
        let timed = |class: &&str| measured.metrics.iter().any(|m| m.name == format!("{class}_mean_ns"));
        let class = CLASSES.into_iter().find(timed).unwrap_or(CLASSES[0]);
        let workload = table.workload(tool(name, &args), &format!("{class}_mean_ns"));
        table.push(workload, arm, Ok(measured));
    }
    Ok(())
}

fn object<'o>(of: &'o Map<String, Value>, key: &str) -> Option<&'o Map<String, Value>> {
    of.get(key)?.as_object()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// `ALL` and, in addition, each pair; without `ALL`, the pairs together.
fn measured(document: &Map<String, Value>) -> Result<Measured, String> {
    let pairs: Vec<(&String, &Map<String, Value>)> =
        document.iter().filter(|(key, _)| is_pair(key)).filter_map(|(key, v)| Some((key, v.as_object()?))).collect();
    let mut measured = Measured { operation: "transaction".into(), ..Measured::default() };
    match object(document, "ALL") {
        Some(all) => of_part(&mut measured, &[all])?,
        None if pairs.is_empty() => return Err("this JSON has neither `ALL` nor pairs `P0`, `P1`, …".into()),
        None => of_part(&mut measured, &pairs.iter().map(|p| p.1).collect::<Vec<_>>())?,
    }
    for (name, pair) in &pairs {
        for class in CLASSES {
            if let Some(miss) = object(pair, &format!("{class}_ms")).and_then(|o| o.get("miss")?.as_u64()) {
                measured.counters.push(counter(&format!("{class}_miss"), name, miss));
            }
        }
    }
    measured.histograms = raw_data(document);
    if let Some(inheritance) = text(document, "inheritance") {
        measured.notes.push(format!("inheritance: {inheritance}"));
    }
    Ok(measured)
}

fn is_pair(key: &str) -> bool {
    key.strip_prefix('P').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The metrics of one object, or of several combined: means are averaged (each pair makes the same number of
/// transactions), worst and best are those of all, misses are added up.
fn of_part(measured: &mut Measured, parts: &[&Map<String, Value>]) -> Result<(), String> {
    let transactions: f64 = parts.iter().filter_map(|p| number(p, "I")).sum();
    measured.operations = transactions.max(0.0) as u64;
    let mut classes = Vec::new();
    for class in CLASSES {
        let key = format!("{class}_ms");
        let objects: Vec<&Map<String, Value>> = parts.iter().filter_map(|p| object(p, &key)).collect();
        if objects.len() != parts.len() {
            return Err(format!("no `{key}` in `ALL` or a pair; was the output edited?"));
        }
        if objects.iter().all(|o| never_ran(o)) {
            measured.notes.push(format!("no transaction of the {class} class was made"));
        } else {
            classes.push((class, key, objects));
        }
    }
    if classes.is_empty() {
        return Err("neither class has a latency".into());
    }
    // Each class that ran has the same number.
    let of_class = transactions / classes.len() as f64;
    for (class, key, objects) in classes {
        for (theirs, ours) in LATENCIES {
            let values: Option<Vec<f64>> = objects.iter().map(|o| number(o, theirs).filter(|v| *v >= 0.0)).collect();
            let values = values.ok_or_else(|| format!("`{key}` has no number `{theirs}`"))?;
            let value = match theirs {
                "wst" => values.iter().copied().fold(0.0, f64::max),
                "bst" => values.iter().copied().fold(f64::INFINITY, f64::min),
                _ => values.iter().sum::<f64>() / values.len() as f64,
            };
            measured.metric(&format!("{class}_{ours}_ns"), value * 1e6, "ns", LowerIsBetter);
        }
        let misses: f64 = objects.iter().filter_map(|o| number(o, "miss")).sum();
        measured.counters.push(counter(&format!("{class}_miss"), "workload", misses.max(0.0) as u64));
        if transactions > 0.0 {
            measured.metric(&format!("{class}_miss_share"), misses / of_class, "share", LowerIsBetter);
        }
        if let [part] = parts
            && let Some(quantiles) = object(part, &format!("{class}dis"))
        {
            for name in QUANTILES {
                if let Some(ms) = number(quantiles, name).filter(|v| *v >= 0.0) {
                    measured.metric(&format!("{class}_{name}_bucket_ns"), ms * 1e6, "ns", LowerIsBetter);
                }
            }
        }
    }
    let same_cpu: f64 = parts.iter().filter_map(|p| number(p, "S")).sum();
    if transactions > 0.0 {
        measured.metric("sync_share", same_cpu / transactions, "share", Neutral);
    }
    Ok(())
}

/// `schedlab bench transact --compat` reports this for a class that it may not schedule; the original programs would
/// fail.
fn never_ran(class: &Map<String, Value>) -> bool {
    LATENCIES.iter().all(|(theirs, _)| class.get(*theirs).is_some_and(Value::is_null))
}

fn counter(name: &str, scope: &str, count: u64) -> Counter {
    Counter { name: name.into(), scope: scope.into(), source: "hwbinder".into(), count: Count::Exact(count) }
}

/// `fifo_0_data`, `fifo_1_data`, … of `-raw_data`: every FIFO latency in ns, all pairs together.
fn raw_data(document: &Map<String, Value>) -> Vec<NamedHistogram> {
    let lists = document.iter().filter(|(key, _)| key.starts_with("fifo_") && key.ends_with("_data"));
    let samples: Vec<u64> = lists.filter_map(|(_, v)| v.as_array()).flatten().filter_map(Value::as_u64).collect();
    let (Some(&min), Some(&max)) = (samples.iter().min(), samples.iter().max()) else { return Vec::new() };
    let mut cells = vec![0; BUCKETS];
    samples.iter().for_each(|&ns| cells[bucket_of(ns)] += 1);
    let sum = samples.iter().fold(0u64, |sum, &ns| sum.saturating_add(ns));
    let histogram = Histogram::from_dense(&cells, sum, min, max);
    vec![NamedHistogram { name: "fifo".into(), tier: None, histogram }]
}

/// Whether a number could be the result of printing with two significant digits.
fn has_two_digits(value: f64) -> bool {
    format!("{value:.1e}").parse::<f64>().is_ok_and(|short| (short - value).abs() <= 1e-9 * value.abs())
}
