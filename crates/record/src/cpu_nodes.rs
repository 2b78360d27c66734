//! Which CPUs belong to which NUMA node: /sys/devices/system/node/node*/cpulist.

use schedlab_plan::units::CpuList;
use std::path::Path;

/// `(node, CPUs)`, ascending by node; empty if the kernel knows no nodes.
pub fn read(sys: &Path) -> Vec<(u32, CpuList)> {
    let Ok(entries) = std::fs::read_dir(sys.join("devices/system/node")) else { return Vec::new() };
    let mut nodes: Vec<(u32, CpuList)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let list = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
            // A node with memory but no CPUs has an empty list, which does not parse as a CPU list.
            Some((number, list.parse().ok()?))
        })
        .collect();
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_in_order_and_memory_only_nodes_are_left_out() {
        let dir = std::env::temp_dir().join(format!("schedlab-nodes-{}", std::process::id()));
        for (node, list) in [("node1", "2-3\n"), ("node0", "0-1\n"), ("node2", "\n")] {
            let at = dir.join("devices/system/node").join(node);
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("cpulist"), list).unwrap();
        }
        let nodes = read(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(nodes, [(0, CpuList::new(vec![0, 1])), (1, CpuList::new(vec![2, 3]))]);
    }
}
