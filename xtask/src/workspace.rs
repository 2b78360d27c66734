//! The checkout that xtask works on: its root, its target directory, its packages, and how cargo is called in it.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The static musl target for boards; the host's own is glibc (design, section 12).
pub(crate) const AARCH64: &str = "aarch64-unknown-linux-musl";

/// The repository, and what cargo reports about it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target_dir: PathBuf,
    /// The host triple: `target = "host-tuple"` puts build results into a directory of this name.
    pub(crate) host: String,
}

impl Workspace {
    /// Asks cargo, so that `CARGO_TARGET_DIR` and calls from a subdirectory work.
    pub(crate) fn find() -> Result<Self> {
        // xtask/ lies in the root, whatever the directory of the caller.
        let manifest_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let root = manifest_dir.parent().context("xtask has no parent directory")?.to_owned();
        if !root.join("Cargo.toml").exists() {
            bail!("{} is gone: xtask was built in another checkout, run it with cargo there", root.display());
        }
        let host = stdout_of(Command::new("rustc").arg("-vV").current_dir(&root))?
            .lines()
            .find_map(|l| l.strip_prefix("host: ").map(str::to_owned))
            .context("rustc -vV names no host")?;
        let mut found = Self { root, target_dir: PathBuf::new(), host };
        found.target_dir = found.metadata(&["--no-deps"])?["target_directory"]
            .as_str()
            .context("cargo metadata names no target_directory")?
            .into();
        Ok(found)
    }

    /// `cargo COMMAND …` in the root, with empty standard input.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        cargo
    }

    /// The same at a lower priority.
    pub(crate) fn cargo_behind(&self, arguments: &[&str]) -> Command {
        self.behind(self.cargo(arguments))
    }

    /// A program in the root at a lower priority, because others wait for what runs at the same time, but not for this.
    pub(crate) fn behind(&self, program: Command) -> Command {
        let mut nice = Command::new("nice");
        nice.args(["-n", "10"]).arg(program.get_program()).args(program.get_args());
        nice.current_dir(&self.root).stdin(Stdio::null());
        nice
    }

    /// `cargo metadata --format-version 1` with more arguments.
    pub(crate) fn metadata(&self, more: &[&str]) -> Result<Value> {
        let mut cargo = self.cargo(&["metadata", "--format-version", "1"]);
        let text = stdout_of(cargo.args(more))?;
        serde_json::from_str(&text).context("cargo metadata did not answer JSON")
    }

    /// Where a release build for `triple` puts the binary.
    pub(crate) fn release_binary(&self, triple: &str) -> PathBuf {
        self.target_dir.join(triple).join("release/schedlab")
    }
}

/// Runs to the end with the terminal's stdout and stderr; a status other than 0 is an error that repeats the command.
pub(crate) fn run_to_success(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", said(command)))?;
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status})", said(command)) }
}

/// Standard output of a command that must succeed; its stderr is part of the error.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("{} cannot be started", said(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", said(command), output.status, complaint.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed no UTF-8", said(command)))
}

fn said(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_repeats_the_command_and_its_complaint() {
        let error = stdout_of(Command::new("/bin/sh").args(["-c", "echo no such luck >&2; exit 3"])).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("sh -c") && text.contains("exit status: 3") && text.contains("no such luck"), "{text}");
    }

    #[test]
    fn the_workspace_is_this_one() {
        let found = Workspace::find().unwrap();
        assert!(found.root.join("xtask/src/workspace.rs").exists());
        assert!(found.release_binary(AARCH64).ends_with("aarch64-unknown-linux-musl/release/schedlab"));
    }
}
