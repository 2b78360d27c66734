//! The threads and mapped code that exist when sampling of the whole machine starts. What disappears during the scan,
//! or may not be read, is left out.

use super::gather::Gathered;
use std::fs;
use std::path::Path;

/// Reads the names of all threads and the mapped code of all processes below `/proc`.
pub(super) fn read_all(proc: &Path, gathered: &mut Gathered) {
    for (pid, dir) in numbered(proc) {
        if let Ok(maps) = fs::read_to_string(dir.join("maps")) {
            gathered.spaces.read_maps(pid, &maps);
        }
        for (tid, dir) in numbered(&dir.join("task")) {
            if let Ok(comm) = fs::read_to_string(dir.join("comm")) {
                gathered.set_comm(tid, comm.trim_end_matches('\n'));
            }
        }
    }
}

/// Entries whose name is a number.
fn numbered(dir: &Path) -> Vec<(u32, std::path::PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}
