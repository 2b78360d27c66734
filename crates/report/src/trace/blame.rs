//! What tasks waited behind, on a terminal: the causes, the victims, the longest waits, and what is not known.

use super::basis::{basis, censored, listed};
use super::{more, nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{count, ns_of as ns, percent};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::blame::{Blame, BlameShare, LongestPart, LongestWait, MAX_LISTED, VictimRow};
use schedlab_plan::noun;

/// Most causes in a victim's row.
const SHARES_SHOWN: usize = 3;

/// The findings as a page.
pub(super) fn page(found: &Blame) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    let total = &found.total;
    if total.waits > 0 {
        page.add("What ran while they waited", vec![Block::Table(causes(found))]);
        page.add("Who waited, and behind whom", vec![Block::Table(victims(found))]);
        let end = listed(found.longest.len(), MAX_LISTED, &format!("of {} waits", count(total.waits)));
        page.add("The longest waits", found.longest.iter().flat_map(longest).chain(Block::remarks(end)).collect());
    }
    let mut end: Vec<Remark> = Vec::new();
    if total.waits > 0 {
        end.extend(more(found.more_causes, "causes"));
        end.extend(more(found.more_victims, "tasks"));
    }
    if total.idle_elsewhere_ns > 0 && !found.affinity_known {
        let text = "CPUs that a thread may not use count as idle elsewhere, too: the trace has no affinity masks";
        end.push(Remark::note(text));
    }
    if found.affinity_changed > 0 {
        let text = "threads may use other CPUs at the end than at the start";
        end.push(Remark::note(format!("{} {text}", count(found.affinity_changed))));
    }
    if total.unknown_set_waits > 0 {
        let text = "waits it is not known which CPUs the thread may use: idle elsewhere is an upper bound there";
        let (unknown, all) = (count(total.unknown_set_waits), count(total.waits));
        end.push(Remark::note(format!("of {unknown} of the {all} {text}")));
    }
    end.extend(censored("waits that are in no number", total.censored));
    end.extend(basis(&found.lacking, if total.waits > 0 { found.definitions } else { &[] }));
    page.ends(end.into_iter().chain(remarks(&found.trace)))
}

fn claim(found: &Blame) -> String {
    let total = &found.total;
    if total.waits == 0 {
        return nothing(&found.trace, "no wait of a task is known from start to end");
    }
    let share = |ns: u64| percent(ns as f64 / (total.waited_ns.max(1)) as f64);
    let first: Vec<String> = total.shares.iter().take(2).map(|s| format!("{} {}", share(s.ns), s.cause)).collect();
    let elsewhere = match total.idle_elsewhere_ns {
        0 => String::new(),
        ns => format!("; for up to {} of the time another CPU was idle", share(ns)),
    };
    let waited = ns(total.waited_ns);
    format!(
        "{} {}, {waited} together: {}{elsewhere}.",
        count(total.waits),
        noun(total.waits, "waits"),
        first.join(", ")
    )
}

fn causes(found: &Blame) -> Table {
    let header = [
        ("cause", Align::Left),
        ("time", Align::Right),
        ("of all", Align::Right),
        ("waits", Align::Right),
        ("longest", Align::Right),
        ("mostly delayed", Align::Left),
    ];
    let mut table = Table::new(&header);
    for row in &found.causes {
        let BlameShare { cause, ns: time, waits, longest_ns, .. } = &row.share;
        let against = percent(row.most_against_ns as f64 / (*time).max(1) as f64);
        table.push(vec![
            cause.as_str().into(),
            ns(*time).into(),
            percent(*time as f64 / found.total.waited_ns.max(1) as f64).into(),
            count(*waits).into(),
            ns(*longest_ns).into(),
            format!("{} {against}", row.most_against).into(),
        ]);
    }
    table
}

fn victims(found: &Blame) -> Table {
    let header = [
        ("task", Align::Left),
        ("waits", Align::Right),
        ("waited", Align::Right),
        ("idle else", Align::Right),
        ("behind", Align::Left),
    ];
    let mut table = Table::new(&header);
    for row in &found.victims {
        table.push(vec![
            super::task(&row.comm, row.tid, row.tasks).into(),
            count(row.waits).into(),
            ns(row.waited_ns).into(),
            elsewhere(row),
            behind(row).into(),
        ]);
    }
    table
}

fn elsewhere(row: &VictimRow) -> Cell {
    match row.idle_elsewhere_ns {
        0 => String::new().into(),
        ns => percent(ns as f64 / row.waited_ns.max(1) as f64).into(),
    }
}

fn behind(row: &VictimRow) -> String {
    let share = |s: &BlameShare| format!("{} {}", percent(s.ns as f64 / row.waited_ns.max(1) as f64), s.cause);
    let mut shown: Vec<String> = row.shares.iter().take(SHARES_SHOWN).map(share).collect();
    let rest: u64 = row.shares.iter().skip(SHARES_SHOWN).map(|s| s.ns).sum();
    if rest > 0 {
        shown.push(format!("{} others", percent(rest as f64 / row.waited_ns.max(1) as f64)));
    }
    shown.join(", ")
}

fn longest(wait: &LongestWait) -> [Block<'static>; 2] {
    let began = match (&wait.waker, wait.after) {
        (Some(waker), "new") => format!("forked by {waker}"),
        (Some(waker), _) => format!("woken by {waker}"),
        _ => "preempted".into(),
    };
    let prio = wait.prio.map_or(String::new(), |prio| format!(", prio {prio}"));
    let moves = match wait.moves {
        0 => String::new(),
        1 => ", moved once".into(),
        n => format!(", moved {n} times"),
    };
    let head = format!(
        "{} {}:{}{prio}, {began}, {:.6} to {:.6} s on CPU {}{moves}",
        ns(wait.ns),
        wait.comm,
        wait.tid,
        Seconds(wait.start_ns),
        Seconds(wait.end_ns),
        wait.cpu
    );
    let part = |part: &LongestPart| match (part.most_tid, part.threads) {
        (Some(tid), 1) => format!("{} {}:{tid}", ns(part.ns), part.cause),
        (Some(tid), n) => format!("{} {} ({n} threads, :{tid} for {})", ns(part.ns), part.cause, ns(part.most_ns)),
        (None, _) => format!("{} {}", ns(part.ns), part.cause),
    };
    let mut parts: Vec<String> = wait.parts.iter().map(part).collect();
    if wait.others_ns > 0 {
        parts.push(format!("{} others", ns(wait.others_ns)));
    }
    let mut text = parts.join(", ");
    if wait.idle_elsewhere_ns > 0 {
        text += &format!("; another CPU was idle for {}", ns(wait.idle_elsewhere_ns));
    }
    [Block::Text(head), Block::Hanging("      ".into(), text)]
}
