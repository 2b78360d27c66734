//! `schedlab doctor` in print: warnings first, each check with its value, effect, evidence and fix.

use crate::escape::terminal;
use crate::labels;
use crate::table::{self, paint, wrap};
use schedlab_plan::{Check, CheckState, Environment, InOrder, counted};
use std::io::{self, Write};

/// Sentences wider than this are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// The machine and its checks, for a terminal `width` columns wide.
pub fn checks_text(environment: &Environment, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let columns = width.clamp(40, WIDEST);
    let e = environment;
    let facts = [
        ("host", e.hostname.as_str()),
        ("kernel", e.kernel_release.as_str()),
        ("build", e.kernel_version.as_str()),
        ("CPU", e.cpu_model.as_str()),
        ("online", e.online_cpus.as_str()),
    ];
    for (name, value) in facts.iter().filter(|(_, v)| !v.is_empty()) {
        hang(&format!("{name:<8}"), &terminal(value), columns, out)?;
    }
    let mut checks: Vec<&Check> = e.checks.iter().collect();
    checks.in_order_by_key(|c| labels::check_rank(c.state));
    let column = checks.iter().map(|c| table::width(&c.title)).max().unwrap_or(0).min(34);
    let mut last = None;
    for check in checks {
        if last != Some(check.state) {
            writeln!(out, "\n{}", paint(group(check.state), colour.then_some("1")))?;
            last = Some(check.state);
        }
        of_check(check, column, columns, colour, out)?;
    }
    if e.checks.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    hang("In short: ", &summary(&e.checks), columns, out)
}

/// How much can be measured, what cannot, and the most useful fix.
fn summary(checks: &[Check]) -> String {
    let of = |state| checks.iter().filter(move |check: &&Check| check.state == state);
    let absent: Vec<&str> = of(CheckState::Unavailable).map(|check| check.title.as_str()).collect();
    let known = checks.len() - absent.len();
    let cannot = if absent.is_empty() { String::new() } else { format!("; not here: {}", absent.join(", ")) };
    let warnings = counted(of(CheckState::Warning).count(), "warnings");
    // Problems that affect every trial and those that one command fixes come first, the others in their order.
    const FIRST: [&str; 4] = ["background_load", "perf", "tracefs", "governor"];
    let fixable = || of(CheckState::Warning).chain(of(CheckState::Unavailable)).filter(|check| !check.fix.is_empty());
    let first = FIRST.iter().find_map(|id| fixable().find(|check| check.id == *id)).or_else(|| fixable().next());
    let fix = first.map(|check| format!(". First fix: {} ({})", check.fix, check.title)).unwrap_or_default();
    terminal(&format!("{known} of {} can be read or measured{cannot}. {warnings}{fix}", checks.len()))
}

/// A text after a lead, with its further lines indented to the first; the lead must have one column per character.
fn hang(lead: &str, text: &str, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let indent = table::width(lead);
    for (i, line) in wrap(text, columns.saturating_sub(indent)).iter().enumerate() {
        writeln!(out, "{}{line}", if i == 0 { lead.to_owned() } else { " ".repeat(indent) })?;
    }
    Ok(())
}

fn group(state: CheckState) -> &'static str {
    match state {
        CheckState::Warning => "Warnings: these distort or widen results",
        CheckState::Unavailable => "Unavailable: not measured here",
        CheckState::Info => "Worth knowing",
        CheckState::Good => "Good",
    }
}

fn of_check(check: &Check, column: usize, columns: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let (sign, code) = match check.state {
        CheckState::Good => ("✓", "32"),
        CheckState::Info => ("·", "36"),
        CheckState::Warning => ("!", "33"),
        CheckState::Unavailable => ("–", "2"),
    };
    let title = terminal(&check.title);
    let space = " ".repeat(column.saturating_sub(table::width(&title)));
    // The value is on the line of the title if there is room for it, otherwise below it like the other parts.
    let beside = column + 4 + table::width(&check.value) <= columns;
    let value = terminal(&check.value);
    let first = if beside { format!("{title}{space}  {value}") } else { title };
    writeln!(out, "{} {}", paint(sign, colour.then_some(code)), first.trim_end())?;
    // For a good check, the value and its source are enough.
    let good = check.state == CheckState::Good;
    let parts = [
        ("", if beside { "" } else { check.value.as_str() }),
        ("", if good { "" } else { check.effect.as_str() }),
        ("fix: ", check.fix.as_str()),
        ("read: ", check.evidence.as_str()),
    ];
    for (lead, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        let code = if *lead == "read: " { Some("2") } else { None };
        for (i, line) in wrap(&terminal(text), columns - 4 - lead.len()).iter().enumerate() {
            let lead = if i == 0 { (*lead).to_owned() } else { " ".repeat(lead.len()) };
            writeln!(out, "    {}", paint(&format!("{lead}{line}"), code.filter(|_| colour)))?;
        }
    }
    Ok(())
}
