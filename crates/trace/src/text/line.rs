//! One line of a text trace: who, which CPU, when, which event, and the rest. The same for `trace` and `trace_pipe` of
//! tracefs, `trace-cmd report`, systrace and `perf script`, which differ in what stands between these.

use crate::event::{Context, Cpu, Tid};

/// A line that holds an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The thread that traced.
    pub(super) tid: Tid,
    pub(super) cpu: Cpu,
    pub(super) context: Context,
    pub(super) ts: u64,
    /// Without the system in front of it.
    pub(super) event: &'a str,
    pub(super) payload: &'a str,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
    Event(Line<'a>),
    /// `CPU:1 [LOST 123 EVENTS]`, or dropped ones in trace-cmd's words; 0 where nobody counted.
    Lost {
        cpu: Cpu,
        lost: u64,
    },
    /// `# entries-in-buffer/entries-written: 140/250`: how many are gone.
    Overwritten(u64),
    /// `##### CPU 1 buffer started ####`: what it traced before is gone, while other CPUs' events of that time are there.
    Started(Cpu),
    /// An event of a CPU or a thread whose number no machine has.
    Impossible(&'a str),
    Nothing,
}

impl<'a> Said<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        let line = line.trim_end().trim_end_matches("\\n\\").trim_end();
        if let Some(comment) = line.strip_prefix('#') {
            let overwritten = || overwritten(comment).map_or(Self::Nothing, Self::Overwritten);
            return started(comment).map_or_else(overwritten, Self::Started);
        }
        if let Some(loss) = line.trim_start().strip_prefix("CPU:").and_then(lost) {
            return loss;
        }
        event(line).unwrap_or(Self::Nothing)
    }
}

fn overwritten(comment: &str) -> Option<u64> {
    let numbers = comment.trim_start().strip_prefix("entries-in-buffer/entries-written:")?;
    let (there, written) = numbers.split_whitespace().next()?.split_once('/')?;
    written.parse::<u64>().ok()?.checked_sub(there.parse().ok()?).filter(|gone| *gone > 0)
}

fn started(comment: &str) -> Option<Cpu> {
    let number = comment.strip_prefix("#### CPU ")?.split_once(" buffer started")?.0;
    Cpu::from_raw(number.parse().ok()?)
}

/// `1 [LOST 123 EVENTS]`, `1 [123 EVENTS DROPPED]`, `1 [EVENTS DROPPED]`.
fn lost(text: &str) -> Option<Said<'_>> {
    let (cpu, words) = text.split_once('[')?;
    let cpu = Cpu::from_raw(cpu.trim().parse().ok()?)?;
    let words = words.strip_suffix(']')?;
    if !words.contains("LOST") && !words.contains("DROPPED") {
        return None;
    }
    let lost = words.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0);
    Some(Said::Lost { cpu, lost })
}

fn event(line: &str) -> Option<Said<'_>> {
    let mut from = 0;
    // A comm may hold brackets, too: the CPU is the first number in brackets that a time follows.
    while let Some(open) = line[from..].find('[').map(|at| from + at) {
        from = open + 1;
        let close = open + line[open..].find(']')?;
        let number = &line[open + 1..close];
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let found = behind_cpu(&line[close + 1..]).zip(thread(&line[..open]));
        if let Some(((context, ts, event, payload), thread)) = found {
            let Some(cpu) = number.parse().ok().and_then(Cpu::from_raw) else { return Some(Said::Impossible(number)) };
            let Some(tid) = thread.parse().ok().and_then(Tid::from_raw) else { return Some(Said::Impossible(thread)) };
            return Some(Said::Event(Line { tid, cpu, context, ts, event, payload }));
        }
    }
    None
}

/// The id in `comm-123`, `comm-123 (  100)` or, of perf script, `comm 123`.
fn thread(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let text = match text.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        Some((before, tgid)) if tgid.trim().bytes().all(|b| b.is_ascii_digit() || b == b'-') => before.trim_end(),
        _ => text,
    };
    let digits = text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let before = text[..digits].chars().next_back()?;
    // perf script prints pid/tid where it is told to.
    (matches!(before, '-' | ' ' | '/') && digits < text.len()).then_some(&text[digits..])
}

/// Flags if there are any, time, event, payload.
fn behind_cpu(text: &str) -> Option<(Context, u64, &str, &str)> {
    let (mut word, mut rest) = word(text)?;
    let mut context = Context::NONE;
    let mut ts = word.strip_suffix(':').and_then(time);
    if ts.is_none() {
        context = flags(word)?;
        (word, rest) = self::word(rest)?;
        ts = word.strip_suffix(':').and_then(time);
    }
    let ts = ts?;
    let (event, payload) = rest.split_once(':')?;
    // `sched:sched_switch: …` of perf script.
    let (event, payload) = match payload.split_once(':') {
        Some((name, payload)) if is_name(name) => (name, payload),
        _ => (event, payload),
    };
    let event = event.trim();
    is_name(event).then_some((context, ts, event, payload.trim_start()))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace)?;
    Some((&text[..end], &text[end..]))
}

/// `d..2.`, `dNh3`: the third is where the code was.
fn flags(word: &str) -> Option<Context> {
    const HARD: u8 = 0x08;
    const SOFT: u8 = 0x10;
    const NMI: u8 = 0x40;
    if !(4..=8).contains(&word.len()) || !word.is_ascii() {
        return None;
    }
    Some(Context::from_common_flags(match word.as_bytes()[2] {
        b'h' => HARD,
        b's' => SOFT,
        b'H' => HARD | SOFT,
        b'Z' => NMI | HARD,
        b'z' => NMI,
        _ => 0,
    }))
}

/// `76.211513`, `76.211513007`, or a count of nanoseconds.
fn time(text: &str) -> Option<u64> {
    let Some((whole, part)) = text.split_once('.') else { return digits(text) };
    if part.is_empty() || part.len() > 9 {
        return None;
    }
    let scale = 10u64.pow(9 - part.len() as u32);
    digits(whole)?.checked_mul(1_000_000_000)?.checked_add(digits(part)? * scale)
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, tid: u32, cpu: u16, ts: u64, event: &str) {
        let Said::Event(found) = Said::parse(line) else { panic!("`{line}` is an event") };
        assert_eq!((found.tid.0, found.cpu.0, found.ts, found.event), (tid, cpu, ts, event), "{line}");
        assert_eq!(found.payload, "a=1 b:2");
    }

    #[test]
    fn lines_of_all_tools_are_read() {
        check(
            "   <...>-1701  [001]    76.211513: sched_switch:          a=1 b:2",
            1701,
            1,
            76_211_513_000,
            "sched_switch",
        );
        check(
            "     bash-1977 [000] d..2. 17284.993652: sched_waking: a=1 b:2",
            1977,
            0,
            17_284_993_652_000,
            "sched_waking",
        );
        check(
            " my-app-7 (  7) [003] dNh3  1.000000001: irq_handler_entry: a=1 b:2\\n\\",
            7,
            3,
            1_000_000_001,
            "irq_handler_entry",
        );
        check("  <idle>-0 (-----) [010] d.h.   5.5: sched_wakeup: a=1 b:2", 0, 10, 5_500_000_000, "sched_wakeup");
        check(
            "swapper     0 [001] 14359.361110: sched:sched_switch: a=1 b:2",
            0,
            1,
            14_359_361_110_000,
            "sched_switch",
        );
        check(" kworker/u8:1-[x] 9-31 [002] .... 123456789: cpu_idle: a=1 b:2", 31, 2, 123_456_789, "cpu_idle");
    }

    #[test]
    fn flags_tell_interrupts() {
        let context = |line| match Said::parse(line) {
            Said::Event(line) => line.context,
            other => panic!("{other:?}"),
        };
        assert!(context("a-1 [000] d.h2. 1.0: e: x").is_hard());
        assert!(context("a-1 [000] d.s2. 1.0: e: x").is_interrupt());
        assert!(!context("a-1 [000] d..2. 1.0: e: x").is_interrupt());
        assert!(!context("a-1 [000] 1.0: e: x").is_interrupt());
    }

    #[test]
    fn losses_are_told_in_three_forms() {
        let lost = |cpu, lost| Said::Lost { cpu: Cpu(cpu), lost };
        assert_eq!(Said::parse("CPU:1 [LOST 123 EVENTS]"), lost(1, 123));
        assert_eq!(Said::parse("CPU:2 [7 EVENTS DROPPED]"), lost(2, 7));
        assert_eq!(Said::parse("CPU:0 [EVENTS DROPPED]"), lost(0, 0));
        assert_eq!(Said::parse("##### CPU 12 buffer started ####"), Said::Started(Cpu(12)));
        let overwritten = "# entries-in-buffer/entries-written: 140/250   #P:4";
        assert_eq!(Said::parse(overwritten), Said::Overwritten(110));
        assert_eq!(Said::parse("# entries-in-buffer/entries-written: 140/140   #P:4"), Said::Nothing);
    }

    #[test]
    fn numbers_that_no_machine_has_are_told() {
        for (line, number) in [
            ("a-1 [65535] 1.0: e: x", "65535"),
            ("a-1 [4294967295] d..2. 1.0: e: x", "4294967295"),
            ("a-1 [99999999999999999999] 1.0: e: x", "99999999999999999999"),
            ("a-4294967296 [000] 1.0: e: x", "4294967296"),
        ] {
            assert_eq!(Said::parse(line), Said::Impossible(number), "{line}");
        }
    }

    #[test]
    fn other_lines_say_nothing() {
        for line in [
            "",
            "cpus=6",
            "version = 6",
            "a-1 [000] x",
            "[1] 1.0: e: x",
            "CPU:1 x",
            "a-1 [1] 1.0:",
            "é-1 [1] é..2 1.0: e: x",
        ] {
            assert_eq!(Said::parse(line), Said::Nothing, "{line}");
        }
    }
}
