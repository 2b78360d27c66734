//! The stage that runs `cargo test`: streams what matters, keeps the whole output in a file, and afterwards holds every
//! skip against what the machine has.

use super::cargo_output::{Skip, TestOutput};
use super::ledger::Outcome;
use super::{privileged, readers};
use crate::machine::{Machine, Presence};
use crate::structure;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

/// Under CI nobody is there to interrupt a test that hangs.
const CI_LIMIT_SECONDS: &str = "1500";

/// All tests of the workspace; the released binary is in `SCHEDLAB_BIN` for those that run it.
pub(super) fn run(workspace: &Workspace, machine: &Machine, strict: bool) -> Result<Outcome> {
    let mut cargo =
        workspace.cargo(&["test", "--workspace", "--no-fail-fast", "--locked", "--color=never", "--", "--show-output"]);
    cargo.env("SCHEDLAB_BIN", workspace.release_binary(&workspace.host));
    cargo.env("SCHEDLAB_PYTHON", readers::python(workspace));
    let mut command = if strict { limited(&cargo) } else { cargo };
    let log = workspace.target_dir.join("xtask-test.log");
    let (output, success) = watch(&mut command, &log)?;
    println!("  the whole output: {}", log.display());
    let gated = gated_tests(workspace)?;
    report_gated(&gated, &output);
    Ok(judge(&output, success, machine, strict))
}

/// The same command below timeout(1), which also ends the test processes.
fn limited(command: &Command) -> Command {
    let mut timeout = Command::new("timeout");
    timeout.args(["--kill-after=30", CI_LIMIT_SECONDS]).arg(command.get_program()).args(command.get_args());
    timeout.stdin(Stdio::null());
    if let Some(dir) = command.get_current_dir() {
        timeout.current_dir(dir);
    }
    timeout.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timeout
}

/// Runs to the end; the output of both streams, and whether the command succeeded.
fn watch(command: &mut Command, log: &std::path::Path) -> Result<(TestOutput, bool)> {
    let mut file = File::create(log).with_context(|| format!("{} cannot be written", log.display()))?;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cargo cannot be started")?;
    let stderr = child.stderr.take().context("stderr is piped")?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let beside = std::thread::spawn(move || {
        let mut lines = Vec::new();
        each_line(stderr, |line| {
            if Skip::parse(line).is_none() {
                eprintln!("{line}");
            }
            lines.push(line.to_owned());
        });
        lines
    });
    let mut output = TestOutput::default();
    each_line(stdout, |line| {
        if output.take(line) {
            println!("{line}");
        }
        // The log is a convenience; a full disk must not hide the result.
        let _ = writeln!(file, "{line}");
    });
    let said_beside = beside.join().unwrap_or_default();
    for line in &said_beside {
        let _ = writeln!(file, "{line}");
    }
    said_beside.iter().filter_map(|line| Skip::parse(line)).for_each(|skip| output.take_skip(skip));
    Ok((output, child.wait().context("cargo cannot be waited for")?.success()))
}

/// Tests may print bytes that are no UTF-8.
fn each_line(stream: impl Read, mut take: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        take(String::from_utf8_lossy(&line).trim_end_matches('\n'));
        line.clear();
    }
}

/// Per package, the tests that can skip themselves.
fn gated_tests(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in structure::sources(workspace)?.into_iter().filter(|s| s.package != "xtask") {
        files.entry(source.package).or_default().push(source.text);
    }
    Ok(files.values().flat_map(|texts| privileged::gated_tests(texts)).collect())
}

fn report_gated(gated: &BTreeSet<String>, output: &TestOutput) {
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_owned();
    let skipped: BTreeSet<String> = output.skips.iter().map(|s| last(&s.test)).collect();
    let passed: BTreeSet<String> = output.passed_names.iter().map(|n| last(n)).collect();
    let ran: Vec<&str> =
        gated.iter().filter(|t| passed.contains(*t) && !skipped.contains(*t)).map(String::as_str).collect();
    println!("  of the tests that need rights or programs, {} ran, {} were skipped", ran.len(), skipped.len());
    for test in ran {
        println!("  ran     {test}");
    }
}

/// A skipped test counts as passed for the test harness; here it is skipped, or failed if the machine has its need.
fn judge(output: &TestOutput, success: bool, machine: &Machine, strict: bool) -> Outcome {
    let mut outcome = Outcome::passed(output.passed.saturating_sub(output.skips.len()));
    outcome.failed.extend(output.failed_names.iter().cloned());
    if !success && outcome.failed.is_empty() {
        outcome.failed.push("`cargo test` failed without naming a test: see the output above".into());
    }
    for skip in &output.skips {
        let verdict = match machine.has(&skip.need) {
            Presence::Absent => None,
            Presence::Present => Some("but this machine has it"),
            Presence::Unknown => Some("which xtask/src/machine.rs has no probe for"),
        };
        match verdict {
            Some(why) if strict => outcome.failed.push(format!("skipped: {}, {why}", skip.said)),
            Some(why) => outcome.skipped.push(format!("{}, {why}", skip.said)),
            None => outcome.skipped.push(skip.said.clone()),
        }
    }
    outcome.skipped.extend((0..output.ignored).map(|_| "a test marked #[ignore]".into()));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(lines: &[&str]) -> TestOutput {
        let mut output = TestOutput::default();
        lines.iter().for_each(|line| {
            output.take(line);
        });
        output
    }

    const BARE: fn() -> Machine =
        || Machine { proc: "/nonexistent".into(), sys: "/nonexistent".into(), path: vec![], has_readers: false };

    #[test]
    fn a_skip_is_excused_by_the_machine_alone() {
        let output = output(&[
            "schedlab-skip: a: needs hackbench",
            "schedlab-skip: b: needs moonlight",
            "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ]);
        let strict = judge(&output, true, &BARE(), true);
        assert_eq!((strict.passed, strict.failed.len(), strict.skipped.len()), (3, 1, 1));
        assert!(strict.failed[0].starts_with("skipped: b: needs moonlight"), "{strict:?}");
        let lenient = judge(&output, true, &BARE(), false);
        assert_eq!((lenient.passed, lenient.failed.len(), lenient.skipped.len()), (3, 0, 2));
    }

    #[test]
    fn a_need_this_machine_has_is_no_excuse_under_ci() {
        let here = Machine { path: vec!["/bin".into(), "/usr/bin".into()], ..BARE() };
        let judged = judge(&output(&["schedlab-skip: a: needs sh"]), true, &here, true);
        assert_eq!(judged.failed, ["skipped: a: needs sh, but this machine has it"]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure() {
        assert_eq!(judge(&output(&[]), false, &BARE(), false).failed.len(), 1);
        assert_eq!(judge(&output(&["test a ... FAILED"]), false, &BARE(), false).failed, ["a"]);
    }

    #[test]
    fn both_streams_are_read_and_kept() {
        let log = std::env::temp_dir().join(format!("schedlab-xtask-watch-{}", std::process::id()));
        let script = "echo 'test a ... ok'; echo 'schedlab-skip: a: needs root' >&2; exit 3";
        let (output, success) = watch(Command::new("/bin/sh").args(["-c", script]), &log).unwrap();
        let kept = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert!(!success);
        assert_eq!((output.passed_names.len(), output.skips.len()), (1, 1));
        assert!(kept.contains("test a ... ok\n") && kept.contains("needs root\n"), "{kept}");
    }
}
