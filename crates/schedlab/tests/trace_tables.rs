//! `trace convert -o DIR`: other readers see each event of each golden trace, and the same intervals as the analyses
//! count.

#![allow(clippy::print_stderr, reason = "the skip marker is for `cargo xtask test`")]

mod program;

use program::{Lab, json, schedlab};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn golden() -> Vec<PathBuf> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/traces");
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut traces: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    traces.sort();
    assert!(traces.len() > 10);
    traces
}

/// The interpreter with the modules; `SCHEDLAB_PYTHON` names one in a virtual environment.
fn python() -> Option<String> {
    let python = std::env::var("SCHEDLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&python).args(["-c", "import pyarrow, pandas, polars, duckdb"]).output();
    probe.is_ok_and(|o| o.status.success()).then_some(python)
}

#[test]
fn pandas_polars_and_duckdb_read_the_tables_of_a_trace() {
    let Some(python) = python() else {
        eprintln!(
            "schedlab-skip: pandas_polars_and_duckdb_read_the_tables_of_a_trace: needs pandas (python3 without pyarrow, \
             pandas, polars and duckdb; SCHEDLAB_PYTHON names another)"
        );
        return;
    };
    let lab = Lab::new("trace-tables");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_tables.py");
    let out = |trace: &PathBuf| lab.path(trace.file_stem().unwrap().to_str().unwrap());
    let traces = golden();
    let said: Vec<String> = traces
        .iter()
        .map(|trace| schedlab(&["trace", "convert", trace.to_str().unwrap(), "-o", &out(trace)]).success().stderr)
        .collect();
    let ran = Command::new(&python).arg(script).args(traces.iter().map(out)).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let all: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(all.len(), traces.len());
    for ((trace, said), seen) in traces.iter().zip(said).zip(all) {
        let file = trace.to_str().unwrap();
        let rows = seen["rows"]["events"].as_u64().unwrap();
        assert!(said.contains(&format!(": {rows} event")), "{file}: {rows} rows, but {said}");
        assert_eq!(seen["disordered"], 0, "{file}");
        // The number of events that the text reader counts, by name.
        let found = json(&schedlab(&["trace", "latency", file, "--json"]).success().stdout);
        let by_name: u64 = found["trace"]["events_by_name"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|of| seen["events"].get(of[0].as_str().unwrap()).is_some())
            .map(|of| of[1].as_u64().unwrap())
            .sum();
        assert_eq!(rows, by_name, "{file}: {}", found["trace"]["events_by_name"]);
        let total = &found["total"];
        let sum = |waits: &str| &total[waits]["histogram"]["sum_ns"];
        assert_eq!(&seen["run_ns"], &total["run_ns"], "{file}");
        assert_eq!((&seen["wakeup_ns"], &seen["preempt_ns"]), (sum("wakeup"), sum("preempt")), "{file}");
        let censored = |waits: &str| total[waits]["censored"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
        let all: u64 = censored("wakeup").chain(censored("preempt")).sum();
        assert_eq!(seen["censored"], all, "{file}");
    }
}

#[test]
fn a_directory_of_tables_is_there_when_it_is_complete() {
    let lab = Lab::new("trace-tables-dir");
    let trace = &golden()[0];
    let (file, out) = (trace.to_str().unwrap(), lab.path("out"));
    schedlab(&["trace", "convert", file, "-o", &out]).success();
    let mut names: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let tables = ["events", "gaps", "runs", "sleeps", "threads", "waits"];
    assert_eq!(names, tables.map(|name| format!("{name}.parquet")));
    let again = schedlab(&["trace", "convert", file, "-o", &out]).failure();
    assert!(again.stderr.contains("out already exists and is not empty: give another directory"), "{}", again.stderr);
    let dotted = lab.path("out.d");
    schedlab(&["trace", "convert", file, "-o", &dotted, "--to", "parquet"]).success();
    assert!(std::fs::read_dir(&dotted).unwrap().count() == tables.len());
    let bad = lab.path("none.txt");
    schedlab(&["trace", "convert", &bad, "-o", &lab.path("nothing")]).failure();
    assert!(!std::path::Path::new(&lab.path("nothing.part")).exists());
}
