//! Who wakes whom in turn.

use super::filters::Filters;
use super::{Source, most};
use anyhow::Result;
use clap::Args;
use schedlab_analyze::trace::{Asked, affine};

/// Rows of the table when nobody says how many.
const ROWS: usize = 20;

/// Which wakers.
#[derive(Debug, Args)]
pub(super) struct Wakers {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// CPUs that share a last-level cache, the kernel's sd_llc_size; all of the machine when not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    llc_size: Option<u32>,
    /// A row for each task instead of one for all tasks of a name
    #[arg(long, short = 'p')]
    each_task: bool,
    /// Most rows to show; 0 shows all [default: 20]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

pub(super) fn run(args: &Wakers) -> Result<()> {
    args.filters.refuse_states("who wakes another is on a CPU")?;
    let asked = |scope| Asked {
        scope,
        each_task: args.each_task,
        top: most(args.top, ROWS),
        llc_size: args.llc_size,
        ..Asked::default()
    };
    args.source.answer(args.top, &args.filters, affine::wanted(), asked, affine, schedlab_report::trace_affine)
}
