//! Sampled profiles in print: shares of functions, call chains and tasks, instructions of a function, folded stacks.

use crate::document::{Block, Document, Remark, Section};
use crate::number::{count, maybe_quantity, percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::profile::{Annotation, ChainShare, FunctionShare, GroupShare, ProfileFindings};
use schedlab_plan::{counted, noun};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Marks a function whose samples may belong to code before it.
const BACK_ON: &str = "*";
/// Printed for a function without a name.
const NO_NAME: &str = "(no name)";
/// Most tasks that are named.
const MAX_TASKS: usize = 8;
/// Most characters of an image's name.
const MAX_OF_IMAGE: usize = 16;
/// Instructions shown before and after one with samples.
const AROUND: usize = 3;

/// The findings as a page.
pub fn profile(found: &ProfileFindings) -> Document {
    let mut page = Document::default();
    page.add(claim(found), vec![Block::Origin(origin(found))]);
    if found.samples > 0 {
        page.add("", vec![Block::Table(functions(found))]);
        let chain = |chain: &ChainShare| {
            let per_operation = chain.per_operation.map_or(String::new(), |x| format!("  {}", amount(found, x)));
            let lead = format!("  {:>6}{per_operation}  ", percent(chain.share));
            Block::Hanging(lead, chain.functions.join(" > "))
        };
        page.add("Call chains, the outermost function first", found.chains.iter().map(chain).collect());
        let lines = [("Groups: ", groups(found)), ("Tasks: ", tasks(found))];
        let lines = lines.into_iter().filter_map(|(lead, text)| Some(Block::Hanging(lead.into(), text?)));
        page.add("", lines.collect());
        page.add("", remarks(found));
    } else if let Some(Section { blocks, .. }) = page.0.last_mut() {
        blocks.extend(remarks(found));
    }
    page
}

fn claim(found: &ProfileFindings) -> String {
    if found.samples == 0 {
        return "No sample: nothing ran where it could be seen.".into();
    }
    let own = |f: &&FunctionShare| f.samples > 0;
    let top = found.functions.iter().filter(own).max_by(|a, b| a.share.total_cmp(&b.share));
    let most = top.map_or(String::new(), |f| format!("; most of it in {} ({})", name(f), percent(f.share)));
    match (found.operations, &found.operation, found.per_operation) {
        (Some(operations), Some(operation), Some(each)) => {
            let (each, operations) = (amount(found, each), format!("{} {}s", count(operations), operation));
            format!("{each} of CPU time per {operation}, over {operations}{most}.")
        }
        _ => format!("{} of CPU time{most}.", quantity_of(found, found.weight as f64)),
    }
}

/// A weight, or one per operation.
fn amount(found: &ProfileFindings, x: f64) -> String {
    if found.unit == "ns" { quantity(x, "ns") } else { format!("{} {}", quantity(x, ""), found.unit) }
}

fn quantity_of(found: &ProfileFindings, x: f64) -> String {
    if found.unit == "ns" { quantity(x / 1e9, "s") } else { format!("{x:.4e} {}", found.unit) }
}

fn origin(found: &ProfileFindings) -> String {
    let idle = match found.idle_samples {
        0 => String::new(),
        n => format!(", CPUs idle {}", percent(n as f64 / (n + found.samples) as f64)),
    };
    format!(
        "{} at {} Hz by {}, of {}; {}, {}{idle}",
        counted(found.samples, "samples"),
        found.frequency_hz,
        found.pace,
        found.of,
        counted(found.cpus, "CPUs"),
        quantity(found.length_s, "s"),
    )
}

fn name(function: &FunctionShare) -> String {
    if !function.name.is_empty() {
        return function.name.clone();
    }
    format!("{NO_NAME} of {}", function.image_base())
}

fn functions(found: &ProfileFindings) -> Table {
    let mut header = vec![("self", Align::Right), ("±", Align::Right), ("total", Align::Right)];
    if found.operations.is_some() {
        header.extend([("self/op", Align::Right), ("total/op", Align::Right)]);
    }
    header.extend([("", Align::Left), ("of", Align::Left), ("function", Align::Left)]);
    let mut table = Table::new(&header);
    for row in &found.functions {
        let margin = percent(row.share_margin).trim_end_matches(" %").to_owned();
        let mut cells: Vec<Cell> = vec![percent(row.share).into(), margin.into()];
        cells.push(percent(row.share_with_callees).into());
        if found.operations.is_some() {
            let each = |x: Option<f64>| Cell::from(x.map_or_else(|| maybe_quantity(None, ""), |x| amount(found, x)));
            cells.extend([each(row.per_operation), each(row.per_operation_with_callees)]);
        }
        let mark = if row.interrupts_back_on && row.samples > 0 { BACK_ON } else { "" };
        let function = if row.name.is_empty() { NO_NAME.into() } else { row.name.clone() };
        cells.extend([mark.into(), short(row.image_base()).into(), function.into()]);
        table.push(cells);
    }
    table
}

/// Shortens an image's name: names of libraries may be longer than those of functions, which matter more.
fn short(image: &str) -> String {
    let mut short: String = image.chars().take(MAX_OF_IMAGE).collect();
    if short.len() < image.len() {
        short.push('…');
    }
    short
}

/// Parts of the kernel, and programs.
fn groups(found: &ProfileFindings) -> Option<String> {
    let share = |group: &GroupShare| Some(format!("{} {}", group.group, percent(group.share?)));
    let all: Vec<String> = found.groups.groups.iter().filter_map(share).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The tasks that ran, if there are several.
fn tasks(found: &ProfileFindings) -> Option<String> {
    if found.tasks.len() < 2 {
        return None;
    }
    let mut all: Vec<String> =
        found.tasks.iter().take(MAX_TASKS).map(|t| format!("{} {}", t.comm, percent(t.share))).collect();
    let more = found.tasks.len().saturating_sub(MAX_TASKS);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    Some(all.join(", "))
}

fn remarks(found: &ProfileFindings) -> Vec<Block<'static>> {
    let back_on = found.share_interrupts_back_on.filter(|share| *share > 0.0).map(|share| {
        let text = format!(
            "interrupts come back on in these functions, and {} cannot interrupt where they are off: their own samples ({} of \
             all) are in part time of the code before, such as a context switch or a wakeup under a lock; the totals of their \
             callers are right",
            found.pace,
            percent(share)
        );
        Block::Hanging(format!("  {BACK_ON} "), text)
    });
    let more = [(found.more_functions, "functions", "--top 0"), (found.more_chains, "call chains", "--chains 0")];
    let more = more.into_iter().filter(|(more, ..)| *more > 0);
    let more = more.map(|(n, what, all)| Remark::note(format!("{} more {}; {all} shows all", count(n), noun(n, what))));
    let seen = [
        (found.lost, Remark::warning("samples were lost, because the buffers were full: lower --frequency")),
        (found.throttled, Remark::warning("times the kernel lowered the rate (kernel.perf_cpu_time_max_percent)")),
        (found.of_the_sampler, Remark::note("samples of schedlab's own sampling are left out")),
    ];
    let seen = seen.into_iter().filter(|(n, _)| *n > 0);
    let seen = seen.map(|(n, remark)| Remark { text: format!("{} {}", count(n), remark.text), ..remark });
    let notes = found.notes.iter().map(Remark::note);
    back_on.into_iter().chain(Block::remarks(more.chain(seen).chain(notes))).collect()
}

/// Instructions of a function with their shares.
pub fn annotation(found: &Annotation) -> Document {
    let samples = counted(found.samples, "samples");
    let title = format!("{} of {}: {} of all, {samples}", found.name, found.image, percent(found.share));
    let no_text = found.no_text.as_ref();
    let no_text = no_text.map(|why| Remark::note(format!("offsets alone, because the code cannot be shown: {why}")));
    let mut page = Document::default();
    let table = Block::Table(instructions(found));
    page.add(title, Block::remarks(no_text).into_iter().chain([table]).collect());
    page
}

fn instructions(found: &Annotation) -> Table {
    let sampled: Vec<usize> = (0..found.rows.len()).filter(|at| found.rows[*at].samples > 0).collect();
    let near = |at: usize| {
        let after = sampled.partition_point(|sampled| *sampled + AROUND < at);
        sampled.get(after).is_some_and(|sampled| *sampled <= at + AROUND)
    };
    let mut table = Table::new(&[("", Align::Right), ("offset", Align::Right), ("instruction", Align::Left)]);
    let mut left_out = false;
    for (at, row) in found.rows.iter().enumerate() {
        if !near(at) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) {
            table.push(vec!["".into(), "…".into(), "".into()]);
        }
        let share = if row.samples == 0 { String::new() } else { percent(row.share) };
        table.push(vec![share.into(), format!("+{:#x}", row.offset).into(), row.text.clone().into()]);
    }
    table
}

/// Folded stacks, one per line: the input of flame graphs.
pub fn folded_text(stacks: &BTreeMap<String, u64>, out: &mut dyn Write) -> io::Result<()> {
    stacks.iter().try_for_each(|(stack, samples)| writeln!(out, "{stack} {samples}"))
}

#[cfg(test)]
mod tests;
