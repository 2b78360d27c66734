//! The command line of `schedlab why`.

use super::Answer;
use clap::Args;
use schedlab_run::units::parse_duration_ns;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// A plan with two arms and one workload, or the run directory of such a plan
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) subject: PathBuf,
    /// Try only these toggles, by the names that --dry-run lists
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Do not try these toggles
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
    /// Find on which of these kernels the difference occurs, instead of trying toggles (a plan with guests; kernels in order)
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', conflicts_with_all = ["only", "without"])]
    pub(crate) kernels: Vec<String>,
    /// Begin no stage that would end after this time, such as 2h; report what is known by then
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) budget: Option<u64>,
    /// Do not profile the two arms
    #[arg(long)]
    pub(crate) no_profile: bool,
    /// Directory of the study, with a run directory for each round [default: out/why-<name>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted study in that directory
    #[arg(long)]
    pub(crate) resume: bool,
    /// Measure nothing: print the toggles, the stages, and how long they may take
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
}
