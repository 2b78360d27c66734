//! The trials of a page as data, each once: the page's script reads them to show what is at the pointer, and to create
//! a table of all trials. Columns instead of objects, so that ten thousand trials take fewer bytes than a photograph.

use crate::pictures::Rows;
use schedlab_analyze::Findings;
use serde::Serialize;

/// Everything the script reads.
#[derive(Serialize)]
struct Data<'a> {
    arms: Vec<&'a str>,
    workloads: Vec<Workload<'a>>,
}

/// One workload; columns are as long as there are rows.
#[derive(Serialize)]
struct Workload<'a> {
    /// Running numbers; one number stands for all when each is one more than the one before.
    trial: Numbers,
    arm: Vec<u32>,
    /// -1 before block 0.
    block: Vec<i64>,
    position: Vec<u32>,
    /// A note and the rows it is about.
    notes: Vec<(&'a str, Vec<usize>)>,
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    From(u64),
    Each(Vec<u64>),
}

/// A primary metric, values in `unit`.
#[derive(Serialize)]
struct Metric<'a> {
    name: &'a str,
    unit: &'a str,
    values: Vec<serde_json::Value>,
}

/// One line of JSON that is safe inside a script element.
pub(super) fn of(findings: &Findings, all: &[&Rows]) -> String {
    let data = Data {
        arms: findings.arms.iter().map(|a| a.name.as_str()).collect(),
        workloads: all.iter().map(|rows| workload(rows)).collect(),
    };
    // Names and notes are not trusted: nothing in them may end the element or open a comment.
    schedlab_plan::json::small(&data).unwrap_or_default().replace('<', "\\u003c")
}

fn workload(rows: &Rows) -> Workload<'_> {
    let mut notes: std::collections::BTreeMap<&str, Vec<usize>> = std::collections::BTreeMap::new();
    for (i, row) in rows.rows.iter().enumerate().filter(|(_, r)| !r.note.is_empty()) {
        notes.entry(&row.note).or_default().push(i);
    }
    let trials: Vec<u64> = rows.rows.iter().map(|r| r.trial).collect();
    let in_step = trials.windows(2).all(|w| w[1] == w[0] + 1);
    let metric =
        |column: &'_ crate::pictures::Column| column.values.iter().map(|(v, _)| number(*v, column.scale)).collect();
    Workload {
        trial: match trials.first() {
            Some(first) if in_step => Numbers::From(*first),
            _ => Numbers::Each(trials),
        },
        arm: rows.rows.iter().map(|r| r.arm).collect(),
        block: rows.rows.iter().map(|r| r.block.map_or(-1, i64::from)).collect(),
        position: rows.rows.iter().map(|r| r.position).collect(),
        notes: notes.into_iter().collect(),
        metrics: rows.columns.iter().map(|c| Metric { name: &c.name, unit: &c.unit, values: metric(c) }).collect(),
    }
}

/// A value with five significant digits, more than any interval here has; `null` for none.
fn number(value: Option<f64>, scale: f64) -> serde_json::Value {
    let short = |x: f64| crate::number::significant(x / scale, 5).parse::<f64>().ok();
    let parsed = value.filter(|v| v.is_finite()).and_then(short);
    match parsed {
        Some(x) if x.fract() == 0.0 && x.abs() < 1e9 => serde_json::Value::from(x as i64),
        Some(x) => serde_json::Value::from(x),
        None => serde_json::Value::Null,
    }
}
