//! The single build of everything that is tested, and its results: test programs to run, and libraries for later
//! stages.

use super::libraries::Libraries;
use super::programs::TestProgram;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The compiler including Clippy's lints, which cargo calls instead of rustc for the workspace's own crates.
const CLIPPY: &str = "clippy-driver";

/// The results of the build, and what Clippy found.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) programs: Vec<TestProgram>,
    pub(super) warnings: Vec<String>,
    pub(super) libraries: Libraries,
}

/// Builds and lints every target in one pass, because `cargo clippy` before it would read all crates twice. Without
/// Clippy the programs are built all the same, and its absence is reported as its finding. Runs at a lower priority,
/// because the release build runs at the same time: it ends with a minute on one CPU, and the longest tests wait for
/// it. Benchmarks are only checked, through their test programs: linking them would take 23 seconds, and none is run.
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

/// Reads cargo's messages, one JSON object per line. Warnings are kept in the compiler's words.
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
