//! The binary: clap, the terminal, exit codes, wiring. Everything worth a unit test is in a library crate.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod input;
mod original_options;
mod output;
mod progress;
mod session;
mod trial_host;

use schedlab_plan::{PlanError, SettingError};
use schedlab_sys::interrupt::Interrupt;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    if cfg!(panic = "abort") {
        schedlab_sys::backtrace::capture_none();
        tell_panics();
    }
    // Before clap: a trial process has no command line to parse, and allocates as little as possible.
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first.as_ref().is_some_and(|a| a == schedlab_trial::TRIAL_ARGUMENT) {
        let ordered_by = arguments.next();
        let ran = schedlab_trial::child::main(ordered_by, std::io::stdin(), std::io::stdout());
        return finish(ran.map(|()| exit::DONE));
    }
    if first.as_ref().is_some_and(|a| a == commands::vm::task::ARGUMENT) {
        return finish(commands::vm::task::run(arguments).map(|()| exit::DONE));
    }
    if first.is_some_and(|a| a == commands::tune::NET_KNOBS) {
        return finish(commands::tune::net_knobs().map(|()| exit::DONE));
    }
    // In a guest of ours this binary is also the first process, and the kernel's helper.
    if let Some(role) = schedlab_vm::guest::Role::of(std::process::id(), std::env::args_os().next().as_deref()) {
        return ExitCode::from(role.run());
    }
    restore_after_a_panic();
    finish(commands::run())
}

/// The standard library's hook would unwind for a backtrace, for which a release has no tables.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| output::say(format_args!("schedlab: {panic}"))));
}

/// A release aborts on a panic without unwinding, so no guard restores the host. A separate process does, from the
/// journal, as after a SIGKILL, once this one has ended.
fn restore_after_a_panic() {
    let owner = std::process::id();
    let says_it = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Forked children inherit the hook, but have no settings to restore.
        if cfg!(panic = "abort") && std::process::id() == owner {
            let restore = ["tune", "restore"];
            let _ = Command::new("/proc/self/exe").args(restore).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        }
        says_it(panic);
    }));
}

fn finish(result: anyhow::Result<u8>) -> ExitCode {
    // The command has reported and stored its results; the exit code must show scripts that it was interrupted.
    let end_requested = Interrupt::seen().map(exit::of_signal);
    match result {
        Ok(code) => ExitCode::from(end_requested.unwrap_or(code)),
        // The parent of this trial is gone; results of commands go through `output`.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::DONE),
        Err(error) if error.is::<clap::Error>() => ExitCode::from(exit::of_the_command_line(&error)),
        Err(error) => {
            let text = format!("{error:#}");
            // If the unknown setting is the name of a knob, a specific advice replaces the general one.
            let knob = knob_of_that_name(&error);
            let told = knob.and_then(|knob| Some(format!("{}{knob}", text.split_once("unknown setting")?.0)));
            output::say(format_args!("schedlab: {}", told.unwrap_or(text)));
            ExitCode::from(end_requested.unwrap_or_else(|| exit::of_error(&error)))
        }
    }
}

/// An unknown setting may be a knob of the catalogue, which knows its place.
fn knob_of_that_name(error: &anyhow::Error) -> Option<String> {
    let key = |cause: &(dyn std::error::Error + 'static)| match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(SettingError::Unknown { key, .. }), _)
        | (_, Some(PlanError::Setting { cause: SettingError::Unknown { key, .. }, .. })) => Some(key.clone()),
        _ => None,
    };
    let key = error.chain().find_map(key)?;
    let place = schedlab_tune::in_a_spec(&schedlab_tune::Roots::default(), &key)?;
    Some(format!("in a SPEC, the knob {key} is written `{place}=…`; it has the same values as in `tune set {key}=…`"))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}
