//! SIGKILL of any process of a stream over a veth pair: an error within two seconds, no process and no namespace left.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{schedlab, wait_until};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running `schedlab bench` whose namespaces have a name unique to this test.
struct Streaming {
    program: Child,
    name: String,
}

/// The children of a process, from /proc.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// Bytes that the interfaces of a process' network namespace have sent, from the ninth column of its `net/dev`.
fn sent(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap();
    let counts = text.lines().filter_map(|line| line.split_once(':')?.1.split_whitespace().nth(8)?.parse::<u64>().ok());
    counts.sum()
}

impl Streaming {
    fn start(label: &str) -> Self {
        let name = format!("schedlab-{label}-{}", std::process::id());
        let program = program::command()
            .args(["bench", &format!("stream:2,duration=120s,link=veth,rate=100mbit,netns={name}")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let streaming = Self { program, name };
        wait_until("no herd", || streaming.herd().len() == 4);
        // Past the gate: killing a task earlier, during the start, takes another code path.
        wait_until("nothing is sent", || sent(streaming.herd()[0]) > 1_000_000);
        streaming
    }
    fn trial(&self) -> Option<u32> {
        children(self.program.id()).first().copied()
    }
    fn herd(&self) -> Vec<u32> {
        self.trial().map(children).unwrap_or_default()
    }
    fn is_named(&self) -> bool {
        ["tx", "rx"].iter().any(|side| Path::new(&format!("/run/netns/{}-{side}", self.name)).exists())
    }
    /// Kills one process and returns the output of schedlab, which must come long before the trial would end.
    fn end_by_killing(mut self, victim: u32) -> (String, Vec<u32>, Self) {
        let all: Vec<u32> = self.herd().into_iter().chain(self.trial()).collect();
        assert!(self.is_named());
        let begun = Instant::now();
        schedlab_sys::signal::kill(victim, schedlab_sys::signal::SIGKILL).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.program.stderr.take().unwrap(), &mut said).unwrap();
        self.program.wait().unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(60), "{took:?}: {said}");
        (said, all, self)
    }
}

fn is_gone(pid: u32) -> bool {
    // A zombie that another parent has not reaped does not run any more.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

/// Naming a namespace needs permission to mount on the host.
fn may_name(test: &str) -> bool {
    let thread = schedlab_sys::thread::current_tid();
    let probe = schedlab(&["bench", &format!("stream:loops=1,link=veth,netns=schedlab-probe-{thread}")]);
    if probe.code != 0 && probe.stderr.contains("needs root") {
        eprintln!("schedlab-skip: {test}: needs root");
        return false;
    }
    probe.success();
    true
}

#[test]
fn whichever_process_is_killed_nothing_stays() {
    if !may_name("whichever_process_is_killed_nothing_stays") {
        return;
    }
    for (label, cause) in [("receiver", "receiver"), ("sender", "sender"), ("trial", "the trial process died")] {
        let streaming = Streaming::start(label);
        let victim = match label {
            "receiver" => streaming.herd()[0],
            "sender" => streaming.herd()[1],
            _ => streaming.trial().unwrap(),
        };
        let (said, all, streaming) = streaming.end_by_killing(victim);
        assert!(said.contains(cause) && said.contains('9'), "{label}: {said}");
        wait_until(label, || all.iter().all(|&pid| is_gone(pid)) && !streaming.is_named());
    }
}

#[test]
fn names_left_by_a_killed_program_are_taken_back_by_tune_restore() {
    if !may_name("names_left_by_a_killed_program_are_taken_back_by_tune_restore") {
        return;
    }
    let streaming = Streaming::start("program");
    let (victim, name) = (streaming.program.id(), streaming.name.clone());
    let (_, all, streaming) = streaming.end_by_killing(victim);
    wait_until("a task lives on", || all.iter().all(|&pid| is_gone(pid)));
    // Another test's start may have been faster, or be removing it now: then the restore leaves it to that one.
    if streaming.is_named() {
        schedlab(&["tune", "restore", "--dry-run"]).success();
        schedlab(&["tune", "restore"]).success();
    }
    wait_until(&name, || !streaming.is_named());
}
