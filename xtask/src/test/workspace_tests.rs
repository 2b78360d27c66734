//! The stage that runs the tests: shows what matters, writes the whole output to a file, and then checks every skip
//! against what the machine has.

use super::ledger::Outcome;
use super::programs::{self, Ended, Lane, TestProgram};
use super::{privileged, readers};
use crate::machine::{Machine, Presence};
use crate::structure;
use crate::workspace::Workspace;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// In CI nobody can interrupt a program that hangs.
const CI_LIMIT_SECONDS: &str = "1200";

/// Number of slowest programs that are reported.
const SLOWEST: usize = 10;

/// Runs the test programs of a lane; `SCHEDLAB_BIN` has the released binary for lanes that wait for it.
pub(super) fn run(
    workspace: &Workspace,
    programs: &[TestProgram],
    lane: Lane,
    machine: &Machine,
    strict: bool,
) -> Result<Outcome> {
    let mut environment = vec![("SCHEDLAB_PYTHON", readers::python(workspace))];
    if lane.has_release() {
        environment.push(("SCHEDLAB_BIN", workspace.release_binary(&workspace.host)));
    }
    let log = workspace.target_dir.join(format!("xtask-{}.log", lane.stage().replace(' ', "-")));
    let mut ended = programs::run(programs, lane, &environment, strict.then_some(CI_LIMIT_SECONDS), &log)?;
    println!("  the whole output: {}", log.display());
    ended.sort_by_key(|e| std::cmp::Reverse(e.took));
    for slow in ended.iter().take(SLOWEST) {
        println!("  {:>6.1} s  {}", slow.took.as_secs_f64(), slow.name);
    }
    report_gated(&gated_tests(workspace)?, &ended);
    let mut outcome = Outcome::default();
    for one in &ended {
        outcome.add(judge(one, machine, strict));
    }
    Ok(outcome)
}

/// Per package, the tests that can skip themselves.
fn gated_tests(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in structure::sources(workspace)?.into_iter().filter(|s| s.package != "xtask") {
        files.entry(source.package).or_default().push(source.text);
    }
    Ok(files.values().flat_map(|texts| privileged::gated_tests(texts)).collect())
}

fn report_gated(gated: &BTreeSet<String>, ended: &[Ended]) {
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_owned();
    let skipped: BTreeSet<String> = ended.iter().flat_map(|e| &e.output.skips).map(|s| last(&s.test)).collect();
    let passed: BTreeSet<String> = ended.iter().flat_map(|e| &e.output.passed_names).map(|n| last(n)).collect();
    let ran: Vec<&str> =
        gated.iter().filter(|t| passed.contains(*t) && !skipped.contains(*t)).map(String::as_str).collect();
    println!("  of the tests that need rights or programs, {} ran, {} were skipped", ran.len(), skipped.len());
    for test in ran {
        println!("  ran     {test}");
    }
}

/// For the test harness a skipped test has passed; here it counts as skipped, or as failed if the machine has what it
/// needs.
fn judge(Ended { name, output, success, .. }: &Ended, machine: &Machine, strict: bool) -> Outcome {
    let mut outcome = Outcome::passed(output.passed.saturating_sub(output.skips.len()));
    outcome.failed.extend(output.failed_names.iter().cloned());
    if !success && outcome.failed.is_empty() {
        outcome.failed.push(format!("{name} failed without naming a test: see the output above"));
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
    use super::super::cargo_output::TestOutput;
    use super::*;
    use std::time::Duration;

    fn ended(lines: &[&str], success: bool) -> Ended {
        let mut output = TestOutput::default();
        lines.iter().for_each(|line| {
            output.take(line);
        });
        Ended { name: "crate/target".into(), output, success, took: Duration::ZERO }
    }

    const BARE: fn() -> Machine =
        || Machine { proc: "/nonexistent".into(), sys: "/nonexistent".into(), path: vec![], has_readers: false };

    #[test]
    fn a_skip_is_excused_by_the_machine_alone() {
        let ended = ended(
            &[
                "schedlab-skip: a: needs hackbench",
                "schedlab-skip: b: needs moonlight",
                "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            ],
            true,
        );
        let strict = judge(&ended, &BARE(), true);
        assert_eq!((strict.passed, strict.failed.len(), strict.skipped.len()), (3, 1, 1));
        assert!(strict.failed[0].starts_with("skipped: b: needs moonlight"), "{strict:?}");
        let lenient = judge(&ended, &BARE(), false);
        assert_eq!((lenient.passed, lenient.failed.len(), lenient.skipped.len()), (3, 0, 2));
    }

    #[test]
    fn a_need_this_machine_has_is_no_excuse_under_ci() {
        let here = Machine { path: vec!["/bin".into(), "/usr/bin".into()], ..BARE() };
        let judged = judge(&ended(&["schedlab-skip: a: needs sh"], true), &here, true);
        assert_eq!(judged.failed, ["skipped: a: needs sh, but this machine has it"]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure() {
        assert_eq!(judge(&ended(&[], false), &BARE(), false).failed.len(), 1);
        assert_eq!(judge(&ended(&["test a ... FAILED"], false), &BARE(), false).failed, ["a"]);
    }
}
