//! Detects counts that do not grow with the number of operations. Something that happens once per trial, at its set-up,
//! or at every tick has about the same count in each trial; divided by the fewer operations of a slower arm it looks
//! larger. A difference in such a count is withheld.

use crate::findings::{Contrast, Verdict, Withheld};
use crate::metric::MetricKey;
use crate::verdict::withheld;
use schedlab_plan::TrialOutcome;
use schedlab_stats::median;

/// With fewer counts per trial it is not possible to tell whether they grow with the operations.
const MIN_TO_FOLLOW: f64 = 10.0;

/// A count follows the operations if dividing by them leaves at most this share of its relative spread.
const LEFT_OF_SPREAD: f64 = 0.8;

/// One trial's count and the operations it is divided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountOfTrial {
    count: f64,
    operations: f64,
}

impl CountOfTrial {
    /// The values of the trials that have both.
    pub(crate) fn of<'t>(key: &MetricKey, outcomes: impl Iterator<Item = &'t TrialOutcome>) -> Vec<Self> {
        let one = |outcome: &TrialOutcome| {
            let operations = outcome.operations as f64;
            let count = key.per_trial().value(outcome).ok()?;
            (operations > 0.0).then_some(Self { count, operations })
        };
        outcomes.filter_map(one).collect()
    }
}

/// Why an exploratory count of the whole machine is described and not judged. Whatever else runs there comes and goes
/// independently of the arms, and a slower arm, which takes longer for the same work, counts more of it: neither a
/// difference nor an equivalence can be attributed to the arm. No test on such counts can separate the two, so none is
/// made.
pub(crate) fn of_machine(contrast: &Contrast, key: &MetricKey) -> Option<Verdict> {
    let is_judged = key.is_background() && !matches!(contrast.verdict, Verdict::NoVerdict { .. });
    let reason = "counted on the whole machine, with what else ran there: described only (a primary metric is judged)";
    is_judged.then(|| withheld(Withheld::OfMachine, reason))
}

/// Why a difference in a count per operation is withheld. `per_trial` judges the count of whole trials, undivided.
///
/// The difference is kept if one of these holds: the trials of both arms made the same number of operations; the count
/// of a trial differs in the same direction; within the arms the count follows the operations.
pub(crate) fn not_per_operation(
    contrast: &Contrast,
    key: &MetricKey,
    sides: [&[CountOfTrial]; 2],
    per_trial: impl FnOnce(&MetricKey) -> Option<Verdict>,
) -> Option<Verdict> {
    let all: Vec<CountOfTrial> = sides.concat();
    let same_operations = all.windows(2).all(|pair| pair[0].operations == pair[1].operations);
    if !contrast.verdict.is_difference() || !key.is_event_count() || same_operations || follows(sides) {
        return None;
    }
    if per_trial(&key.per_trial()).as_ref() == Some(&contrast.verdict) {
        return None;
    }
    let typical = |side: &[CountOfTrial]| {
        let count = median(&side.iter().map(|c| c.count).collect::<Vec<f64>>());
        crate::number::significant(count, 3)
    };
    let reason = format!(
        "not per operation: {} a trial against {}, and they do not follow the operations; only the number of operations differs",
        typical(sides[1]),
        typical(sides[0])
    );
    Some(withheld(Withheld::NotPerOperation, reason))
}

/// Whether, within the arms, trials with more operations have higher counts: then dividing reduces the spread.
fn follows(sides: [&[CountOfTrial]; 2]) -> bool {
    let squares = |value: fn(&CountOfTrial) -> f64| -> f64 {
        let of_side = |side: &&[CountOfTrial]| {
            let mean = side.iter().map(value).sum::<f64>() / side.len().max(1) as f64;
            side.iter().map(|c| (value(c) / mean - 1.0).powi(2)).filter(|square| square.is_finite()).sum::<f64>()
        };
        sides.iter().map(of_side).sum()
    };
    let counts: Vec<f64> = sides.concat().iter().map(|c| c.count).collect();
    median(&counts) >= MIN_TO_FOLLOW
        && squares(|c| c.count / c.operations) <= LEFT_OF_SPREAD * LEFT_OF_SPREAD * squares(|c| c.count)
}
