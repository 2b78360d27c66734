//! The project's automation, run as `cargo xtask`: all tests (`test`), the long measurements (`bench`), the gallery of
//! public regressions (`gallery`), the release files (`dist`). It knows the repository and the machine, nothing about
//! schedulers, and links none of our crates, so that it starts in seconds and works even if they do not compile.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for the terminal; it has no library users.

mod bench;
mod dist;
mod gallery;
mod machine;
mod nearest;
mod structure;
mod test;
mod workspace;

use anyhow::{Context, Result, bail};
use std::process::ExitCode;
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask test [--install] [--hogs]  set up, then every check and test; seconds per stage
                                    --install: also install the Debian packages and the Rust target they need
                                    (implied by CI=true, where a skip this machine could have run is a failure)
                                    --hogs: beside real-time burners on all CPUs, 40 ms on, 30 to 80 ms off
cargo xtask bench [NAME [-- ARGS]]  a long measurement of the documents; without a name: their list with minutes
cargo xtask gallery [--runs DIR] [CASE…]
                                    public regressions of experiments/gallery, run, and a table of what is found here
cargo xtask dist                    release files for this host and for aarch64 under target/dist/";

const COMMANDS: [&str; 4] = ["test", "bench", "gallery", "dist"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything passed; an error means that the command could not do its work at all.
fn run(arguments: &[String]) -> Result<bool> {
    let Some((command, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return Ok(true);
    };
    match command.as_str() {
        "test" => test::run(&Workspace::find()?, &test::Options::parse(rest)?),
        "bench" => bench::run(&Workspace::find()?, rest),
        "gallery" => gallery::run(&Workspace::find()?, rest),
        "dist" => dist::run(&Workspace::find()?),
        test::hogs::COMMAND => {
            let of = rest.first().and_then(|pid| pid.parse().ok()).context("the process to burn beside")?;
            test::hogs::burn(of);
            Ok(true)
        }
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(true)
        }
        other => match nearest::nearest(other, COMMANDS) {
            Some(meant) => bail!("no command `{other}`; did you mean `cargo xtask {meant}`?"),
            None => bail!("no command `{other}`\n{USAGE}"),
        },
    }
}
