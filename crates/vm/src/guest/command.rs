//! The job's command: a child of the guest's init process, with its output sent as it comes. Init sleeps unless there
//! is output, so that it does not disturb the measurement.

use super::keep::Requests;
use super::port::Port;
use crate::frame::Frame;
use crate::job::Job;
use schedlab_sys::exec::{self, Stream, redirect};
use schedlab_sys::process::{self, ExitStatus};
use schedlab_sys::{fd, pidfd, signal, terminal};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The shells that may exist in such a guest.
const SHELLS: &[&[&str]] = &[&["/bin/sh"], &["/bin/busybox", "sh"]];
/// The console's serial line; the console device itself cannot be the controlling terminal of a session.
const LINES: &[&str] = &["/dev/ttyAMA0", "/dev/ttyS0"];

/// Runs the command to its end; returns its exit code, or 128 plus the signal.
pub(super) fn run(job: &Job, arguments: &[String], port: &mut Port) -> Result<i32, String> {
    let mut command = Command::new("/bin/schedlab");
    command.args(arguments).current_dir(&job.directory);
    command.env_clear().env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin").env("HOME", "/root").env("TMPDIR", "/tmp");
    command.envs(job.environment.iter().map(|(key, value)| (key, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let requests = Requests::open().map_err(|e| format!("the way of what is to be kept: {e}"))?;
    let mut child = command.spawn().map_err(|e| format!("the command cannot be started: {e}"))?;
    forward(&mut child, port, requests, &job.collect)?;
    let reaped = process::wait_for(child.id()).map_err(|e| format!("the command cannot be waited for: {e}"))?;
    Ok(code(reaped.status))
}

type Wrap = fn(Vec<u8>) -> Frame;

/// Sends output, and files on the command's request, until it has ended and its pipes are empty; passes on the order to
/// end it. A process that the command left behind may still hold the pipes open, so this does not wait for their end.
fn forward(child: &mut Child, port: &mut Port, mut requests: Requests, wanted: &[String]) -> Result<(), String> {
    let end = pidfd::open(child.id()).map_err(|e| format!("the command cannot be watched: {e}"))?;
    let mut pipes: Vec<(File, Wrap)> = Vec::new();
    pipes.extend(child.stdout.take().map(|pipe| (OwnedFd::from(pipe).into(), Frame::Stdout as Wrap)));
    pipes.extend(child.stderr.take().map(|pipe| (OwnedFd::from(pipe).into(), Frame::Stderr as Wrap)));
    let mut buffer = vec![0; 64 * 1024];
    let (mut has_ended, mut hears) = (false, true);
    loop {
        let mut watched: Vec<_> = pipes.iter().map(|(pipe, _)| pipe.as_fd()).collect();
        if !has_ended {
            watched.extend([end.as_fd(), requests.as_fd()]);
            watched.extend(hears.then(|| port.as_fd()));
        }
        if watched.is_empty() {
            return Ok(());
        }
        let deadline_ns = if has_ended { 0 } else { u64::MAX };
        let ready = fd::poll_any(&watched, deadline_ns).map_err(|e| format!("waiting for output: {e}"))?;
        if has_ended && !ready.contains(&true) {
            return Ok(());
        }
        let is_ready = |place: usize| ready.get(place).copied().unwrap_or(false);
        let (has_asked, has_order) = (is_ready(pipes.len() + 1), is_ready(pipes.len() + 2));
        if has_order {
            match port.end_requested() {
                // The child has not been waited for, so the pid is still its own.
                Ok(true) => drop(signal::kill(child.id(), signal::SIGINT)),
                Ok(false) => {}
                Err(_) => hears = false,
            }
        }
        has_ended |= is_ready(pipes.len());
        // Backwards, so that removing an entry does not change the indices of the others.
        for index in (0..pipes.len()).rev().filter(|&index| ready[index]) {
            let (pipe, wrap) = &mut pipes[index];
            match pipe.read(&mut buffer) {
                Ok(0) | Err(_) => drop(pipes.remove(index)),
                Ok(length) => {
                    port.send(&wrap(buffer[..length].to_vec())).map_err(|e| format!("the port: {e}"))?;
                }
            }
        }
        if has_asked {
            requests.serve(wanted, port).map_err(|e| format!("the port: {e}"))?;
        }
        reap_orphans(child.id());
    }
}

/// Reaps orphaned processes; the command itself is waited for by its pid.
fn reap_orphans(command: u32) {
    while let Ok(Some(pid)) = process::peek_ended() {
        if pid == command || process::try_wait_for(pid).is_err() {
            return;
        }
    }
}

/// Runs a shell on the console's line in its own session, so that Ctrl-C reaches what runs in it; returns its exit
/// code.
pub(super) fn shell(directory: &str) -> Result<i32, String> {
    let shell = SHELLS.iter().find(|words| Path::new(words[0]).exists());
    let shell = shell.ok_or("there is no shell: install busybox-static, or add one: --add PATH:/bin/sh")?;
    let words: Vec<CString> = shell.iter().filter_map(|word| CString::new(*word).ok()).collect();
    let open = |path: &&str| OpenOptions::new().read(true).write(true).open(path).ok();
    let line: File = LINES.iter().find_map(open).ok_or("the console's line cannot be opened")?;
    let start = || -> std::io::Error {
        let ready = std::env::set_current_dir(directory)
            .and_then(|()| process::new_session())
            .and_then(|()| terminal::take_control(line.as_fd()))
            .and_then(|()| {
                [Stream::In, Stream::Out, Stream::Err].into_iter().try_for_each(|to| redirect(line.as_fd(), to))
            });
        ready.err().unwrap_or_else(|| exec::replace(&words))
    };
    let pid = process::fork_child(|| start().raw_os_error().unwrap_or(1)).map_err(|e| e.to_string())?;
    process::wait_for(pid).map(|reaped| code(reaped.status)).map_err(|e| e.to_string())
}

/// The exit code as a shell reports it: 128 plus the signal.
fn code(status: ExitStatus) -> i32 {
    match status {
        ExitStatus::Exited(code) => code,
        ExitStatus::Signaled(signal) => 128 + signal,
    }
}
