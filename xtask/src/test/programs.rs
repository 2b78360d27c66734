//! Runs the test programs of the workspace in parallel lanes, which cargo itself does not: those that change the host,
//! which mostly wait for timers; those of the released binary; of these, those that boot guests; and all others.

use super::cargo_output::{Skip, TestOutput};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Crates whose tests set, kill and restore on this host: what one leaves behind, the next start of schedlab would
/// restore and report. They run one after the other, as with cargo, in parallel with the others.
const OF_THE_HOST: [&str; 6] = ["bench", "host", "record", "sys", "trial", "tune"];

/// The binary's tests, which use the released one. With it they take 160 s of CPU time, with the one built for tests
/// 259 s.
const OF_THE_BINARY: &str = "schedlab";

/// Those of them that only change guests: 325 s of the 547 s of all programs that had to take turns.
const OF_GUESTS: [&str; 5] = ["vm", "vm_accel", "vm_plans", "vm_profile", "vm_states"];

/// In a mount namespace with its own `/run`, so that what tests of the host leave in `/run` on purpose is not found,
/// and restored, by a schedlab in another lane.
const OWN_RUN: &str = "mount -t tmpfs -o mode=755 tmpfs /run && exec \"$@\"";

/// A program that `cargo test` would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestProgram {
    /// `PACKAGE-FOLDER/TARGET`.
    pub(super) name: String,
    /// The directory of its package, in which cargo would run it.
    pub(super) folder: PathBuf,
    pub(super) file: PathBuf,
}

impl TestProgram {
    /// Its lane. Without a `/run` of their own, guest tests run in the lane of the host.
    fn lane(&self, can_own_run: bool) -> Lane {
        match self.name.split_once('/') {
            Some((OF_THE_BINARY, target)) if can_own_run && OF_GUESTS.contains(&target) => Lane::Guests,
            Some((OF_THE_BINARY, _)) => Lane::Release,
            Some((package, _)) if OF_THE_HOST.contains(&package) => Lane::Host,
            _ => Lane::Others,
        }
    }

    /// The command with which its lane starts it.
    fn command(&self, lane: Lane, limit_seconds: Option<&str>) -> Command {
        let mut words: Vec<&OsStr> = Vec::new();
        if let Some(seconds) = limit_seconds {
            words.extend(["timeout", "--kill-after=30", seconds].map(OsStr::new));
        }
        match lane {
            Lane::Guests => words.extend(OWN_RUN_WORDS.map(OsStr::new)),
            // At a lower priority, because the release build runs at the same time and others wait for it.
            Lane::Others => words.extend(["nice", "-n", "5"].map(OsStr::new)),
            Lane::Host | Lane::Release => {}
        }
        words.extend([self.file.as_os_str(), OsStr::new("--show-output")]);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Programs of different lanes may run in parallel, those of one lane run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Tests that change this host, so that no other such test may run.
    Host,
    /// The same with the released binary, whose build takes longer than that of the tests.
    Release,
    /// Tests that boot guests, with the released binary.
    Guests,
    /// All others, which may run at any time.
    Others,
}

impl Lane {
    /// Whether it needs the release build to be finished: earlier it might use the binary of the previous build.
    pub(super) fn has_release(self) -> bool {
        matches!(self, Lane::Release | Lane::Guests)
    }

    /// The stage in which it runs.
    pub(super) fn stage(self) -> &'static str {
        match self {
            Lane::Host => "tests of the host",
            Lane::Release => "tests of the binary",
            Lane::Guests => "tests with guests",
            Lane::Others => "tests",
        }
    }
}

const OWN_RUN_WORDS: [&str; 6] = ["unshare", "--mount", "sh", "-c", OWN_RUN, "sh"];

/// Whether a program can have its own `/run` here: this takes root, and a host that allows the mount.
fn can_own_run() -> bool {
    let mut words = Command::new(OWN_RUN_WORDS[0]);
    let tried = words.args(&OWN_RUN_WORDS[1..]).arg("true").stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// The result of a program.
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) output: TestOutput,
    pub(super) success: bool,
    pub(super) took: Duration,
}

/// Runs the programs of a lane, each with a limit of `limit_seconds` if given (timeout(1) also ends what a program has
/// started). Their whole output goes to `log`, the interesting part to the terminal.
pub(super) fn run(
    programs: &[TestProgram],
    lane: Lane,
    environment: &[(&str, PathBuf)],
    limit_seconds: Option<&str>,
    log: &Path,
) -> Result<Vec<Ended>> {
    let mut log = File::create(log).with_context(|| format!("{} cannot be written", log.display()))?;
    let can_own_run = can_own_run();
    let of_lane = programs.iter().filter(|program| program.lane(can_own_run) == lane);
    // Runs all of them, even if one could not be started.
    let ended: Vec<Result<Ended>> = of_lane
        .map(|program| {
            let mut command = program.command(lane, limit_seconds);
            run_one(program, command.envs(environment.iter().cloned()), &mut log)
        })
        .collect();
    ended.into_iter().collect()
}

fn run_one(program: &TestProgram, command: &mut Command, log: &mut File) -> Result<Ended> {
    let started = Instant::now();
    let watched = watch(command.stdin(Stdio::null()))?;
    let took = started.elapsed();
    // The log is a convenience; a full disk must not hide the result.
    let _ = writeln!(log, "== {}: {:.1} s\n{}", program.name, took.as_secs_f64(), watched.all);
    if !watched.shown.is_empty() {
        println!("-- {}\n{}", program.name, watched.shown);
    }
    Ok(Ended { name: program.name.clone(), output: watched.output, success: watched.success, took })
}

/// The output of a program, and how it ended.
struct Watched {
    output: TestOutput,
    all: String,
    shown: String,
    success: bool,
}

/// Runs the program, and reads both streams to their end.
fn watch(command: &mut Command) -> Result<Watched> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("a test cannot be started")?;
    let stderr = child.stderr.take().context("stderr is piped")?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let beside = std::thread::spawn(move || lines(stderr));
    let mut output = TestOutput::default();
    let said = lines(stdout);
    let mut shown: Vec<&str> = said.iter().map(String::as_str).filter(|line| output.take(line)).collect();
    let said_beside = beside.join().unwrap_or_default();
    said_beside.iter().filter_map(|line| Skip::parse(line)).for_each(|skip| output.take_skip(skip));
    let success = child.wait().context("a test cannot be waited for")?.success();
    if success {
        // The line with the counts, and the output of child processes, are only in the log.
        shown.clear();
    } else {
        shown.extend(said_beside.iter().map(String::as_str));
    }
    let all = [said.join("\n"), said_beside.join("\n")].join("\n");
    Ok(Watched { output, shown: shown.join("\n"), all, success })
}

/// Tests may print bytes that are not UTF-8.
fn lines(stream: impl Read) -> Vec<String> {
    let (mut reader, mut line, mut lines) = (BufReader::new(stream), Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        lines.push(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned());
        line.clear();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_change_the_host_and_those_with_guests_are_told_from_others() {
        let lanes = |can_own_run: bool| {
            [
                "schedlab/crash",
                "schedlab/pack",
                "tune/host",
                "schedlab/vm_plans",
                "schedlab/vm_fetch",
                "report/size",
                "vm/schedlab_vm",
            ]
            .map(|name| {
                let program = TestProgram { name: name.into(), folder: PathBuf::new(), file: PathBuf::new() };
                program.lane(can_own_run)
            })
        };
        use Lane::{Guests, Host, Others, Release};
        assert_eq!(lanes(true), [Release, Release, Host, Guests, Release, Others, Others]);
        assert_eq!(lanes(false), [Release, Release, Host, Release, Release, Others, Others]);
    }

    #[test]
    fn a_program_with_guests_is_started_with_a_run_of_its_own() {
        let program = TestProgram { name: "schedlab/vm".into(), folder: "/".into(), file: "/t/vm-1".into() };
        let words = |lane, limit| {
            let command = program.command(lane, limit);
            let words = [command.get_program()].into_iter().chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(Lane::Host, None), "/t/vm-1 --show-output");
        assert_eq!(words(Lane::Others, None), "nice -n 5 /t/vm-1 --show-output");
        let whole = words(Lane::Guests, Some("60"));
        assert!(whole.starts_with("timeout --kill-after=30 60 unshare --mount sh -c mount -t tmpfs "), "{whole}");
        assert!(whole.ends_with(" sh /t/vm-1 --show-output"), "{whole}");
    }

    #[test]
    fn programs_run_in_their_folders_and_each_answer_is_kept() {
        let folder = std::env::temp_dir().join(format!("schedlab-xtask-programs-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let script = |name: &str, text: &str| {
            // Written by a separate process: a file that another test's child still has open for writing cannot be
            // executed.
            let file = folder.join(name);
            let write = "printf '%s\\n' '#!/bin/sh' \"$2\" > \"$1\" && chmod +x \"$1\"";
            assert!(Command::new("sh").args(["-c", write, "sh"]).arg(&file).arg(text).status().unwrap().success());
            TestProgram { name: name.into(), folder: folder.clone(), file }
        };
        let programs = [
            script("good", "pwd; echo \"test $NAME ... ok\"; echo 'schedlab-skip: a: needs root' >&2"),
            script("bad", "echo 'test b ... FAILED'; echo reason >&2; exit 101"),
        ];
        let log = folder.join("log");
        let mut ended = run(&programs, Lane::Others, &[("NAME", "a".into())], Some("60"), &log).unwrap();
        ended.sort_by_key(|e| e.name.clone());
        let kept = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let [bad, good] = &ended[..] else { panic!("two programs") };
        assert!(good.success && !bad.success);
        assert_eq!((&good.output.passed_names[..], good.output.skips.len()), (&["a".to_owned()][..], 1));
        assert_eq!(bad.output.failed_names, ["b"]);
        assert!(kept.contains(&folder.display().to_string()) && kept.contains("needs root") && kept.contains("reason"));
    }
}
