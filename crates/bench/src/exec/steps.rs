//! Runs one program after another under the subreaper: starts it, reads its output, limits its time, reaps it, and ends
//! its whole tree.

use super::capture::Capture;
use super::script::{GO_ON, STOP, Script, Usage};
use super::tree::{self, Process};
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use schedlab_sys::exec::{self, Stream};
use schedlab_sys::process::{self, Reaped};
use schedlab_sys::rlimit::{self, Resource};
use schedlab_sys::{fd, pidfd, signal, thread};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How often orphans are reaped while nothing else happens.
const REAP_EVERY_NS: u64 = 200_000_000;
/// How long killed processes may take to disappear; one in an uninterruptible sleep may take longer.
const KILL_PATIENCE_NS: u64 = 3_000_000_000;

/// Whose resource usage is added up as processes are reaped.
#[derive(Debug)]
pub(super) enum Counted {
    Nobody,
    /// All processes except those that `setup` has left running.
    AllBut(BTreeSet<u32>),
    /// Only those that the command has left behind.
    Only(BTreeSet<u32>),
}

impl Counted {
    fn holds(&self, pid: u32) -> bool {
        match self {
            Self::Nobody => false,
            Self::AllBut(pids) => !pids.contains(&pid),
            Self::Only(pids) => pids.contains(&pid),
        }
    }
}

/// Time for `cleanup` when the trial process is gone: then every process must be gone within two seconds.
const LAST_CLEANUP_NS: u64 = 1_500_000_000;

/// A step that ended by itself.
pub(super) struct Exit {
    /// CLOCK_MONOTONIC.
    pub(super) at_ns: u64,
    pub(super) reaped: Reaped,
    /// The schedstat of its first thread: run_ns, run_delay_ns, timeslices.
    pub(super) schedstat: Option<[u64; 3]>,
}

/// How a step ended.
pub(super) enum End {
    Itself(Exit),
    TimedOut,
    /// The trial process is gone or wants the step ended.
    Stopped,
}

/// A running step.
pub(super) struct Child {
    pub(super) pid: u32,
    pidfd: OwnedFd,
    /// Indices of its streams.
    pub(super) stdout: usize,
    pub(super) stderr: usize,
    /// Why the child could not exec the program, if it could not.
    trouble: File,
}

/// The process tree below the subreaper.
pub(super) struct Steps<'a> {
    script: &'a Script,
    trial: OwnedFd,
    control: BorrowedFd<'a>,
    pub(super) captures: Vec<Capture>,
    pub(super) counted: Counted,
    /// Usage of reaped processes that are not steps.
    pub(super) orphans: Usage,
    /// The trial wants the command ended.
    pub(super) stopped: bool,
    /// The trial has recorded the command's end.
    pub(super) noted: bool,
    /// Since when (CLOCK_MONOTONIC) the trial process has been gone.
    abandoned_ns: Option<u64>,
}

impl<'a> Steps<'a> {
    /// `trial` is the process id of the trial.
    pub(super) fn new(script: &'a Script, trial: u32, control: BorrowedFd<'a>) -> io::Result<Self> {
        process::become_subreaper()?;
        Ok(Self {
            script,
            trial: pidfd::open(trial)?,
            control,
            captures: Vec::new(),
            counted: Counted::Nobody,
            orphans: Usage::default(),
            stopped: false,
            noted: false,
            abandoned_ns: None,
        })
    }

    /// Forks a step; with a gate, the child blocks before its exec until a byte arrives.
    pub(super) fn start(&mut self, words: &[String], gate: Option<BorrowedFd<'_>>) -> io::Result<Child> {
        let words: Vec<CString> = words.iter().map(|w| CString::new(w.as_str())).collect::<Result<_, _>>()?;
        let (stdout, stderr, trouble) = (fd::pipe_pair()?, fd::pipe_pair()?, fd::pipe_pair()?);
        let nothing = File::open("/dev/null")?;
        let (script, subreaper) = (self.script, thread::current_pid());
        let become_program = || -> io::Result<()> {
            process::die_with_parent(subreaper)?;
            if script.new_session {
                process::new_session()?
            } else {
                process::new_group()?
            }
            if let Some(dir) = &script.dir {
                std::env::set_current_dir(dir)?;
            }
            exec::redirect(nothing.as_fd(), Stream::In)?;
            exec::redirect(stdout.write.as_fd(), Stream::Out)?;
            let err = if script.merged { &stdout.write } else { &stderr.write };
            exec::redirect(err.as_fd(), Stream::Err)?;
            rlimit::set_soft(Resource::OpenFiles, script.open_files)?;
            exec::default_signals()?;
            if let Some(gate) = gate {
                fd::read_full(gate, &mut [0])?;
            }
            Err(exec::replace(&words))
        };
        let pid = process::fork_child(|| {
            let errno = become_program().err().and_then(|error| error.raw_os_error()).unwrap_or(0);
            let _ = fd::write_full(trouble.write.as_fd(), &errno.to_ne_bytes());
            127
        })?;
        let first = self.captures.len();
        self.captures.extend([Capture::new(stdout.read), Capture::new(stderr.read)]);
        Ok(Child { pid, pidfd: pidfd::open(pid)?, stdout: first, stderr: first + 1, trouble: trouble.read.into() })
    }

    /// Waits for a step to end. With `heeds_stop`, a stop request ends the wait; without, only the deadline does, or
    /// the end of the trial process a little later.
    pub(super) fn wait(&mut self, child: &Child, deadline_ns: u64, heeds_stop: bool) -> io::Result<End> {
        loop {
            if heeds_stop && self.stopped {
                return Ok(End::Stopped);
            }
            let last_ns = self.abandoned_ns.map_or(u64::MAX, |gone_ns| gone_ns + LAST_CLEANUP_NS);
            let deadline_ns = deadline_ns.min(last_ns);
            let now = monotonic_ns();
            if now >= deadline_ns {
                return Ok(End::TimedOut);
            }
            if self.listen(Some(child), deadline_ns.min(now + REAP_EVERY_NS))? {
                let at_ns = monotonic_ns();
                let schedstat = tree::read_schedstat(Path::new(&format!("/proc/{}", child.pid)));
                let reaped = process::wait_for(child.pid)?;
                for stream in [child.stdout, child.stderr] {
                    self.captures[stream].drain();
                }
                return Ok(End::Itself(Exit { at_ns, reaped, schedstat }));
            }
            self.reap_orphans(Some(child.pid));
        }
    }

    /// Reads output and watches the trial until the deadline, for at most one event; returns whether `child` has ended.
    pub(super) fn listen(&mut self, child: Option<&Child>, deadline_ns: u64) -> io::Result<bool> {
        let mut fds = vec![self.control];
        // When the trial process is gone, its descriptor stays readable.
        fds.extend(self.abandoned_ns.is_none().then(|| self.trial.as_fd()));
        fds.extend(child.map(|child| child.pidfd.as_fd()));
        let open: Vec<usize> = (0..self.captures.len()).filter(|&c| self.captures[c].fd().is_some()).collect();
        fds.extend(open.iter().filter_map(|&c| self.captures[c].fd()));
        let mut ready = fd::poll_any(&fds, deadline_ns)?.into_iter();
        let mut next = || ready.next().unwrap_or(false);
        let (asked, gone, ended) = (next(), self.abandoned_ns.is_none() && next(), child.is_some() && next());
        let readable: Vec<usize> = open.into_iter().filter(|_| next()).collect();
        if asked {
            let mut byte = [0];
            fd::read_full(self.control, &mut byte)?;
            self.stopped |= byte[0] == STOP;
            self.noted |= byte[0] == GO_ON;
        }
        if gone {
            self.stopped = true;
            self.abandoned_ns = Some(monotonic_ns());
        }
        readable.into_iter().for_each(|c| self.captures[c].read());
        Ok(ended)
    }

    /// Why a step that ended with code 127 never started, if that is so.
    pub(super) fn trouble(child: &mut Child) -> Option<io::Error> {
        let mut errno = [0; 4];
        let waits = fd::poll_readable(child.trouble.as_fd(), 0).unwrap_or(false);
        (waits && child.trouble.read_exact(&mut errno).is_ok())
            .then(|| io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))
    }

    /// Reaps every child that has ended, except the step itself, whose end its own wait notices.
    fn reap_orphans(&mut self, step: Option<u32>) {
        while let Ok(Some(pid)) = process::peek_ended() {
            if Some(pid) == step {
                break;
            }
            let Ok(reaped) = process::wait_for(pid) else { break };
            if self.counted.holds(pid) {
                self.orphans.add(&reaped.rusage);
            }
        }
    }

    /// Living descendants without `except` and their descendants.
    pub(super) fn alive(&self, except: &BTreeSet<u32>) -> Vec<Process> {
        let below = tree::descendants(&tree::processes(Path::new("/proc")), thread::current_pid(), except);
        below.into_iter().filter(|process| process.state != 'Z').collect()
    }

    /// Kills and reaps every descendant but `except` and theirs; returns who was killed, and how many did not
    /// disappear.
    pub(super) fn end_tree(&mut self, except: &BTreeSet<u32>) -> (Vec<String>, usize) {
        let give_up = monotonic_ns() + KILL_PATIENCE_NS;
        let mut killed = BTreeSet::new();
        let mut names = Vec::new();
        loop {
            self.reap_orphans(None);
            let alive = self.alive(except);
            if alive.is_empty() || monotonic_ns() > give_up {
                return (names, alive.len());
            }
            // A child that was forked between the look and the kill becomes ours when its parent ends: the next round
            // finds it.
            for process in &alive {
                let _ = signal::kill(process.pid, signal::SIGKILL);
                if killed.insert(process.pid) {
                    names.push(process.comm.clone());
                }
            }
            sleep_until_ns(monotonic_ns() + 1_000_000);
        }
    }
}
