//! UnixBench 5 and 6: the report (`results/HOST-DATE-NN`), with a score and an index per test, and its `.log`, with
//! each pass of each copy. The two are never compared: a report's score is the geometric mean of the best two thirds of
//! the passes (the script `Run`, combinePassResults), while a log has all passes. Each pass is a row, because each is a
//! fresh process. One test with one number of copies is one workload.

mod log;
mod report;

use crate::table::Table;
use crate::{ImportError, Kind, Source};

/// Whether the text is a report or a log.
pub(crate) fn is_in(text: &str) -> bool {
    report::is_in(text) || log::is_in(text)
}

/// A report, a log, or any number of either, one after another.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let before = table.rows.len();
    if log::is_in(&source.text) {
        log::read(source, arm, table)?;
    } else {
        report::read(source, arm, table)?;
    }
    if table.rows.len() == before {
        let wanted = "a score such as `Pipe-based Context Switching  137573.5 lps   (10.0 s, 7 samples)`";
        return Err(ImportError::no_result(source, Kind::UnixBench, wanted));
    }
    Ok(())
}

/// Our unit for UnixBench's label: loops per second, loops per minute and KBps are rates.
fn unit(label: &str) -> (&str, f64) {
    match label {
        "lps" => ("1/s", 1.0),
        "lpm" => ("1/min", 1.0),
        "KBps" => ("B/s", 1024.0),
        other => (other, 1.0),
    }
}

/// `running 4 parallel copies of tests`, `-- 1 copy`: the number before the word.
fn copies(words: &str) -> Option<u64> {
    let words: Vec<&str> = words.split_ascii_whitespace().collect();
    let at = words.iter().position(|w| matches!(*w, "copy" | "copies"))?;
    words[..at].iter().rev().find_map(|w| w.parse().ok()).filter(|&n| n > 0)
}
