//! A tracefs instance of our own: a ring buffer and switches that nobody else uses, so that the system's own tracing
//! continues undisturbed. Its entry in `schedlab/trace/` of the run directory shows whether its owner is alive. Source:
//! Documentation/trace/ftrace.rst, "Instances".

use super::error::TracerError;
use schedlab_sys::owned_entry::{self, OwnedEntry};
use schedlab_sys::tracefs::Tracefs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Makes names unique, because a process may run several traces at once.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The kind of our entries for instances.
const KIND: &str = "trace";

/// An instance; removed on drop.
#[derive(Debug)]
pub struct Instance {
    directory: PathBuf,
    entry: OwnedEntry,
    tracefs: Tracefs,
}

impl Instance {
    /// Makes an instance, switched off and without events. The entry is made first, so that whenever the process is
    /// killed, the next start finds what it left.
    pub fn create(run_root: &Path, proc: &Path) -> Result<Self, TracerError> {
        let tracefs = Tracefs::find_or_mount(proc).map_err(|cause| TracerError::NoTracefs { cause })?;
        let name = format!("schedlab-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = tracefs.root().join("instances").join(&name);
        if let Err(cause) = std::fs::read_dir(tracefs.root().join("instances")) {
            return Err(TracerError::NoTracefs { cause });
        }
        let entry = OwnedEntry::create(run_root, KIND, &name, "")
            .map_err(|cause| TracerError::NoEntry { path: owned_entry::entries(run_root, KIND).join(&name), cause })?;
        if let Err(cause) = std::fs::create_dir(&directory) {
            let _ = std::fs::remove_file(entry.path());
            let fix = match cause.kind() {
                ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => "",
                _ => "; too many instances, or no memory?",
            };
            return Err(TracerError::File { path: directory, cause, fix });
        }
        let instance = Self { directory, entry, tracefs };
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    /// Its directory, which other processes of the same user can use too.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes one of its files.
    pub fn write(&self, file: &str, value: &str) -> Result<(), TracerError> {
        let path = self.directory.join(file);
        std::fs::write(&path, value).map_err(TracerError::file(path, ""))
    }

    /// Reads one of its files.
    pub fn read(&self, file: &str) -> Result<String, TracerError> {
        let path = self.directory.join(file);
        std::fs::read_to_string(&path).map_err(TracerError::file(path, ""))
    }

    /// Stops the kernel from saving the name of every task that is switched (saved_cmdlines). It does so for traces
    /// that are read as text, which costs time at each event. The kernel applies that option to the enabled events of
    /// every instance, so it is not changed if anybody else is tracing. Returns whether nobody else is.
    pub fn note_no_names(&self) -> bool {
        let events_on = |root: &Path| {
            let state = std::fs::read_to_string(root.join("events/enable")).unwrap_or_default();
            state.trim() != "0"
        };
        let root = self.tracefs.root();
        let others =
            std::fs::read_dir(root.join("instances")).into_iter().flatten().flatten().map(|other| other.path());
        if events_on(root) || others.filter(|other| *other != self.directory).any(|other| events_on(&other)) {
            return false;
        }
        // `options/record-cmd` would not do, because instances do not have it. If a kernel refuses, names are saved,
        // which only costs time.
        let _ = self.write("trace_options", "norecord-cmd");
        true
    }

    /// CPUs that have a buffer, ascending.
    pub fn cpus(&self) -> Result<Vec<u32>, TracerError> {
        let path = self.directory.join("per_cpu");
        let listing = std::fs::read_dir(&path).map_err(TracerError::file(path, ""))?;
        let number = |name: String| name.strip_prefix("cpu")?.parse::<u32>().ok();
        let mut cpus: Vec<u32> = listing.flatten().filter_map(|e| number(e.file_name().into_string().ok()?)).collect();
        cpus.sort_unstable();
        Ok(cpus)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What could not be removed stays listed, and the next start tries again.
        let _ = take_back(&self.directory, self.entry.path());
    }
}

/// Switches an instance off, removes it, and then removes its entry.
fn take_back(directory: &Path, entry: &Path) -> io::Result<()> {
    if directory.exists() {
        // Removing an instance with enabled events waits for every CPU, so they are switched off first.
        let _ = std::fs::write(directory.join("tracing_on"), "0");
        let _ = std::fs::write(directory.join("events/enable"), "0");
        or_gone(remove_unused(directory))?;
    }
    or_gone(std::fs::remove_file(entry))
}

/// Two starts may try to remove the same remains of a killed recording at the same time.
fn or_gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(gone) if gone.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A process that reads a file of the instance keeps it busy; [`Instance::note_no_names`] of another recording does so.
fn remove_unused(directory: &Path) -> io::Result<()> {
    const TRIES: u32 = 100;
    for _ in 1..TRIES {
        match std::fs::remove_dir(directory) {
            Err(busy) if busy.kind() == ErrorKind::ResourceBusy => std::thread::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
    std::fs::remove_dir(directory)
}

/// Instances whose owners are dead.
pub fn orphans(run_root: &Path) -> io::Result<Vec<String>> {
    Ok(owned_entry::orphans(run_root, KIND)?.into_iter().map(|orphan| orphan.name).collect())
}

/// Removes the instances whose owners are dead; returns their names.
pub fn remove_orphans(run_root: &Path, proc: &Path) -> io::Result<Vec<String>> {
    let orphans = owned_entry::orphans(run_root, KIND)?;
    if orphans.is_empty() {
        return Ok(Vec::new());
    }
    let tracefs = Tracefs::find_or_mount(proc)?;
    let mut removed = Vec::new();
    for orphan in orphans {
        take_back(&tracefs.root().join("instances").join(&orphan.name), &orphan.path)?;
        removed.push(orphan.name);
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_start_has_removed_already_is_no_error() {
        let gone = Path::new("/nonexistent/instance");
        assert_eq!(take_back(gone, Path::new("/nonexistent/entry")).map_err(|e| e.kind()), Ok(()));
        assert_eq!(or_gone(remove_unused(gone)).map_err(|e| e.kind()), Ok(()));
        assert_eq!(
            or_gone(Err(ErrorKind::PermissionDenied.into())).map_err(|e| e.kind()),
            Err(ErrorKind::PermissionDenied)
        );
    }
}
