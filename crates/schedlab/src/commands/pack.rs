//! `schedlab pack RUN`: a run as one file that somebody else can repeat.

use super::destination;
use super::report::{open, write_file};
use crate::cli::PackArgs;
use crate::exit;
use crate::output::{print_findings, print_line};
use anyhow::{Context, Result};
use schedlab_plan::Pack;
use schedlab_report::Document;
use std::path::{Path, PathBuf};

/// The schema of a pack as it is shown.
pub(super) const SCHEMA: &str = "schedlab/pack/1";

pub(super) fn run(args: &PackArgs) -> Result<u8> {
    let run = open(&args.run)?;
    let findings = schedlab_analyze::compare(&run.manifest, &run.trials);
    let of_run = || args.run.display().to_string();
    let pack = schedlab_analyze::pack(&run.manifest, &findings).with_context(of_run)?;
    let bytes = pack.to_bytes().with_context(of_run)?;
    if args.answer.json || args.dry_run {
        print_findings(&args.answer, SCHEMA, &pack, |pack| page(pack, bytes.len()))?;
    }
    if args.dry_run {
        return Ok(exit::DONE);
    }
    let file = args.out.clone().unwrap_or_else(|| usual_name(&args.run));
    destination::check("-o", Some(&file), &[&args.run], false)?;
    write_file(&file, |out| out.write_all(&bytes))?;
    if !args.answer.json {
        print_line(format_args!("{}: {} bytes; schedlab repeat {}", file.display(), bytes.len(), file.display()))?;
    }
    Ok(exit::DONE)
}

/// A pack with what it asks to be trusted with.
pub(super) fn page(pack: &Pack, bytes: usize) -> Document {
    let asks = pack.asks_for_trust().unwrap_or_default();
    let page = schedlab_report::pack(pack, bytes);
    if asks.is_empty() { page } else { page.and(schedlab_report::pack_asks(&asks)) }
}

/// `NAME.pack.json` for a run in `out/NAME`.
fn usual_name(run: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let name = whole.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    format!("{name}.pack.json").into()
}
