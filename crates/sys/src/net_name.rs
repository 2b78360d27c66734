//! Names for network namespaces, as `ip netns` shows them: a file in `netns/` of the run root (`/run`), over which the
//! namespace is mounted. A namespace without a name dies with its last process; a name keeps it alive, so each name of
//! ours has an entry in `schedlab/netns/` that shows whether its owner lives ([`crate::owned_entry`]). Source:
//! ip-netns(8).

use crate::namespace::{NetNamespace, bind_mount, unmount};
use crate::owned_entry::{self, Orphan, OwnedEntry};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The run directory of this system; tests use their own.
pub const RUN_ROOT: &str = "/run";

/// The kind of our entries for names.
const KIND: &str = "netns";

/// A name in use; removed on drop.
#[derive(Debug)]
pub struct NetName {
    place: NameFiles,
    /// Kept for its lock.
    _entry: OwnedEntry,
}

/// The two files of a name.
#[derive(Debug, Clone)]
struct NameFiles {
    /// Our entry, which holds the namespace's inode number.
    entry: PathBuf,
    /// The file that everybody sees: `ip netns` lists it.
    mount_point: PathBuf,
}

impl NameFiles {
    fn new(run_root: &Path, name: &str) -> Self {
        let (entry, mount_point) = (owned_entry::entries(run_root, KIND).join(name), run_root.join("netns").join(name));
        Self { entry, mount_point }
    }

    /// Unmounts the namespace with this inode, and removes what is left of its name. If somebody else's namespace has
    /// taken the name since, it is left alone.
    fn take_back(&self, inode: Option<u64>) -> io::Result<()> {
        if self.mounted().is_some_and(|seen| Some(seen) == inode) {
            unmount(&self.mount_point)?;
        }
        // What is under the mount, or what a process killed before the mount left: an empty file that names nothing.
        let left = std::fs::metadata(&self.mount_point);
        if self.mounted().is_none() && left.is_ok_and(|left| left.is_file() && left.len() == 0) {
            std::fs::remove_file(&self.mount_point)?;
        }
        std::fs::remove_file(&self.entry)
    }

    /// The inode mounted at the name, if there is one: the mount is on another file system than its directory.
    fn mounted(&self) -> Option<u64> {
        let (seen, around) = (self.mount_point.metadata().ok()?, self.mount_point.parent()?.metadata().ok()?);
        (seen.dev() != around.dev()).then_some(seen.ino())
    }
}

impl NetName {
    /// Gives the caller's current network namespace a name. `AlreadyExists` if the name is taken, by whomever; `EPERM`
    /// without CAP_SYS_ADMIN over the host's mounts.
    pub fn give(run_root: &Path, name: &str) -> io::Result<Self> {
        let place = NameFiles::new(run_root, name);
        std::fs::create_dir_all(run_root.join("netns"))?;
        let inode = NetNamespace::current()?.inode()?.to_string();
        let entry = OwnedEntry::create(run_root, KIND, name, &inode)?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o400).open(&place.mount_point);
        if let Err(taken) = made {
            // The name belongs to somebody else; only the entry was ours.
            std::fs::remove_file(&place.entry)?;
            return Err(taken);
        }
        let named = Self { place, _entry: entry };
        bind_mount(Path::new("/proc/thread-self/ns/net"), &named.place.mount_point)?;
        Ok(named)
    }
}

impl Drop for NetName {
    fn drop(&mut self) {
        let inode = std::fs::read_to_string(&self.place.entry).ok().and_then(|text| text.parse().ok());
        // What could not be removed stays listed, and the next start tries again.
        let _ = self.place.take_back(inode);
    }
}

/// Names whose owners are dead.
pub fn orphans(run_root: &Path) -> io::Result<Vec<String>> {
    Ok(owned_entry::orphans(run_root, KIND)?.into_iter().map(|orphan| orphan.name).collect())
}

/// Removes the names whose owners are dead, so that the kernel removes their namespaces; returns these names. Names
/// that only another user may remove are left.
pub fn remove_orphans(run_root: &Path) -> io::Result<Vec<String>> {
    let take_back = |orphan: Orphan| match NameFiles::new(run_root, &orphan.name).take_back(orphan.content.parse().ok())
    {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        taken => Some(taken.map(|()| orphan.name)),
    };
    owned_entry::orphans(run_root, KIND)?.into_iter().filter_map(take_back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::{enter_new_mount, enter_new_net, mount};
    use crate::process::{ExitStatus, fork_child, wait_for};
    use crate::signal;

    /// In a forked child with its own run directory, because a namespace cannot be left.
    fn in_child(test: &str, body: fn(&Path)) -> Option<ExitStatus> {
        let root = std::env::temp_dir().join(format!("schedlab-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let pid = fork_child(|| {
            let alone = enter_new_mount().and_then(|()| mount("tmpfs", &root, "tmpfs")).and_then(|()| enter_new_net());
            if alone.is_err() {
                return 2;
            }
            body(&root);
            0
        });
        let status = wait_for(pid.unwrap()).unwrap().status;
        std::fs::remove_dir(&root).unwrap();
        (status != ExitStatus::Exited(2)).then_some(status)
    }

    fn passes(test: &str, body: fn(&Path)) {
        match in_child(test, body) {
            Some(status) => assert_eq!(status, ExitStatus::Exited(0)),
            None => skip(&format!("{test}: needs root")),
        }
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }

    fn names(root: &Path) -> Vec<String> {
        let listing = std::fs::read_dir(root.join("netns")).unwrap();
        listing.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_name_is_given_once_and_goes_with_its_owner() {
        passes("a_name_is_given_once_and_goes_with_its_owner", |root| {
            let named = NetName::give(root, "lab").unwrap();
            let inode = NetNamespace::current().unwrap().inode().unwrap();
            assert_eq!(named.place.mounted(), Some(inode));
            assert_eq!(NetName::give(root, "lab").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(orphans(root).unwrap(), Vec::<String>::new(), "its owner lives");
            drop(named);
            assert!(
                names(root).is_empty() && std::fs::read_dir(owned_entry::entries(root, KIND)).unwrap().next().is_none()
            );
        });
    }

    #[test]
    fn a_foreign_name_is_refused_and_left_alone() {
        passes("a_foreign_name_is_refused_and_left_alone", |root| {
            std::fs::create_dir_all(root.join("netns")).unwrap();
            std::fs::write(root.join("netns/theirs"), "").unwrap();
            assert_eq!(NetName::give(root, "theirs").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(remove_orphans(root).unwrap(), Vec::<String>::new());
            assert_eq!(names(root), ["theirs"]);
        });
    }

    #[test]
    fn the_name_of_a_killed_owner_is_taken_back_by_the_next_start() {
        passes("the_name_of_a_killed_owner_is_taken_back_by_the_next_start", |root| {
            let owner = fork_child(|| {
                let _named = NetName::give(root, "lab").unwrap();
                signal::kill(crate::thread::current_pid(), signal::SIGKILL).unwrap();
                0
            });
            wait_for(owner.unwrap()).unwrap();
            assert_eq!(names(root), ["lab"]);
            assert_eq!(
                (orphans(root).unwrap(), remove_orphans(root).unwrap()),
                (vec!["lab".into()], vec!["lab".into()])
            );
            assert!(names(root).is_empty() && orphans(root).unwrap().is_empty());
            drop(NetName::give(root, "lab").unwrap());
        });
    }
}
