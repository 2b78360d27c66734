//! The binary: clap, the terminal, exit codes, wiring. Everything worth a unit test lives in a library crate.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // The one crate that talks to the terminal.

mod cli;
mod commands;
mod exit;
mod progress;
mod session;
mod twin_spelling;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before clap: a trial process parses no command line and allocates as little as it can.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|a| a == schedlab_trial::TRIAL_ARGUMENT) {
        let ordered_by = arguments.next();
        let ran = schedlab_trial::child::main(ordered_by, std::io::stdin(), std::io::stdout());
        return finish(ran.map(|()| exit::DONE));
    }
    if std::env::args().nth(1).as_deref() == Some(commands::vm::task::ARGUMENT) {
        let arguments: Vec<String> = std::env::args().skip(2).collect();
        return finish(commands::vm::task::run(&arguments).map(|()| exit::DONE));
    }
    // In a guest of ours the same file is the first process, and the kernel's helper.
    if let Some(role) = schedlab_vm::guest::Role::of(std::process::id(), std::env::args_os().next().as_deref()) {
        return ExitCode::from(role.run());
    }
    finish(commands::run())
}

fn finish(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        // `schedlab report … | head`: the reader has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::DONE),
        Err(error) => {
            eprintln!("schedlab: {error:#}");
            ExitCode::from(exit::ERROR)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}
