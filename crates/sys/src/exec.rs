//! Replaces the process by another program: execvp(3), and what a child does before it, so that the program finds the
//! standard streams, signals and limits that it would have under a shell. Source: execve(2), dup2(2), signal(7).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard input.
    In = 0,
    /// Standard output.
    Out = 1,
    /// Standard error.
    Err = 2,
}

/// Makes `from` the caller's standard stream. The stream stays open across exec even if `from` is close-on-exec.
pub fn redirect(from: BorrowedFd<'_>, to: Stream) -> io::Result<()> {
    // SAFETY: dup2 takes two numbers. It closes what the standard stream was; the caller is a forked child that uses
    // the stream through its number only.
    let rc = unsafe { libc::dup2(from.as_raw_fd(), to as libc::c_int) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Undoes what a Rust program and its tasks change about signals: SIGPIPE and SIGALRM get their default actions, and no
/// signal is blocked.
pub fn default_signals() -> io::Result<()> {
    for signal in [libc::SIGPIPE, libc::SIGALRM] {
        // SAFETY: installing SIG_DFL runs no code of ours in signal context.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: sigset_t is a plain C array of integers, for which all zeros is a valid value.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` is a live, writable set for the length of the call.
    unsafe { libc::sigemptyset(&raw mut none) };
    // SAFETY: the set lives through the call; the old mask is not asked for.
    let rc = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Replaces this process by the program `words[0]`, looked up in PATH; returns only on failure.
pub fn replace(words: &[CString]) -> io::Error {
    let Some(program) = words.first() else { return io::ErrorKind::InvalidInput.into() };
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: `program` and every word are NUL-terminated strings and the array ends with a null pointer; all of them
    // live in `words` and `pointers` through the call, which does not return when it succeeds.
    unsafe { libc::execvp(program.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn words(line: &[&str]) -> Vec<CString> {
        line.iter().map(|word| CString::new(*word).unwrap()).collect()
    }

    #[test]
    fn a_program_writes_to_the_stream_it_was_given_and_its_code_is_seen() {
        let (mut read, write) = std::io::pipe().unwrap();
        let line = words(&["sh", "-c", "echo to the pipe; kill -PIPE $$; exit 3"]);
        let pid = process::fork_child(|| {
            redirect(write.as_fd(), Stream::Out).unwrap();
            default_signals().unwrap();
            replace(&line).raw_os_error().unwrap_or(1)
        });
        drop(write);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "to the pipe\n");
        let ended = process::wait_for(pid.unwrap()).unwrap();
        assert_eq!(ended.status, process::ExitStatus::Signaled(libc::SIGPIPE), "SIGPIPE is not ignored");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert_eq!(replace(&words(&["/no/such/program"])).kind(), io::ErrorKind::NotFound);
        assert_eq!(replace(&[]).kind(), io::ErrorKind::InvalidInput);
    }
}
