//! Priority inversions, on a terminal: who was held up, who ran instead, and the longest with what they went through.

use super::Page;
use crate::number::{NONE, count, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::inversions::{InversionRow, Inversions, LowerPart, MOST_LISTED, Party, Times};
use schedlab_run::noun;
use std::io::{self, Write};

/// The findings for a terminal `width` columns wide, with ANSI colours or without.
pub fn trace_inversions_text(found: &Inversions, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, width, colour);
    page.heading(&claim(found))?;
    page.origin(&found.trace)?;
    if !found.held.is_empty() {
        page.blank()?;
        page.heading("Who was held up")?;
        page.table(&held(found))?;
    }
    if !found.lower.is_empty() {
        page.blank()?;
        page.heading("Who ran instead, at a lower priority")?;
        page.table(&lower(found))?;
        page.blank()?;
        page.heading("The longest")?;
        for row in &found.longest {
            longest(row, &mut page)?;
        }
        page.listed(found.longest.len(), MOST_LISTED, "inversions")?;
    }
    page.blank()?;
    let more = [(found.more_held, "more tasks held up"), (found.more_lower, "more that ran instead")];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        page.paragraph("  - ", &format!("{} {what}; --top 0 shows all", count(number)))?;
    }
    if found.boosts > 0 {
        page.paragraph("  - ", &format!("{} priorities were raised by inheritance", count(found.boosts)))?;
    }
    page.censored("waits", found.total.censored)?;
    page.basis(&found.lacking, if found.total.waits > 0 { found.definitions } else { &[] })?;
    page.remarks(&found.trace)
}

fn ns(ns: u64) -> String {
    quantity(ns as f64, "ns")
}

fn claim(found: &Inversions) -> String {
    let total = &found.total;
    if total.waits == 0 {
        return "No wait of a real-time thread (or of the priorities asked for) is known from begin to end.".into();
    }
    let Some(longest) = found.longest.first() else {
        return format!(
            "{} {}, and nothing of lower priority ran meanwhile.",
            count(total.waits),
            noun(total.waits, "waits")
        );
    };
    format!(
        "Longest inversion: {} of {}, {:.6} s; in {} {} {} behind lower priorities, and {} through others.",
        ns(longest.ns),
        who(&longest.who),
        Seconds(longest.end_ns),
        count(total.waits),
        noun(total.waits, "waits"),
        ns(total.own.ns),
        ns(total.chain.ns)
    )
}

fn who(party: &Party) -> String {
    let prio = party.prio.map_or(String::new(), |prio| format!(" (prio {prio})"));
    format!("{}:{}{prio}", party.comm, party.tid)
}

fn times(times: &Times) -> [Cell; 2] {
    match times.times {
        0 => [String::new().into(), String::new().into()],
        _ => [ns(times.ns).into(), ns(times.longest_ns).into()],
    }
}

fn held(found: &Inversions) -> Table {
    let mut header = vec![("task", Align::Left)];
    header.extend(["prio", "waits", "own wait", "max", "through", "max"].map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.held {
        let mut cells: Vec<Cell> = vec![super::task(&row.comm, row.tid, row.tasks).into()];
        cells.push(row.prio.map_or(NONE.to_owned(), |prio| prio.to_string()).into());
        cells.push(count(row.waits).into());
        cells.extend(times(&row.own));
        cells.extend(times(&row.chain));
        table.push(cells);
    }
    table
}

fn lower(found: &Inversions) -> Table {
    let mut header = vec![("task", Align::Left)];
    header.extend(["own wait", "max", "through", "max"].map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.lower {
        let mut cells: Vec<Cell> = vec![row.comm.as_str().into()];
        cells.extend(times(&row.own));
        cells.extend(times(&row.chain));
        table.push(cells);
    }
    table
}

fn longest(row: &InversionRow, page: &mut Page<'_>) -> io::Result<()> {
    let began = if row.preempted { "preempted" } else { "woken" };
    let slept = row.slept_from_ns.map_or(String::new(), |from| format!("asleep from {:.6} s, ", Seconds(from)));
    let text = format!(
        "{} {}, {slept}{began} {:.6}, in {:.6} s on CPU {}",
        ns(row.ns),
        who(&row.who),
        Seconds(row.start_ns),
        Seconds(row.end_ns),
        row.cpu
    );
    page.paragraph("  ", &text)?;
    for link in &row.links {
        let boosted = if link.boosted { ", boosted" } else { "" };
        let text = format!(
            "through {}{boosted}: kept from running for {} by {}",
            who(&link.who),
            ns(link.ns),
            parts(&link.behind)
        );
        page.paragraph("      ", &text)?;
    }
    if row.own_ns > 0 {
        page.paragraph("      ", &format!("its own wait: {} behind {}", ns(row.own_ns), parts(&row.own)))?;
    }
    if row.cut {
        page.paragraph("      ", "what it depended on before that is further back than is remembered")?;
    }
    Ok(())
}

fn parts(parts: &[LowerPart]) -> String {
    let part = |part: &LowerPart| format!("{} on CPU {} ({})", who(&part.who), part.cpu, ns(part.ns));
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}
