//! SIGKILL of any process must end the whole trial with an error row, leaving no process and nothing else. Small
//! specimens cover every workload, its variants, and the background loads. Each is started again for each of its
//! processes, and that process is killed.

use crate::processes::{self, Mark, Process};
use anyhow::{Context, Result, bail};
use schedlab_sys::{clock, signal};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A command that is started to be killed.
#[derive(Debug)]
pub struct Specimen<'a> {
    /// Arguments of `schedlab bench`, the workload first.
    pub arguments: &'a [&'a str],
    /// Number of its processes: the program, its trial process, the workload's tasks, the loads. `None`: as many as
    /// there are when no new one has appeared for a while.
    pub processes: Option<usize>,
}

/// Marks the command line of a process that is not killed itself, but must end too.
const BYSTANDER: &str = "6100";

const fn specimen(arguments: &'static [&'static str], processes: usize) -> Specimen<'static> {
    Specimen { arguments, processes: Some(processes) }
}

/// Workloads, in all variants that differ in how their processes start and end. Those that are missing here are killed
/// with their default options in the binary's `tests/kill.rs`.
pub const SPECIMENS: &[Specimen<'static>] = &[
    specimen(&["messaging:2x2,groups=1,duration=60s"], 6),
    specimen(&["messaging:2x2,groups=1,duration=60s,transport=pipe"], 6),
    specimen(&["messaging:1x2,groups=2,duration=60s,transport=tcp"], 8),
    specimen(&["messaging:2x2,groups=1,duration=60s,mode=thread"], 2),
    specimen(&["pipe:copies=2,duration=60s"], 6),
    specimen(&["pipe:duration=60s,mode=thread"], 2),
    specimen(&["pipe2:duration=60s"], 4),
    specimen(&["burn:2x50%,duration=60s"], 4),
    specimen(&["transact:duration=60s,pairs=2,transport=unix"], 6),
    specimen(&["transact:duration=60s,pairs=2,transport=pipe,fifo-thread=kept"], 6),
    specimen(&["transact:duration=60s,pairs=2,transport=futex"], 6),
    specimen(&["transact:duration=60s,pairs=2,transport=seccomp-notify"], 6),
    specimen(&["transact:duration=60s,pairs=2,transport=seccomp-notify-sync,fifo-thread=kept"], 6),
    specimen(&["throughput:bytes=64,duration=60s,pairs=2,transport=unix"], 6),
    specimen(&["throughput:bytes=64k,duration=60s,pairs=1,transport=futex"], 4),
    specimen(&["stream:2,duration=60s"], 6),
    specimen(&["stream:2,duration=60s,link=veth,rate=100mbit"], 6),
    specimen(&["wakeup:1x2,duration=60s,mode=process"], 5),
    specimen(&["wakeup:1x2,duration=60s,rate=500,mode=process"], 5),
    specimen(&["wakeup:1x2,duration=60s,rate=500"], 2),
    specimen(&["timer:threads=2,duration=60s,mode=process"], 4),
    specimen(&["timer:threads=2,duration=60s"], 2),
    // The program, the trial, the subreaper, the command, and a process that the command has put into a session of its
    // own.
    specimen(&["exec", "--", "sh", "-c", "setsid sleep 6100 & exec sleep 6200"], 5),
    specimen(&["pipe:duration=60s", "--load", "burn:2x50%"], 6),
    specimen(&["pipe:duration=60s", "--load", "burn:1x50%", "--load-group", "separate"], 5),
    specimen(&["pipe:duration=60s", "--load", "exec:sh -c 'setsid sleep 6100 & exec sleep 6200'"], 7),
];

impl<'a> Specimen<'a> {
    /// The name of its workload.
    pub fn workload(&self) -> &'a str {
        let spec = self.arguments[0];
        spec.split_once(':').map_or(spec, |(name, _)| name)
    }

    /// Its command line, without the program.
    pub fn line(&self) -> String {
        self.arguments.join(" ")
    }
}

/// The result of killing one process.
#[derive(Debug)]
pub struct Kill {
    /// Who it was: `the program`, `the trial process`, `3 of 6`.
    pub victim: String,
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// What the program said on standard error.
    pub said: String,
    /// What the program printed on standard output.
    pub printed: String,
    /// From the kill until the program had ended and nothing was left.
    pub took: Duration,
    /// What was left after [`PATIENCE`].
    pub left: Vec<String>,
}

/// How long to wait for the end of everything.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait for the workload's tasks.
const START: Duration = Duration::from_secs(30);
/// After this time without new processes the workload counts as complete, if their number is not known.
const SETTLED: Duration = Duration::from_millis(200);

impl Kill {
    /// What is wrong with the result, apart from the time; empty if nothing is.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.left.is_empty() {
            problems.push(format!("left behind: {}", self.left.join(", ")));
        }
        // A killed program can no longer print anything.
        if self.victim == PROGRAM {
            return problems;
        }
        if self.status.and_then(|status| status.code()) != Some(1) {
            problems.push(format!("it ended with {:?} and not with an error", self.status));
        }
        if !self.printed.is_empty() {
            problems.push(format!("it printed a result: {}", self.printed));
        }
        let lines: Vec<&str> = self.said.lines().collect();
        match lines[..] {
            [line] if ["signal", "died", "ended by itself"].iter().any(|word| line.contains(word)) => {}
            [_] => problems.push(format!("its error does not say who died: {}", self.said.trim())),
            _ => problems.push(format!("its error is not one line: {:?}", self.said)),
        }
        problems
    }
}

const PROGRAM: &str = "the program";

/// Starts the specimen once for each of its processes, and kills that one.
pub fn kill_each(program: &Path, specimen: &Specimen, after: Duration) -> impl Iterator<Item = Result<Kill>> {
    let victims = 0..specimen.processes.unwrap_or(usize::MAX);
    victims.map_while(move |victim| kill(program, specimen, victim, after).transpose())
}

/// Starts the specimen, kills its `victim`-th process `after` this time since all of them were there, and checks what
/// is left. `None` if there is no such victim.
fn kill(program: &Path, specimen: &Specimen, victim: usize, after: Duration) -> Result<Option<Kill>> {
    let mut running = Running::start(program, specimen)?;
    let herd = running.wait_for(specimen)?;
    std::thread::sleep(after);
    let victims: Vec<&Process> = herd.iter().filter(|process| !is_bystander(process)).collect();
    let Some(chosen) = victims.get(victim) else { return Ok(None) };
    let name = match victim {
        0 => PROGRAM.to_owned(),
        1 => "the trial process".to_owned(),
        nth => format!("{} of {}", nth + 1, herd.len()),
    };
    let namespaces = processes::own_namespaces(&herd);
    // Otherwise there would be no namespace whose end could be checked. (The receivers' one is kept alive only by
    // sockets.)
    if specimen.line().contains("link=veth") && namespaces.is_empty() {
        bail!("{}: its network namespace cannot be seen in /proc", specimen.line());
    }
    let begun = Instant::now();
    signal::kill(chosen.pid, signal::SIGKILL).with_context(|| format!("{}: killing {name}", specimen.line()))?;
    let (status, left, took) = running.watch_the_end(&herd, &namespaces, begun)?;
    let (printed, said) = running.said()?;
    Ok(Some(Kill { victim: name, status, said, printed, took, left }))
}

/// Starts the specimen, and kills the program itself `after` so short a time that its trial process is just starting;
/// then no process may begin the trial.
pub fn kill_at_the_start(program: &Path, specimen: &Specimen, after: Duration) -> Result<Kill> {
    let mut running = Running::start(program, specimen)?;
    clock::sleep_until_ns(clock::monotonic_ns() + after.as_nanos() as u64);
    let begun = Instant::now();
    signal::kill(running.child.id(), signal::SIGKILL).with_context(|| format!("{}: killing it", specimen.line()))?;
    let (status, left, took) = running.watch_the_end(&[], &BTreeSet::new(), begun)?;
    let (printed, said) = running.said()?;
    Ok(Kill { victim: PROGRAM.to_owned(), status, said, printed, took, left })
}

/// A started specimen; dropping it ends all its processes.
struct Running {
    child: Child,
    mark: Mark,
    what: String,
    output: [PathBuf; 2],
}

impl Running {
    /// Its output goes to files: with pipes, an orphan that keeps one open would keep us waiting too.
    fn start(program: &Path, specimen: &Specimen) -> Result<Self> {
        let mark = Mark::new();
        let file = |name: &str| std::env::temp_dir().join(format!("schedlab-kill-{}.{name}", mark.word()));
        let output = [file("out"), file("err")];
        let mut command = Command::new(program);
        command.arg("bench").args(specimen.arguments).stdin(Stdio::null());
        command.stdout(File::create(&output[0])?).stderr(File::create(&output[1])?);
        mark.put_on(&mut command);
        let child = command.spawn().with_context(|| format!("{} cannot be started", program.display()))?;
        Ok(Self { child, mark, what: specimen.line(), output })
    }

    fn said(&self) -> Result<(String, String)> {
        let read = |file: &PathBuf| std::fs::read_to_string(file).context("its output cannot be read");
        Ok((read(&self.output[0])?, read(&self.output[1])?))
    }

    fn wait_for(&mut self, specimen: &Specimen) -> Result<Vec<Process>> {
        let begun = Instant::now();
        let has_bystander = self.what.contains(BYSTANDER);
        let (mut there, mut since) = (0, begun);
        loop {
            let herd = self.mark.alive();
            if herd.len() != there {
                (there, since) = (herd.len(), Instant::now());
            }
            let are_all = match specimen.processes {
                Some(wanted) => there == wanted,
                // With only the program there, the trial process has not been started yet.
                None => there > 1 && since.elapsed() > SETTLED,
            };
            // A forked child that has not yet called exec has the command line of its parent.
            if are_all && herd.iter().any(is_bystander) == has_bystander {
                return Ok(herd);
            }
            if self.child.try_wait()?.is_some() {
                bail!("{}: {}", self.what, self.said()?.1.trim());
            }
            if begun.elapsed() > START {
                let wanted = specimen.processes.map_or("a number that stays".to_owned(), |wanted| wanted.to_string());
                bail!("{}: {there} processes were there, not {wanted}", self.what);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the program has ended, no process is left and no namespace is kept; returns what is left when the
    /// patience is over.
    fn watch_the_end(
        &mut self,
        herd: &[Process],
        namespaces: &BTreeSet<String>,
        begun: Instant,
    ) -> Result<(Option<ExitStatus>, Vec<String>, Duration)> {
        loop {
            let status = self.child.try_wait()?;
            let mut left = Vec::new();
            // The cheap checks first: the processes that were seen, then those with the mark, then the network.
            left.extend(herd.iter().filter(|process| process.is_alive()).map(shown));
            if left.is_empty() {
                left.extend(self.mark.alive().iter().map(shown));
                left.extend(processes::kept_network(namespaces));
            }
            let took = begun.elapsed();
            if status.is_some() && left.is_empty() || took > PATIENCE {
                return Ok((status, left, took));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn is_bystander(process: &Process) -> bool {
    process.words.iter().any(|word| word == BYSTANDER)
}

fn shown(process: &Process) -> String {
    format!("process {} ({})", process.pid, process.words.join(" "))
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that is forked between the look and the kill is found in the next round.
        for _ in 0..50 {
            let alive = self.mark.alive();
            if alive.is_empty() {
                break;
            }
            for process in alive {
                let _ = signal::kill(process.pid, signal::SIGKILL);
            }
            let _ = self.child.try_wait();
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.wait();
        for file in &self.output {
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn kill(victim: &str, code: i32, said: &str) -> Kill {
        let status = Some(ExitStatus::from_raw(code << 8));
        let (victim, said) = (victim.to_owned(), said.to_owned());
        Kill { victim, status, said, printed: String::new(), took: Duration::ZERO, left: Vec::new() }
    }

    #[test]
    fn a_clean_end_is_an_error_of_one_line_and_nobody_left() {
        let error = "schedlab: receiver 7 of group 0 was killed by signal 9\n";
        assert!(kill("3 of 6", 1, error).problems().is_empty());
        assert!(kill(PROGRAM, 0, "").problems().is_empty());
        for (bad, needle) in [
            (kill("3 of 6", 0, error), "not with an error"),
            (kill("3 of 6", 1, ""), "not one line"),
            (kill("3 of 6", 1, "a\nb\n"), "not one line"),
            (kill("3 of 6", 1, "schedlab: Broken pipe\n"), "who died"),
            (Kill { left: vec!["process 8 (sleep 1)".into()], ..kill(PROGRAM, 0, "") }, "left behind: process 8"),
            (Kill { printed: "{".into(), ..kill("3 of 6", 1, error) }, "printed a result"),
        ] {
            let problems = bad.problems();
            assert!(problems.len() == 1 && problems[0].contains(needle), "{problems:?}");
        }
    }

    #[test]
    fn specimens_are_told_apart_and_name_their_workload() {
        let lines: BTreeSet<String> = SPECIMENS.iter().map(Specimen::line).collect();
        assert_eq!(lines.len(), SPECIMENS.len());
        assert_eq!((SPECIMENS[0].workload(), specimen(&["exec", "--", "true"], 4).workload()), ("messaging", "exec"));
    }
}
