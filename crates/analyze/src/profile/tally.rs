//! Counts samples by call chain, from which every view of a profile is computed.

use schedlab_plan::profile::{CallChain, Profile, Sample};

/// Functions that the idle task waits in. A sample there is a CPU without work; elsewhere it is work: interrupts that
/// come while the CPU is idle are served as the idle task.
const IDLE_FUNCTIONS: [&str; 14] = [
    "pv_native_safe_halt",
    "native_safe_halt",
    "acpi_safe_halt",
    "acpi_idle_do_entry",
    "acpi_processor_ffh_cstate_enter",
    "default_idle",
    "default_idle_call",
    "arch_cpu_idle",
    "mwait_idle",
    "mwait_idle_with_hints",
    "intel_idle",
    "cpuidle_enter_state",
    "poll_idle",
    "cpu_do_idle",
];

/// Number of samples and their weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) samples: u64,
    pub(super) weight: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.weight = self.weight.saturating_add(other.weight);
    }
}

/// The samples of an interval.
pub(super) struct Tallies {
    /// For each chain of the profile, without the idle ones.
    pub(super) by_chain: Vec<Tally>,
    /// All of those.
    pub(super) busy: Tally,
    /// CPUs without work.
    pub(super) idle: Tally,
}

/// Counts the samples of an interval (CLOCK_MONOTONIC ns; `None`: all).
pub(super) fn tally(profile: &Profile, during_ns: Option<(u64, u64)>) -> Tallies {
    let is_idle: Vec<bool> = profile.chains.iter().map(|chain| is_idle(profile, chain)).collect();
    let mut found =
        Tallies { by_chain: vec![Tally::default(); is_idle.len()], busy: Tally::default(), idle: Tally::default() };
    for sample in profile.samples.iter().filter(|sample| is_within(profile, sample, during_ns)) {
        let one = Tally { samples: 1, weight: u64::from(sample.weight) };
        match is_idle.get(sample.chain as usize) {
            Some(true) => found.idle.add(one),
            Some(false) => {
                found.busy.add(one);
                found.by_chain[sample.chain as usize].add(one);
            }
            None => {}
        }
    }
    found
}

fn is_within(profile: &Profile, sample: &Sample, during_ns: Option<(u64, u64)>) -> bool {
    let at_ns = profile.start_ns + u64::from(sample.at_us) * 1_000;
    during_ns.is_none_or(|(from, until)| (from..until).contains(&at_ns))
}

fn is_idle(profile: &Profile, chain: &CallChain) -> bool {
    let innermost = chain.frames.first().and_then(|frame| function_of(profile, *frame));
    let name = innermost.and_then(|function| profile.functions.get(function)).map_or("", |f| plain(&f.name));
    chain.idle_task && IDLE_FUNCTIONS.contains(&name)
}

/// The function of a frame; `None` if the profile is damaged.
pub(super) fn function_of(profile: &Profile, frame: u32) -> Option<usize> {
    let function = profile.frames.get(frame as usize)?.function as usize;
    (function < profile.functions.len()).then_some(function)
}

/// The functions of a chain, the innermost first.
pub(super) fn functions<'p>(profile: &'p Profile, chain: &'p CallChain) -> impl DoubleEndedIterator<Item = usize> + 'p {
    chain.frames.iter().filter_map(|frame| function_of(profile, *frame))
}

/// A name without the suffixes of the compiler's clones: `.isra.0`, `.constprop.0`, `.part.0`, `.cold`.
pub(super) fn plain(name: &str) -> &str {
    let suffixes = [".isra.", ".constprop.", ".part.", ".cold", ".llvm."];
    let ends = suffixes.iter().filter_map(|suffix| name.find(suffix));
    ends.min().map_or(name, |end| &name[..end])
}
