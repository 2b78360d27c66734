//! The subreaper: a small process between the trial and a command. With `PR_SET_CHILD_SUBREAPER`, every process that
//! the command starts remains its descendant, even one that daemonizes into a session of its own. It reads their
//! output, limits their time, and reaps them with their resource usage; before it ends, it kills those that are left.
//! When the trial process dies, it does so at once. Nothing depends on its survival: the trial is a subreaper too and
//! inherits the tree.

use super::capture::tail;
use super::script::{Message, Report, Script, Usage};
use super::steps::{Child, Counted, End, Exit, Steps};
use super::tree;
use schedlab_plan::{shell_words, units};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::process::{self, ExitStatus};
use schedlab_sys::{fd, signal};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// How long the trial may take to record the command's end.
const NOTE_NS: u64 = 1_000_000_000;

/// The subreaper's ends of its connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    /// The measured command reads one byte from it before its exec.
    pub(super) gate: BorrowedFd<'a>,
    pub(super) control: BorrowedFd<'a>,
    pub(super) messages: BorrowedFd<'a>,
    /// Process id of the trial.
    pub(super) trial: u32,
}

/// Why the script ends early.
enum Halt {
    Failed(String),
    Stopped,
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(format!("the subreaper failed: {error}"))
    }
}

/// The subreaper's whole life; returns the exit code.
pub(super) fn run(script: &Script, ends: Ends<'_>) -> i32 {
    process::set_name(c"schedlab-reaper");
    let mut subreaper = match Steps::new(script, ends.trial, ends.control) {
        Ok(steps) => Subreaper { script, ends, steps },
        Err(error) => return tell(ends.messages, &Message::Failed(format!("the subreaper cannot start: {error}"))),
    };
    let message = match subreaper.run_script() {
        Ok(report) => Message::Finished(Box::new(report)),
        Err(Halt::Stopped) => Message::Finished(Box::default()),
        Err(Halt::Failed(why)) => Message::Failed(why),
    };
    tell(ends.messages, &message)
}

fn tell(messages: BorrowedFd<'_>, message: &Message) -> i32 {
    let Ok(mut line) = serde_json::to_vec(message) else { return 1 };
    line.push(b'\n');
    i32::from(fd::write_full(messages, &line).is_err())
}

struct Subreaper<'a> {
    script: &'a Script,
    ends: Ends<'a>,
    steps: Steps<'a>,
}

impl Subreaper<'_> {
    /// Runs all steps; whatever happens, when this returns `cleanup` has run and no process is left.
    fn run_script(&mut self) -> Result<Report, Halt> {
        let result = self.run_steps();
        if result.is_ok() {
            return result;
        }
        self.steps.counted = Counted::Nobody;
        let _ = self.cleanup();
        let (_, stubborn) = self.steps.end_tree(&BTreeSet::new());
        match result {
            Err(Halt::Failed(why)) if stubborn > 0 => {
                Err(Halt::Failed(format!("{why}; {stubborn} of its processes cannot be killed")))
            }
            other => other,
        }
    }

    fn run_steps(&mut self) -> Result<Report, Halt> {
        for _ in 0..self.script.warmup {
            self.setup()?;
            let mut started = self.steps.start(&self.script.command, None)?;
            self.finish("the warm-up", &self.script.command, &mut started, &BTreeSet::new())?;
            self.cleanup()?;
            self.steps.end_tree(&BTreeSet::new());
        }
        self.setup()?;
        let kept = self.steps.alive(&BTreeSet::new()).iter().map(|process| process.pid).collect();
        self.measured(&kept)
    }

    /// Processes that `setup` leaves running are kept until `cleanup` is over.
    fn setup(&mut self) -> Result<(), Halt> {
        if self.script.setup.is_empty() {
            return Ok(());
        }
        let mut started = self.steps.start(&self.script.setup, None)?;
        self.finish("setup", &self.script.setup, &mut started, &BTreeSet::new())?;
        self.forget(&started);
        Ok(())
    }

    fn cleanup(&mut self) -> Result<(), Halt> {
        if self.script.cleanup.is_empty() {
            return Ok(());
        }
        let mut started = self.steps.start(&self.script.cleanup, None)?;
        // A stop request ends the command, but not the cleanup after it.
        let deadline_ns = monotonic_ns().saturating_add(self.script.timeout_ns);
        match self.steps.wait(&started, deadline_ns, false)? {
            End::Itself(exit) => self.succeeded("cleanup", &self.script.cleanup, &mut started, exit.reaped.status)?,
            End::TimedOut | End::Stopped => {
                let _ = signal::kill(started.pid, signal::SIGKILL);
                let why = self.outlived("cleanup", &self.script.cleanup, &started, 1);
                return Err(Halt::Failed(why));
            }
        }
        self.forget(&started);
        Ok(())
    }

    /// The run that counts. `kept`: processes that `setup` has left running.
    fn measured(&mut self, kept: &BTreeSet<u32>) -> Result<Report, Halt> {
        self.steps.counted = Counted::AllBut(kept.clone());
        let mut started = self.steps.start(&self.script.command, Some(self.ends.gate))?;
        let server_before_ns = self.server_cpu_ns(kept);
        tell(self.ends.messages, &Message::Ready { pid: started.pid });
        let Exit { at_ns, reaped, schedstat } = self.finish("", &self.script.command, &mut started, kept)?;
        tell(self.ends.messages, &Message::Ended { t1_ns: at_ns });
        // The trial's counters must not include what comes now.
        let patience_ns = monotonic_ns() + NOTE_NS;
        while !(self.steps.noted || self.steps.stopped) && monotonic_ns() < patience_ns {
            self.steps.listen(None, patience_ns)?;
        }
        let mut command = Usage::default();
        command.add(&reaped.rusage);
        let server_cpu_ns = self.server_cpu_ns(kept).zip(server_before_ns).map(|(now, then)| now.saturating_sub(then));
        let left: BTreeSet<u32> = self.steps.alive(kept).iter().map(|process| process.pid).collect();
        self.steps.counted = Counted::Only(left);
        self.cleanup()?;
        let (left_behind, _) = self.steps.end_tree(&BTreeSet::new());
        let text = |stream: usize| self.steps.captures[stream].text();
        Ok(Report {
            command,
            orphans: self.steps.orphans,
            schedstat,
            server_cpu_ns,
            stdout: text(started.stdout),
            stderr: text(started.stderr),
            cut: [started.stdout, started.stderr].iter().any(|&stream| self.steps.captures[stream].is_cut()),
            left_behind,
        })
    }

    /// CPU time so far of the processes that `setup` has left running; `None` if there are none.
    fn server_cpu_ns(&self, kept: &BTreeSet<u32>) -> Option<u64> {
        if kept.is_empty() {
            return None;
        }
        let proc_root = Path::new("/proc");
        let all = tree::processes(proc_root);
        let mut servers: Vec<_> = all.iter().filter(|process| kept.contains(&process.pid)).cloned().collect();
        let below = kept.iter().flat_map(|&pid| tree::descendants(&all, pid, kept)).collect::<Vec<_>>();
        servers.extend(below);
        Some(tree::cpu_ns(proc_root, &servers))
    }

    /// Waits for a step that must succeed; if it fails, kills its processes and returns the reason.
    fn finish(
        &mut self,
        role: &str,
        words: &[String],
        started: &mut Child,
        kept: &BTreeSet<u32>,
    ) -> Result<Exit, Halt> {
        let deadline_ns = monotonic_ns().saturating_add(self.script.timeout_ns);
        match self.steps.wait(started, deadline_ns, true)? {
            End::Itself(exit) => self.succeeded(role, words, started, exit.reaped.status).map(|()| exit),
            End::TimedOut => {
                let (killed, _) = self.steps.end_tree(kept);
                Err(Halt::Failed(self.outlived(role, words, started, killed.len())))
            }
            End::Stopped => {
                self.steps.end_tree(kept);
                Err(Halt::Stopped)
            }
        }
    }

    fn succeeded(&mut self, role: &str, words: &[String], started: &mut Child, status: ExitStatus) -> Result<(), Halt> {
        let how = match status {
            ExitStatus::Exited(0) => return Ok(()),
            ExitStatus::Exited(127) => match Steps::trouble(started) {
                Some(error) => {
                    let is_there = error.kind() == ErrorKind::NotFound && Path::new(&words[0]).is_file();
                    let missing = " (the file is there; what starts it, the program behind `#!` or its loader, is not)";
                    let why = if is_there { missing } else { "" };
                    return Err(Halt::Failed(format!("{} cannot be started: {error}{why}", named(role, words))));
                }
                None => "exited with code 127".to_owned(),
            },
            ExitStatus::Exited(code) => format!("exited with code {code}"),
            ExitStatus::Signaled(signal) => format!("was killed by signal {signal}"),
        };
        Err(Halt::Failed(format!("{} {how}{}", named(role, words), self.said(started))))
    }

    fn outlived(&self, role: &str, words: &[String], started: &Child, killed: usize) -> String {
        let limit = units::format_ns(self.script.timeout_ns);
        let processes = if killed == 1 { "" } else { " with all its processes" };
        let (named, said) = (named(role, words), self.said(started));
        format!("{named} outlived its {limit} and was killed{processes} (timeout=… gives it more){said}")
    }

    fn said(&self, started: &Child) -> String {
        let text = |stream: usize| self.steps.captures[stream].text();
        tail(&text(started.stdout), &text(started.stderr))
    }

    fn forget(&mut self, started: &Child) {
        for stream in [started.stdout, started.stderr] {
            self.steps.captures[stream].forget();
        }
    }
}

/// `` `pgbench -T 5` `` or ``setup `make clean` ``, with the command cut to a readable length.
fn named(role: &str, words: &[String]) -> String {
    let line = shell_words::join(words.iter().map(String::as_str));
    let short: String = if line.chars().count() > 80 { line.chars().take(79).chain(['…']).collect() } else { line };
    format!("{role}{}`{short}`", if role.is_empty() { "" } else { " " })
}
