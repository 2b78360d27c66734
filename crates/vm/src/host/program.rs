//! Programs of the host that are run to their end: their words in an error, none of them left behind.

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

/// Its standard output as text; `fix` is for a program that is not there.
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

/// The error of a program that ended badly and said this.
pub(super) fn failed(step: &'static str, command: &Command, status: ExitStatus, said: &str) -> VmError {
    let said = last_lines(said, 4).replace('\n', "; ");
    let said = if said.is_empty() { status.to_string() } else { said };
    VmError::Program { step, command: spelled(command), said }
}

/// How often a wait looks whether we are told to end.
const LOOK: Duration = Duration::from_millis(50);
/// Time that a step of a build has to take back what it was making.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a step of a build, which prints nothing but complaints: how it ended, and they. Once we are told to end, all that
/// the step has started gets SIGTERM, by which make removes what is half made, and later SIGKILL.
pub(super) fn step(step: &'static str, command: &mut Command, fix: &str) -> Result<(ExitStatus, String), VmError> {
    // The step is a group of its own, which Ctrl-C at the terminal does not reach: we end it.
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
        // Whoever of them did not listen: the number stays theirs while one of them lives.
        let _ = signal::kill_group(child.id(), signal::SIGKILL);
        return Err(VmError::BuildInterrupted);
    }
    let said = reader.map(Reader::bytes).unwrap_or_default();
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// Waits for a child, at most `limit`; how it ended, if it has.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    // No pidfd_open (before Linux 5.3), or it has been waited for.
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

/// The program and its own arguments, without the settings that we give to all.
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

/// The last lines that say something.
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
