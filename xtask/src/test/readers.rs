//! The third-party readers that tests check our files with: pandas, Polars and DuckDB for tables, Perfetto's own schema
//! for its traces. They are in a virtual environment in the target directory; the system's Python is not changed.

use super::ledger::Outcome;
use crate::workspace::{Workspace, run_to_success, stdout_of};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pinned, so that old results can be reproduced; there are wheels for Debian 12's Python 3.11.
const READERS: [&str; 5] = ["duckdb==2.0.0", "pandas==3.1.1", "perfetto==0.59.1", "polars==2.1.0", "pyarrow==26.0.1"];

/// Creates the environment if requested; without PyPI the tests that need it skip themselves.
pub(super) fn set_up(workspace: &Workspace, install: bool) -> Result<Outcome> {
    if can_read(&python(workspace)) {
        return Ok(Outcome::passed(1));
    }
    let dir = environment(workspace);
    if !install {
        let line = format!("python3 -m venv {0} && {0}/bin/pip install {1}", dir.display(), READERS.join(" "));
        return Ok(Outcome::skipped(format!("foreign readers of our files; to run them: {line}")));
    }
    run_to_success(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir))?;
    let mut pip = Command::new(dir.join("bin/pip"));
    // What tests import is compiled on first use; compiling everything would take 9 s of CPU time.
    pip.args(["install", "--quiet", "--no-compile", "--disable-pip-version-check", "--only-binary=:all:"])
        .args(READERS);
    match run_to_success(&mut pip) {
        Ok(()) => Ok(Outcome::passed(1)),
        Err(error) => {
            // An incomplete environment would look like a complete one.
            std::fs::remove_dir_all(&dir).with_context(|| format!("{} cannot be removed", dir.display()))?;
            Ok(Outcome::skipped(format!("foreign readers of our files: {error:#}")))
        }
    }
}

/// The interpreter for tests: `$SCHEDLAB_PYTHON`, our environment's, or the system's.
pub(super) fn python(workspace: &Workspace) -> PathBuf {
    if let Some(named) = std::env::var_os("SCHEDLAB_PYTHON") {
        return named.into();
    }
    let ours = environment(workspace).join("bin/python");
    if ours.exists() { ours } else { "python3".into() }
}

/// Whether an interpreter has all five modules.
pub(crate) fn can_read(python: &Path) -> bool {
    stdout_of(Command::new(python).args(["-c", "import pyarrow, pandas, polars, duckdb, perfetto"])).is_ok()
}

fn environment(workspace: &Workspace) -> PathBuf {
    workspace.target_dir.join("readers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_without_the_modules_cannot_read() {
        assert!(!can_read(Path::new("/nonexistent/python3")));
        assert!(!can_read(Path::new("/bin/false")));
        assert!(can_read(Path::new("/bin/true")));
    }
}
