//! Files in the repository: none are large, so that a clone stays small, and none are C.

use crate::workspace::stdout_of;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

const LARGEST_BYTES: u64 = 1_000_000;
const C_ENDINGS: [&str; 7] = ["c", "cc", "cpp", "cxx", "h", "hpp", "S"];

/// Files git tracks, or would track after `git add`.
pub(super) fn listed(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let listing = stdout_of(&mut git)?;
    if listing.is_empty() {
        bail!("git lists no file in {}", root.display());
    }
    Ok(listing.split_terminator('\0').map(str::to_owned).collect())
}

/// Those of them that are too large or C.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let problem = |name: &String| {
        // A file that was removed, but not yet in the index, is still listed.
        let bytes = std::fs::symlink_metadata(root.join(name)).map_or(0, |m| m.len());
        let ending = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
        if bytes > LARGEST_BYTES {
            Some(format!("{name} has {bytes} bytes, more than {LARGEST_BYTES}"))
        } else {
            C_ENDINGS.contains(&ending).then(|| format!("{name} is C"))
        }
    };
    Ok(listed(root)?.iter().filter_map(problem).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_and_c_are_named_and_ignored_ones_are_not() {
        let root = std::env::temp_dir().join(format!("schedlab-xtask-files-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        stdout_of(Command::new("git").args(["init", "--quiet"]).current_dir(&root)).unwrap();
        std::fs::write(root.join(".gitignore"), "/out\n").unwrap();
        std::fs::write(root.join("out"), vec![0; 1_000_001]).unwrap();
        std::fs::write(root.join("fine"), vec![0; 1_000_000]).unwrap();
        assert_eq!(check(&root).unwrap(), Vec::<String>::new());
        std::fs::write(root.join("trace.dat"), vec![0; 1_000_001]).unwrap();
        std::fs::write(root.join("shim.c"), "").unwrap();
        let problems = check(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(problems, ["shim.c is C", "trace.dat has 1000001 bytes, more than 1000000"]);
    }
}
