//! `cargo xtask dist`: one static binary per architecture in target/dist/. The host's is a glibc static-pie, aarch64's
//! is musl linked by rust-lld, so no cross compiler is needed.

use crate::workspace::{AARCH64, Workspace, run_to_success, stdout_of};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// Builds both and copies them to target/dist/schedlab-TRIPLE.
pub(crate) fn run(workspace: &Workspace) -> Result<bool> {
    let dist = workspace.target_dir.join("dist");
    std::fs::create_dir_all(&dist).with_context(|| format!("{} cannot be made", dist.display()))?;
    for triple in [workspace.host.as_str(), AARCH64] {
        let built = build(workspace, triple)?;
        let file = dist.join(format!("schedlab-{triple}"));
        let bytes = std::fs::copy(&built, &file).with_context(|| format!("{} cannot be written", file.display()))?;
        println!("{:>9}  {}", megabytes(bytes), file.display());
    }
    Ok(true)
}

/// The release binary for `triple`. If the Rust target is missing, the error has the command that adds it.
pub(crate) fn build(workspace: &Workspace, triple: &str) -> Result<PathBuf> {
    if !has_rust_target(triple)? {
        bail!("Rust's standard library for {triple} is not installed: rustup target add {triple}");
    }
    let mut cargo = workspace.cargo(&["build", "--release", "-p", "schedlab", "--locked"]);
    if triple != workspace.host {
        cargo.args(["--target", triple]);
    }
    run_to_success(&mut cargo)?;
    Ok(workspace.release_binary(triple))
}

/// Whether the compiler in use can build for `triple`, however it was installed.
pub(crate) fn has_rust_target(triple: &str) -> Result<bool> {
    let lib = stdout_of(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]))?;
    Ok(PathBuf::from(lib.trim()).exists())
}

/// `5.53 MB`, in decimal megabytes, like the limits in the design.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_decimal() {
        assert_eq!(super::megabytes(5_530_000), "5.53 MB");
    }
}
