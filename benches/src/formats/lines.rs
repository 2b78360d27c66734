//! Parses lines of `perf script --ns`, `trace-cmd report` and tracefs into events of the reference. Written from the
//! output of these tools, and without code of the reader that is checked with it.

use super::reference::{Event, State, What};
use std::collections::BTreeMap;

/// The contents of a text.
#[derive(Debug, Default)]
pub struct Text {
    /// Its events in the order of their times.
    pub events: Vec<Event>,
    /// Number of events by name, without the system.
    pub names: BTreeMap<String, u64>,
    /// Events that the recorder reports as lost.
    pub lost: u64,
    /// Whether the recorder starts the CPUs one after the other.
    pub in_turn: bool,
}

impl Text {
    /// Events from another source, with the kernel's names.
    pub fn of(events: Vec<Event>) -> Self {
        let mut names = BTreeMap::new();
        for name in events.iter().filter_map(|event| name(&event.what)) {
            *names.entry(name.to_owned()).or_default() += 1;
        }
        Self { events, names, ..Self::default() }
    }
}

fn name(what: &What) -> Option<&'static str> {
    Some(match what {
        What::Switch { .. } => "sched_switch",
        What::Waking { .. } => "sched_waking",
        What::Wakeup { .. } => "sched_wakeup",
        What::WakeupNew { .. } => "sched_wakeup_new",
        What::Migrate { .. } => "sched_migrate_task",
        What::Fork { .. } => "sched_process_fork",
        What::Answered | What::Other | What::Lost => return None,
    })
}

/// Parses the whole text. Lines whose times are not in seconds, because the clock counts something else, are skipped.
pub fn parse(text: &str) -> Text {
    parse_by(text, ns)
}

/// The same, but a time without a point is in ns: trace-cmd prints times so if it does not know the clock.
pub fn parse_plain_ns(text: &str) -> Text {
    parse_by(text, |time| ns(time).or_else(|| time.strip_suffix(':')?.parse().ok()))
}

fn parse_by(text: &str, time: fn(&str) -> Option<u64>) -> Text {
    let mut found = Text::default();
    for line in text.lines() {
        let said = line.split_whitespace().collect::<Vec<_>>();
        if said.contains(&"PERF_RECORD_LOST") || line.contains(" EVENTS]") || line.contains(" EVENTS DROPPED]") {
            found.lost += said.iter().rev().find_map(|word| word.parse().ok()).unwrap_or(1);
        }
        let Some((cpu, ts, name, payload)) = columns(line, time).or_else(|| latency_columns(line)) else { continue };
        *found.names.entry(name.to_owned()).or_default() += 1;
        let what = what(name, payload).unwrap_or(What::Other);
        found.events.push(Event { ts, cpu, what });
    }
    // A stable sort: at equal times the order of the text is kept.
    found.events.sort_by_key(|event| event.ts);
    found
}

/// `comm-1 [000] d..2. 12.345678: sched_switch: payload`, with the system or flags or without them.
fn columns(line: &str, ns: fn(&str) -> Option<u64>) -> Option<(u32, u64, &str, &str)> {
    // A name may contain brackets: those of the CPU are followed by a time.
    line.match_indices('[').find_map(|(open, _)| {
        let (number, rest) = line[open + 1..].split_once(']')?;
        let cpu = number.parse().ok()?;
        let first = rest.split_whitespace().next()?;
        let rest = if ns(first).is_some() { rest } else { rest.split_once(first)?.1 };
        let (time, rest) = rest.trim_start().split_once(' ')?;
        let (name, payload) = rest.trim_start().split_once(": ")?;
        Some((cpu, ns(time)?, name.rsplit(':').next()?, payload))
    })
}

/// `comm-1 1d..2. 2380934486us#: sched_switch: payload`.
fn latency_columns(line: &str) -> Option<(u32, u64, &str, &str)> {
    // A name may contain the unit, too: here it follows a number.
    line.match_indices("us").find_map(|(at, _)| {
        let (before, time) = line[..at].rsplit_once(char::is_whitespace)?;
        let flags = before.split_whitespace().next_back()?;
        let digits = flags.bytes().take_while(u8::is_ascii_digit).count();
        let (mark, rest) = line[at + 2..].split_once(": ")?;
        let (name, payload) = rest.trim_start().split_once(": ")?;
        let ns = time.parse::<u64>().ok()? * 1000;
        (mark.len() <= 1).then_some((flags[..digits].parse().ok()?, ns, name, payload))
    })
}

/// `12.345678:` in ns. A clock that does not count ns prints no point.
fn ns(time: &str) -> Option<u64> {
    let (seconds, part) = time.strip_suffix(':')?.split_once('.')?;
    let digits = part.len() as u32;
    (digits <= 9).then_some(())?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + part.parse::<u64>().ok()? * 10u64.pow(9 - digits))
}

/// The number after the last `key=`, because a thread's name may contain one, too.
fn number(text: &str, key: &str) -> Option<u32> {
    let behind = text.rsplit_once(key)?.1;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn what(name: &str, payload: &str) -> Option<What> {
    Some(match name {
        "sched_switch" => switch(payload)?,
        "sched_waking" => woken(payload).map(|(tid, target_cpu)| What::Waking { tid, target_cpu })?,
        "sched_wakeup" => woken(payload).map(|(tid, target_cpu)| What::Wakeup { tid, target_cpu })?,
        "sched_wakeup_new" => woken(payload).map(|(tid, target_cpu)| What::WakeupNew { tid, target_cpu })?,
        "sched_migrate_task" => What::Migrate {
            tid: number(payload, " pid=")?,
            orig_cpu: number(payload, " orig_cpu=")?,
            dest_cpu: number(payload, " dest_cpu=")?,
        },
        "sched_process_fork" => What::Fork { child: number(payload, " child_pid=")? },
        "sched_process_exit" | "sched_process_exec" | "sched_process_free" | "task_rename" => What::Answered,
        _ => return None,
    })
}

/// In the kernel's own form, or in that of libtraceevent's plugin: `a:1 [120] S ==> b:2 [120]`.
fn switch(payload: &str) -> Option<What> {
    if let Some((left, right)) = payload.rsplit_once(" ==> next_comm=") {
        let state = left.rsplit_once(" prev_state=")?.1;
        let (prev, next) = (number(left, " prev_pid=")?, number(right, " next_pid=")?);
        return Some(What::Switch { prev, state: state_of(state), next });
    }
    let (left, right) = payload.rsplit_once(" ==> ")?;
    let (left, state) = left.rsplit_once(' ')?;
    Some(What::Switch { prev: plugin_tid(left)?, state: state_of(state), next: plugin_tid(right)? })
}

fn state_of(letters: &str) -> State {
    match letters {
        _ if letters.contains('R') => State::Runnable,
        _ if letters.contains(['X', 'Z']) => State::Dead,
        _ => State::Asleep,
    }
}

fn woken(payload: &str) -> Option<(u32, u32)> {
    if payload.contains("target_cpu=") {
        return Some((number(payload, " pid=")?, number(payload, " target_cpu=")?));
    }
    let (thread, rest) = payload.rsplit_once(" [")?;
    Some((thread.rsplit_once(':')?.1.parse().ok()?, number(rest, " CPU:")?))
}

/// `comm:12 [120]`.
fn plugin_tid(text: &str) -> Option<u32> {
    text.rsplit_once(" [")?.0.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_switch_is_read_from_whatever_printed_it() {
        let lines = [
            "   a [1]-7  [001] d..2.  2.000003: sched_switch: prev_comm=a [1] prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=8 next_prio=120",
            "   a [1]  7 [001]  2.000003000:  sched:sched_switch: a [1]:7 [120] R ==> b:8 [120]",
            "   a [1]-7  [001]  2.000003000: sched_switch:  a [1]:7 [120] R ==> b:8 [120]",
            "   us 7-7    1d..2. 2000003us+: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120",
        ];
        for line in lines {
            let what = What::Switch { prev: 7, state: State::Runnable, next: 8 };
            assert_eq!(parse(line).events, [Event { ts: 2_000_003_000, cpu: 1, what }], "{line}");
        }
        assert!(parse("  a-7 [001] d..2. 2000003: sched_switch: x").events.is_empty(), "no clock of ns");
    }

    #[test]
    fn wakings_lie_in_either_form_and_losses_are_counted() {
        let text = "x 7 [000] 1.000000001: sched:sched_waking: comm=a pid=5 pid=9 prio=120 target_cpu=003\n\
                    x-7 [000] 1.000000002: sched_wakeup: a:9 [120] CPU:002\n\
                    CPU:1 [LOST 12 EVENTS]\n";
        let found = parse(text);
        let whats: Vec<What> = found.events.into_iter().map(|event| event.what).collect();
        assert_eq!(whats, [What::Waking { tid: 9, target_cpu: 3 }, What::Wakeup { tid: 9, target_cpu: 2 }]);
        assert!(found.lost > 0);
    }
}
