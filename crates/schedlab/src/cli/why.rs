//! The command line of `schedlab why`.

use super::Answer;
use clap::Args;
use schedlab_run::units::parse_duration_ns;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// A plan of two arms on one workload, or the directory of a run of such a plan
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) subject: PathBuf,
    /// Switch these toggles alone: names as --dry-run lists them
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Leave these toggles as they are
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
    /// Not the toggles, but on which of these kernels the difference is: in their order, for a plan with guests
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', conflicts_with_all = ["only", "without"])]
    pub(crate) kernels: Vec<String>,
    /// Begin no stage that would go on beyond this time, such as 2h; what is known by then is the answer
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) budget: Option<u64>,
    /// Do not profile the two arms for the share of each part of the kernel
    #[arg(long)]
    pub(crate) no_profile: bool,
    /// Directory of the study, with a run directory for each round [default: out/why-<name>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted study in that directory
    #[arg(long)]
    pub(crate) resume: bool,
    /// Measure nothing: print what would be switched, the stages, and how long they may take
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
}
