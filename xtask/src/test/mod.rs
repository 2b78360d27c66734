//! `cargo xtask test`: set-up and every check, one stage after the other, all of them even if one fails. The last line
//! is `N passed, N failed, N skipped`.

mod backports;
mod cargo_output;
mod guest_arch;
mod ledger;
mod packages;
mod privileged;
mod readers;
mod workspace_tests;

use crate::machine::{Machine, Presence};
use crate::workspace::{AARCH64, Workspace, run_to_success};
use crate::{dist, structure};
use anyhow::{Context, Result, bail};
use ledger::{Ledger, Outcome};

/// The fuzz targets' manifest, relative to the root.
const FUZZ: &str = "fuzz/Cargo.toml";

/// How to treat the machine.
pub(crate) struct Options {
    /// Install what is missing instead of saying how.
    install: bool,
    /// A skip that the machine could have run is a failure.
    strict: bool,
}

impl Options {
    /// `--install`, or `CI=true` in the environment, which also makes skips strict.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        let mut options = Self { install: ci, strict: ci };
        for argument in arguments {
            match argument.as_str() {
                "--install" => options.install = true,
                other => bail!("`cargo xtask test` knows --install only, not `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Whether nothing failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    let mut machine = Machine::this();
    let mut ledger = Ledger::default();
    ledger.stage("packages", || packages::debian(&machine, options.install));
    let root = machine.has("root") == Presence::Present;
    ledger.stage("newer qemu", || backports::qemu(&workspace.target_dir, root, options.install));
    ledger.stage("rust target", || packages::rust_target(options.install));
    ledger.stage("table readers", || readers::set_up(workspace, options.install));
    machine.has_readers = readers::can_read(&readers::python(workspace));
    ledger.stage("fmt", || check_format(workspace));
    ledger.stage("release build", || release_build(workspace));
    ledger
        .stage("guest kernel", || packages::guest_kernel(&workspace.release_binary(&workspace.host), options.install));
    ledger.stage("structure", || check_structure(workspace));
    ledger.stage("clippy", || {
        passes(workspace, &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    });
    ledger.stage("tests", || workspace_tests::run(workspace, &machine, options.strict));
    // Libraries only: the binary's doc comments are its help texts, written for the terminal.
    ledger.stage("documentation", || {
        let mut cargo = workspace.cargo(&["doc", "--workspace", "--lib", "--no-deps", "--quiet"]);
        run_to_success(cargo.env("RUSTDOCFLAGS", "-D warnings"))?;
        Ok(Outcome::passed(1))
    });
    ledger.stage("fuzz targets build", || build_fuzz_targets(workspace));
    ledger.stage("aarch64", || aarch64(workspace, &machine));
    Ok(ledger.close())
}

fn passes(workspace: &Workspace, arguments: &[&str]) -> Result<Outcome> {
    run_to_success(&mut workspace.cargo(arguments))?;
    Ok(Outcome::passed(1))
}

/// The fuzz targets are a workspace of their own, so `--all` does not reach them.
fn check_format(workspace: &Workspace) -> Result<Outcome> {
    let mut outcome = passes(workspace, &["fmt", "--all", "--check"])?;
    if workspace.root.join(FUZZ).exists() {
        outcome.add(passes(workspace, &["fmt", "--manifest-path", FUZZ, "--check"])?);
    }
    Ok(outcome)
}

/// Builds the binary and looks at that very file, so a failed build is not excused by an older one.
fn release_build(workspace: &Workspace) -> Result<Outcome> {
    let binary = dist::build(workspace, &workspace.host)?;
    println!("  {}, {}", binary.display(), dist::megabytes(std::fs::metadata(&binary)?.len()));
    let problems = structure::released_binary(workspace)?;
    if problems.is_empty() { Ok(Outcome::passed(2)) } else { bail!("{}", problems.join(", ")) }
}

fn check_structure(workspace: &Workspace) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for finding in structure::check(workspace)? {
        if finding.problems.is_empty() {
            println!("  ok      {}", finding.name);
            outcome.passed += 1;
        } else {
            outcome.failed.push(format!("{}: {}", finding.name, finding.problems.join("\n          ")));
        }
    }
    Ok(outcome)
}

/// A workspace of its own: libfuzzer-sys compiles C++, which the product's lock file must not.
fn build_fuzz_targets(workspace: &Workspace) -> Result<Outcome> {
    if !workspace.root.join(FUZZ).exists() {
        return Ok(Outcome::skipped(format!("{FUZZ} does not exist")));
    }
    let mut cargo = workspace.cargo(&["build", "--manifest-path", FUZZ, "--locked"]);
    cargo.env("CARGO_TARGET_DIR", workspace.target_dir.join("fuzz"));
    run_to_success(&mut cargo)?;
    Ok(Outcome::passed(1))
}

fn aarch64(workspace: &Workspace, machine: &Machine) -> Result<Outcome> {
    if !dist::has_rust_target(AARCH64)? {
        return Ok(Outcome::skipped(format!("needs the Rust target: rustup target add {AARCH64}")));
    }
    let binary = dist::build(workspace, AARCH64)?;
    let problems = structure::not_static(&binary)?;
    if !problems.is_empty() {
        bail!("{}: {}", binary.display(), problems.join(", "));
    }
    let bytes = std::fs::metadata(&binary).context("the aarch64 binary is gone")?.len();
    println!("  {}, {}", binary.display(), dist::megabytes(bytes));
    let mut outcome = Outcome::passed(1);
    outcome.add(guest_arch::run(&binary, machine)?);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_flag_is_an_error() {
        assert!(Options::parse(&["--instal".into()]).is_err());
        assert!(Options::parse(&["--install".into()]).unwrap().install);
    }
}
