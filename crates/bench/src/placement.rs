//! Where the two partners of each copy or pair are pinned.

use crate::error::BenchError;
use crate::task::{Step, TaskError};
use crate::topology::Topology;
use crate::workload::{OptionDoc, option};
use schedlab_plan::Tier;
use schedlab_plan::units::CpuList;
use schedlab_sys::affinity;

/// Where the two tasks of a copy may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Where the scheduler likes.
    Free,
    /// Both on one CPU; the copies are spread over the CPUs in turn.
    Same,
    /// On two CPUs, whatever they share.
    Apart,
    /// On two CPUs of this tier.
    Tier(Tier),
}

impl Pin {
    /// The option for workloads whose tasks come in pairs.
    pub(crate) const OPTION: OptionDoc = option(
        "pin",
        "free|same|apart|smt|llc|node|remote",
        "free",
        "where the partners run: one CPU, two, or two of a tier",
    );
    /// The option for the CPUs that it chooses from.
    pub(crate) const CPUS_OPTION: OptionDoc = option(
        "cpus",
        "CPULIST|all",
        "all",
        "CPUs that the pinning chooses from, or with pin=free that all are confined to",
    );
    /// All placements, by the option's words.
    pub(crate) const WORDS: [(&'static str, Self); 7] = [
        ("free", Self::Free),
        ("same", Self::Same),
        ("apart", Self::Apart),
        ("smt", Self::Tier(Tier::Smt)),
        ("llc", Self::Tier(Tier::Llc)),
        ("node", Self::Tier(Tier::Node)),
        ("remote", Self::Tier(Tier::Remote)),
    ];

    /// The words for placements without a tier.
    pub(crate) const PLAIN_WORDS: [(&'static str, Self); 3] =
        [("free", Self::Free), ("same", Self::Same), ("apart", Self::Apart)];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Same => "same",
            Self::Apart => "apart",
            Self::Tier(tier) => tier.name(),
        }
    }
}

/// CPUs of a task; if empty, it may run anywhere.
pub(crate) type Cpus = Vec<u32>;

/// Confines the calling task to its CPUs, before the gate; an empty list leaves it free.
pub(crate) fn confine(cpus: &[u32]) -> Result<(), TaskError> {
    if cpus.is_empty() { Ok(()) } else { affinity::set_affinity(0, cpus).map_err(TaskError::at(Step::Affinity)) }
}

/// The note on a result whose `pairs` of processes had to share CPUs.
pub(crate) fn overloaded(pairs: u32, cpus: &CpuList, topology: &Topology) -> Option<String> {
    let usable = if cpus.is_empty() { topology.allowed().len() } else { cpus.as_slice().len() };
    (pairs as usize > usable).then(|| format!("overloaded: {pairs} pairs on {usable} allowed CPUs"))
}

/// The CPUs of both partners of each of `copies` copies; `cpus` is what the pinning chooses from (empty: all allowed).
pub(crate) fn places(
    workload: &'static str,
    pin: Pin,
    cpus: &CpuList,
    copies: usize,
    topology: &Topology,
) -> Result<Vec<(Cpus, Cpus)>, BenchError> {
    let usable = if cpus.is_empty() { topology.allowed() } else { cpus.as_slice() };
    let impossible = |reason: String| BenchError::NotPossibleHere { workload, reason };
    let pairs: Vec<(u32, u32)> = match pin {
        Pin::Free => {
            let all = cpus.as_slice().to_vec();
            return Ok(vec![(all.clone(), all); copies]);
        }
        Pin::Same => usable.iter().map(|&cpu| (cpu, cpu)).collect(),
        Pin::Apart => match usable.chunks_exact(2).map(|two| (two[0], two[1])).collect::<Vec<_>>() {
            pairs if pairs.is_empty() => {
                return Err(impossible(format!(
                    "pin=apart needs two CPUs; we may use {} here: take pin=same, pin=free or more `cpus`",
                    usable.len()
                )));
            }
            pairs => pairs,
        },
        Pin::Tier(tier) => disjoint_pairs(usable, topology, tier),
    };
    if pairs.is_empty() {
        let tiers: Vec<&str> = topology.tiers().into_iter().map(Tier::name).collect();
        let (pin, tiers) = (pin.name(), tiers.join(", "));
        return Err(impossible(format!(
            "pin={pin}: no two CPUs that we may use are in that tier; this machine has {tiers}"
        )));
    }
    let place = |copy: usize| {
        let (first, second) = pairs[copy % pairs.len()];
        (vec![first], vec![second])
    };
    Ok((0..copies).map(place).collect())
}

/// All CPUs of such places, ascending; empty if a task may run anywhere, or if there are no such places.
pub(crate) fn confined_to(places: Result<Vec<(Cpus, Cpus)>, BenchError>) -> Vec<u32> {
    let places = places.unwrap_or_default();
    if places.iter().any(|(first, second)| first.is_empty() || second.is_empty()) {
        return Vec::new();
    }
    let mut cpus: Vec<u32> = places.into_iter().flat_map(|(first, second)| [first, second]).flatten().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Pairs of a tier that share no CPU, lowest first, so that copies do not meet before every CPU is used.
fn disjoint_pairs(cpus: &[u32], topology: &Topology, tier: Tier) -> Vec<(u32, u32)> {
    let mut used = Vec::new();
    let mut pairs = Vec::new();
    for (a, b) in topology.pairs_for(tier) {
        let usable = |cpu| cpus.contains(&cpu) && !used.contains(&cpu);
        if usable(a) && usable(b) {
            used.extend([a, b]);
            pairs.push((a, b));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::fake;

    #[test]
    fn copies_spread_over_the_pairs_of_a_tier() {
        let root = fake("placement", &[("0-1", "0-3", 0), ("0-1", "0-3", 0), ("2-3", "0-3", 0), ("2-3", "0-3", 0)]);
        let topology = Topology::read_with(&root, &[0, 1, 2, 3]).unwrap();
        std::fs::remove_dir_all(root).unwrap();
        let places = |pin: Pin| places("pipe", pin, &CpuList::default(), 3, &topology);
        let pairs = |pin: Pin| -> Vec<(u32, u32)> { places(pin).unwrap().iter().map(|(a, b)| (a[0], b[0])).collect() };
        assert_eq!(pairs(Pin::Same), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(pairs(Pin::Apart), [(0, 1), (2, 3), (0, 1)]);
        assert_eq!(pairs(Pin::Tier(Tier::Smt)), [(0, 1), (2, 3), (0, 1)]);
        assert_eq!(pairs(Pin::Tier(Tier::Llc)), [(0, 2), (1, 3), (0, 2)]);
        let error = places(Pin::Tier(Tier::Remote)).unwrap_err().to_string();
        assert!(error.contains("same_cpu, smt, llc"), "{error}");
        assert_eq!(confined_to(places(Pin::Apart)), [0, 1, 2, 3]);
        assert!(confined_to(places(Pin::Free)).is_empty() && confined_to(places(Pin::Tier(Tier::Remote))).is_empty());
        assert!(Pin::WORDS.iter().all(|(word, pin)| *word == pin.name()));
    }
}
