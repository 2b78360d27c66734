//! The `.log` next to a report: `TEST -- N copies`, then `#### Pass K`, then for each copy its fields as `# NAME:
//! VALUE`. Among these are `COUNT0` (loops), `COUNT1` (time base, s; 0 if the count is already a rate) and `COUNT2`
//! (the label). A pass is one row: the sum of the copies over their mean time, as computed by the script `Run`, and a
//! task per copy.

use super::{copies, unit};
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Source};
use schedlab_plan::Direction::HigherIsBetter;
use schedlab_plan::TaskRecord;

/// Whether the text has logged passes.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("#### Pass ")) && text.lines().any(|line| heading(line).is_some())
}

/// `Pipe-based Context Switching -- 2 copies`.
fn heading(line: &str) -> Option<(&str, u64)> {
    let (test, rest) = line.rsplit_once(" -- ")?;
    Some((test.trim(), copies(rest)?))
}

/// The fields of one copy in one pass.
#[derive(Debug, Clone, Default, PartialEq)]
struct Copy {
    pid: u32,
    count: Option<f64>,
    time_base_s: f64,
    label: String,
    time_s: Option<f64>,
    elapsed_s: Option<f64>,
    error: Option<String>,
}

/// A pass whose lines are being read.
#[derive(Debug, Default)]
struct Pass {
    line: usize,
    copies: Vec<Copy>,
    /// Whether the next field belongs to a copy already begun.
    in_copy: bool,
}

pub(super) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let mut test: Option<(String, u64)> = None;
    let mut pass: Option<Pass> = None;
    for (index, line) in source.text.lines().enumerate() {
        let ends_pass = heading(line).is_some() || line.starts_with("#### Pass ") || line.starts_with(">>>> ");
        if ends_pass && let (Some(pass), Some(test)) = (pass.take(), &test) {
            finish(source, pass, test, arm, table)?;
        }
        if let Some((name, copies)) = heading(line) {
            test = Some((name.to_owned(), copies));
        } else if line.starts_with("#### Pass ") {
            pass = Some(Pass { line: index + 1, ..Pass::default() });
        } else if let Some(pass) = &mut pass {
            pass.learn(line);
        }
    }
    match (pass, &test) {
        (Some(pass), Some(test)) => finish(source, pass, test, arm, table),
        _ => Ok(()),
    }
}

impl Pass {
    /// Records a field of a copy; the fields of each copy are sorted and end with a blank line.
    fn learn(&mut self, line: &str) {
        let Some((name, value)) = line.strip_prefix("# ").and_then(|field| field.split_once(": ")) else {
            self.in_copy &= !line.trim().is_empty();
            return;
        };
        if !std::mem::replace(&mut self.in_copy, true) {
            self.copies.push(Copy::default());
        }
        let Some(copy) = self.copies.last_mut() else { return };
        let number = value.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        match name {
            "COUNT0" => copy.count = number,
            "COUNT1" => copy.time_base_s = number.unwrap_or(0.0),
            "COUNT2" => copy.label = value.trim().to_owned(),
            "TIME" => copy.time_s = number,
            "elapsed" => copy.elapsed_s = number,
            "pid" => copy.pid = value.trim().parse().unwrap_or(0),
            "ERROR" => copy.error = Some(value.trim().to_owned()),
            _ => {}
        }
    }
}

fn finish(source: &Source, pass: Pass, test: &(String, u64), arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let (name, copies) = test;
    let count = copies.to_string();
    let spec = tool("unixbench", &[("test", name), ("copies", &count), ("score", "each-pass")]);
    let workload = table.workload(spec, "score");
    if let Some(error) = pass.copies.iter().find_map(|c| c.error.clone()) {
        table.push(workload, arm, Err(error));
        return Ok(());
    }
    let measured = measured(&pass.copies, *copies).ok_or_else(|| {
        let (have, line) = (pass.copies.len(), pass.line);
        let why = format!(
            "this pass of `{name}` has the results of {have} of {copies} copies, or one without COUNT0 and elapsed; is \
             the log cut short?"
        );
        ImportError::line(source, line, why)
    })?;
    table.push(workload, arm, Ok(measured));
    Ok(())
}

/// The sum of the copies over their mean time; `None` if a copy is missing or incomplete.
fn measured(copies: &[Copy], expected: u64) -> Option<Measured> {
    let first = copies.first().filter(|_| copies.len() as u64 == expected)?;
    let counts: Vec<f64> = copies.iter().map(|c| c.count).collect::<Option<_>>()?;
    let times: Vec<f64> =
        copies.iter().map(|c| c.time_s.filter(|t| *t > 0.0).or(c.elapsed_s)).collect::<Option<_>>()?;
    let (sum, time_s) = (counts.iter().sum::<f64>(), times.iter().sum::<f64>() / times.len() as f64);
    let is_count = first.time_base_s > 0.0 && time_s > 0.0;
    let (unit, factor) = unit(&first.label);
    let score = if is_count { sum / time_s * first.time_base_s } else { sum };
    let mut measured = Measured::default();
    measured.metric("score", score * factor, unit, HigherIsBetter);
    if is_count {
        measured.operations = sum as u64;
        measured.operation = "loop".into();
        let task = |(group, (copy, &count)): (usize, (&Copy, &f64))| TaskRecord {
            tid: copy.pid,
            role: "copy".into(),
            group: group as u32,
            operations: count as u64,
            ..TaskRecord::default()
        };
        measured.tasks = copies.iter().zip(&counts).enumerate().map(task).collect();
    }
    score.is_finite().then_some(measured)
}
