//! `schedlab pack RUN`: packs a run into one file that somebody else can repeat.

use super::destination;
use super::report::open;
use crate::cli::PackArgs;
use crate::exit;
use crate::output::write_file;
use crate::output::{print_findings, print_line};
use anyhow::{Context, Result};
use schedlab_plan::pack::PackError;
use schedlab_plan::{Arm, BootedKernel, Pack, Setting};
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
    let file = args.out.clone().unwrap_or_else(|| usual_name(&args.run));
    destination::outside("-o", &file, "the run", &args.run)?;
    destination::check("-o", Some(&file), &[&args.run], args.dry_run)?;
    if args.answer.json || args.dry_run {
        print_findings(&args.answer, SCHEMA, &pack, |pack| {
            page(pack, bytes.len(), &asks(pack, |_| true).unwrap_or_default())
        })?;
    }
    if args.dry_run {
        return Ok(exit::DONE);
    }
    write_file(&file, |out| out.write_all(&bytes))?;
    if !args.answer.json {
        print_line(format_args!("{}: {} bytes; schedlab repeat {}", file.display(), bytes.len(), file.display()))?;
    }
    Ok(exit::DONE)
}

/// What a pack needs `--trust` for, including the policies that its workloads give their own threads.
pub(super) fn asks(pack: &Pack, is_built: impl Fn(&BootedKernel) -> bool) -> Result<Vec<String>, PackError> {
    let (mut asks, plan) = (pack.asks_for_trust(is_built)?, pack.plan()?);
    if plan.guest.is_some() {
        return Ok(asks);
    }
    let levels = plan.factors.iter().flat_map(|factor| [&factor.low, &factor.high]);
    let arms: Vec<&Arm> = plan.arms.iter().chain(levels).collect();
    let loads = plan.workloads.iter().flat_map(|workload| &workload.load);
    let specs = pack.workloads.iter().chain(loads).chain(plan.workloads.iter().map(|workload| &workload.run));
    for spec in specs {
        let in_arms = arms.iter().map(|arm| spec.with_options(&arm.settings)).chain([spec.clone()]);
        for spec in in_arms {
            // An invalid spec is refused before it runs.
            let policy = schedlab_bench::parse(&spec).ok().and_then(|workload| workload.own_policy());
            asks.extend(policy.map(|policy| format!("runs threads of `{spec}` under {}", Setting::Policy(policy))));
        }
    }
    asks.sort();
    asks.dedup();
    Ok(asks)
}

/// The contents of a pack, with what it needs `--trust` for.
pub(super) fn page(pack: &Pack, bytes: usize, asks: &[String]) -> Document {
    let page = schedlab_report::pack(pack, bytes);
    if asks.is_empty() { page } else { page.and(schedlab_report::pack_asks(asks)) }
}

/// `NAME.pack.json` for a run in `out/NAME`.
fn usual_name(run: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let name = whole.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    format!("{name}.pack.json").into()
}
