//! pandas, Polars and DuckDB read the tables as they are, and all three see what we stored.

#![allow(clippy::print_stderr, reason = "the skip marker is for `cargo xtask test`")]

mod records;

use records::Lab;
use schedlab_plan::TrialOutcome;
use std::process::Command;

/// A Python interpreter with these modules; `SCHEDLAB_PYTHON` names one in a virtual environment.
fn python() -> Option<String> {
    let python = std::env::var("SCHEDLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&python).args(["-c", "import pyarrow, pandas, polars, duckdb"]).output();
    probe.is_ok_and(|o| o.status.success()).then_some(python)
}

#[test]
fn pandas_polars_and_duckdb_read_the_tables() {
    let Some(python) = python() else {
        eprintln!(
            "schedlab-skip: pandas_polars_and_duckdb_read_the_tables: needs pandas (python3 without pyarrow, pandas, \
             polars and duckdb; SCHEDLAB_PYTHON names another)"
        );
        return;
    };
    for (seed, count) in [(21, 30), (22, 0)] {
        let lab = Lab::new(seed, count, true);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_tables.py");
        let ran = Command::new(&python).arg(script).arg(&lab.dir).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let counts: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let outcomes = || lab.records.iter().filter_map(|r| r.outcome.as_ref());
        let sum = |of: fn(&TrialOutcome) -> usize| outcomes().map(of).sum::<usize>();
        let marks = lab.records.iter().map(|r| r.marks.len()).sum();
        let expected = [
            ("trials", lab.records.len()),
            ("marks", marks),
            ("metrics", sum(|o| o.metrics.len())),
            ("phases", sum(|o| o.phases.len())),
            ("distributions", sum(|o| o.histograms.len())),
            ("histogram_cells", sum(|o| o.histograms.iter().map(|h| h.histogram.cells.len()).sum())),
            ("slow_operations", sum(|o| o.slowest.len())),
            ("tiers", sum(|o| o.tiers.len())),
            ("counters", sum(|o| o.counters.len())),
            ("series", sum(|o| o.series.len())),
            ("tasks", sum(|o| o.tasks.len())),
            ("task_groups", sum(|o| o.groups.len())),
            ("windows", sum(|o| o.windows.len())),
            ("applied", sum(|o| o.applied.len())),
            ("loads", sum(|o| o.loads.len())),
            ("lines", sum(|o| o.native_lines.len() + o.notes.len())),
        ];
        assert_eq!(counts.as_object().unwrap().len(), expected.len());
        for (table, rows) in expected {
            assert_eq!(counts[table], rows, "{table}");
        }
    }
}
