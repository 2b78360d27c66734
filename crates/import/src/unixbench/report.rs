//! The report: below `Benchmark Run:` and the line with the number of copies, first the scores, then the index table.

use super::{copies, unit};
use crate::error::shown;
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Source};
use schedlab_plan::Direction::HigherIsBetter;

/// Whether a run of the report begins in this text.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("Benchmark Run:") || line.contains("BYTE UNIX Benchmarks"))
}

/// One `Benchmark Run:`.
#[derive(Debug, Default)]
struct Run {
    copies: Option<u64>,
    tests: Vec<(String, Measured)>,
    /// The geometric mean of all indexes, under its title (`… (Partial Only)` when tests were left out).
    overall: Option<(String, f64)>,
}

pub(super) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let mut run = Run::default();
    for (index, line) in source.text.lines().enumerate() {
        if line.starts_with("Benchmark Run:") {
            finish(std::mem::take(&mut run), arm, table);
        } else if line.contains("parallel cop") {
            run.copies = copies(line);
        } else if run.copies.is_none() {
            // The banner and the machine, before the first run.
        } else if let Some((test, measured)) = score(line) {
            run.tests.push((test, measured));
        } else if let Some((title, value)) = line.split_once(" Index Score") {
            let (rest, value) = value.rsplit_once(' ').unwrap_or(("", value));
            let value =
                value.trim().parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| {
                    ImportError::line(source, index + 1, format!("`{}` has no index score", shown(line)))
                })?;
            run.overall = Some((format!("{title} Index Score {}", rest.trim()), value));
        } else if let Some((test, value)) = index_line(line)
            && let Some((_, measured)) = run.tests.iter_mut().find(|(name, _)| *name == test)
        {
            measured.metric("index", value, "", HigherIsBetter);
        }
    }
    finish(run, arm, table);
    Ok(())
}

/// `Pipe-based Context Switching      137573.5 lps   (10.0 s, 7 samples)`.
fn score(line: &str) -> Option<(String, Measured)> {
    let (left, how) = line.strip_suffix(" samples)")?.rsplit_once('(')?;
    let mut words = left.split_ascii_whitespace().rev();
    let (label, value) = (words.next()?, words.next()?.parse::<f64>().ok().filter(|v| v.is_finite())?);
    let name: Vec<&str> = left.split_ascii_whitespace().collect();
    let name = name[..name.len() - 2].join(" ");
    let (unit, factor) = unit(label);
    let mut measured = Measured::default();
    measured.metric("score", value * factor, unit, HigherIsBetter);
    measured.notes.push(format!("geometric mean of the best passes ({how} samples)"));
    (!name.is_empty()).then_some((name, measured))
}

/// `Pipe-based Context Switching      4000.0     137573.5    343.9`: baseline, result, index.
fn index_line(line: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [name @ .., baseline, result, index] = words.as_slice() else { return None };
    let number = |word: &str| word.parse::<f64>().ok().filter(|v| v.is_finite());
    let (_, _, index) = (number(baseline)?, number(result)?, number(index)?);
    Some((name.join(" "), index))
}

fn finish(run: Run, arm: u32, table: &mut Table) {
    let Some(copies) = run.copies else { return };
    let copies = copies.to_string();
    let mut spec = |test: &str, primary: &str, measured: Measured| {
        let args = [("test", test), ("copies", copies.as_str()), ("score", "best-two-thirds")];
        let workload = table.workload(tool("unixbench", &args), primary);
        table.push(workload, arm, Ok(measured));
    };
    for (test, measured) in run.tests {
        spec(&test, "score", measured);
    }
    if let Some((title, value)) = run.overall {
        let mut measured = Measured::default();
        measured.metric("index", value, "", HigherIsBetter);
        spec(title.trim(), "index", measured);
    }
}
