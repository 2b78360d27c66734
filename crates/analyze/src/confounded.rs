//! Arms that differ in more than their settings. Trials of one boot share the memory layout, the CPUs that handle
//! interrupts, and much else that a reboot changes. So arms measured in different boots, kernels, hosts or days differ
//! by these as well. With fewer than five units of that level on a side there is no verdict.

use crate::findings::Confounded;
use crate::selection::Selection;
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{Manifest, OneByOne, TrialRecord, counted};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// Units of the level a verdict needs on each side (design, section 6).
pub(crate) const MIN_OF_LEVEL: usize = 5;

const NS_PER_DAY: u64 = 86_400_000_000_000;

/// Arms of one run: interleaved within every boot, or confounded with the boots.
pub(crate) fn within_run(selection: &Selection<'_>, control: u32, arm: u32) -> Option<Confounded> {
    let boots = |arm: u32| -> Vec<&str> { selection.used(Some(arm)).map(|r| r.boot_id.as_str()).collect() };
    let (a, b) = (boots(control), boots(arm));
    if !differ(&a, &b) {
        return None;
    }
    let (control, arm) = (count(&a), count(&b));
    let confounded = too_few("boot", control, arm)?;
    // Within a run, only guests have several boots.
    let sentence = format!(
        "the arms have guests, and so boots, of their own: {} against {} so far; a verdict needs {MIN_OF_LEVEL} boots a side: go \
         on with `schedlab run PLAN --resume`, or give the plan more trials",
        counted(arm, "boots"),
        counted(control, "boots")
    );
    Some(Confounded { sentence, ..confounded })
}

/// Two runs: `None` when a verdict over boots may be given.
pub(crate) fn between_runs(
    (manifest_a, a): (&Manifest, &[&TrialRecord]),
    (manifest_b, b): (&Manifest, &[&TrialRecord]),
) -> Option<Confounded> {
    if [manifest_a, manifest_b].iter().any(|manifest| manifest.order == OrderKnown::Unknown) {
        return Some(imported());
    }
    let (env_a, env_b) = (&manifest_a.environment, &manifest_b.environment);
    let boots = |rows: &[&TrialRecord]| -> Vec<String> { rows.iter().map(|r| r.boot_id.clone()).collect() };
    let days = |rows: &[&TrialRecord]| -> Vec<u64> { rows.iter().map(|r| r.started_unix_ns / NS_PER_DAY).collect() };
    let (boots_a, boots_b) = (boots(a), boots(b));
    let (units_control, units_arm) = (count(&boots_a), count(&boots_b));
    if env_a.hostname != env_b.hostname {
        let sentence = format!(
            "two machines (`{}`, `{}`) differ in more than any number of trials averages out: descriptive only",
            env_a.hostname, env_b.hostname
        );
        return Some(Confounded { level: "host".into(), units_control, units_arm, units_needed: None, sentence });
    }
    if differ(&boots_a, &boots_b) {
        let level = if env_a.kernel_release == env_b.kernel_release { "boot" } else { "kernel" };
        let (days_a, days_b) = (days(a), days(b));
        let by_day = || differ(&days_a, &days_b).then(|| too_few("day", count(&days_a), count(&days_b))).flatten();
        return too_few(level, units_control, units_arm).or_else(by_day);
    }
    Some(drift("the runs were made one after the other in the same boot"))
}

/// Rows that were measured elsewhere, perhaps one arm after the other; the recorded boots and days are those of the
/// import.
pub(crate) fn imported() -> Confounded {
    drift("the order in which the rows were measured is unknown")
}

/// Arms that were not interleaved: `known` is why.
fn drift(known: &str) -> Confounded {
    let sentence = format!(
        "{known}, so drift looks like an effect: measure both arms in one `schedlab ab`, which interleaves them"
    );
    Confounded { level: "run".into(), units_control: 1, units_arm: 1, units_needed: None, sentence }
}

/// Whether most trials of a side ran in units that the other side never ran in.
fn differ<T: Eq + Hash + Ord>(a: &[T], b: &[T]) -> bool {
    let mostly_alone = |own: &[T], other: &[T]| {
        let other: BTreeSet<&T> = other.iter().one_by_one();
        2 * own.iter().filter(|unit| !other.contains(unit)).count() > own.len()
    };
    !a.is_empty() && !b.is_empty() && (mostly_alone(a, b) || mostly_alone(b, a))
}

fn count<T: Ord>(units: &[T]) -> usize {
    units.iter().one_by_one::<BTreeSet<_>>().len()
}

fn too_few(level: &str, units_control: usize, units_arm: usize) -> Option<Confounded> {
    if units_control.min(units_arm) >= MIN_OF_LEVEL {
        return None;
    }
    let (units, remedy) = match level {
        "day" => ("days", "alternate the arms within each day"),
        _ => (
            "boots",
            "reboot between runs, the arms in alternating order, and give `schedlab compare` all runs of each \
             (--more-a, --more-b)",
        ),
    };
    let sentence = format!(
        "confounded: the arms differ by {level} as well ({} against {}); a verdict needs {MIN_OF_LEVEL} {units} a side: {remedy}",
        counted(units_arm, units),
        counted(units_control, units)
    );
    let units_needed = Some(MIN_OF_LEVEL);
    Some(Confounded { level: level.to_owned(), units_control, units_arm, units_needed, sentence })
}

/// Mean of the values of each boot (or day), in order of the unit's name.
pub(crate) fn unit_means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> Vec<f64> {
    let mut units: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (unit, value) in values {
        units.entry(unit).or_default().push(value);
    }
    units.into_values().filter_map(|values| crate::contrasts::mean(&values)).collect()
}
