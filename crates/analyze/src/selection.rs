//! Which rows of a workload enter the verdict. Every row keeps its state, so that a report can show all of them:
//! warm-up, failed, not applied, in a contaminated block that was repeated, in a block that was never completed, or
//! used.
//!
//! The rules use marks, positions and completeness, never which arm was faster.

use schedlab_plan::manifest::SharedBoots;
use schedlab_plan::{InOrder, MIN_UNITS, Manifest, Mark, TrialRecord, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};

/// How a row is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is used for the verdict.
    Used,
    /// Before block 0, or in a block that was cut because the pooled trials had not settled.
    WarmUp,
    /// No outcome.
    Failed,
    /// Its arm is not applied.
    NotApplied,
    /// Its block is repeated by that block.
    Repeated(u32),
    /// Its arm lacks trials in this block.
    Incomplete,
}

/// A row with its state.
#[derive(Debug, Clone)]
pub(crate) struct Row<'t> {
    pub(crate) record: &'t TrialRecord,
    pub(crate) fate: Fate,
}

/// The rows of one workload in time order.
#[derive(Debug, Clone)]
pub(crate) struct Selection<'t> {
    pub(crate) workload: u32,
    pub(crate) rows: Vec<Row<'t>>,
    /// Arms with a row that says "not applied", and its reason.
    pub(crate) not_applied: BTreeMap<u32, String>,
    /// Blocks with a mark of steal, heat or a pause, what was seen, and the block that replaces it.
    pub(crate) marked: BTreeMap<u32, (String, Option<u32>)>,
    /// Blocks cut from the front as warm-up.
    pub(crate) cut_blocks: BTreeSet<u32>,
    /// How blocks share boots, if they do.
    boots: Option<SharedBoots>,
}

/// The text of a contaminating mark; `None` for marks that do not spoil a block.
pub(crate) fn mark_text(mark: &Mark) -> Option<String> {
    match mark {
        Mark::Steal { share } => Some(format!("steal {:.1} %", share * 100.0)),
        Mark::Thermal { evidence } => Some(format!("thermal: {evidence}")),
        Mark::Pause { evidence } => Some(format!("a pause of {evidence}")),
        Mark::Foreign { .. } => None,
    }
}

/// The trials of an arm that completed, in complete blocks that were not repeated, in time order. A warm-up that only
/// the values show is not cut.
pub fn used_trials<'t>(
    manifest: &Manifest,
    trials: &'t [TrialRecord],
    workload: u32,
    arm: u32,
) -> Vec<&'t TrialRecord> {
    Selection::new(manifest, trials, workload).used(Some(arm)).collect()
}

impl<'t> Selection<'t> {
    /// Determines the state of each row of a workload, without the warm-up detection; see [`Self::cut_warm_up`].
    pub(crate) fn new(manifest: &Manifest, trials: &'t [TrialRecord], workload: u32) -> Self {
        let mut records: Vec<&TrialRecord> = trials.iter().filter(|t| t.workload == workload).collect();
        records.in_order_by_key(|t| t.trial);
        let mut not_applied = BTreeMap::new();
        for record in &records {
            if let (TrialStatus::NotApplied(reason), arm) = (&record.status, record.arm) {
                // A switchback trial contains both arms: neither can be judged.
                for arm in arm.map_or(0..manifest.arms.len() as u32, |a| a..a + 1) {
                    not_applied.entry(arm).or_insert_with(|| reason.clone());
                }
            }
        }
        let complete = Completeness::of(&records, &not_applied);
        let repeats = repeats(&records, &complete);
        let marked = marked(&records, &repeats);
        let spoilt: BTreeSet<u32> = records.iter().filter(|r| !r.warm_up && is_spoilt(r)).map(|r| r.block).collect();
        let fate = |record: &TrialRecord| match &record.status {
            _ if record.warm_up && matches!(record.status, TrialStatus::Ok) => Fate::WarmUp,
            TrialStatus::Failed(_) => Fate::Failed,
            TrialStatus::NotApplied(_) => Fate::NotApplied,
            TrialStatus::Ok if record.outcome.is_none() => Fate::Failed,
            TrialStatus::Ok => match repeats.get(&record.block) {
                Some(&by) if spoilt.contains(&record.block) => Fate::Repeated(by),
                _ if !complete.is_complete(record.block, record.arm) => Fate::Incomplete,
                _ => Fate::Used,
            },
        };
        let rows = records.iter().map(|&record| Row { record, fate: fate(record) }).collect();
        Self { workload, rows, not_applied, marked, cut_blocks: BTreeSet::new(), boots: manifest.shared_boots() }
    }

    /// Whether the units are boots with several blocks each.
    pub(crate) fn has_boots(&self) -> bool {
        self.boots.is_some()
    }

    /// The independent unit that a block is, or is part of: the peculiarities of a boot are the same in all its blocks.
    pub(crate) fn unit_of(&self, block: u32) -> u32 {
        self.boots.map_or(block, |shared| shared.of(block))
    }

    /// Blocks with at least one used row, in order.
    pub(crate) fn used_blocks(&self) -> Vec<u32> {
        let blocks: BTreeSet<u32> = self.rows.iter().filter(|r| r.fate == Fate::Used).map(|r| r.record.block).collect();
        blocks.into_iter().collect()
    }

    /// Used rows of one arm (`None`: switchback rows), in time order.
    pub(crate) fn used(&self, arm: Option<u32>) -> impl Iterator<Item = &'t TrialRecord> + '_ {
        self.rows.iter().filter(move |r| r.fate == Fate::Used && r.record.arm == arm).map(|r| r.record)
    }

    /// Cuts the first blocks if the pooled series of block means has not settled there: one cut for all arms. At least
    /// as many blocks as a verdict needs remain.
    pub(crate) fn cut_warm_up(&mut self, pooled: &BTreeMap<u32, f64>) {
        if pooled.len() <= MIN_UNITS {
            return;
        }
        let series: Vec<f64> = pooled.values().copied().collect();
        let cut = schedlab_stats::warmup_cut(&series).min(series.len() - MIN_UNITS);
        self.cut_blocks = pooled.keys().take(cut).copied().collect();
        for row in &mut self.rows {
            if row.fate == Fate::Used && self.cut_blocks.contains(&row.record.block) {
                row.fate = Fate::WarmUp;
            }
        }
    }

    /// The same rows with repeated blocks and their repeats together: for the unfiltered estimate.
    pub(crate) fn unfiltered(&self) -> Self {
        let mut all = self.clone();
        for row in &mut all.rows {
            if matches!(row.fate, Fate::Repeated(_)) {
                row.fate = Fate::Used;
            }
        }
        all
    }

    /// Number of rows in this state.
    pub(crate) fn count(&self, fate: impl Fn(&Fate) -> bool) -> usize {
        self.rows.iter().filter(|r| fate(&r.fate)).count()
    }
}

/// Whether a row spoils its block.
fn is_spoilt(record: &TrialRecord) -> bool {
    matches!(record.status, TrialStatus::Failed(_)) || record.marks.iter().any(|m| mark_text(m).is_some())
}

/// Good trials per (block, arm), and the number in a complete block.
struct Completeness {
    good: BTreeMap<(u32, Option<u32>), usize>,
    expected: BTreeMap<Option<u32>, usize>,
    live_arms: BTreeSet<Option<u32>>,
}

impl Completeness {
    fn of(records: &[&TrialRecord], not_applied: &BTreeMap<u32, String>) -> Self {
        let (mut good, mut all) = (BTreeMap::new(), BTreeMap::new());
        let live = |arm: &Option<u32>| arm.is_none_or(|a| !not_applied.contains_key(&a));
        let mut live_arms = BTreeSet::new();
        for record in records.iter().filter(|r| !r.warm_up) {
            let key = (record.block, record.arm);
            *all.entry(key).or_insert(0usize) += 1;
            if matches!(record.status, TrialStatus::Ok) && record.outcome.is_some() {
                *good.entry(key).or_insert(0usize) += 1;
            }
            if live(&record.arm) {
                live_arms.insert(record.arm);
            }
        }
        let mut expected = BTreeMap::new();
        for (&(_, arm), &n) in &all {
            let most = expected.entry(arm).or_insert(0usize);
            *most = n.max(*most);
        }
        Self { good, expected, live_arms }
    }

    /// The mirror cancels drift only if an arm has all its trials in the block.
    fn is_complete(&self, block: u32, arm: Option<u32>) -> bool {
        self.good.get(&(block, arm)).copied().unwrap_or(0) >= self.expected.get(&arm).copied().unwrap_or(1)
    }

    fn is_whole(&self, block: u32) -> bool {
        self.live_arms.iter().all(|&arm| self.is_complete(block, arm))
    }
}

/// Block → the complete block that repeats it.
fn repeats(records: &[&TrialRecord], complete: &Completeness) -> BTreeMap<u32, u32> {
    records
        .iter()
        .filter_map(|r| r.repeats_block.map(|of| (of, r.block)))
        .filter(|&(_, by)| complete.is_whole(by))
        .collect()
}

fn marked(records: &[&TrialRecord], repeats: &BTreeMap<u32, u32>) -> BTreeMap<u32, (String, Option<u32>)> {
    let mut marked: BTreeMap<u32, (String, Option<u32>)> = BTreeMap::new();
    for record in records.iter().filter(|r| !r.warm_up) {
        for text in record.marks.iter().filter_map(mark_text) {
            let entry = marked.entry(record.block).or_insert_with(|| (String::new(), None));
            if !entry.0.contains(&text) {
                entry.0 = if entry.0.is_empty() { text } else { format!("{}, {text}", entry.0) };
            }
            entry.1 = repeats.get(&record.block).copied();
        }
    }
    marked
}
