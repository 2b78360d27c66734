//! Programs on the host that are run to their end: errors contain their output, and none is left running.

use crate::error::VmError;
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::pipe::Reader;
use schedlab_sys::process::bind_to_this_thread;
use schedlab_sys::{pidfd, pipe, signal};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A command that reads nothing and dies with us.
pub fn command(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    bind_to_this_thread(&mut command);
    command.stdin(Stdio::null());
    command
}

/// Its standard output as text; `fix` is for the case that the program is not installed.
pub fn output(step: &'static str, command: &mut Command, fix: &str) -> Result<String, VmError> {
    output_bytes(step, command, fix).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Its standard output.
pub fn output_bytes(step: &'static str, command: &mut Command, fix: &str) -> Result<Vec<u8>, VmError> {
    let result = command.output();
    let Output { status, stdout, stderr } = result.map_err(|error| not_started(step, command, error, fix))?;
    if status.success() {
        return Ok(stdout);
    }
    Err(failed(step, command, status, &String::from_utf8_lossy(&stderr)))
}

/// The error for a program that failed with this output.
pub(super) fn failed(step: &'static str, command: &Command, status: ExitStatus, said: &str) -> VmError {
    let said = last_lines(said, 4).replace('\n', "; ");
    let said = if said.is_empty() { status.to_string() } else { said };
    VmError::Program { step, command: spelled(command), said }
}

/// How often a wait checks whether we were asked to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a build step may take to remove partial output.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a build step, which prints only messages about problems; returns its exit status and these messages. Once we
/// are asked to end, everything that the step has started gets SIGTERM, on which make removes partial output, and later
/// SIGKILL.
pub(super) fn step(step: &'static str, command: &mut Command, fix: &str) -> Result<(ExitStatus, String), VmError> {
    // The step has its own process group, which Ctrl-C on the terminal does not reach, so we have to end it.
    let failed = |command: &Command, error| not_started(step, command, error, fix);
    let interrupt = Interrupt::catch().map_err(|error| failed(command, error))?;
    if interrupt.requested() {
        return Err(VmError::BuildInterrupted);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(command, error))?;
    let reader = child.stderr.take().map(pipe::drain);
    let mut kill_at = None;
    let status = loop {
        if let Some(status) = wait(&mut child, LOOK) {
            break status;
        }
        match kill_at {
            None if interrupt.requested() => {
                kill_at = Some(Instant::now() + PATIENCE);
                let _ = signal::kill_group(child.id(), signal::SIGTERM);
            }
            Some(at) if Instant::now() > at => _ = signal::kill_group(child.id(), signal::SIGKILL),
            _ => {}
        }
    };
    if interrupt.requested() {
        // Kills those that ignored SIGTERM: the group's id stays theirs while one of them lives.
        let _ = signal::kill_group(child.id(), signal::SIGKILL);
        return Err(VmError::BuildInterrupted);
    }
    let said = reader.map(Reader::bytes).unwrap_or_default();
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// Waits for a child, at most `limit`; returns its exit status, if it has ended.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    // There is no pidfd_open (before Linux 5.3), or the child has been waited for already.
    if pidfd::wait_exit(child.id(), limit).is_err() {
        let deadline = Instant::now() + limit;
        while child.try_wait().ok().flatten().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    child.try_wait().ok().flatten()
}

/// The error of a program that could not be started.
pub fn not_started(step: &'static str, command: &Command, cause: std::io::Error, fix: &str) -> VmError {
    let program = command.get_program();
    if cause.kind() == std::io::ErrorKind::NotFound {
        return VmError::NoProgram { program: program.to_string_lossy().into_owned(), fix: fix.to_owned() };
    }
    VmError::File { what: step, path: program.into(), cause }
}

/// The program and its own arguments, without the options that we give to all.
fn spelled(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    let mut arguments = command.get_args();
    while let Some(argument) = arguments.next() {
        if argument == "-o" {
            arguments.next();
        } else {
            words.push(argument.to_string_lossy());
        }
    }
    words.join(" ")
}

/// The last lines that are not empty.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_failure_and_absence_are_told_apart() {
        let run = |script: &str| output("a step", command("sh").args(["-c", script]), "install sh");
        assert_eq!(run("echo yes").unwrap(), "yes\n");
        let error = run("echo first; echo E: no such thing >&2; exit 3").unwrap_err().to_string();
        assert!(error.starts_with("a step: `sh -c ") && error.ends_with("failed: E: no such thing"), "{error}");
        assert!(run("exit 3").unwrap_err().to_string().contains("exit status: 3"));
        let absent = output("a step", &mut command("schedlab-no-such-program"), "apt-get install it");
        assert_eq!(absent.unwrap_err().to_string(), "schedlab-no-such-program is not installed; apt-get install it");
    }

    #[test]
    fn settings_of_apt_are_left_out_of_its_spelling() {
        let mut command = Command::new("apt-get");
        command.args(["-o", "Dir=x", "-o", "A=b", "update"]);
        assert_eq!(spelled(&command), "apt-get update");
    }
}
