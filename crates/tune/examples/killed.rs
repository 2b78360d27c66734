//! The victim of the crash test: changes settings of this host until it is killed.
//!
//! `killed STATE_DIR SPEC_A SPEC_B` alternates between two SPECs through a [`HostGuard`], and prints `ready` once both
//! have been applied; with `--once` it applies SPEC_A, prints what was applied, restores and ends.

use schedlab_plan::Arm;
use schedlab_tune::{HostGuard, Roots};
use std::error::Error;
use std::io::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [state_dir, a, b] = &arguments[..] else { return Err("usage: killed STATE_DIR SPEC_A SPEC_B|--once".into()) };
    let mut guard = HostGuard::open(Roots::default(), Path::new(state_dir))?;
    let mut out = std::io::stdout();
    let first = Arm::parse("a", a)?.settings;
    for applied in guard.apply(&first)? {
        writeln!(out, "{}", serde_json::to_string(&applied)?)?;
    }
    if b == "--once" {
        guard.restore()?;
        return Ok(());
    }
    let second = Arm::parse("b", b)?.settings;
    guard.apply(&second)?;
    writeln!(out, "ready")?;
    out.flush()?;
    loop {
        guard.apply(&first)?;
        guard.apply(&second)?;
    }
}
