//! The manifest: what was asked, on which machine, and everything a reader needs to judge the run.

mod environment;

pub use environment::{Check, CheckState, Environment, FLUCTUATING};

use crate::kernel::BootedKernel;
use crate::order::{CounterLevel, LoadGroup, Stamping};
use crate::setting::Arm;
use crate::workload_spec::WorkloadSpec;
use serde::{Deserialize, Serialize};

/// Version of the run directory's format; `FORMAT.md` lists the changes.
pub const FORMAT_VERSION: u32 = 6;
/// From this version on a manifest contains its own CRC-32, tables have their checksums, and trial files their list;
/// older runs may lack them.
pub const CHECKED_SINCE: u32 = 4;
/// From this version on there is a table of slow operations.
pub const SLOW_OPERATIONS_SINCE: u32 = 3;

/// Which stopping rule and unit the verdict uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Design {
    /// A fixed number of blocks.
    Fixed {
        /// Blocks per workload.
        blocks: u32,
    },
    /// Group-sequential looks within a time budget.
    Budgeted {
        /// The budget per workload, set-up included.
        budget_ns: u64,
        /// Looks, the last at the whole budget.
        looks: u32,
    },
    /// A confidence sequence, valid whenever it is stopped.
    OpenEnded {
        /// A cap on blocks, so that a run ends.
        max_blocks: u32,
    },
}

/// How the rows came to be in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderKnown {
    /// We ordered the trials ourselves.
    Randomized,
    /// Imported: the order of the numbers is not known.
    Unknown,
}

/// An interim look of a sequential design: when it happened and how much of the information was available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookRecord {
    /// Workload index.
    pub workload: u32,
    /// Blocks in hand.
    pub blocks: u32,
    /// Information fraction, 0…1.
    pub fraction: f64,
    /// Whether it gave every primary contrast of the workload a verdict, which ends the workload.
    #[serde(default)]
    pub decided: bool,
}

/// One option of a workload swept over several values: each value became a workload, and their blocks are interleaved,
/// so that no value has a time of day to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The option, `copies`.
    pub option: String,
    /// Whether it says how much runs at the same time; for such an option the report shows how linearly it scales.
    pub parallel: bool,
    /// Its values in full, in the order they were given.
    pub values: Vec<String>,
    /// The workload of each value, as an index.
    pub workloads: Vec<u32>,
}

/// A two-level factorial: the arms are combinations of the levels of its factors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factorial {
    /// The factors, including those that cannot be set here.
    pub factors: Vec<Factor>,
    /// For each arm and each factor, whether it is high. In the control all are low.
    pub levels: Vec<Vec<bool>>,
}

/// What is toggled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name, `thp`.
    pub name: String,
    /// The settings of the low level as a SPEC; empty is the host's default.
    pub low: String,
    /// The settings of the high level.
    pub high: String,
    /// Why it is not part of the design; `None` when it is.
    pub not_applied: Option<String>,
}

/// Everything about a run that is not a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// schedlab's own version.
    pub schedlab_version: String,
    /// The exact command line.
    pub command: Vec<String>,
    /// Title of the report.
    pub title: String,
    /// When the run began, seconds since 1970.
    pub created_unix_s: u64,
    /// The plan as TOML, complete.
    pub plan_toml: String,
    /// The arms; arm 0 is the control.
    pub arms: Vec<Arm>,
    /// The workloads, arguments complete.
    pub workloads: Vec<WorkloadSpec>,
    /// Versioned ids of the workloads, in the same order.
    pub workload_ids: Vec<String>,
    /// Primary metric of each workload (name), judged by Holm together.
    pub primary: Vec<Vec<String>>,
    /// Smallest effect of interest, a share (0.05 is 5 %).
    pub sesoi: f64,
    /// Two-sided error rate of the whole run.
    pub alpha: f64,
    /// Stopping rule.
    pub design: Design,
    /// Switchback window, when the arms alternate inside trials.
    pub switchback_window_ns: Option<u64>,
    /// Stamping level.
    pub stamping: Stamping,
    /// Counters.
    pub counters: CounterLevel,
    /// Background load beside every workload.
    pub load: Vec<Vec<WorkloadSpec>>,
    /// Whether it shares the workload's groups.
    pub load_group: LoadGroup,
    /// Seed of all coins.
    pub seed: u64,
    /// Whether the order is known.
    pub order: OrderKnown,
    /// Machine at the start.
    pub environment: Environment,
    /// Machine at the end, when the run ended; only what differs matters.
    pub environment_end: Option<Environment>,
    /// Looks taken by a sequential design.
    pub looks: Vec<LookRecord>,
    /// Why the run ended: `planned`, `decided`, `budget`, `interrupted`, `void: …`; empty while running.
    pub ended: String,
    /// Anything a reader must know.
    pub warnings: Vec<String>,
    /// Options that were swept; empty for most runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// The factorial that the arms are made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factorial: Option<Factorial>,
    /// Number of boots among which the blocks of a fixed design are divided; they are the units of its verdicts.
    /// `None`: the blocks are the units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<u32>,
    /// Kernels of the guests, each once; empty if trials ran on the host, and up to version 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<BootedKernel>,
}

/// Blocks divided among boots, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedBoots {
    /// Planned blocks.
    pub blocks: u32,
    /// Boots for all of them.
    pub boots: u32,
}

impl SharedBoots {
    /// The boot of a block, from 1.
    pub fn of(self, block: u32) -> u32 {
        let blocks = u64::from(self.blocks);
        (u64::from(block) % blocks * u64::from(self.boots) / blocks) as u32 + 1
    }
}

/// How a run ended, as far as it matters for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd<'m> {
    /// It is running, or was killed.
    Unfinished,
    /// The user ended it, maybe because of what it showed.
    Interrupted,
    /// It gets no verdict, with the reason.
    Void(&'m str),
    /// By its own rule, or it is imported.
    Whole,
}

impl<'m> RunEnd<'m> {
    /// Parses `ended` of a manifest or of a search's findings.
    pub fn of(ended: &'m str) -> Self {
        match ended {
            "" => Self::Unfinished,
            "interrupted" => Self::Interrupted,
            ended => match ended.strip_prefix("void") {
                Some(why) => Self::Void(why.trim_start_matches(':').trim()),
                None => Self::Whole,
            },
        }
    }
}

impl Manifest {
    /// How the run ended.
    pub fn end(&self) -> RunEnd<'_> {
        RunEnd::of(&self.ended)
    }

    /// Whether it has fewer blocks than its own rule requires, ended or not.
    pub fn is_cut_off(&self) -> bool {
        matches!(self.end(), RunEnd::Unfinished | RunEnd::Interrupted)
    }

    /// The boot of a block, from 1, if blocks share boots. Blocks of one boot are consecutive, and blocks beyond the
    /// planned ones start again with the first boot.
    pub fn boot_of(&self, block: u32) -> Option<u32> {
        self.shared_boots().map(|shared| shared.of(block))
    }

    /// How blocks share boots, if they do.
    pub fn shared_boots(&self) -> Option<SharedBoots> {
        let (Design::Fixed { blocks }, Some(boots)) = (&self.design, self.boots) else { return None };
        Some(SharedBoots { blocks: (*blocks).max(1), boots })
    }

    /// Groups of workloads whose blocks are interleaved, as indices, in order: those of a sweep together, any other one
    /// alone.
    pub fn groups(&self) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for workload in 0..self.workloads.len() as u32 {
            if groups.iter().any(|group| group.contains(&workload)) {
                continue;
            }
            let sweep = self.sweeps.iter().find(|sweep| sweep.workloads.contains(&workload));
            groups.push(sweep.map_or_else(|| vec![workload], |sweep| sweep.workloads.clone()));
        }
        groups
    }
}
