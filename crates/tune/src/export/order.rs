//! The order of the lines of an export. The kernel refuses a value above its bound (`sched_rt_runtime_us` ≤
//! `sched_rt_period_us`), so a pair of such knobs is written, and undone, in an order that has no such moment.

use super::value::Value;
use crate::catalogue::kernel_number;

/// Settings whose lines follow each other.
pub(super) struct Group<'v> {
    /// In the order in which they are written.
    pub(super) values: Vec<&'v Value>,
    /// In the order in which they are undone.
    undone: Vec<&'v Value>,
    /// What the bounded one is set to before all others, if neither order of two lines is accepted.
    lift: Option<(&'v Value, String)>,
    /// Whether they may also be undone in the order in which they are written.
    is_free: bool,
}

/// A line of an undo.
#[derive(Clone, Copy)]
pub(super) enum Back<'v> {
    Lift(&'v Value, &'v str),
    /// To its value before.
    Own(&'v Value),
}

impl<'v> Group<'v> {
    fn of_one(value: &'v Value) -> Self {
        Self { values: vec![value], undone: vec![value], lift: None, is_free: true }
    }

    /// With the performance governor, the kernel refuses all energy preferences but one: drivers/cpufreq/intel_pstate.c
    /// `intel_pstate_set_energy_pref_index`. So the governor is first, there and back.
    fn of_governor(governor: &'v Value, preference: &'v Value) -> Self {
        let values = vec![governor, preference];
        Self { undone: values.clone(), values, lift: None, is_free: true }
    }

    /// What is written, in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&'v Value, &str)> {
        let lift = self.lift.iter().map(|(value, text)| (*value, text.as_str()));
        lift.chain(self.values.iter().map(|value| (*value, value.value.as_str())))
    }

    /// What undoes it, in order.
    pub(super) fn back(&self) -> impl Iterator<Item = Back<'_>> {
        let lift = self.lift.iter().map(|(low, text)| Back::Lift(low, text));
        lift.chain(self.undone.iter().map(|value| Back::Own(value)))
    }

    /// Whether a file of sysctl.d can hold it. At boot, systemd-sysctl keeps only the last line of a name, so a value
    /// on the way there is left to the unit.
    pub(super) fn fits_sysctl_d(&self) -> bool {
        self.lift.is_none() && self.values.iter().all(|value| value.sysctl.is_some())
    }

    /// Whether tuned can restore it. tuned knows one line for each name, and restores in the order of the lines.
    pub(super) fn tuned_puts_back(&self) -> bool {
        self.is_free && self.values.iter().all(|value| value.tuned_puts_back())
    }
}

/// All values, those that bound each other together, at the place of the first.
pub(super) fn ordered(values: &[Value]) -> Vec<Group<'_>> {
    let mut left: Vec<&Value> = values.iter().rev().collect();
    let mut groups = Vec::new();
    while let Some(first) = left.pop() {
        // The next one is the last of `left`.
        let pair = left.iter().enumerate().rev().find_map(|(at, second)| Some((at, pair(first, second)?)));
        groups.push(match pair {
            Some((at, group)) => {
                left.remove(at);
                group
            }
            None => Group::of_one(first),
        });
    }
    groups
}

/// `None` for values that do not bound each other, and where it is not known which order would do.
fn pair<'v>(first: &'v Value, second: &'v Value) -> Option<Group<'v>> {
    match [first.knob, second.knob] {
        ["governor", "energy_preference"] => return Some(Group::of_governor(first, second)),
        ["energy_preference", "governor"] => return Some(Group::of_governor(second, first)),
        _ => {}
    }
    let bounds = |high: &Value, low: &Value| {
        let is_upper = low.limit.as_ref().is_some_and(|limit| limit.is_upper && limit.knob == high.knob);
        is_upper && low.file.parent() == high.file.parent()
    };
    let (low, high) = match () {
        () if bounds(second, first) => (first, second),
        () if bounds(first, second) => (second, first),
        () => return None,
    };
    let moves = moves(low, high)?;
    let rule = Rule::of(low);
    let accepts = |between: fn(&Move) -> State| moves.iter().all(|one| rule.accepts(between(one), one));
    let low_first = accepts(|one| State { low: one.after.low, high: one.before.high });
    let high_first = accepts(|one| State { low: one.before.low, high: one.after.high });
    let values = match (low_first, high_first) {
        (true, true) => vec![first, second],
        (true, false) => vec![low, high],
        _ => vec![high, low],
    };
    let lift = (!low_first && !high_first).then(|| (low, rule.lifted(&moves)));
    let mut undone = values.clone();
    if lift.is_none() {
        // The moments between are then those of the way there.
        undone.reverse();
    }
    Some(Group { values, undone, lift, is_free: low_first && high_first })
}

/// A bounded value and its bound.
#[derive(Clone, Copy)]
struct State {
    low: i128,
    high: i128,
}

impl State {
    /// The part of the bound; a value of -1 is all of it.
    fn share(self) -> f64 {
        if self.low < 0 { 1.0 } else { self.low as f64 / self.high as f64 }
    }
}

/// What an export does to one copy of a pair.
struct Move {
    before: State,
    after: State,
}

fn moves(low: &Value, high: &Value) -> Option<Vec<Move>> {
    let number = kernel_number;
    let after = State { low: number(&low.value)?, high: number(&high.value)? };
    let are_known = !low.before.is_empty() && low.before.len() == high.before.len();
    let both = low.before.iter().zip(&high.before);
    let moves = both.map(|(low, high)| Some(State { low: number(&low.value)?, high: number(&high.value)? }));
    moves.map(|before| Some(Move { before: before?, after })).collect::<Option<_>>().filter(|_| are_known)
}

/// What the kernel accepts besides a value up to its bound.
enum Rule {
    Bound,
    /// Real-time and deadline tasks must still fit: kernel/sched/rt.c `tg_rt_schedulable` (what the root group has),
    /// kernel/sched/deadline.c `sched_dl_global_validate`. What fits both ends fits each share that is not below both.
    Throttle,
    /// The share of the fair server must fit next to the deadline tasks: `dl_server_apply_params`.
    Reserve,
}

impl Rule {
    fn of(low: &Value) -> Self {
        match low.knob {
            "rt_runtime" => Self::Throttle,
            "fair_server_runtime" => Self::Reserve,
            _ => Self::Bound,
        }
    }

    /// Whether a state on the way is certain to be accepted, given that both ends are.
    fn accepts(&self, between: State, ends: &Move) -> bool {
        let [share, before, after] = [between, ends.before, ends.after].map(State::share);
        between.low <= between.high
            && match self {
                Self::Bound => true,
                Self::Throttle => share >= before.min(after),
                Self::Reserve => share <= before.max(after),
            }
    }

    /// A value that is accepted with the bounds before and after.
    fn lifted(&self, moves: &[Move]) -> String {
        match self {
            Self::Throttle => "-1".to_owned(),
            _ => moves.iter().map(|one| one.before.low.min(one.after.low)).min().unwrap_or_default().to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
