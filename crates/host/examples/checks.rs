//! Prints every check of this machine: `cargo run -p schedlab-host --example checks`.

use schedlab_host::{Probes, Roots, environment};
use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for check in environment(&Roots::default(), Probes::default()).checks {
        writeln!(out, "{:?} {}: {}\n    {}", check.state, check.title, check.value, check.effect)?;
        writeln!(out, "    [{}]", check.evidence)?;
        if !check.fix.is_empty() {
            writeln!(out, "    → {}", check.fix)?;
        }
    }
    Ok(())
}
