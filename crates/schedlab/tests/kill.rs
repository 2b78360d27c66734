//! SIGKILL of any one process, for every workload and both kinds of background load: an error of one line, and no
//! process and no namespace left. (`cargo xtask bench kill` shows how long it takes.)

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json, schedlab};
use schedlab_benches::kill::{self, SPECIMENS, Specimen};
use schedlab_benches::processes::Mark;
use schedlab_plan::TrialStatus;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// By then all tasks are past the gate; if a task is killed earlier, the start fails, which is as good.
const MIDDLE: Duration = Duration::from_millis(30);

/// Kills each process of these specimens in turn.
fn kill_each(is_meant: impl Fn(&Specimen) -> bool) {
    let mut meant = SPECIMENS.iter().filter(|specimen| is_meant(specimen)).peekable();
    assert!(meant.peek().is_some(), "no specimen was meant");
    meant.for_each(kill_in_turn);
}

fn kill_in_turn(specimen: &Specimen) {
    for kill in kill::kill_each(&program::binary(), specimen, MIDDLE) {
        match kill {
            Ok(kill) => {
                let problems = kill.problems();
                assert!(problems.is_empty(), "{}: {} killed: {problems:?}", specimen.line(), kill.victim);
            }
            // We may not create a namespace, or this kernel lacks a system call.
            Err(error) if error.to_string().contains("needs root") || error.to_string().contains("(Linux ") => {
                eprintln!("schedlab-skip: {}: {error}", specimen.line());
                break;
            }
            Err(error) => panic!("{error:#}"),
        }
    }
}

/// Workloads that are not in the list, with their default options, and `pipe2`, which is in the list, so that there is
/// always one.
#[test]
fn workloads_without_a_specimen_end_with_any_of_their_processes() {
    let is_listed = |name: &str| SPECIMENS.iter().any(|specimen| specimen.workload() == name);
    for info in schedlab_bench::WORKLOADS.iter().filter(|info| info.name == "pipe2" || !is_listed(info.name)) {
        kill_in_turn(&Specimen { arguments: &[info.name, "--duration", "60s"], processes: None });
    }
}

fn has_load(specimen: &Specimen) -> bool {
    specimen.arguments.contains(&"--load")
}

#[test]
fn messaging_and_pipes_end_with_any_of_their_processes() {
    kill_each(|specimen| ["messaging", "pipe", "pipe2"].contains(&specimen.workload()) && !has_load(specimen));
}

#[test]
fn transactions_end_with_any_of_their_processes() {
    kill_each(|specimen| ["transact", "throughput"].contains(&specimen.workload()));
}

#[test]
fn streams_end_with_any_of_their_processes_and_so_do_their_namespaces() {
    kill_each(|specimen| specimen.workload() == "stream");
}

#[test]
fn timers_wakeups_and_burners_end_with_any_of_their_processes() {
    kill_each(|specimen| ["timer", "wakeup", "burn"].contains(&specimen.workload()));
}

#[test]
fn commands_and_background_loads_end_with_any_of_their_processes() {
    kill_each(|specimen| specimen.workload() == "exec" || has_load(specimen));
}

/// The program may have been killed before the trial could ask to end with it; the trial then has another parent.
#[test]
fn a_trial_whose_program_is_gone_does_not_begin() {
    let order = schedlab(&["bench", "pipe:loops=5", "--dry-run"]).success().stdout;
    let trial_of = |program: &str| {
        let mut command = program::command();
        command.args(["__trial", program]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A trial that does not begin does not read.
        let _ = child.stdin.take().unwrap().write_all(order.as_bytes());
        child.wait_with_output().unwrap()
    };
    let ours = trial_of(&std::process::id().to_string());
    assert_eq!(json(&String::from_utf8_lossy(&ours.stdout))["operations"], 5);
    let orphan = trial_of("1");
    let said = String::from_utf8_lossy(&orphan.stderr).into_owned();
    assert!(orphan.status.code() == Some(1) && orphan.stdout.is_empty(), "{said}");
    assert!(said.contains("cannot be tied to its parent process") && said.lines().count() == 1, "{said}");
}

/// Why trials of a run directory failed, whether it is sealed or not.
fn failures(out: &str) -> Vec<String> {
    let trials = schedlab_run::RunReader::open(Path::new(out)).map(|run| run.trials).unwrap_or_default();
    let why = |trial: schedlab_plan::TrialRecord| match trial.status {
        TrialStatus::Failed(why) => Some(why),
        _ => None,
    };
    trials.into_iter().filter_map(why).collect()
}

/// In a run the error becomes a row, and the run continues.
#[test]
fn a_killed_trial_is_a_row_of_its_run() {
    let lab = Lab::new("kill-row");
    let (out, mark) = (lab.path("run"), Mark::new());
    let mut command = program::command();
    let plan = ["ab", "-w", "pipe:pin=same", "--b", "nice=1", "--trials", "6", "--trial", "200ms", "--out", &out];
    mark.put_on(command.args(plan).args(["--counters", "basic"]).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut run = command.spawn().unwrap();
    let begun = Instant::now();
    // A kill at the end of a trial has no effect; the next one will.
    while failures(&out).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60) && run.try_wait().unwrap().is_none(), "nobody was killed");
        // The program, the trial process and two partners.
        let [_, trial, _, partner] = &mark.alive()[..] else { continue };
        let _ = schedlab_sys::signal::kill(partner.pid, schedlab_sys::signal::SIGKILL);
        while trial.is_alive() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Time for its row to be written.
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(run.wait().unwrap().success(), "the run goes on");
    assert!(mark.alive().is_empty());
    let failed = failures(&out);
    assert!(failed.iter().all(|why| why.contains("was killed by signal 9")), "{failed:?}");
    assert!(schedlab_run::RunReader::open(Path::new(&out)).unwrap().sealed);
}
