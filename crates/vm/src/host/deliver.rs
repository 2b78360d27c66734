//! Puts what a guest sent where its command would have written it on the host, or, if that name cannot be used, where
//! there is room: a guest's work is never thrown away.

use super::scratch::Scratch;
use crate::error::VmError;
use schedlab_sys::fd::open_with_reader;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where a guest's files were put.
#[derive(Debug)]
pub struct Delivered {
    /// Their directory, or the only file.
    pub at: PathBuf,
    /// If this is not the place that was asked for, why.
    pub instead: Option<VmError>,
}

/// Whether a result can be written to this place; checked before a guest works for it. Devices and pipes are written
/// to, and a link stands for its target.
pub fn probe(place: &Path) -> Result<(), VmError> {
    if std::fs::metadata(place).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(());
    }
    let place = &*place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let mut above = place.ancestors().skip(1);
    let holder = above.find(|above| above.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    Scratch::below(holder).map(drop).map_err(|why| {
        VmError::Refused(format!("there is no place for the result {}: {why}; name another", place.display()))
    })
}

/// Puts a guest's files in place: all of a directory, or nothing; `None` if there are none. `place` is the path on the
/// host, and one of the job's `collect`. Existing files are not replaced, unless the place is a file itself. If the
/// place cannot be used, the files are put next to it under a name with a number, or else below `$TMPDIR`.
pub fn deliver(files: &[(String, Vec<u8>)], place: &Path) -> Result<Option<Delivered>, VmError> {
    deliver_or(files, place, &std::env::temp_dir())
}

/// Paths relative to a place, and contents.
type Found<'a> = Vec<(PathBuf, &'a [u8])>;

fn deliver_or(files: &[(String, Vec<u8>)], place: &Path, refuge: &Path) -> Result<Option<Delivered>, VmError> {
    let below = |path: &str| Path::new(path).strip_prefix(place).map(Path::to_owned).ok();
    let found: Found = files.iter().filter_map(|(path, content)| Some((below(path)?, content.as_slice()))).collect();
    if found.is_empty() {
        return Ok(None);
    }
    if let ([(below, content)], Ok(there)) = (found.as_slice(), std::fs::metadata(place))
        && below.as_os_str().is_empty()
        && !there.is_file()
        && !there.is_dir()
    {
        // A pipe, a terminal or /dev/stdout, where a reader waits.
        let written = open_with_reader(place).and_then(|mut to| to.write_all(content));
        let Err(why) = written.map_err(VmError::file("writing", place)) else {
            return Ok(Some(Delivered { at: place.to_owned(), instead: None }));
        };
        let at = put_privately(&found, place, refuge)?;
        return Ok(Some(Delivered { at, instead: Some(why) }));
    }
    // A link is kept, and its target replaced.
    let place = &*place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let Err(why) = put(&found, place) else { return Ok(Some(Delivered { at: place.to_owned(), instead: None })) };
    let beside = free(place);
    let elsewhere = put(&found, &beside).map(|()| beside).or_else(|_| put_privately(&found, place, refuge));
    match elsewhere {
        Ok(at) => Ok(Some(Delivered { at, instead: Some(why) })),
        Err(last) => Err(VmError::Refused(format!("the guest's result is lost: {why}; {last}"))),
    }
}

/// Puts them in a new directory that only its owner may read, because others can also enter the refuge.
fn put_privately(found: &Found, place: &Path, refuge: &Path) -> Result<PathBuf, VmError> {
    let directory = free(&refuge.join("schedlab-vm-results"));
    DirBuilder::new().mode(0o700).create(&directory).map_err(VmError::file("making", &directory))?;
    let at = directory.join(place.file_name().unwrap_or("result".as_ref()));
    put(found, &at).inspect_err(|_| drop(std::fs::remove_dir(&directory)))?;
    Ok(at)
}

/// The first free name of `NAME-2`, `NAME-3`, ….
fn free(place: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = place.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    };
    (2..).map(numbered).find(|path| path.symlink_metadata().is_err()).expect("numbers do not run out")
}

fn put(found: &Found, place: &Path) -> Result<(), VmError> {
    let parent = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(VmError::file("making", parent))?;
    // Next to its place, so that it can be renamed, and in a directory of our own, so that the user's files there are
    // not touched.
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
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_arrive_together_and_replace_no_run() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("out/run");
        let file = |name: &str| (place.join(name).to_str().unwrap().to_owned(), name.as_bytes().to_vec());
        let files = [file("manifest.json"), file("tables/trials.parquet"), ("/elsewhere/x".into(), vec![1])];
        let first = deliver(&files, &place).unwrap().unwrap();
        assert!(first.at == place && first.instead.is_none());
        assert_eq!(std::fs::read(place.join("tables/trials.parquet")).unwrap(), b"tables/trials.parquet");
        std::fs::write(place.join("manifest.json"), "of another").unwrap();
        for number in [2, 3] {
            let next = deliver(&files, &place).unwrap().unwrap();
            assert_eq!(next.at, directory.path().join(format!("out/run-{number}")));
            assert!(next.instead.unwrap().to_string().contains("not empty"));
            assert_eq!(std::fs::read(next.at.join("manifest.json")).unwrap(), b"manifest.json");
        }
        assert_eq!(std::fs::read(place.join("manifest.json")).unwrap(), b"of another");
        let beside: Vec<_> = std::fs::read_dir(directory.path().join("out")).unwrap().flatten().collect();
        assert_eq!(beside.len(), 3, "nothing of what failed is left: {beside:?}");
        // A name that ends like that of a partial file is the user's.
        let users = directory.path().join("a.json.part");
        std::fs::write(&users, "precious").unwrap();
        let single = directory.path().join("a.json");
        for content in [b"1", b"2"] {
            deliver(&[(single.to_str().unwrap().to_owned(), content.to_vec())], &single).unwrap();
            assert_eq!(std::fs::read(&single).unwrap(), content);
        }
        assert_eq!(std::fs::read(&users).unwrap(), b"precious");
        assert!(deliver(&[], &directory.path().join("none")).unwrap().is_none());
        assert!(!directory.path().join("none").exists());
    }

    #[test]
    fn a_link_stays_and_a_pipe_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(at(to), at(name)).unwrap();
        std::fs::write(at("file"), "before").unwrap();
        std::fs::create_dir(at("run")).unwrap();
        link("file", "to-file");
        link("run", "to-run");
        let sent = |name: &str| (at(name).to_str().unwrap().to_owned(), b"measured".to_vec());
        deliver(&[sent("to-file")], &at("to-file")).unwrap();
        deliver(&[sent("to-run/manifest.json")], &at("to-run")).unwrap();
        assert!(at("to-file").is_symlink() && at("to-run").is_symlink());
        for name in ["file", "run/manifest.json"] {
            assert_eq!(std::fs::read(at(name)).unwrap(), b"measured", "{name}");
        }
        let mut reader = schedlab_sys::fd::named_pipe(&at("pipe")).unwrap();
        deliver(&[sent("pipe")], &at("pipe")).unwrap();
        let mut bytes = [0; 8];
        std::io::Read::read_exact(&mut reader, &mut bytes).unwrap();
        assert_eq!(&bytes, b"measured");
        drop(reader);
        let lies = deliver_or(&[sent("pipe")], &at("pipe"), directory.path()).unwrap().unwrap();
        assert!(lies.at.ends_with("schedlab-vm-results-2/pipe") && lies.instead.is_some(), "nobody reads: {lies:?}");
    }

    #[test]
    fn what_cannot_be_beside_its_place_is_in_the_refuge() {
        let directory = tempfile::tempdir().unwrap();
        let (file, refuge) = (directory.path().join("file"), directory.path().join("refuge"));
        std::fs::write(&file, "no directory").unwrap();
        std::fs::create_dir(&refuge).unwrap();
        let place = file.join("run");
        let files = [(place.join("a").to_str().unwrap().to_owned(), b"measured".to_vec())];
        let lies = deliver_or(&files, &place, &refuge).unwrap().unwrap();
        assert_eq!(lies.at, refuge.join("schedlab-vm-results-2/run"));
        let others = std::fs::metadata(lies.at.parent().unwrap()).unwrap().permissions().mode() & 0o077;
        assert_eq!(others, 0, "others come to /tmp, too");
        assert_eq!(std::fs::read(lies.at.join("a")).unwrap(), b"measured");
        assert!(lies.instead.is_some());
        let lost = deliver_or(&files, &place, &file).unwrap_err().to_string();
        assert!(lost.starts_with("the guest's result is lost") && !lost.contains('\n'), "{lost}");
    }

    #[test]
    fn where_no_result_can_be_is_known_beforehand() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        probe(&file).unwrap();
        probe(&directory.path().join("new/below/run")).unwrap();
        probe(Path::new("/dev/null")).unwrap();
        let why = probe(&file.join("new/run")).unwrap_err().to_string();
        assert!(why.starts_with("there is no place for the result") && !why.contains('\n'), "{why}");
        assert!(probe(Path::new("/proc/run")).is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left");
    }
}
