//! `schedlab compare RUN_A RUN_B`: compares run directories, one on each side or, for a verdict over boots, several.

use super::destination;
use super::report::{form, open, print};
use crate::cli::Compare;
use crate::exit::{self, usage};
use crate::output::write_file;
use anyhow::{Result, anyhow};
use schedlab_plan::{Manifest, TrialRecord, shell_words};
use schedlab_report::{Input, More};
use std::path::{Path, PathBuf};

pub(super) fn run(args: &Compare) -> Result<u8> {
    let runs = [&args.run_a, &args.run_b].into_iter().chain(&args.more_a).chain(&args.more_b);
    let runs: Vec<&Path> = runs.map(PathBuf::as_path).collect();
    each_once(&runs)?;
    destination::check("--md", args.md.as_deref(), &runs, false)?;
    let (a, b) = (side(&args.run_a, &args.more_a)?, side(&args.run_b, &args.more_b)?);
    let findings = schedlab_analyze::compare_runs(&a, &b);
    let input = Input { manifest: &a.0, trials: &a.1, findings: &findings };
    if let Some(file) = &args.md {
        write_file(file, |out| schedlab_report::markdown(&input, out))?;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = ["schedlab"].into_iter().chain(words.iter().map(String::as_str)).chain(["--full"]);
    let more = More { command: shell_words::join(words), ..More::default() };
    print(&input, form(&args.answer, args.full), &more)?;
    Ok(if findings.void.is_some() { exit::VOID } else { exit::DONE })
}

/// Refuses runs that would be counted twice, or compared with themselves.
fn each_once(runs: &[&Path]) -> Result<()> {
    let place = |run: &Path| run.canonicalize().unwrap_or_else(|_| run.to_owned());
    for (at, run) in runs.iter().enumerate() {
        if let Some(same) = runs[..at].iter().find(|other| place(other) == place(run)) {
            usage!(
                "{} and {} are the same run: a difference needs two, so name another one",
                same.display(),
                run.display()
            );
        }
    }
    Ok(())
}

/// The runs of one side as one.
fn side(first: &Path, more: &[PathBuf]) -> Result<(Manifest, Vec<TrialRecord>)> {
    let run = open(first)?;
    let mut side = (run.manifest, run.trials);
    for dir in more {
        let run = open(dir)?;
        schedlab_analyze::pool(&mut side, (run.manifest, run.trials)).map_err(|what| {
            anyhow!("{} and {} cannot be pooled: {what}; compare the two", dir.display(), first.display())
        })?;
    }
    Ok(side)
}
