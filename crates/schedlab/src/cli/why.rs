//! The command line of `schedlab why`.

use super::OutputOptions;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use schedlab_plan::units::parse_duration_ns;
use std::path::PathBuf;

/// A duration above zero, ns.
pub(crate) fn some_time(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text) {
        Ok(0) => Err("no stage could start in it; give a time such as 30m".into()),
        Ok(ns) => Ok(ns),
        Err(why) => Err(why.to_string()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// A plan with two arms and one workload, or the run directory of such a plan
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) subject: PathBuf,
    /// Try only these toggles, by the names that --dry-run lists
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) only: Vec<String>,
    /// Do not try these toggles
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) without: Vec<String>,
    /// Find on which of these kernels the difference occurs, instead of trying toggles (kernels in order; the plan
    /// needs [guest])
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["only", "without", "budget", "no_profile"])]
    pub(crate) kernels: Vec<String>,
    /// Time budget, such as 2h: start no stage that would exceed it; report the result so far (a PLAN's own comparison
    /// always runs)
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub(crate) budget: Option<u64>,
    /// Do not profile the two arms
    #[arg(long)]
    pub(crate) no_profile: bool,
    /// Directory of the search, with a run directory for each round [default: out/why-<name>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted search in that directory
    #[arg(long)]
    pub(crate) resume: bool,
    /// Measure nothing: print the toggles, the stages, and how long they may take
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
}
