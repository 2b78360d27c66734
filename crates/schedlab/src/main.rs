//! The binary: clap, the terminal, exit codes, wiring. Everything worth a unit test lives in a library crate.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod output;
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
    finish(commands::run())
}

fn finish(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        // Who ordered this trial is gone; results of commands go through `output`.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::DONE),
        Err(error) => {
            output::say(format_args!("schedlab: {error:#}"));
            ExitCode::from(exit::ERROR)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}
