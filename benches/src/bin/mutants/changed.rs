//! What the damage changed, according to another reader of the trace.

use schedlab_benches::formats::lines::Text;
use schedlab_benches::formats::reference::{Event, What};
use std::collections::BTreeMap;

/// The only thing that the other reader finds changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Time,
    /// Where an event was traced, or the CPU to which it moves a thread.
    Cpu,
    /// The thread of an event.
    Thread,
    /// The state in which a thread leaves its CPU.
    State,
    /// The kind of an event.
    Kind,
    Gone,
    More,
    Several,
}

pub(crate) const CHANGES: [(Change, &str); 8] = [
    (Change::Time, "times"),
    (Change::Cpu, "CPUs"),
    (Change::Thread, "thread ids"),
    (Change::State, "states"),
    (Change::Kind, "kinds of events"),
    (Change::Gone, "events gone"),
    (Change::More, "events more"),
    (Change::Several, "several of these"),
];

/// How the events of a mutant differ from those of the intact trace.
pub(crate) fn change(whole: &Text, mutant: &Text) -> Change {
    let (gone, came) = (without(whole, mutant), without(mutant, whole));
    match (gone.len(), came.len()) {
        // The names are not distinguished by the reference.
        (0, 0) => return Change::Kind,
        (_, 0) => return Change::Gone,
        (0, _) => return Change::More,
        (gone, came) if gone != came => return Change::Several,
        _ => {}
    }
    let mut all = gone.iter().zip(&came).map(|(before, after)| of_one(before, after));
    let first = all.next().unwrap_or(Change::Several);
    if all.all(|change| change == first) { first } else { Change::Several }
}

/// Events in one text that are not in the other, in the order of their times.
fn without<'a>(one: &'a Text, other: &Text) -> Vec<&'a Event> {
    let key = |event: &Event| format!("{event:?}");
    let mut there = BTreeMap::<String, usize>::new();
    other.events.iter().for_each(|event| *there.entry(key(event)).or_default() += 1);
    let is_missing = |event: &&Event| match there.get_mut(&key(event)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    one.events.iter().filter(is_missing).collect()
}

fn of_one(before: &Event, after: &Event) -> Change {
    let (of_time, of_cpu, of_what) = (before.ts != after.ts, before.cpu != after.cpu, before.what != after.what);
    match (of_time, of_cpu, of_what) {
        (true, false, false) => Change::Time,
        (false, true, false) => Change::Cpu,
        (false, false, true) => of_payload(&before.what, &after.what),
        _ => Change::Several,
    }
}

fn of_payload(before: &What, after: &What) -> Change {
    match (before, after) {
        (What::Switch { prev, state, next }, What::Switch { prev: p, state: s, next: n }) => {
            match (state != s, (prev, next) != (p, n)) {
                (true, false) => Change::State,
                (false, _) => Change::Thread,
                (true, true) => Change::Several,
            }
        }
        (What::Waking { tid, .. }, What::Waking { tid: other, .. })
        | (What::Wakeup { tid, .. }, What::Wakeup { tid: other, .. })
        | (What::WakeupNew { tid, .. }, What::WakeupNew { tid: other, .. })
        | (What::Migrate { tid, .. }, What::Migrate { tid: other, .. }) => {
            if tid == other {
                Change::Cpu
            } else {
                Change::Thread
            }
        }
        (What::Fork { .. }, What::Fork { .. }) => Change::Thread,
        _ => Change::Kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_has_a_name() {
        let lines = |second: &str| {
            let first = "a-1 [000] d..2. 1.000001: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n";
            schedlab_benches::formats::lines::parse(&format!("{first}{second}"))
        };
        let line = |cpu: u32, us: u32, tid: u32, state: &str| {
            format!(
                "a-1 [{cpu:03}] d..2. 1.{us:06}: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state={state} ==> \
                 next_comm=b next_pid={tid} next_prio=120\n"
            )
        };
        let whole = lines(&line(0, 5, 2, "S"));
        let changed = |second: String| change(&whole, &lines(&second));
        assert_eq!(changed(line(0, 6, 2, "S")), Change::Time);
        assert_eq!(changed(line(1, 5, 2, "S")), Change::Cpu);
        assert_eq!(changed(line(0, 5, 3, "S")), Change::Thread);
        assert_eq!(changed(line(0, 5, 2, "R")), Change::State);
        assert_eq!(changed(line(0, 6, 3, "S")), Change::Several);
        assert_eq!(changed(line(0, 5, 2, "S").replace("sched_switch", "sched_twitch")), Change::Kind);
        assert_eq!(changed(String::new()), Change::Gone);
        assert_eq!(changed(line(0, 5, 2, "S") + &line(0, 7, 2, "S")), Change::More);
    }
}
