//! What a guest sent, put where its command would have written it on the host.

use super::scratch::Scratch;
use crate::error::VmError;
use std::path::{Path, PathBuf};

/// Puts the files of a guest in place: all of a directory, or nothing. `place` is one of the job's `collect`, the path
/// it has on the host; files that were there before are refused, unless the place is a file itself.
pub fn deliver(files: &[(String, Vec<u8>)], place: &Path) -> Result<(), VmError> {
    let below = |path: &str| Path::new(path).strip_prefix(place).map(Path::to_owned).ok();
    let found: Vec<(PathBuf, &[u8])> =
        files.iter().filter_map(|(path, content)| Some((below(path)?, content.as_slice()))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(VmError::file("making", parent))?;
    // Beside its place, so that it can be renamed, and in a directory of our own: what the user has there stays.
    let aside = Scratch::below(parent)?;
    let part = aside.path().join("part");
    for (below, content) in found {
        let target = if below.as_os_str().is_empty() { part.clone() } else { part.join(below) };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(VmError::file("making", parent))?;
        }
        std::fs::write(&target, content).map_err(VmError::file("writing", &target))?;
    }
    std::fs::rename(&part, place).map_err(VmError::file("naming", place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_arrive_together_and_replace_no_run() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("out/run");
        let file = |name: &str| (place.join(name).to_str().unwrap().to_owned(), name.as_bytes().to_vec());
        let files = [file("manifest.json"), file("tables/trials.parquet"), ("/elsewhere/x".into(), vec![1])];
        deliver(&files, &place).unwrap();
        assert_eq!(std::fs::read(place.join("tables/trials.parquet")).unwrap(), b"tables/trials.parquet");
        assert!(deliver(&files, &place).is_err(), "a full directory is not replaced");
        let beside: Vec<_> = std::fs::read_dir(directory.path().join("out")).unwrap().flatten().collect();
        assert_eq!(beside.len(), 1, "nothing of what failed is left: {beside:?}");
        // A name that ends like a part is the user's.
        let users = directory.path().join("a.json.part");
        std::fs::write(&users, "precious").unwrap();
        let single = directory.path().join("a.json");
        for content in [b"1", b"2"] {
            deliver(&[(single.to_str().unwrap().to_owned(), content.to_vec())], &single).unwrap();
            assert_eq!(std::fs::read(&single).unwrap(), content);
        }
        assert_eq!(std::fs::read(&users).unwrap(), b"precious");
        deliver(&[], &directory.path().join("none")).unwrap();
        assert!(!directory.path().join("none").exists());
    }
}
