//! Who woke whom, on a terminal: pairs, paths, and the chains with the longest delays step by step.

use super::basis::{basis, censored, listed};
use super::{more, nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{count, maybe_quantity, ns_of as ns, percent, quantity};
use crate::table::{Align, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::chains::{ChainRow, Chains, MAX_LISTED, StepRow};
use schedlab_plan::noun;

/// The findings as a page.
pub(super) fn page(found: &Chains) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.pairs.is_empty() {
        page.add("Who woke whom, by waiting", vec![Block::Table(pairs(found))]);
    }
    if !found.paths.is_empty() {
        page.add("Chains from their origin, by waiting", vec![Block::Table(paths(found))]);
        let end = Block::remarks(listed(found.longest.len(), MAX_LISTED, "chains, one of each origin"));
        page.add("The chains that waited longest", found.longest.iter().flat_map(longest).chain(end).collect());
    }
    let mut end: Vec<Remark> = more(found.more_pairs, "pairs").into_iter().collect();
    end.extend(more(found.more_paths, "paths"));
    if found.cut > 0 {
        let text = "chains were cut after 16 wakeups; the rest is a chain of its own";
        end.push(Remark::note(format!("{} {text}", count(found.cut))));
    }
    end.extend(censored("wakeups that are in no number", found.censored));
    end.extend(basis(&found.lacking, if found.wakeups > 0 { found.definitions } else { &[] }));
    page.ends(end.into_iter().chain(remarks(&found.trace)))
}

fn claim(found: &Chains) -> String {
    let Some(longest) = found.longest.first() else {
        return match found.wakeups {
            0 => nothing(&found.trace, "no wakeup is known from its waking to its switch-in"),
            n => format!("{} wakeups; no chain of them is known to its end.", count(n)),
        };
    };
    let last = longest.steps.last().map_or(String::new(), |step| format!(" up to {}:{}", step.comm, step.tid));
    let steps = longest.steps.len();
    let wakeups = if steps == 1 { "one wakeup".to_owned() } else { format!("{steps} wakeups") };
    format!(
        "Longest delay of a chain: {} in {wakeups}{last}, {:.6} s; {} {} in all.",
        ns(longest.delay_ns),
        Seconds(longest.end_ns),
        count(found.wakeups),
        noun(found.wakeups, "wakeups")
    )
}

fn pairs(found: &Chains) -> Table {
    let mut header: Vec<_> =
        ["wakeups", "waited", "p50", "p99", "max", "other CPU"].map(|name| (name, Align::Right)).into();
    header.push(("waker → woken", Align::Left));
    let mut table = Table::new(&header);
    for row in &found.pairs {
        table.push(vec![
            count(row.wakeups).into(),
            ns(row.waited_ns).into(),
            maybe_quantity(row.p50_ns, "ns").into(),
            maybe_quantity(row.p99_ns, "ns").into(),
            ns(row.max_ns).into(),
            percent(row.other_cpu as f64 / row.wakeups.max(1) as f64).into(),
            format!("{} → {}", row.waker, row.wakee).into(),
        ]);
    }
    table
}

fn paths(found: &Chains) -> Table {
    let mut header: Vec<_> = ["chains", "waited", "mean delay", "max"].map(|name| (name, Align::Right)).into();
    header.push(("path", Align::Left));
    let mut table = Table::new(&header);
    for row in &found.paths {
        table.push(vec![
            count(row.chains).into(),
            ns(row.waited_ns).into(),
            quantity(row.delay_ns as f64 / row.chains.max(1) as f64, "ns").into(),
            ns(row.max_ns).into(),
            path(&row.path).into(),
        ]);
    }
    table
}

/// Names with arrows; one that repeats is shown once, with its count.
fn path(names: &[String]) -> String {
    let runs: Vec<&[String]> = names.chunk_by(|a, b| a == b).collect();
    let run = |run: &&[String]| match run {
        [name] => name.clone(),
        _ => format!("{} ×{}", run[0], run.len()),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(" → ")
}

fn longest(chain: &ChainRow) -> Vec<Block<'static>> {
    let text =
        format!("{} of waiting in {}, to {:.6} s", ns(chain.delay_ns), ns(chain.elapsed_ns), Seconds(chain.end_ns));
    let mut all = vec![Block::Text(text)];
    if let Some(first) = chain.steps.first() {
        let who = first.waker_tid.map_or(first.waker.clone(), |tid| format!("{}:{tid}", first.waker));
        let who = if chain.whole { who } else { format!("… {who}") };
        all.push(Block::Hanging("      ".into(), format!("{who}, waking at {:.6} s", Seconds(first.waking_at_ns))));
    }
    for (at, step) in chain.steps.iter().enumerate() {
        all.push(Block::Hanging("      → ".into(), line(step, chain.steps.get(at + 1))));
    }
    all
}

fn line(step: &StepRow, next: Option<&StepRow>) -> String {
    let mut text = format!("{}:{} on CPU {} after {}", step.comm, step.tid, step.cpu, ns(step.waited_ns));
    if let Some(next) = next {
        let until = ns(next.waking_at_ns.saturating_sub(step.in_at_ns));
        text += &format!(", next waking {until} later");
        if next.waker_preempted_ns > 0 {
            text += &format!(", {} of it preempted", ns(next.waker_preempted_ns));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_repeats_is_told_once() {
        let names = ["(irq 3 nic)", "a", "a", "a", "b", "a"].map(str::to_owned);
        assert_eq!(path(&names), "(irq 3 nic) → a ×3 → b → a");
    }
}
