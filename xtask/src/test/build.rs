//! The one build of all that is tested, and what it made: test programs to run, libraries for what reads them once more.

use super::libraries::Libraries;
use super::programs::TestProgram;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The compiler with Clippy's lints in it, which cargo calls for the workspace's own crates instead of rustc.
const CLIPPY: &str = "clippy-driver";

/// What the build made, and what Clippy found on the way.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) programs: Vec<TestProgram>,
    pub(super) warnings: Vec<String>,
    pub(super) libraries: Libraries,
}

/// Builds and lints every target in one pass: `cargo clippy` before it would read all crates twice. Without Clippy the
/// programs are built all the same, and its absence is what it found. At a lower priority: the release is built beside it, ends with
/// a minute on one CPU, and is what the longest tests wait for. A benchmark is read and linked as its test program alone: of 23
/// second links none would be run.
pub(super) fn build(workspace: &Workspace) -> Result<Built> {
    let mut cargo = workspace.cargo_behind(&["build", "--workspace", "--tests", "--examples", "--locked", "--quiet"]);
    cargo.arg("--message-format=json").stdout(Stdio::piped()).stderr(Stdio::inherit());
    let has_clippy = Command::new(CLIPPY).arg("--version").output().is_ok_and(|o| o.status.success());
    if has_clippy {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", CLIPPY);
    }
    let output = cargo.output().context("cargo cannot be started")?;
    let mut built = built(&String::from_utf8_lossy(&output.stdout), &workspace.host)?;
    built.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    if !output.status.success() {
        bail!("the tests do not compile: see above");
    }
    built.programs.sort_by(|a, b| a.name.cmp(&b.name));
    if !has_clippy {
        built.warnings.push(format!("{CLIPPY} is missing: rustup component add clippy"));
    }
    Ok(built)
}

/// Reads cargo's messages, one JSON object a line. A warning is kept as the compiler words it.
fn built(messages: &str, host: &str) -> Result<Built> {
    let mut built = Built::default();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("cargo's messages are JSON")?;
        if let Some(rendered) = message["message"]["rendered"].as_str() {
            built.warnings.push(rendered.to_owned());
        }
        built.libraries.take(&message, host);
        let (Some(file), true) = (message["executable"].as_str(), message["profile"]["test"] == true) else { continue };
        let manifest = message["manifest_path"].as_str().context("an artifact without a manifest")?;
        let folder = Path::new(manifest).parent().context("a manifest in no folder")?.to_owned();
        let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = message["target"]["name"].as_str().context("a target without a name")?;
        built.programs.push(TestProgram { name: format!("{package}/{target}"), folder, file: file.into() });
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/run/Cargo.toml","target":{"name":"damage"},"profile":{"test":true},"executable":"/w/target/debug/deps/damage-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/run/Cargo.toml","target":{"name":"run"},"profile":{"test":false},"executable":"/w/target/debug/run"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/run/Cargo.toml","target":{"name":"run"},"profile":{"test":true},"executable":null}
{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: unused import"}}
{"reason":"build-finished","success":true}"#;
        let found = built(messages, "host").unwrap();
        let damage = TestProgram {
            name: "run/damage".into(),
            folder: "/w/crates/run".into(),
            file: "/w/target/debug/deps/damage-1".into(),
        };
        assert_eq!(found.programs, [damage]);
        assert_eq!(found.warnings, ["warning: unused import"]);
        assert!(built("no JSON", "host").is_err());
    }
}
