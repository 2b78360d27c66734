//! Priority inversions on a terminal: which tasks were held up, which ran instead, and the longest inversions in
//! detail.

use super::basis::{basis, censored, listed};
use super::{more, nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{NONE, count, ns_of as ns};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::inversions::{InversionRow, Inversions, LowerPart, MAX_LISTED, Party, Times};
use schedlab_plan::noun;

/// The findings as a page.
pub(super) fn page(found: &Inversions) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.held.is_empty() {
        page.add("Who was held up", vec![Block::Table(held(found))]);
    }
    if !found.lower.is_empty() {
        page.add("Who ran instead, at a lower priority", vec![Block::Table(lower(found))]);
        let end = Block::remarks(listed(found.longest.len(), MAX_LISTED, "inversions"));
        page.add("The longest", found.longest.iter().flat_map(longest).chain(end).collect());
    }
    let mut end: Vec<Remark> = more(found.more_held, "tasks held up").into_iter().collect();
    end.extend(more(found.more_lower, "that ran instead"));
    if found.boosts > 0 {
        end.push(Remark::note(format!("{} priorities were raised by inheritance", count(found.boosts))));
    }
    end.extend(censored("waits that are in no number", found.total.censored));
    end.extend(basis(&found.lacking, if found.total.waits > 0 { found.definitions } else { &[] }));
    page.ends(end.into_iter().chain(remarks(&found.trace)))
}

fn claim(found: &Inversions) -> String {
    let total = &found.total;
    if total.waits == 0 {
        let known = "no wait of a real-time thread (or of the selected priorities) is known from start to end";
        return nothing(&found.trace, known);
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

fn longest(row: &InversionRow) -> Vec<Block<'static>> {
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
    let mut all = vec![Block::Text(text)];
    let mut below = |text: String| all.push(Block::Hanging("      ".to_owned(), text));
    for link in &row.links {
        let boosted = if link.boosted { ", boosted" } else { "" };
        let text = format!(
            "through {}{boosted}: kept from running for {} by {}",
            who(&link.who),
            ns(link.ns),
            parts(&link.behind)
        );
        below(text);
    }
    if row.own_ns > 0 {
        below(format!("its own wait: {} behind {}", ns(row.own_ns), parts(&row.own)));
    }
    if row.cut {
        below("what it depended on before that is further back than is remembered".to_owned());
    }
    all
}

fn parts(parts: &[LowerPart]) -> String {
    let part = |part: &LowerPart| format!("{} on CPU {} ({})", who(&part.who), part.cpu, ns(part.ns));
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}
