//! Rules for the source tree, checked on the tree itself: one-way dependencies, one crate with unsafe code, no C,
//! sizes. Each check is listed as a test in the summary.

mod dependencies;
mod direction;
mod elf;
mod prose;
mod sources;
mod tracked_files;

use crate::workspace::{AARCH64, Workspace};
use anyhow::{Context, Result, bail};
use serde_json::Value;
pub(crate) use sources::Source;
use std::path::Path;

/// Maximum size of the released binary. Issue 2 set 8 MB, before the binary could read kernel sources or tune. These
/// added a megabyte; statements, shares by part of the kernel, timelines, and what hunks and traces lack added under
/// half a megabyte.
const BINARY_BYTES: u64 = 9_550_000;

/// A check's name and the violations that it found.
pub(crate) struct Finding {
    pub(crate) name: &'static str,
    pub(crate) problems: Vec<String>,
}

/// Runs every check. A file that a check cannot read counts as a violation, so that no check passes without looking.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    // Only the platforms that we build for: chrono's crate for Haiku builds C++, on Haiku.
    let built = ["--locked", "--filter-platform", workspace.host.as_str(), "--filter-platform", AARCH64];
    let metadata = workspace.metadata(&built).context("is Cargo.lock up to date? `cargo metadata` fixes it")?;
    let rust = sources::read(workspace, &metadata)?;
    let checks: [(&'static str, Result<Vec<String>>); 12] = [
        ("dependencies run one way", direction::check(&metadata)),
        ("no dependency builds C", dependencies::builds_c(&metadata)),
        ("at most 140 locked crates of others", dependencies::too_many_locked(&workspace.root.join("Cargo.lock"))),
        (
            "each dependency has its reason in ARCHITECTURE.md",
            dependencies::without_reason(&metadata, &workspace.root.join("ARCHITECTURE.md")),
        ),
        ("crate roots forbid unsafe code, except sys", sources::roots_without_forbid(&metadata)),
        ("unsafe code only in sys", Ok(sources::unsafe_outside_sys(&rust))),
        ("nobody exits but by returning to main", Ok(sources::exits(&rust))),
        ("analyses and statistics touch no files and no clock", Ok(sources::impure(&rust))),
        ("no examples in doc comments", Ok(sources::doc_examples(&rust))),
        ("host never writes", Ok(sources::writes_in_host(&rust))),
        ("no C source, no file above 1 MB", tracked_files::check(&workspace.root)),
        ("Markdown in 100 columns, METHODOLOGY in 2500 words", prose::check(&workspace.root)),
    ];
    let findings = checks.into_iter().map(|(name, outcome)| {
        let problems = outcome.unwrap_or_else(|error| vec![format!("could not be checked: {error:#}")]);
        Finding { name, problems }
    });
    Ok(findings.collect())
}

/// Every Rust file of our packages.
pub(crate) fn sources(workspace: &Workspace) -> Result<Vec<Source>> {
    sources::read(workspace, &workspace.metadata(&["--no-deps"])?)
}

/// Why a built file is not static.
pub(crate) fn not_static(binary: &Path) -> Result<Vec<String>> {
    elf::not_static(&std::fs::read(binary).with_context(|| format!("{} was not built", binary.display()))?)
}

/// What is wrong with the released binary; it must have been built just before.
pub(crate) fn released_binary(workspace: &Workspace) -> Result<Vec<String>> {
    let path = workspace.release_binary(&workspace.host);
    let mut problems = not_static(&path)?;
    let bytes = std::fs::metadata(&path)?.len();
    if bytes > BINARY_BYTES {
        problems.push(format!("{}: {bytes} bytes, more than {BINARY_BYTES}", path.display()));
    }
    Ok(problems)
}

/// A mandatory field of cargo's metadata.
fn field<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value[name].as_str().with_context(|| format!("cargo metadata without `{name}`"))
}

fn array<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value[name].as_array().with_context(|| format!("cargo metadata without `{name}`"))
}

/// The packages of the workspace. Fails on metadata without any, because every check would pass on it.
fn members(metadata: &Value) -> Result<Vec<&Value>> {
    let ids = array(metadata, "workspace_members")?;
    let members: Vec<&Value> = array(metadata, "packages")?.iter().filter(|p| ids.contains(&p["id"])).collect();
    if members.is_empty() { bail!("cargo metadata names no workspace member") } else { Ok(members) }
}
