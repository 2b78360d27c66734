//! Sampled profiles in print: shares of functions, call chains and tasks, instructions of a function, folded stacks.

use crate::document::{Block, Document, Remark, Section};
use crate::number::{count, maybe_quantity, percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::profile::{Annotation, ChainShare, FunctionShare, GroupShare, ProfileFindings};
use schedlab_plan::{counted, noun};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Stands beside a function whose samples may be of code before it.
const BACK_ON: &str = "*";
/// For a function without a name.
const NO_NAME: &str = "(no name)";
/// Tasks that are named; the rest is too little to matter.
const MOST_TASKS: usize = 8;
/// Characters of an image's name.
const MOST_OF_IMAGE: usize = 16;
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

/// Names of libraries can be longer than those of functions, which matter more.
fn short(image: &str) -> String {
    let mut short: String = image.chars().take(MOST_OF_IMAGE).collect();
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

/// Who ran, where that is not one and the same.
fn tasks(found: &ProfileFindings) -> Option<String> {
    if found.tasks.len() < 2 {
        return None;
    }
    let mut all: Vec<String> =
        found.tasks.iter().take(MOST_TASKS).map(|t| format!("{} {}", t.comm, percent(t.share))).collect();
    let more = found.tasks.len().saturating_sub(MOST_TASKS);
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

/// Folded stacks, a line each: what flame graphs are drawn from.
pub fn folded_text(stacks: &BTreeMap<String, u64>, out: &mut dyn Write) -> io::Result<()> {
    stacks.iter().try_for_each(|(stack, samples)| writeln!(out, "{stack} {samples}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_analyze::profile::{InstructionShare, TaskShare};

    fn found() -> ProfileFindings {
        let row = |name: &str, image: &str, share: f64, marked: bool| FunctionShare {
            name: name.into(),
            image: image.into(),
            samples: (share * 1000.0) as u64,
            share,
            share_margin: 0.031,
            samples_with_callees: 500,
            share_with_callees: 0.5,
            per_operation: Some(share * 6500.0),
            per_operation_with_callees: Some(3250.0),
            interrupts_back_on: marked,
        };
        ProfileFindings {
            pace: "cpu-clock".into(),
            unit: "ns".into(),
            frequency_hz: 997,
            of: "the command and its children".into(),
            cpus: 2,
            length_s: 2.0,
            samples: 1000,
            weight: 1_003_009_000,
            operations: Some(154_000),
            operation: Some("round trip".into()),
            per_operation: Some(6500.0),
            share_interrupts_back_on: Some(0.441),
            functions: vec![
                row("finish_task_switch.isra.0", "[kernel]", 0.441, true),
                row("", "/usr/lib/libof-a-very-long-name.so.6", 0.2, false),
                row("__schedule", "[kernel]", 0.0, true),
            ],
            more_functions: 65,
            chains: vec![ChainShare {
                functions: ["main", "write", "__schedule"].map(String::from).to_vec(),
                samples: 441,
                share: 0.441,
                per_operation: Some(2866.5),
            }],
            more_chains: 1,
            tasks: ["parent", "child"].map(|c| TaskShare { comm: c.into(), samples: 500, share: 0.5 }).to_vec(),
            lost: 3,
            notes: vec!["user code only: \u{1b}[2J".into()],
            ..ProfileFindings::default()
        }
    }

    fn text(found: &ProfileFindings) -> String {
        let mut out = Vec::new();
        profile(found).text(80, false, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_fits_80_columns_and_says_what_is_an_artefact() {
        let expected = "\
6.500 µs of CPU time per round trip, over 154\u{202f}000 round trips; most of it in
finish_task_switch.isra.0 (44.1 %).
1000 samples at 997 Hz by cpu-clock, of the command and its children; 2 CPUs,
2.000 s

    self    ±   total   self/op  total/op     of                 function
  44.1 %  3.1  50.0 %  2.866 µs  3.250 µs  *  [kernel]           finish_task_swi
                                                                 tch.isra.0
  20.0 %  3.1  50.0 %  1.300 µs  3.250 µs     libof-a-very-lon…  (no name)
     0 %  3.1  50.0 %      0 ns  3.250 µs     [kernel]           __schedule

Call chains, the outermost function first
  44.1 %  2.866 µs  main > write > __schedule

Tasks: parent 50.0 %, child 50.0 %

  * interrupts come back on in these functions, and cpu-clock cannot interrupt
    where they are off: their own samples (44.1 % of all) are in part time of
    the code before, such as a context switch or a wakeup under a lock; the
    totals of their callers are right
  - 65 more functions; --top 0 shows all
  - 1 more call chain; --chains 0 shows all
  ! 3 samples were lost, because the buffers were full: lower --frequency
  - user code only: [2J
";
        let text = text(&found());
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn a_profile_without_a_workload_or_without_a_sample_says_what_it_is() {
        let whole = ProfileFindings { operations: None, per_operation: None, idle_samples: 1000, ..found() };
        let text_of_whole = text(&whole);
        let first = "1.003 s of CPU time; most of it in finish_task_switch.isra.0 (44.1 %).";
        assert_eq!(text_of_whole.lines().next(), Some(first));
        assert!(text_of_whole.contains("CPUs idle 50.0 %") && !text_of_whole.contains("/op"), "{text_of_whole}");
        let cycles = ProfileFindings { unit: "cycles".into(), pace: "cycles".into(), ..found() };
        assert!(text(&cycles).contains("6500 cycles of CPU time per round trip"), "{}", text(&cycles));
        let none = text(&ProfileFindings { notes: vec!["why".into()], ..ProfileFindings::default() });
        assert!(none.starts_with("No sample") && none.contains("- why"), "{none}");
    }

    #[test]
    fn instructions_far_from_any_sample_are_left_out() {
        let row = |offset: u64, samples: u64| InstructionShare {
            offset,
            samples,
            share: samples as f64 / 4.0,
            text: format!("op {offset}"),
        };
        let rows: Vec<InstructionShare> = (0..12).map(|at| row(at, if at == 6 { 4 } else { 0 })).collect();
        let found = Annotation {
            name: "f".into(),
            image: "[kernel]".into(),
            samples: 4,
            share: 0.25,
            no_text: Some("no kcore".into()),
            rows,
        };
        let mut out = Vec::new();
        annotation(&found).text(80, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "\
f of [kernel]: 25.0 % of all, 4 samples
  - offsets alone, because the code cannot be shown: no kcore

         offset  instruction
              …
           +0x3  op 3
           +0x4  op 4
           +0x5  op 5
  100 %    +0x6  op 6
           +0x7  op 7
           +0x8  op 8
           +0x9  op 9
";
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn folded_stacks_are_a_line_each() {
        let stacks = BTreeMap::from([("a;b".to_owned(), 3), ("a;b;c d".to_owned(), 1)]);
        let mut out = Vec::new();
        folded_text(&stacks, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a;b 3\na;b;c d 1\n");
    }
}
