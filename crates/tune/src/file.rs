//! Control files are regular files; a tree of files may have anything in their place.

use schedlab_sys::regular;
pub(crate) use schedlab_sys::regular::open_for_write;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file.
pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<String> {
    io::read_to_string(regular::open(path.as_ref())?)
}

/// The content of a file that may be damaged.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use crate::{HostGuard, Leftovers};
    use crate::{Roots, TuneError, of_names, restore_leftovers};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    fn pipe(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn a_pipe_or_a_device_in_a_tree_is_told_and_not_opened() {
        let tree = tempfile::tempdir().unwrap();
        let (roots, state) = (Roots::below(tree.path()), tree.path().join("run/schedlab"));
        let debugfs = roots.debugfs.join("sched");
        for file in ["nr_migrate", "features", "tunable_scaling"] {
            pipe(&debugfs.join(file));
        }
        symlink("/dev/null", debugfs.join("base_slice_ns")).unwrap();
        pipe(&roots.proc.join("sys/kernel/osrelease"));
        for (knob, value) in [("nr_migrate", "8"), ("base_slice", "3000000")] {
            let shown = of_names(&roots, &[knob.to_owned()]).unwrap().remove(0);
            assert_eq!(shown.value, None);
            assert!(shown.why_not.as_ref().unwrap().contains("only regular files are opened"), "{shown:?}");
            let setting = crate::named(&roots, &format!("{knob}={value}")).unwrap().setting;
            let mut guard = HostGuard::open(roots.clone(), &state).unwrap();
            let why = guard.apply(&[setting]).unwrap().remove(0).not_applied.unwrap();
            assert!(why.contains("only regular files are opened"), "{why}");
        }
        let feature = "feature:NO_WA_IDLE".parse().unwrap();
        assert!(crate::resolve::resolve(&roots, &feature).unwrap_err().contains("only regular files"));
        // In place of a journal.
        pipe(&state.join("journal-1-1"));
        std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert!(matches!(restore_leftovers(Leftovers::AlsoSet, &roots, &state), Err(TuneError::State { .. })));
    }
}
