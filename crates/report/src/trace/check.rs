//! Whether a trace can be trusted, on a terminal.

use crate::document::{Block, Document, Remark};
use crate::number::{count, ns_of, percent};
use crate::table::{Align, Table};
use schedlab_analyze::trace::check::CpuCheck;
use schedlab_analyze::trace::{Check, Completeness, Losses, Seconds};
use schedlab_plan::noun;

/// Most gaps shown; the JSON has more.
const GAPS_SHOWN: usize = 10;

/// The findings as a page.
pub fn trace_check(found: &Check) -> Document {
    let mut page = Document::of_trace(trace_check_claim(found), &found.trace);
    page.add("", vec![Block::Table(cpus(found))]);
    if !found.gaps.is_empty() {
        page.add("The longest gaps", vec![Block::Table(gaps(found))]);
    }
    let event = |(name, events): &(String, u64)| Block::Hanging("  ".into(), format!("{} {name}", count(*events)));
    let lacking = found.lacking.iter().map(Remark::note);
    let end = Block::remarks(lacking.chain(found.trace.problems.iter().map(Remark::warning)));
    page.add("", found.trace.events_by_name.iter().map(event).chain(end).collect());
    page
}

/// Whether events are missing, as a sentence: the first line of `trace check`, and of what `record` reports about its
/// file.
pub fn trace_check_claim(found: &Check) -> String {
    let missing = missing(found);
    if has_switches(found) {
        return missing;
    }
    format!("The trace has no switches: nothing is known about tasks. {missing}")
}

fn has_switches(found: &Check) -> bool {
    found.cpus.iter().any(|cpu| cpu.switches > 0)
}

fn missing(found: &Check) -> String {
    let many = |n: u64, what: &str| format!("{} {}", count(n), noun(n, what));
    let Losses { events, uncounted, untimed } = found.losses;
    let mut parts = Vec::new();
    if events > 0 || uncounted + untimed == 0 {
        parts.push(format!("{} reported lost", count(events)));
    }
    if uncounted > 0 {
        parts.push(format!("{} reported without a count", many(uncounted, "losses")));
    }
    if untimed > 0 {
        parts.push(format!("{} reported lost at unknown times", count(untimed)));
    }
    match found.completeness {
        Completeness::OnlySomeTasks => {
            format!("Other tasks were not recorded; of those recorded, {}.", parts.join(", "))
        }
        Completeness::OnlySomeCpus => {
            format!(
                "Not all CPUs were recorded, or are in the file; of those that are, none is reported lost{}.",
                chain(found)
            )
        }
        Completeness::Missing => {
            if found.out_of_order > 0 {
                parts.push(format!("{} too late to be put in order", many(found.out_of_order, "events")));
            }
            let sum = |of: fn(&CpuCheck) -> u64| found.cpus.iter().map(of).sum::<u64>();
            let (breaks, backs) = (sum(|c| c.chain_breaks), sum(|c| c.clock_backs));
            let follow = if breaks == 1 { "does" } else { "do" };
            parts.push(format!("{} that {follow} not follow the one before", many(breaks, "switches")));
            parts.push(format!("{} a clock went back", many(backs, "times")));
            format!("Events are missing: {}.{}", parts.join(", "), by_choice(found, breaks))
        }
        Completeness::MayBeMissing if found.unread == 0 => {
            format!("Events may be missing: the recorder lost data that may have held some{}.", chain(found))
        }
        Completeness::MayBeMissing => format!(
            "Events may be missing: {} of the file could not be read. None is reported lost{}.",
            many(found.unread, "parts"),
            chain(found)
        ),
        Completeness::NoneFoundMissing => format!("No missing events found: none was reported lost{}.", chain(found)),
    }
}

/// A recording of only some tasks looks as if many events had been lost, because ftrace does not report the filter.
fn by_choice(found: &Check, breaks: u64) -> &'static str {
    /// If more than one in this many switches does not follow the one before, an overflow is not the cause: it would
    /// have been reported.
    const MIN_SHARE: u64 = 10;
    let switches: u64 = found.cpus.iter().map(|cpu| cpu.switches).sum();
    let none_lost = found.losses == Losses::default();
    if none_lost && breaks * MIN_SHARE > switches {
        " If only some tasks were recorded (set_event_pid, an event filter, trace-cmd -P), that is why."
    } else {
        ""
    }
}

/// Whether each switch begins with the task that the one before it ended with.
fn chain(found: &Check) -> &'static str {
    if !has_switches(found) {
        ""
    } else if found.infers_prev {
        ", and whether each switch follows the one before cannot be seen, since they do not say who left the CPU"
    } else {
        ", and each switch follows the one before"
    }
}

fn cpus(found: &Check) -> Table {
    let mut header = vec![("CPU", Align::Right)];
    header.extend(
        ["events", "switches", "first s", "last s", "gaps", "of the time", "lost", "breaks"]
            .map(|name| (name, Align::Right)),
    );
    let clocks = found.cpus.iter().any(|cpu| cpu.clock_backs > 0);
    header.extend(clocks.then_some(("clock back", Align::Right)));
    let mut table = Table::new(&header);
    for cpu in &found.cpus {
        // A CPU with gaps but without events has neither time.
        let time = |ns: u64| if cpu.last_at_ns == 0 { String::new() } else { format!("{:.6}", Seconds(ns)) };
        let share = cpu.gaps_ns as f64 / found.trace.length_ns.max(1) as f64;
        let mut row = vec![
            cpu.cpu.map_or("?".to_owned(), |n| n.to_string()).into(),
            count(cpu.events).into(),
            count(cpu.switches).into(),
            time(cpu.first_at_ns).into(),
            time(cpu.last_at_ns).into(),
            count(cpu.gaps).into(),
            percent(share).into(),
            count(cpu.lost).into(),
            count(cpu.chain_breaks).into(),
        ];
        row.extend(clocks.then(|| count(cpu.clock_backs).into()));
        table.push(row);
    }
    table
}

fn gaps(found: &Check) -> Table {
    let header = [("CPU", Align::Right), ("from s", Align::Right), ("length", Align::Right), ("found by", Align::Left)];
    let mut table = Table::new(&header);
    for gap in found.gaps.iter().take(GAPS_SHOWN) {
        let why = match gap.why {
            "lost" if gap.lost > 0 => format!("{} events reported lost", count(gap.lost)),
            "lost" => "a reported loss".into(),
            "chain" => "a switch away from a thread that was not on the CPU".into(),
            _ => "its clock going back".into(),
        };
        table.push(vec![
            gap.cpu.map_or("?".to_owned(), |n| n.to_string()).into(),
            format!("{:.6}", Seconds(gap.start_ns)).into(),
            ns_of(gap.end_ns.saturating_sub(gap.start_ns)).into(),
            why.into(),
        ]);
    }
    table
}
