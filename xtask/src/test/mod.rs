//! `cargo xtask test`: sets the machine up and runs every check, in parallel lanes, all of them even if one fails. The
//! last line is `N passed, N failed, N skipped`.

mod backports;
mod build;
mod cargo_output;
mod guest_arch;
pub(crate) mod hogs;
mod ledger;
mod libraries;
mod packages;
mod privileged;
mod programs;
mod readers;
mod workspace_tests;

use crate::machine::{Machine, Presence};
use crate::workspace::{AARCH64, Workspace, run_to_success};
use crate::{dist, structure};
use anyhow::{Result, bail};
use hogs::Hogs;
use ledger::{Ledger, Outcome};
use libraries::{FUZZ, Libraries};
use programs::Lane;

/// How to treat the machine.
pub(crate) struct Options {
    /// Install what is missing instead of printing how.
    install: bool,
    /// Count a skip as a failure if the machine could have run the test.
    strict: bool,
    /// Run real-time burners on all CPUs at the same time.
    hogs: bool,
}

impl Options {
    /// `--install`, or `CI=true` in the environment; the latter also makes skips strict.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
        let mut options = Self { install: ci, strict: ci, hogs: false };
        for argument in arguments {
            match argument.as_str() {
                "--install" => options.install = true,
                "--hogs" => options.hogs = true,
                other => bail!("`cargo xtask test` knows --install and --hogs, not `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Returns whether nothing failed. The release build ends with a minute on one CPU, package installation takes time,
/// and many tests wait for a guest or a timer. Stages that need none of these run at the same time, at a lower
/// priority.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    let _hogs = options.hogs.then(Hogs::start).transpose()?;
    let ledger = Ledger::new();
    std::thread::scope(|builds| {
        let release = builds.spawn(|| ledger.stage("release build", || release_build(workspace)));
        let machine = set_up(&ledger, workspace, options.install);
        let mut built = build::Built::default();
        ledger.stage("tests build, clippy", || {
            built = build::build(workspace)?;
            let failed = std::mem::take(&mut built.warnings);
            Ok(Outcome { passed: 1 + usize::from(failed.is_empty()), failed, skipped: vec![] })
        });
        let tests = |lane: Lane| {
            let run = || workspace_tests::run(workspace, &built.programs, lane, &machine, options.strict);
            ledger.stage(lane.stage(), run);
        };
        std::thread::scope(|beside| {
            beside.spawn(|| {
                read_source(&ledger, workspace, &built.libraries);
                ledger.stage("aarch64", || aarch64(workspace, &machine));
            });
            beside.spawn(|| tests(Lane::Others));
            let host = beside.spawn(|| tests(Lane::Host));
            // Guests of tests run this binary; the ledger has the result of its build.
            let _ = release.join();
            let binary = workspace.release_binary(&workspace.host);
            ledger.stage("guest kernel", || packages::guest_kernel(&binary, options.install));
            beside.spawn(|| tests(Lane::Guests));
            let _ = host.join();
            tests(Lane::Release);
        });
    });
    Ok(ledger.close())
}

/// Installs what the tests need; returns what the machine then has.
fn set_up(ledger: &Ledger, workspace: &Workspace, install: bool) -> Machine {
    let mut machine = Machine::this();
    ledger.stage("packages", || packages::debian(&machine, install));
    let root = machine.has("root") == Presence::Present;
    ledger.stage("newer qemu", || backports::qemu(&workspace.target_dir, root, install));
    ledger.stage("rust target", || packages::rust_target(install));
    ledger.stage("table readers", || readers::set_up(workspace, install));
    machine.has_readers = readers::can_read(&readers::python(workspace));
    machine
}

/// The stages that only read the source, and wait for nothing.
fn read_source(ledger: &Ledger, workspace: &Workspace, libraries: &Libraries) {
    ledger.stage("fmt", || check_format(workspace));
    ledger.stage("structure", || check_structure(workspace));
    ledger.stage("documentation", || libraries.documentation(workspace));
    ledger.stage("fuzz targets", || libraries.fuzz_targets(workspace));
}

fn passes(workspace: &Workspace, arguments: &[&str]) -> Result<Outcome> {
    run_to_success(&mut workspace.cargo_behind(arguments))?;
    Ok(Outcome::passed(1))
}

/// `--all` does not include the fuzz targets, which are a separate workspace.
fn check_format(workspace: &Workspace) -> Result<Outcome> {
    let mut outcome = passes(workspace, &["fmt", "--all", "--check"])?;
    if workspace.root.join(FUZZ).exists() {
        outcome.add(passes(workspace, &["fmt", "--manifest-path", FUZZ, "--check"])?);
    }
    Ok(outcome)
}

/// Builds the binary and checks that very file, so that a failed build is not hidden by an older one.
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

fn aarch64(workspace: &Workspace, machine: &Machine) -> Result<Outcome> {
    if !dist::has_rust_target(AARCH64)? {
        return Ok(Outcome::skipped(format!("needs the Rust target: rustup target add {AARCH64}")));
    }
    // Not optimised: link-time optimisation takes minutes more, and `cargo xtask dist` builds the released one.
    run_to_success(&mut workspace.cargo_behind(&["build", "-p", "schedlab", "--locked", "--target", AARCH64]))?;
    let binary = workspace.target_dir.join(AARCH64).join("debug/schedlab");
    let problems = structure::not_static(&binary)?;
    if !problems.is_empty() {
        bail!("{}: {}", binary.display(), problems.join(", "));
    }
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
