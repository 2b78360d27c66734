//! Which CPUs share what: the core, last-level cache and NUMA node of each CPU, from sysfs, and the tier of a pair. A
//! look-up is two loads and three compares, cheap enough for every message. Source:
//! Documentation/admin-guide/cputopology.rst, Documentation/ABI/testing/sysfs-devices-system-cpu.

use schedlab_plan::Tier;
use schedlab_plan::units::CpuList;
use schedlab_sys::affinity;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the topology cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A file is missing or has unexpected content.
    #[error("{path}: {reason}; is sysfs mounted?")]
    Sysfs {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// sched_getaffinity failed.
    #[error("reading our own affinity: {0}")]
    Affinity(std::io::Error),
}

/// The position of one CPU; each id is the lowest CPU that shares the core, cache or node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CpuIds {
    core: u32,
    llc: u32,
    node: u32,
}

/// The machine's CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// By CPU number; an unknown CPU gets the place of CPU 0.
    places: Arc<[CpuIds]>,
    online: Arc<[u32]>,
    allowed: Arc<[u32]>,
}

impl Topology {
    /// Reads the online CPUs below `sys_root` (`/sys`), of which those in our affinity mask are allowed.
    pub fn read(sys_root: &Path) -> Result<Self, TopologyError> {
        let allowed = affinity::allowed_cpus(0).map_err(TopologyError::Affinity)?;
        Self::read_with(sys_root, &allowed)
    }

    /// The same with a given list of allowed CPUs (only those online count).
    pub fn read_with(sys_root: &Path, allowed: &[u32]) -> Result<Self, TopologyError> {
        let cpu_root = sys_root.join("devices/system/cpu");
        let online = read_list(&cpu_root.join("online"))?;
        let width = online.last().map_or(1, |&cpu| cpu as usize + 1);
        let mut places = vec![CpuIds::default(); width];
        for &cpu in &online {
            places[cpu as usize] = read_place(&cpu_root.join(format!("cpu{cpu}")), cpu);
        }
        for (node, cpus) in read_nodes(&sys_root.join("devices/system/node")) {
            for cpu in cpus {
                if let Some(place) = places.get_mut(cpu as usize) {
                    place.node = node;
                }
            }
        }
        let allowed: Vec<u32> = allowed.iter().copied().filter(|cpu| online.contains(cpu)).collect();
        Ok(Self { places: places.into(), online: online.into(), allowed: allowed.into() })
    }

    /// Online CPUs, ascending.
    pub fn online(&self) -> &[u32] {
        &self.online
    }

    /// Online CPUs we may run on, ascending.
    pub fn allowed(&self) -> &[u32] {
        &self.allowed
    }

    fn place(&self, cpu: u32) -> CpuIds {
        self.places.get(cpu as usize).copied().unwrap_or_default()
    }

    /// The tier of a waker on `a` and a wakee on `b`.
    #[inline]
    pub fn tier(&self, a: u32, b: u32) -> Tier {
        if a == b {
            return Tier::SameCpu;
        }
        let (a, b) = (self.place(a), self.place(b));
        if a.core == b.core {
            Tier::Smt
        } else if a.llc == b.llc {
            Tier::Llc
        } else if a.node == b.node {
            Tier::Node
        } else {
            Tier::Remote
        }
    }

    /// The lowest pair of allowed CPUs in this tier; `None` if the machine (or our affinity) has none.
    pub fn pair_for(&self, tier: Tier) -> Option<(u32, u32)> {
        self.pairs_for(tier).next()
    }

    /// All pairs of allowed CPUs in this tier, lowest first, so that copies can be spread.
    pub fn pairs_for(&self, tier: Tier) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pairs = self.allowed.iter().flat_map(move |&a| self.allowed.iter().map(move |&b| (a, b)));
        pairs.filter(move |&(a, b)| a <= b && self.tier(a, b) == tier)
    }

    /// The tiers that occur among the online CPUs, nearest first: those a migrating task can meet.
    pub fn tiers(&self) -> Vec<Tier> {
        let mut seen = [false; Tier::ALL.len()];
        for (i, &a) in self.online.iter().enumerate() {
            for &b in &self.online[i..] {
                seen[self.tier(a, b) as usize] = true;
            }
        }
        Tier::ALL.into_iter().filter(|&tier| seen[tier as usize]).collect()
    }
}

fn read_list(path: &Path) -> Result<Vec<u32>, TopologyError> {
    let wrong = |reason: String| TopologyError::Sysfs { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let list: CpuList = text.trim().parse().map_err(|e: schedlab_plan::units::UnitError| wrong(e.to_string()))?;
    Ok(list.as_slice().to_vec())
}

/// If files are missing (containers, small boards), the CPU counts as its own core, below one common cache.
fn read_place(cpu_dir: &Path, cpu: u32) -> CpuIds {
    let first = |path: PathBuf| read_list(&path).ok().and_then(|list| list.first().copied());
    let core = first(cpu_dir.join("topology/thread_siblings_list")).unwrap_or(cpu);
    let package = first(cpu_dir.join("topology/core_siblings_list")).unwrap_or(0);
    CpuIds { core, llc: last_level_cache(cpu_dir).unwrap_or(package), node: 0 }
}

/// The lowest CPU below the highest-level cache that holds data.
fn last_level_cache(cpu_dir: &Path) -> Option<u32> {
    let mut best: Option<(u32, u32)> = None;
    for index in 0..16 {
        let cache = cpu_dir.join(format!("cache/index{index}"));
        let Ok(level) = std::fs::read_to_string(cache.join("level")) else { break };
        let kind = std::fs::read_to_string(cache.join("type")).unwrap_or_default();
        let (Ok(level), false) = (level.trim().parse::<u32>(), kind.trim() == "Instruction") else { continue };
        let Ok(shared) = read_list(&cache.join("shared_cpu_list")) else { continue };
        if best.is_none_or(|(highest, _)| level > highest) {
            best = shared.first().map(|&cpu| (level, cpu));
        }
    }
    best.map(|(_, cpu)| cpu)
}

fn read_nodes(node_root: &Path) -> Vec<(u32, Vec<u32>)> {
    let Ok(entries) = std::fs::read_dir(node_root) else { return Vec::new() };
    let nodes = entries.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        // A node without CPUs has an empty list.
        Some((number, read_list(&entry.path().join("cpulist")).unwrap_or_default()))
    });
    nodes.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A fake sysfs below a fresh directory; one `(core siblings, cache siblings, node)` for each CPU.
    pub(crate) fn fake(name: &str, cpus: &[(&str, &str, u32)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("schedlab-topology-{}-{name}", std::process::id()));
        let put = |path: String, text: &str| {
            let path = root.join("devices/system").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        };
        put("cpu/online".into(), &format!("0-{}", cpus.len() - 1));
        for (cpu, (core, cache, _)) in cpus.iter().enumerate() {
            put(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), core);
            for (index, level, kind, shared) in
                [(0, 1, "Data", *core), (1, 1, "Instruction", "0-63"), (2, 3, "Unified", cache)]
            {
                put(format!("cpu/cpu{cpu}/cache/index{index}/level"), &level.to_string());
                put(format!("cpu/cpu{cpu}/cache/index{index}/type"), kind);
                put(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), shared);
            }
        }
        let last = cpus.iter().map(|c| c.2).max().unwrap_or(0);
        for node in 0..=last {
            let members = CpuList::new((0..cpus.len() as u32).filter(|&c| cpus[c as usize].2 == node).collect());
            put(format!("node/node{node}/cpulist"), &members.to_string());
        }
        root
    }

    #[test]
    fn every_tier_is_told_on_a_machine_of_two_nodes() {
        // Node 0: two caches of two cores with two threads each on the first; node 1: one core.
        let root =
            fake("two-nodes", &[("0-1", "0-2", 0), ("0-1", "0-2", 0), ("2", "0-2", 0), ("3", "3", 0), ("4", "4", 1)]);
        let topology = Topology::read_with(&root, &[0, 1, 2, 3, 4, 9]).unwrap();
        for (a, b, tier) in
            [(2, 2, Tier::SameCpu), (0, 1, Tier::Smt), (1, 2, Tier::Llc), (2, 3, Tier::Node), (0, 4, Tier::Remote)]
        {
            assert_eq!((topology.tier(a, b), topology.tier(b, a)), (tier, tier), "{a} {b}");
        }
        assert_eq!(topology.pair_for(Tier::Node), Some((0, 3)));
        assert_eq!(topology.tiers(), Tier::ALL);
        assert_eq!(topology.allowed(), [0, 1, 2, 3, 4], "CPU 9 is not online");
        let confined = Topology::read_with(&root, &[2, 3]).unwrap();
        assert_eq!((confined.pair_for(Tier::Smt), confined.online().len()), (None, 5));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn missing_cache_files_mean_cores_below_one_cache() {
        let root = fake("bare", &[("0", "0", 0), ("1", "1", 0)]);
        std::fs::remove_dir_all(root.join("devices/system/cpu/cpu0/cache")).unwrap();
        std::fs::remove_dir_all(root.join("devices/system/cpu/cpu1/cache")).unwrap();
        let topology = Topology::read_with(&root, &[0, 1]).unwrap();
        assert_eq!(topology.tier(0, 1), Tier::Llc);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(Topology::read_with(&root, &[0]).unwrap_err().to_string().contains("online"));
    }
}
