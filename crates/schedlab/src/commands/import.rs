//! `schedlab import FILE…`: imports results measured elsewhere into a run directory marked `order unknown`.

use super::report::{form, full_report_command, print};
use crate::cli::Import;
use crate::output::{print_line, say};
use crate::{exit, input, session};
use anyhow::{Context, Result};
use schedlab_import::{Kind, Options, Source};
use schedlab_plan::{Direction, counted};
use schedlab_report::{Input, More};

pub(super) fn run(args: &Import) -> Result<u8> {
    let mut sources = Vec::new();
    for file in &args.files {
        let bytes = input::bytes(file)?;
        // A host name in another encoding does not affect the numbers.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        sources.push(Source { name, file: file.display().to_string(), text });
    }
    let kind = args.kind.as_deref().and_then(Kind::from_name);
    let mut imported = schedlab_import::import(kind, &sources, &options(args)?)?;
    imported.manifest.command = std::env::args().collect();
    let trials = counted(imported.trials.len(), "trials");
    if args.dry_run {
        print_line(format_args!("{trials} in {}", counted(imported.manifest.arms.len(), "arms")))?;
        return Ok(exit::DONE);
    }
    let dir = session::directory(args.out.as_deref(), &sources[0].name, false);
    let mut writer = super::run::new_directory(&dir, &imported.manifest)?;
    for trial in &imported.trials {
        writer.append(trial)?;
    }
    writer.seal()?;
    say(format_args!("imported {trials} into {}", dir.display()));
    let findings = schedlab_analyze::compare(&imported.manifest, &imported.trials);
    let input = Input { manifest: &imported.manifest, trials: &imported.trials, findings: &findings };
    print(&input, form(&args.answer, args.full), &More { command: full_report_command(&dir), ..More::default() })?;
    Ok(exit::DONE)
}

fn options(args: &Import) -> Result<Options> {
    let direction = match (args.lower_is_better, args.higher_is_better) {
        (true, _) => Direction::LowerIsBetter,
        (_, true) => Direction::HigherIsBetter,
        _ => Direction::Neutral,
    };
    let sesoi = schedlab_plan::units::parse_share(&args.sesoi).context("--sesoi")?;
    Ok(Options { metric: args.metric.clone(), unit: args.unit.clone(), direction, sesoi })
}
