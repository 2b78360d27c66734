//! `schedlab compare RUN_A RUN_B`: two run directories side by side.

use super::report::{open, print, write_file};
use crate::cli::Compare;
use crate::exit;
use anyhow::Result;
use schedlab_report::Input;

pub(super) fn run(args: &Compare) -> Result<u8> {
    let (a, b) = (open(&args.run_a)?, open(&args.run_b)?);
    let (a, b) = ((a.manifest, a.trials), (b.manifest, b.trials));
    let findings = schedlab_analyze::compare_runs(&a, &b);
    let input = Input { manifest: &a.0, trials: &a.1, findings: &findings };
    if let Some(file) = &args.md {
        write_file(file, |out| schedlab_report::markdown(&input, out))?;
    }
    print(&input, args.json)?;
    Ok(exit::DONE)
}
