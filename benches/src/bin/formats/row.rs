//! A row of the table: our numbers next to the reference's.

use anyhow::Result;
use schedlab_benches::formats::lines::Text;
use schedlab_benches::formats::numbers::{self, Answer, Numbers};
use std::path::Path;

pub(crate) const HEADER: [&str; 8] =
    ["format", "recorder", "options", "events", "switches", "waits: wakeup + preempt", "longest wait, ns", "equal"];

/// The result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowResult {
    Equal,
    Refused,
    NotRun,
    Differs,
}

/// What a row must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The same numbers.
    Agree,
    /// The same events, no more waits than in the whole trace and none longer, and a report that something is missing.
    ReportLoss,
    /// A refusal, because the times are not ns and their unit is not known.
    Refuse,
}

pub(crate) enum Outcome {
    Compared { must: Expected, answer: Answer, reference: Box<Numbers> },
    NotRun(String),
}

pub(crate) struct Row {
    pub(crate) format: String,
    pub(crate) recorder: String,
    pub(crate) options: String,
    pub(crate) outcome: Outcome,
}

/// Compares the released binary's answer about a file with an independent reading of its text.
pub(crate) fn compare(lab: &super::Lab, trace: &Path, text: &Text, must: Expected) -> Result<Outcome> {
    let answer = numbers::ask(&lab.schedlab, trace, &lab.scratch.path("answer"))?;
    Ok(Outcome::Compared { must, answer, reference: Box::new(Numbers::of(text)) })
}

impl Row {
    pub(crate) fn judged(&self) -> RowResult {
        let (must, answer, reference) = match &self.outcome {
            Outcome::NotRun(_) => return RowResult::NotRun,
            Outcome::Compared { must, answer, reference } => (must, answer, reference),
        };
        match (must, answer) {
            (Expected::Refuse, Err(_)) => RowResult::Refused,
            (Expected::Agree, Ok(answered)) if answered.numbers == **reference => RowResult::Equal,
            (Expected::ReportLoss, Ok(answered)) => {
                let (own, whole) = (&answered.numbers, reference);
                let waits = own.wakeup.count <= whole.wakeup.count && own.preempt.count <= whole.preempt.count;
                let sound = waits && own.longest_ns() <= whole.longest_ns() && own.events == whole.events;
                if sound && !answered.wrong.is_empty() { RowResult::Equal } else { RowResult::Differs }
            }
            _ => RowResult::Differs,
        }
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.format.clone(), self.recorder.clone(), format!("`{}`", self.options)];
        let (answer, reference, must) = match &self.outcome {
            Outcome::NotRun(why) => {
                let why = format!("not run: {}", cell(why));
                cells.extend(std::iter::repeat_n(String::new(), 4).chain([why]));
                return cells;
            }
            Outcome::Compared { answer, reference, must } => (answer, reference, must),
        };
        let answered = match answer {
            Ok(answered) => answered,
            Err(sentence) => {
                cells.extend(std::iter::repeat_n(String::new(), 4));
                let no = if self.judged() == RowResult::Refused { "" } else { "**no**, " };
                cells.push(format!("{no}refused: {}", cell(sentence)));
                return cells;
            }
        };
        let own = &answered.numbers;
        let beside = |own: String, other: String| if own == other { own } else { format!("{own} ≠ {other}") };
        let pair = |of: fn(&Numbers) -> String| beside(of(own), of(reference));
        cells.push(pair(|n| n.all().to_string()));
        cells.push(pair(|n| n.switches().to_string()));
        cells.push(pair(|n| format!("{} + {}", n.wakeup.count, n.preempt.count)));
        cells.push(pair(|n| n.longest_ns().to_string()));
        let first = || answered.wrong.first().map_or(String::new(), |wrong| format!("; told: {}", cell(wrong)));
        cells.push(match (self.judged(), must) {
            (RowResult::Equal, Expected::ReportLoss) => format!("no false wait{}", first()),
            (RowResult::Equal, _) => "yes".into(),
            _ => format!("**no**{}{}", self.difference(own, reference), first()),
        });
        cells
    }

    /// The difference, if the table's columns do not show it.
    fn difference(&self, own: &Numbers, other: &Numbers) -> String {
        let names = own.events.keys().chain(other.events.keys()).collect::<std::collections::BTreeSet<_>>();
        let count = |of: &Numbers, name: &String| of.events.get(name).copied().unwrap_or(0);
        let different = names.into_iter().filter(|name| count(own, name) != count(other, name));
        let mut words: Vec<String> =
            different.map(|name| format!("{name} {} ≠ {}", count(own, name), count(other, name))).collect();
        for (kind, own, other) in [("wakeup", own.wakeup, other.wakeup), ("preempt", own.preempt, other.preempt)] {
            if own.count == other.count && own.sum_ns != other.sum_ns {
                words.push(format!("{kind} waits {} ≠ {} ns together", own.sum_ns, other.sum_ns));
            }
        }
        if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
    }
}

/// A sentence in a cell of the table, without this run's own directory.
fn cell(sentence: &str) -> String {
    let own = std::env::temp_dir().join(format!("schedlab-bench-formats-{}", std::process::id()));
    sentence.replace(&format!("{}/", own.display()), "").replace(['\n', '|'], " ")
}
