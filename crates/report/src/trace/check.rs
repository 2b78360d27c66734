//! Whether a trace can be believed, on a terminal.

use super::Page;
use crate::number::{count, percent, quantity};
use crate::table::{Align, Table};
use schedlab_analyze::trace::Check;
use std::io::{self, Write};

/// Gaps that are shown; the JSON has more.
const GAPS_SHOWN: usize = 10;

/// The findings for a terminal `width` columns wide, with ANSI colours or without.
pub fn trace_check_text(found: &Check, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, width, colour);
    page.heading(&claim(found))?;
    page.origin(&found.trace)?;
    page.blank()?;
    page.table(&cpus(found))?;
    if !found.gaps.is_empty() {
        page.blank()?;
        page.heading("The longest gaps")?;
        page.table(&gaps(found))?;
    }
    page.blank()?;
    for (name, events) in &found.trace.events_by_name {
        page.paragraph("  ", &format!("{} {name}", count(*events)))?;
    }
    for sentence in &found.lacking {
        page.paragraph("  - ", sentence)?;
    }
    for problem in &found.trace.problems {
        page.paragraph("  ! ", problem)?;
    }
    Ok(())
}

fn claim(found: &Check) -> String {
    let sum = |of: fn(&schedlab_analyze::trace::check::CpuCheck) -> u64| found.cpus.iter().map(of).sum::<u64>();
    let (lost, breaks, backs) = (sum(|c| c.lost), sum(|c| c.chain_breaks), sum(|c| c.clock_backs));
    if lost + breaks + backs == 0 {
        return "No event is missing as far as can be told: none is reported lost, and each switch follows the one before."
            .into();
    }
    format!(
        "Events are missing: {} reported lost, {} breaks of the chain of switches, {} clocks that went back.",
        count(lost),
        count(breaks),
        count(backs)
    )
}

fn cpus(found: &Check) -> Table {
    let mut header = vec![("CPU", Align::Right)];
    header.extend(
        ["events", "switches", "first s", "last s", "gaps", "of the time", "lost", "chain", "clock"]
            .map(|name| (name, Align::Right)),
    );
    let mut table = Table::new(&header);
    for cpu in &found.cpus {
        let time = |s: f64| format!("{s:.6}");
        let share = cpu.gaps_s / found.trace.length_s.max(1e-9);
        table.push(vec![
            cpu.cpu.map_or("?".to_owned(), |n| n.to_string()).into(),
            count(cpu.events).into(),
            count(cpu.switches).into(),
            time(cpu.first_s).into(),
            time(cpu.last_s).into(),
            count(cpu.gaps).into(),
            percent(share).into(),
            count(cpu.lost).into(),
            count(cpu.chain_breaks).into(),
            count(cpu.clock_backs).into(),
        ]);
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
            format!("{:.6}", gap.start_s).into(),
            quantity(gap.end_s - gap.start_s, "s").into(),
            why.into(),
        ]);
    }
    table
}
