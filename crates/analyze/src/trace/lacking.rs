//! What cannot be computed because events were not recorded.

use schedlab_trace::{Kind, Kinds};

/// The consequence of missing switches, which no other event replaces.
pub(super) const NO_SWITCH: &str = "it is not known when threads got a CPU, so no wait can be measured";

/// A sentence for each kind of event that is needed and was not recorded.
pub(super) fn lacking(kinds: Kinds, needs: &[(Kind, &str)]) -> Vec<String> {
    let no_wakeups = !kinds.has(Kind::SchedWaking) && !kinds.has(Kind::SchedWakeup);
    let is_of_wakeups = |kind: Kind| matches!(kind, Kind::SchedWaking | Kind::SchedWakeup | Kind::SchedWakeupNew);
    let lacks = needs.iter().filter(|(kind, _)| !(kinds.has(*kind) || no_wakeups && is_of_wakeups(*kind)));
    let (switches, others): (Vec<_>, Vec<_>) = lacks.partition(|(kind, _)| *kind == Kind::SchedSwitch);
    let sentence = |(kind, then): &(Kind, &str)| format!("{} was not recorded: {then}", kind.name());
    // Replaces the sentences about each kind of wakeup.
    let of_wakeups = no_wakeups.then(|| {
        "neither sched_waking nor sched_wakeup was recorded: only waits after preemptions and of new threads are known"
            .to_owned()
    });
    switches.into_iter().map(sentence).chain(of_wakeups).chain(others.into_iter().map(sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_its_consequence() {
        let needs = [(Kind::SchedWaking, "waits begin late"), (Kind::SoftirqEntry, "softirqs are not seen")];
        let of = |kinds: &[Kind]| lacking(Kinds::of(kinds), &needs);
        assert_eq!(of(&[Kind::SchedWaking, Kind::SoftirqEntry]), Vec::<String>::new());
        assert_eq!(
            of(&[Kind::SchedWakeup]),
            [
                "sched_waking was not recorded: waits begin late",
                "softirq_entry was not recorded: softirqs are not seen"
            ]
        );
        let none = of(&[Kind::SoftirqEntry]);
        assert_eq!(none.len(), 1);
        assert!(none[0].starts_with("neither sched_waking nor sched_wakeup"), "{none:?}");
        let switches = lacking(Kinds::of(&[Kind::SoftirqEntry]), &[(Kind::SchedSwitch, NO_SWITCH), needs[0]]);
        assert!(switches[0].starts_with("sched_switch was not recorded") && switches.len() == 2, "{switches:?}");
    }
}
