//! Parses one line of a text trace: thread, CPU, time, event, and the rest. It is common to `trace` and `trace_pipe` of
//! tracefs, `trace-cmd report`, systrace and `perf script`, which differ in what is between these.

#[cfg(test)]
mod tests;
mod who;

use crate::event::{Context, Cpu, Tid};
use crate::kind::Kind;
use memchr::{memchr, memchr_iter};
use who::{flags, thread};

/// A line that holds an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The thread that traced.
    pub(super) tid: Tid,
    pub(super) cpu: Cpu,
    /// `None` if the text has no flags.
    pub(super) context: Option<Context>,
    pub(super) ts: u64,
    /// Whether the time is in whole µs since the ring's first event.
    pub(super) in_us: bool,
    /// Without the system in front of it.
    pub(super) event: &'a str,
    pub(super) payload: &'a str,
}

/// The meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
    Event(Line<'a>),
    /// `CPU:1 [LOST 123 EVENTS]`, trace-cmd's wording for dropped ones, or `PERF_RECORD_LOST lost 123` from `perf
    /// script`; 0 if they were not counted.
    Lost {
        cpu: Cpu,
        lost: u64,
    },
    /// `# entries-in-buffer/entries-written: 140/250   #P:4`, `# latency: 12 us, #140/250, CPU#1 | (… #P:4)`.
    Entries {
        /// Number of lines that follow.
        there: u64,
        /// Number of events that were written to the ring.
        written: u64,
        /// CPUs that were online.
        online: Option<u16>,
    },
    /// `cpus=4` from trace-cmd report: no CPU has a larger number.
    Cpus(u16),
    /// `##### CPU 1 buffer started ####`: its earlier events are gone, while other CPUs' events from that time exist.
    Started(Cpu),
    /// An event with the number of a CPU or thread that no machine has.
    Impossible(&'a str),
    /// Not an event, though it is named like one: damaged.
    Damaged,
    /// An event with a bare number in place of its time, as printed for clocks that count no time.
    Untimed(&'a str),
    Nothing,
}

impl<'a> Said<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        let line = line.trim_end().trim_end_matches("\\n\\").trim_end();
        if let Some(comment) = line.strip_prefix('#') {
            return started(comment).map_or_else(|| entries(comment).unwrap_or(Self::Nothing), Self::Started);
        }
        if let Some(loss) = line.trim_start().strip_prefix("CPU:").and_then(lost) {
            return loss;
        }
        if let Some(cpus) = line.strip_prefix("cpus=").and_then(|cpus| cpus.parse().ok()) {
            return Self::Cpus(cpus);
        }
        match event(line).or_else(|| latency(line)) {
            Some(Self::Event(found)) if holds_another(found.payload) => Self::Damaged,
            Some(said) => said,
            None => record_lost(line).unwrap_or(if is_named(line) { Self::Damaged } else { Self::Nothing }),
        }
    }
}

/// Longer than any row of one character that is drawn between the lines of a trace.
const OVERWRITTEN: usize = 128;

/// Whether the line was overwritten with zeros: no text has a zero byte.
pub(super) fn has_zero(line: &str) -> bool {
    memchr(0, line.as_bytes()).is_some()
}

/// The same for [`OVERWRITTEN`] of one character, which otherwise occurs only in the scripts and pictures of a page.
pub(super) fn is_overwritten(line: &str) -> bool {
    let is_one_sign = |bytes: &[u8]| bytes.iter().all(|b| *b == bytes[0]);
    line.as_bytes().chunks_exact(OVERWRITTEN).any(is_one_sign)
}

/// Whether a line that is not an event has fields that only scheduler events have, outside a function graph's comment:
/// then it is the rest of one.
pub(super) fn is_rest(line: &str) -> bool {
    const FIELDS: [&str; 6] = ["prev_state=", "prev_prio=", "next_pid=", "next_prio=", "target_cpu=", " success="];
    !line.starts_with('#') && !line.contains("/*") && FIELDS.iter().any(|field| line.contains(field))
}

/// Whether an event's text contains a time and the name of a known event: then two lines have merged.
fn holds_another(payload: &str) -> bool {
    let mut ends = memchr_iter(b':', payload.as_bytes()).filter(|end| payload[end + 1..].starts_with(' '));
    ends.any(|end| {
        let (before, name) = payload[..end].rsplit_once(' ').unwrap_or(("", &payload[..end]));
        let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
        let is_after_a_time =
            || before.trim_end().strip_suffix(':').is_some_and(|b| b.ends_with(|c: char| c.is_ascii_digit()));
        Kind::of_name(name).is_some() && is_after_a_time()
    })
}

fn entries(comment: &str) -> Option<Said<'_>> {
    let comment = comment.trim_start();
    let numbers = match comment.strip_prefix("entries-in-buffer/entries-written:") {
        Some(numbers) => numbers.trim_start(),
        None => comment.strip_prefix("latency:")?.split_once(", #")?.1,
    };
    let (there, rest) = numbers.split_once('/')?;
    let written = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
    let online = rest.split_once("#P:").map(|(_, number)| number.trim_end_matches(')'));
    Some(Said::Entries {
        there: there.parse().ok()?,
        written: written.parse().ok()?,
        online: online.and_then(|number| number.trim().parse().ok()),
    })
}

fn started(comment: &str) -> Option<Cpu> {
    let number = comment.strip_prefix("#### CPU ")?.split_once(" buffer started")?.0;
    Cpu::from_raw(number.parse().ok()?)
}

/// `1 [LOST 123 EVENTS]`, `1 [LOST EVENTS]`, `1 [123 EVENTS DROPPED]`, `1 [EVENTS DROPPED]`, and nothing else: a comm
/// may begin like them.
fn lost(text: &str) -> Option<Said<'_>> {
    let (cpu, words) = text.split_once('[')?;
    let cpu = Cpu::from_raw(cpu.trim().parse().ok()?)?;
    let words = words.strip_suffix(']')?;
    let counted = words.strip_prefix("LOST ").map(|words| words.strip_suffix("EVENTS"));
    let number = counted.unwrap_or_else(|| words.strip_suffix("EVENTS DROPPED"))?.trim();
    let lost = if number.is_empty() { 0 } else { number.parse().ok()? };
    Some(Said::Lost { cpu, lost })
}

/// `perf 23001 [000] 17945.230538246: PERF_RECORD_LOST lost 40`, and LOST_SAMPLES: `perf script --show-lost-events`. If
/// the CPU is unknown, `[-01]`, it may be any.
fn record_lost(line: &str) -> Option<Said<'_>> {
    let (before, after) = line.split_once(": PERF_RECORD_LOST")?;
    let lost = after.strip_prefix("_SAMPLES").unwrap_or(after).strip_prefix(" lost ")?.trim().parse().ok()?;
    let cpu = before.rsplit_once('[')?.1.split_once(']')?.0.parse().ok().and_then(Cpu::from_raw);
    Some(Said::Lost { cpu: cpu.unwrap_or(Cpu::ANY), lost })
}

fn event(line: &str) -> Option<Said<'_>> {
    let mut from = 0;
    // A comm may contain brackets, too: the CPU is the first number in brackets that is followed by a time. Its three
    // digits, a thread's id before them, and a time and a name after them are more than the 15 bytes of a comm.
    while let Some(open) = line[from..].find('[').map(|at| from + at) {
        from = open + 1;
        let close = open + line[open..].find(']')?;
        let number = &line[open + 1..close];
        if number.len() < 3 || !number.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let found = after_cpu(&line[close + 1..]).zip(thread(&line[..open]));
        if let Some((after, thread)) = found {
            return Some(in_seconds(thread, number, after));
        }
    }
    None
}

/// Whether the name of a known event, or what is left of one, is where a trace's events have theirs.
fn is_named(line: &str) -> bool {
    let mut parts = line.split(": ").skip(1).map(str::trim).take(3).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let name = part.rsplit_once(':').map_or(part, |(_, name)| name);
        if !is_last && Kind::of_name(name).is_some() {
            return true;
        }
    }
    // The rest of the line may be undamaged: a CPU in brackets, a time, and then no name.
    let Some((cpu, after)) = line.split_once("] ") else { return false };
    let has_cpu = cpu.bytes().rev().take_while(u8::is_ascii_digit).count() >= 3;
    after.split_once(": ").filter(|_| has_cpu).is_some_and(|(before, event)| {
        let name = event.split(": ").next().unwrap_or_default();
        before.ends_with(|c: char| c.is_ascii_digit()) && name.len() < event.len() && !name.trim().contains(' ')
    })
}

/// An event with the thread and CPU in the line, if these numbers are possible.
fn said<'a>(
    thread: &'a str,
    cpu: &'a str,
    (stamp, ts): (&'a str, Option<u64>),
    line: impl FnOnce(Tid, Cpu, u64) -> Line<'a>,
) -> Said<'a> {
    // −1 means "any" only within an event's text.
    let number = cpu.parse::<u32>().ok().and_then(|number| Cpu::from_raw(i64::from(number)));
    let Some(number) = number else { return Said::Impossible(cpu) };
    let Some(tid) = thread.parse().ok().and_then(Tid::from_raw) else { return Said::Impossible(thread) };
    ts.map_or(Said::Untimed(stamp), |ts| Said::Event(line(tid, number, ts)))
}

/// An event whose time is in seconds, with what [`after_cpu`] found.
fn in_seconds<'a>(
    thread: &'a str,
    cpu: &'a str,
    (context, stamp, event, payload): (Option<Context>, &'a str, &'a str, &'a str),
) -> Said<'a> {
    let at = (stamp, time(stamp));
    said(thread, cpu, at, |tid, cpu, ts| Line { tid, cpu, context, ts, in_us: false, event, payload })
}

/// `  bash-1977    0d..2. 26767us+: sched_waking: …`: the latency format, with times in µs since the ring's first
/// event; `trace-cmd report -l` prints seconds there. It prints eight bytes of a comm, too few to contain what this
/// looks for.
fn latency(line: &str) -> Option<Said<'_>> {
    for (dash, _) in line.match_indices('-') {
        let (thread, rest) = split_digits(&line[dash + 1..]);
        let (cpu, rest) = split_digits(rest.trim_start_matches(' '));
        if thread.is_empty() || cpu.is_empty() {
            continue;
        }
        if let Some(after) = after_cpu(rest).filter(|(context, stamp, ..)| context.is_some() && stamp.contains('.')) {
            return Some(in_seconds(thread, cpu, after));
        }
        let Some((flags, rest)) = word(rest) else { continue };
        let Some(context) = self::flags(flags).map(Some) else { continue };
        let (us, rest) = split_digits(rest.trim_start());
        let timed = rest.strip_prefix("us");
        let Some(rest) = timed.or(Some(rest)).filter(|_| !us.is_empty()) else { continue };
        // A symbol shows how long it takes until the next event.
        let Some((event, payload)) = rest
            .trim_start_matches([' ', '+', '!', '#', '*', '@', '$'])
            .strip_prefix(": ")
            .and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        if !is_name(event) {
            continue;
        }
        let payload = payload.trim_start();
        let ns = timed.and_then(|_| digits(us)?.checked_mul(1000));
        return Some(said(thread, cpu, (us, ns), |tid, cpu, ts| Line {
            tid,
            cpu,
            context,
            ts,
            in_us: true,
            event,
            payload,
        }));
    }
    None
}

/// The leading digits of a text, and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Flags if there are any, the text in place of the time, event, payload.
fn after_cpu(text: &str) -> Option<(Option<Context>, &str, &str, &str)> {
    let (mut word, mut rest) = word(text)?;
    let mut context = None;
    let mut stamp = word.strip_suffix(':').filter(|stamp| is_stamp(stamp));
    if stamp.is_none() {
        context = Some(flags(word)?);
        (word, rest) = self::word(rest)?;
        stamp = word.strip_suffix(':').filter(|stamp| is_stamp(stamp));
    }
    let stamp = stamp?;
    let (event, payload) = after_difference(rest).split_once(':')?;
    // `sched:sched_switch: …` from perf script.
    let (event, payload) = match payload.split_once(':') {
        Some((name, payload)) if is_name(name) => (name, payload),
        // The text before the colon is the name, which is damaged.
        _ if payload.starts_with(|c: char| !c.is_whitespace()) => return None,
        _ => (event, payload),
    };
    let event = event.trim();
    is_name(event).then_some((context, stamp, event, payload.trim_start()))
}

/// Without the time since the previous event, ` (+25457)`, of `trace-cmd report --ts-diff`.
fn after_difference(rest: &str) -> &str {
    let after = rest.trim_start().strip_prefix("(+").and_then(|rest| rest.split_once(')'));
    after.filter(|(number, _)| digits(number).is_some()).map_or(rest, |(_, rest)| rest)
}

/// Whether it can be the name of an event; user-defined names have at most 64 bytes, and the kernel's are shorter.
fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace)?;
    Some((&text[..end], &text[end..]))
}

/// `76.211513`, or a bare number.
fn is_stamp(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// `76.211513` and `76.211513007` are seconds; ns of it.
fn time(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 {
        return None;
    }
    let scale = 10u64.pow(9 - part.len() as u32);
    digits(whole)?.checked_mul(1_000_000_000)?.checked_add(digits(part)? * scale)
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}
