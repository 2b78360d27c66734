//! Shares of functions, call chains and tasks.

use super::folded::{base, label};
use super::interrupts_off::turns_interrupts_on;
use super::tally::{Tally, functions, tally};
use super::{Annotation, GroupFindings, Operations};
use schedlab_plan::InOrder;
use schedlab_plan::profile::Profile;
use serde::Serialize;
use std::collections::HashMap;

/// With fewer samples, half the interval of a share exceeds 7 %.
const MIN_SAMPLES: u64 = 200;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/profile/1";

/// What the rows are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The function's own samples.
    #[default]
    Itself,
    /// Its samples and those of what it calls.
    Total,
}

/// Options of the analysis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileOptions {
    /// The operations that the time was spent on, if they are known.
    pub operations: Option<Operations>,
    /// Order of the functions.
    pub sort: SortBy,
    /// Most functions; `None`: all.
    pub top: Option<usize>,
    /// Most call chains; `None`: all.
    pub top_chains: Option<usize>,
}

/// Where the time of CPUs went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProfileFindings {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// `cpu-clock` or `cycles`.
    pub pace: String,
    /// Unit of weights and of what is per operation: `ns` or `cycles`.
    pub unit: String,
    /// Samples asked for, a second of CPU time.
    pub frequency_hz: u32,
    /// Whose samples.
    pub of: String,
    /// CPUs sampled.
    pub cpus: u32,
    /// How long, s.
    pub length_s: f64,
    /// Samples of CPUs at work: the whole of every share.
    pub samples: u64,
    /// Their weight: CPU time in ns, or cycles.
    pub weight: u64,
    /// Samples of CPUs without work.
    pub idle_samples: u64,
    /// Samples lost because a ring buffer was full.
    pub lost: u64,
    /// Times the kernel lowered the rate.
    pub throttled: u64,
    /// Samples of the process that sampled, left out.
    pub of_the_sampler: u64,
    /// Operations done meanwhile.
    pub operations: Option<u64>,
    /// What an operation is.
    pub operation: Option<String>,
    /// Weight per operation.
    pub per_operation: Option<f64>,
    /// Share of the samples at instructions that enable interrupts; `None` if the sampling event fires with interrupts
    /// off (an NMI).
    pub share_interrupts_back_on: Option<f64>,
    /// By function.
    pub functions: Vec<FunctionShare>,
    /// Functions not shown.
    pub more_functions: u64,
    /// By part of the kernel; per operation if operations are known.
    pub groups: GroupFindings,
    /// By call chain.
    pub chains: Vec<ChainShare>,
    /// Call chains not shown.
    pub more_chains: u64,
    /// By name of task.
    pub tasks: Vec<TaskShare>,
    /// Functions whose instructions were requested.
    pub annotations: Vec<Annotation>,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// A function.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FunctionShare {
    /// Its name; empty for code without a symbol.
    pub name: String,
    /// `[kernel]`, a module, a path.
    pub image: String,
    /// Samples in it.
    pub samples: u64,
    /// Share of all weight found in it.
    pub share: f64,
    /// Half the width of the 95 % interval of that share, by the number of samples alone.
    pub share_margin: f64,
    /// Samples in it or in what it called.
    pub samples_with_callees: u64,
    /// Share of those.
    pub share_with_callees: f64,
    /// Weight per operation, in it.
    pub per_operation: Option<f64>,
    /// Weight per operation, with what it called.
    pub per_operation_with_callees: Option<f64>,
    /// Interrupts are enabled here, and the sampling event cannot fire while they are off: samples of this instruction
    /// may belong to code before it.
    pub interrupts_back_on: bool,
}

/// A call chain by its functions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ChainShare {
    /// Functions, outermost first.
    pub functions: Vec<String>,
    /// Samples.
    pub samples: u64,
    /// Share of all weight.
    pub share: f64,
    /// Weight per operation.
    pub per_operation: Option<f64>,
}

/// Tasks of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskShare {
    /// The name.
    pub comm: String,
    /// Samples.
    pub samples: u64,
    /// Share of all weight.
    pub share: f64,
}

/// The findings.
pub fn profile(profile: &Profile, options: &ProfileOptions) -> ProfileFindings {
    let operations = options.operations.as_ref().filter(|operations| operations.count > 0);
    let tallies = tally(profile, operations.map(|operations| operations.during_ns));
    let whole = Whole { busy: tallies.busy, operations: operations.map(|operations| operations.count) };
    let (mut functions, back_on) = by_function(profile, &tallies.by_chain, &whole, options.sort);
    let groups = by_group(profile, &functions, &whole, operations.map_or("", |operations| &operations.name));
    let more_functions = cut(&mut functions, options.top);
    let mut chains = by_chain(profile, &tallies.by_chain, &whole);
    let more_chains = cut(&mut chains, options.top_chains);
    ProfileFindings {
        schema: SCHEMA,
        pace: profile.pace.clone(),
        unit: profile.unit.clone(),
        frequency_hz: profile.frequency_hz,
        of: profile.of.clone(),
        cpus: profile.cpus,
        length_s: profile.length_ns as f64 / 1e9,
        samples: whole.busy.samples,
        weight: whole.busy.weight,
        idle_samples: tallies.idle.samples,
        lost: profile.lost,
        throttled: profile.throttled,
        of_the_sampler: profile.of_the_sampler,
        operations: whole.operations,
        operation: operations.map(|operations| operations.name.clone()),
        per_operation: whole.per_operation(whole.busy),
        share_interrupts_back_on: profile.blind_with_interrupts_off.then(|| whole.share(back_on)),
        functions,
        more_functions,
        groups,
        chains,
        more_chains,
        tasks: by_task(profile, &tallies.by_chain, &whole),
        annotations: Vec::new(),
        notes: profile.notes.clone(),
    }
}

/// The totals that shares refer to.
struct Whole {
    busy: Tally,
    operations: Option<u64>,
}

impl Whole {
    fn share(&self, part: Tally) -> f64 {
        if self.busy.weight == 0 { 0.0 } else { part.weight as f64 / self.busy.weight as f64 }
    }
    /// The normal approximation to the binomial, with one sample added to each side so that it never claims to be
    /// exact.
    fn margin(&self, part: Tally) -> f64 {
        let n = self.busy.samples as f64 + 2.0;
        let p = (part.samples as f64 + 1.0) / n;
        1.96 * (p * (1.0 - p) / n).sqrt()
    }
    fn per_operation(&self, part: Tally) -> Option<f64> {
        Some(part.weight as f64 / self.operations? as f64)
    }
}

/// Rows, the largest share first, and the sum of the samples taken in functions that re-enable interrupts.
fn by_function(profile: &Profile, by_chain: &[Tally], whole: &Whole, sort: SortBy) -> (Vec<FunctionShare>, Tally) {
    let mut alone = vec![Tally::default(); profile.functions.len()];
    let mut with_callees = alone.clone();
    let mut met = Vec::new();
    for (chain, tally) in profile.chains.iter().zip(by_chain).filter(|(_, tally)| tally.samples > 0) {
        // A recursive function is in the chain several times, but counts once.
        met.clear();
        met.extend(functions(profile, chain));
        if let Some(innermost) = met.first() {
            alone[*innermost].add(*tally);
        }
        met.sort_unstable();
        met.dedup();
        met.iter().for_each(|function| with_callees[*function].add(*tally));
    }
    let mut back_on = Tally::default();
    let mut rows = Vec::new();
    for (at, function) in profile.functions.iter().enumerate().filter(|(at, _)| with_callees[*at].samples > 0) {
        let image = profile.images.get(function.image as usize);
        let turns_on = image.is_some_and(|image| image.is_kernel) && turns_interrupts_on(&function.name);
        let interrupts_back_on = profile.blind_with_interrupts_off && turns_on;
        if interrupts_back_on {
            back_on.add(alone[at]);
        }
        rows.push(FunctionShare {
            name: function.name.clone(),
            image: image.map_or("?", |image| image.name.as_str()).to_owned(),
            samples: alone[at].samples,
            share: whole.share(alone[at]),
            share_margin: whole.margin(alone[at]),
            samples_with_callees: with_callees[at].samples,
            share_with_callees: whole.share(with_callees[at]),
            per_operation: whole.per_operation(alone[at]),
            per_operation_with_callees: whole.per_operation(with_callees[at]),
            interrupts_back_on,
        });
    }
    let key = |row: &FunctionShare| match sort {
        SortBy::Itself => (row.share, row.share_with_callees),
        SortBy::Total => (row.share_with_callees, row.share),
    };
    rows.in_order_by(|a, b| {
        let by_share = key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal);
        by_share.then_with(|| (&a.name, &a.image).cmp(&(&b.name, &b.image)))
    });
    (rows, back_on)
}

impl ProfileFindings {
    /// Its groups, for a comparison with another profile; an error if it has too few samples for that.
    pub fn comparable_groups(&self) -> Result<&GroupFindings, String> {
        match self.samples {
            few if few < MIN_SAMPLES => {
                let few = schedlab_plan::counted(few as usize, "samples");
                Err(format!("only {few} in a trial, and shares take {MIN_SAMPLES}: give longer trials"))
            }
            _ => Ok(&self.groups),
        }
    }
}

/// The rows of all functions by part of the kernel.
fn by_group(profile: &Profile, rows: &[FunctionShare], whole: &Whole, operation: &str) -> GroupFindings {
    let all = whole.per_operation(whole.busy).unwrap_or(whole.busy.weight as f64);
    let of_kernel = |row: &FunctionShare| profile.images.iter().any(|image| image.is_kernel && image.name == row.image);
    let weight = |row| (of_kernel(row).then_some(row.name.as_str()), row.share * all);
    GroupFindings::of(&profile.unit, operation, rows.iter().filter(|row| row.samples > 0).map(weight))
}

/// Call chains with the same functions count as one, whatever the offsets in them and the task.
fn by_chain(profile: &Profile, by_chain: &[Tally], whole: &Whole) -> Vec<ChainShare> {
    let mut found: HashMap<Vec<usize>, Tally> = HashMap::new();
    for (chain, tally) in profile.chains.iter().zip(by_chain).filter(|(_, tally)| tally.samples > 0) {
        found.entry(functions(profile, chain).rev().collect()).or_default().add(*tally);
    }
    let row = |(functions, tally): (Vec<usize>, Tally)| ChainShare {
        functions: functions.into_iter().map(|at| label(profile, &profile.functions[at])).collect(),
        samples: tally.samples,
        share: whole.share(tally),
        per_operation: whole.per_operation(tally),
    };
    let mut rows: Vec<ChainShare> = found.into_iter().map(row).collect();
    rows.in_order_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.functions.cmp(&b.functions)));
    rows
}

fn by_task(profile: &Profile, by_chain: &[Tally], whole: &Whole) -> Vec<TaskShare> {
    let mut tallies = vec![Tally::default(); profile.comms.len()];
    for (chain, tally) in profile.chains.iter().zip(by_chain) {
        if let Some(of) = tallies.get_mut(chain.comm as usize) {
            of.add(*tally);
        }
    }
    let met = profile.comms.iter().zip(tallies).filter(|(_, tally)| tally.samples > 0);
    let row = |(comm, tally): (&String, Tally)| TaskShare {
        comm: comm.clone(),
        samples: tally.samples,
        share: whole.share(tally),
    };
    let mut rows: Vec<TaskShare> = met.map(row).collect();
    rows.in_order_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.comm.cmp(&b.comm)));
    rows
}

/// Cuts a table to its first rows; returns how many are left out.
fn cut<T>(rows: &mut Vec<T>, top: Option<usize>) -> u64 {
    let all = rows.len();
    rows.truncate(top.unwrap_or(all));
    (all - rows.len()) as u64
}

impl FunctionShare {
    /// The image without its directory.
    pub fn image_base(&self) -> &str {
        base(&self.image)
    }
}
