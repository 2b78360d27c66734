//! What happened in the slowest operations, on a terminal: for each the parts of its time, then its steps.

use super::basis::basis;
use super::{more, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::ns_of as ns;
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::slow::{Slow, SlowPart, SlowRow, SlowStep, SlowTask};
use schedlab_plan::{InOrder, counted};

/// Most parts in an operation's line, and most steps below it: the longest ones.
const PARTS_SHOWN: usize = 4;
const STEPS_SHOWN: usize = 16;

/// The findings as a page.
pub fn trace_slow(found: &Slow) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    for (number, row) in found.operations.iter().enumerate() {
        let (title, blocks) = operation(number + 1, row);
        page.add(title, blocks);
    }
    let kept = more(found.more_operations, "slow operations were kept").into_iter();
    let lie = if found.outside == 1 { "lies" } else { "lie" };
    let text = "outside the times of the trace: a flight recorder kept less, or the trace is another trial's";
    let outside =
        (found.outside > 0).then(|| Remark::warning(format!("{} {lie} {text}", counted(found.outside, "operations"))));
    page.ends(kept.chain(outside).chain(basis(&found.lacking, found.definitions)).chain(remarks(&found.trace)))
}

fn claim(found: &Slow) -> String {
    let Some(row) = found.operations.first() else { return "No slow operation was kept.".into() };
    let most = row.parts.first().map_or(String::new(), |most| format!(", {} of it {}", ns(most.ns), part(most)));
    format!("The slowest operation took {}{most}.", ns(row.ns))
}

fn operation(number: usize, row: &SlowRow) -> (String, Vec<Block<'static>>) {
    let (comm, tid) = (&row.comm, row.tid);
    let head = format!(
        "{number}. {} {}, {:.6} to {:.6} s, seen by {comm}:{tid} of group {}",
        row.name,
        ns(row.ns),
        Seconds(row.start_ns),
        Seconds(row.end_ns),
        row.group
    );
    let mut all = Vec::new();
    let mut line = |lead: &str, text: String| all.push(Block::Hanging(lead.to_owned(), text));
    let shown = row.parts.iter().take(PARTS_SHOWN);
    let mut parts: Vec<String> = shown.map(|p| format!("{} {}", ns(p.ns), part(p))).collect();
    let rest: u64 = row.parts.iter().skip(PARTS_SHOWN).map(|p| p.ns).sum();
    parts.extend((rest > 0).then(|| format!("{} others", ns(rest))));
    line("   ", parts.join(", "));
    // If there are many steps, the shortest ones are left out; the others stay in order of time.
    let mut lengths: Vec<u64> = row.steps.iter().map(|step| step.ns).collect();
    lengths.in_order_by(|a, b| b.cmp(a));
    let least = lengths.get(STEPS_SHOWN).map_or(0, |length| length + 1);
    for step in row.steps.iter().filter(|step| step.ns >= least) {
        line(&format!("     +{:<9}  ", ns(step.offset_ns)), text(step));
    }
    let (hidden, hidden_ns) =
        row.steps.iter().filter(|step| step.ns < least).fold((0, 0), |(n, sum), step| (n + 1, sum + step.ns));
    if hidden > 0 {
        line("     ", format!("and {}, {} together", counted(hidden, "shorter steps"), ns(hidden_ns)));
    }
    if row.cut {
        line("     ", "what was before is not kept: there were too many switches".to_owned());
    }
    let tasks: Vec<String> = row.tasks.iter().map(task).collect();
    line("   in all: ", tasks.join("; "));
    (head, all)
}

fn who(comm: &str, tid: Option<u32>) -> String {
    tid.map_or_else(|| comm.to_owned(), |tid| format!("{comm}:{tid}"))
}

fn part(part: &SlowPart) -> String {
    let whom = who(&part.whom, part.tid);
    let cpu = part.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    match part.did {
        "ran" => format!("{whom} ran"),
        "waited" if part.whom == "(placing)" => "placing".to_owned(),
        "waited" if part.whom == "(idle)" => {
            format!("until the idle CPU{} switched", cpu.trim_start_matches(" on CPU"))
        }
        "waited" => format!("behind {whom}{cpu}"),
        "slept" => format!("{whom} slept"),
        _ => format!("{whom} did what is not known"),
    }
}

fn text(step: &SlowStep) -> String {
    let (whom, length) = (who(&step.comm, Some(step.tid)), ns(step.ns));
    let cpu = step.cpu.map_or(String::new(), |cpu| format!(" {cpu}"));
    match step.did {
        "ran" => format!("{whom} ran for {length} on CPU{cpu}"),
        "slept" => {
            let unknown = |waker| format!("{waker} woke it (what {waker} did before is not known)");
            let until = step.waker.as_ref().map_or_else(|| "an interrupt".to_owned(), unknown);
            format!("{whom} slept for {length} ({}) until {until}", step.state.unwrap_or("?"))
        }
        "waited" => {
            let began = step.waker.as_ref().map_or("preempted".to_owned(), |waker| format!("woken by {waker}"));
            let from = step.from_cpu.map_or(String::new(), |from| format!(", moved from CPU {from}"));
            let moves = match step.moves {
                0 => String::new(),
                moves => format!(", {} meanwhile", counted(moves, "moves")),
            };
            let behind: Vec<String> =
                step.behind.iter().take(PARTS_SHOWN).map(|b| format!("{} {}", ns(b.ns), who(&b.whom, b.tid))).collect();
            format!("{whom}, {began}, waited {length} for CPU{cpu}{from}{moves}: {}", behind.join(", "))
        }
        _ => format!("{length} of which it is not known what {whom} did"),
    }
}

fn task(task: &SlowTask) -> String {
    let parts = [
        (task.running_ns, "ran"),
        (task.waiting_ns, "waited"),
        (task.sleeping_ns, "slept"),
        (task.unknown_ns, "not known"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(of, _)| *of > 0).map(|(of, did)| format!("{did} {}", ns(*of))).collect();
    let moved = match task.migrations {
        0 => String::new(),
        times => format!(", {}", counted(times, "migrations")),
    };
    format!("{} {}{moved}", who(&task.comm, Some(task.tid)), parts.join(", "))
}
