//! Programs of the host that are run to their end: their words in an error, none of them left behind.

use crate::error::VmError;
use schedlab_sys::process::bind_to_this_thread;
use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

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
    let Output { status, stdout, stderr } = result.map_err(|error| not_started(step, command, &error, fix))?;
    if status.success() {
        return Ok(stdout);
    }
    let said = last_lines(&String::from_utf8_lossy(&stderr), 4).replace('\n', "; ");
    let said = if said.is_empty() { status.to_string() } else { said };
    Err(VmError::Program { step, command: spelled(command), said })
}

/// The error of a program that could not be started.
pub fn not_started(step: &'static str, command: &Command, error: &std::io::Error, fix: &str) -> VmError {
    if error.kind() == std::io::ErrorKind::NotFound {
        let program = command.get_program().to_string_lossy().into_owned();
        return VmError::NoProgram { program, fix: fix.to_owned() };
    }
    VmError::Program { step, command: spelled(command), said: error.to_string() }
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
