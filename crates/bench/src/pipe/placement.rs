//! On which CPUs the partners of each copy are pinned.

use super::config::{Config, Pin};
use crate::error::BenchError;
use crate::topology::Topology;
use schedlab_run::Tier;

/// CPUs of a task; empty is free.
pub(super) type Cpus = Vec<u32>;

/// `(parent, child)` for each copy.
pub(super) fn places(config: &Config, topology: &Topology) -> Result<Vec<(Cpus, Cpus)>, BenchError> {
    let cpus = if config.cpus.is_empty() { topology.allowed() } else { config.cpus.as_slice() };
    let impossible = |reason: String| BenchError::NotPossibleHere { workload: config.tokens.info().name, reason };
    let pairs: Vec<(u32, u32)> = match config.pin {
        Pin::Free => {
            let all = config.cpus.as_slice().to_vec();
            return Ok(vec![(all.clone(), all); config.copies as usize]);
        }
        Pin::Same => cpus.iter().map(|&cpu| (cpu, cpu)).collect(),
        Pin::Apart => match cpus.chunks_exact(2).map(|two| (two[0], two[1])).collect::<Vec<_>>() {
            pairs if pairs.is_empty() => {
                return Err(impossible(format!(
                    "pin=apart needs two CPUs; we may use {} here: take pin=same, pin=free or more `cpus`",
                    cpus.len()
                )));
            }
            pairs => pairs,
        },
        Pin::Tier(tier) => disjoint_pairs(cpus, topology, tier),
    };
    if pairs.is_empty() {
        let tiers: Vec<&str> = topology.tiers().into_iter().map(Tier::name).collect();
        let (pin, tiers) = (config.pin.name(), tiers.join(", "));
        return Err(impossible(format!(
            "pin={pin}: no two CPUs that we may use are of that tier; this machine has {tiers}"
        )));
    }
    let place = |copy: usize| {
        let (parent, child) = pairs[copy % pairs.len()];
        (vec![parent], vec![child])
    };
    Ok((0..config.copies as usize).map(place).collect())
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
        let config = |text: &str| {
            let mut config = Config {
                tokens: super::super::config::Tokens::One,
                copies: 3,
                pin: Pin::Free,
                bytes: 8,
                length: crate::dispatch::Length::Loops(1),
                length_written: true,
                mode: crate::herd::Mode::Process,
                cgroups_apart: false,
                cpus: Default::default(),
            };
            config.pin = match text {
                "same" => Pin::Same,
                "apart" => Pin::Apart,
                "smt" => Pin::Tier(Tier::Smt),
                "llc" => Pin::Tier(Tier::Llc),
                _ => Pin::Tier(Tier::Remote),
            };
            config
        };
        let pairs = |text: &str| -> Vec<(u32, u32)> {
            places(&config(text), &topology).unwrap().into_iter().map(|(a, b)| (a[0], b[0])).collect()
        };
        assert_eq!(pairs("same"), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(pairs("apart"), [(0, 1), (2, 3), (0, 1)]);
        assert_eq!(pairs("smt"), [(0, 1), (2, 3), (0, 1)]);
        assert_eq!(pairs("llc"), [(0, 2), (1, 3), (0, 2)]);
        let error = places(&config("remote"), &topology).unwrap_err().to_string();
        assert!(error.contains("same_cpu, smt, llc"), "{error}");
    }
}
