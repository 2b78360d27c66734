//! The machine that a guest sees: memory, CPUs and their topology.

use crate::error::VmError;
use schedlab_plan::counted;

/// A guest's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Memory, MiB.
    pub memory_mib: u64,
    /// CPUs.
    pub topology: Topology,
}

/// CPUs in sockets, cores and threads; sockets or cores spread over NUMA nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Packages, each with a last-level cache.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Hardware threads of a core.
    pub threads: u32,
    /// NUMA nodes; CPUs are divided evenly, in order. With 1, no nodes are described.
    pub nodes: u32,
    /// Distance from node to node, row by row, 10 on the diagonal.
    pub distances: Vec<Vec<u8>>,
}

/// ACPI's distance from a node to itself.
const LOCAL_DISTANCE: u8 = 10;
const DEFAULT_DISTANCE: u8 = 20;
/// The most that QEMU's `pc` machine supports without an IOMMU.
const MAX_CPUS: u32 = 255;
/// What QEMU takes.
const MAX_NODES: u32 = 128;

impl Topology {
    /// One socket of cores without threads.
    pub fn flat(cpus: u32) -> Self {
        Self { sockets: 1, cores: cpus, threads: 1, nodes: 1, distances: vec![vec![LOCAL_DISTANCE]] }
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.sockets * self.cores * self.threads
    }

    /// The CPUs of a node, first and last.
    pub fn cpus_of_node(&self, node: u32) -> (u32, u32) {
        let each = self.cpus() / self.nodes;
        (node * each, (node + 1) * each - 1)
    }

    /// `cpus` alone, or `sockets=2,cores=4,threads=2,nodes=2,distance=20`, each part optional; `distance` is one for
    /// all pairs of nodes, or the whole matrix, `10:20/20:10`. With both, they must agree.
    pub fn parse(cpus: Option<u32>, text: Option<&str>) -> Result<Self, VmError> {
        let Some(text) = text else { return Self::flat(cpus.unwrap_or(1)).checked() };
        let mut given = Given::default();
        for part in text.split(',') {
            given.take(part)?;
        }
        let parts = [given.sockets, given.cores, given.threads];
        let known: u32 = parts.iter().flatten().product();
        // The remaining factor goes to the cores, or else to the sockets.
        let rest = match cpus {
            Some(cpus) if known == 0 || cpus % known != 0 => {
                return Err(refused(format!("{} do not fit the topology `{text}`", counted(cpus, "CPUs"))));
            }
            Some(cpus) => cpus / known,
            None => 1,
        };
        let (cores, sockets) = match (given.cores, given.sockets) {
            (None, sockets) => (rest, sockets.unwrap_or(1)),
            (Some(cores), None) => (cores, rest),
            (Some(cores), Some(sockets)) => (cores, sockets),
        };
        let nodes = given.nodes.unwrap_or(1);
        let mut topology = Self { sockets, cores, threads: given.threads.unwrap_or(1), nodes, distances: Vec::new() };
        if cpus.is_some_and(|cpus| cpus != topology.cpus()) {
            let message = format!("the topology `{text}` has {}, not {}", topology.cpus(), cpus.unwrap_or(0));
            return Err(refused(message));
        }
        topology.distances = given.distances(nodes)?;
        topology.checked()
    }

    fn checked(self) -> Result<Self, VmError> {
        let cpus = u64::from(self.sockets) * u64::from(self.cores) * u64::from(self.threads);
        if cpus == 0 || self.nodes == 0 {
            return Err(refused("a machine has at least one CPU and one node".into()));
        }
        if cpus > u64::from(MAX_CPUS) {
            return Err(refused(format!("a guest takes at most {MAX_CPUS} CPUs, not {cpus}")));
        }
        if self.nodes > MAX_NODES {
            return Err(refused(format!("a guest takes at most {MAX_NODES} nodes, not {}", self.nodes)));
        }
        if !self.cpus().is_multiple_of(self.nodes) {
            let cpus = counted(self.cpus(), "CPUs");
            return Err(refused(format!("{cpus} cannot be divided evenly over {} nodes", self.nodes)));
        }
        Ok(self)
    }
}

/// Parts as written.
#[derive(Default)]
struct Given {
    sockets: Option<u32>,
    cores: Option<u32>,
    threads: Option<u32>,
    nodes: Option<u32>,
    distance: Option<String>,
}

impl Given {
    fn take(&mut self, part: &str) -> Result<(), VmError> {
        let form = "give sockets=N,cores=N,threads=N,nodes=N,distance=D (each optional)";
        let (key, value) =
            part.split_once('=').ok_or_else(|| refused(format!("topology: `{part}` is not a key=value; {form}")))?;
        let twice = |key: &str| refused(format!("topology: {key} is given twice; give it once"));
        let place = match key.trim() {
            "sockets" => &mut self.sockets,
            "cores" => &mut self.cores,
            "threads" => &mut self.threads,
            "nodes" => &mut self.nodes,
            key @ "distance" => {
                let before = self.distance.replace(value.trim().to_owned());
                return before.map_or(Ok(()), |_| Err(twice(key)));
            }
            other => return Err(refused(format!("topology: unknown key `{other}`; {form}"))),
        };
        let number = value.trim().parse().ok().filter(|n| (1..=MAX_CPUS).contains(n));
        let number = number.ok_or_else(|| refused(format!("topology: `{part}` needs a number from 1 to 255")))?;
        place.replace(number).map_or(Ok(()), |_| Err(twice(key.trim())))
    }

    fn distances(&self, nodes: u32) -> Result<Vec<Vec<u8>>, VmError> {
        let nodes = nodes as usize;
        let wrong = |text: &str| {
            refused(format!(
                "topology: distance={text} is neither a number from 11 to 254 nor a matrix of {nodes} × {nodes} such as \
                 10:20/20:10, with 10 on the diagonal"
            ))
        };
        let uniform = |far: u8| -> Vec<Vec<u8>> {
            let row = |i: usize| (0..nodes).map(|j| if i == j { LOCAL_DISTANCE } else { far }).collect();
            (0..nodes).map(row).collect()
        };
        let Some(text) = self.distance.as_deref() else { return Ok(uniform(DEFAULT_DISTANCE)) };
        if nodes == 1 {
            // A single node is not described to the guest, and so a distance would not be either.
            return Err(refused(format!("topology: distance={text} is between nodes; also give nodes=2 or more")));
        }
        let far = |word: &str| word.parse::<u8>().ok().filter(|d| (11..=254).contains(d));
        if let Some(distance) = far(text) {
            return Ok(uniform(distance));
        }
        let number = |word: &str| far(word).or((word == "10").then_some(LOCAL_DISTANCE)).ok_or_else(|| wrong(text));
        let rows: Vec<Vec<u8>> =
            text.split('/').map(|row| row.split(':').map(number).collect()).collect::<Result<_, _>>()?;
        let square = rows.len() == nodes && rows.iter().all(|row| row.len() == nodes);
        let local =
            |(i, row): (usize, &Vec<u8>)| row.iter().enumerate().all(|(j, &d)| (d == LOCAL_DISTANCE) == (i == j));
        if square && rows.iter().enumerate().all(local) { Ok(rows) } else { Err(wrong(text)) }
    }
}

fn refused(why: String) -> VmError {
    VmError::Words(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(cpus: Option<u32>, text: &str) -> String {
        match Topology::parse(cpus, Some(text)) {
            Ok(t) => format!("{}×{}×{} in {} {:?}", t.sockets, t.cores, t.threads, t.nodes, t.distances),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_left_out_follows_from_the_rest() {
        assert_eq!(parse(None, "sockets=2,cores=4,threads=2"), "2×4×2 in 1 [[10]]");
        assert_eq!(parse(Some(8), "threads=2"), "1×4×2 in 1 [[10]]");
        assert_eq!(parse(Some(8), "sockets=2"), "2×4×1 in 1 [[10]]");
        assert_eq!(parse(Some(8), "cores=2,threads=2"), "2×2×2 in 1 [[10]]");
        assert_eq!(parse(Some(4), "nodes=2"), "1×4×1 in 2 [[10, 20], [20, 10]]");
        assert_eq!(parse(None, "sockets=2,nodes=2,distance=31"), "2×1×1 in 2 [[10, 31], [31, 10]]");
        assert_eq!(parse(None, "sockets=2,nodes=2,distance=10:21/17:10"), "2×1×1 in 2 [[10, 21], [17, 10]]");
        assert_eq!(Topology::parse(None, None).unwrap(), Topology::flat(1));
        assert_eq!(Topology::parse(Some(6), Some("nodes=3")).unwrap().cpus_of_node(2), (4, 5));
        assert!(Topology::parse(Some(254), Some("nodes=254")).unwrap_err().to_string().contains("at most 128 nodes"));
    }

    #[test]
    fn what_cannot_be_built_is_one_sentence() {
        for (cpus, text, needle) in [
            (Some(3), "threads=2", "do not fit"),
            (Some(8), "sockets=2,cores=2", "has 4, not 8"),
            (None, "cores=300", "from 1 to 255"),
            (None, "cores=0", "from 1 to 255"),
            (None, "sockets=16,cores=16", "at most 255"),
            (None, "core=2", "unknown key `core`"),
            (None, "2", "not a key=value"),
            (Some(3), "nodes=2", "evenly"),
            (None, "sockets=2,nodes=2,distance=10", "neither"),
            (None, "sockets=2,nodes=2,distance=10:20", "neither"),
            (None, "sockets=2,nodes=2,distance=10:10/20:10", "neither"),
            (Some(2), "distance=30", "nodes=2 or more"),
            (Some(2), "nodes=1,distance=10", "nodes=2 or more"),
            (None, "sockets=2,sockets=4", "sockets is given twice"),
            (None, "nodes=2,sockets=2,distance=20,distance=30", "distance is given twice"),
        ] {
            let said = parse(cpus, text);
            assert!(said.contains(needle) && !said.contains('\n'), "{text}: {said}");
        }
        assert!(Topology::parse(Some(0), None).is_err() && Topology::parse(Some(256), None).is_err());
    }
}
