//! The output of `schedlab list --json`.

use crate::cli::Listing;
use schedlab_analyze::trace::Definition;
use schedlab_bench::{OptionDoc, WORKLOADS, WorkloadInfo};
use schedlab_plan::setting::SETTING_FORMS;
use schedlab_record::topdown::{TABLES, Table, table_of};
use schedlab_record::{COUNTERS, Roots};
use serde::Serialize;

/// The answer of `list`; what was not asked for is absent.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    /// Benchmarks and background loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workloads: Option<Vec<ListedWorkload>>,
    /// Settings of an arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) knobs: Option<Vec<ListedSetting>>,
    /// Counters of a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) counters: Option<Vec<ListedCounter>>,
    /// Tables of the top-down analysis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) topdown: Option<ListedTopdown>,
    /// Definitions of the numbers of `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) analyses: Option<Vec<Definition>>,
}

/// A workload.
#[derive(Debug, Serialize)]
pub(super) struct ListedWorkload {
    /// Name and version of what is measured.
    pub(super) id: String,
    /// The program that it reproduces.
    pub(super) reference: &'static str,
    /// What it does.
    pub(super) summary: &'static str,
    /// What one operation is.
    pub(super) operation: &'static str,
    /// Its primary metrics, the one of the verdict first.
    pub(super) primary: &'static [&'static str],
    /// The form of the argument without a key; empty where it has none.
    pub(super) shorthand: &'static str,
    /// Its options.
    pub(super) options: Vec<ListedOption>,
}

/// An option of a workload.
#[derive(Debug, Serialize)]
pub(super) struct ListedOption {
    /// Its name.
    pub(super) name: &'static str,
    /// The form of its value.
    pub(super) form: &'static str,
    /// Its default value.
    pub(super) default: &'static str,
    /// What it does.
    pub(super) doc: &'static str,
}

/// A kind of setting.
#[derive(Debug, Serialize)]
pub(super) struct ListedSetting {
    /// The text before the `=` or the first `:`.
    pub(super) key: &'static str,
    /// How it is written.
    pub(super) form: &'static str,
    /// What it does.
    pub(super) meaning: &'static str,
}

/// A counter.
#[derive(Debug, Serialize)]
pub(super) struct ListedCounter {
    /// Its name.
    pub(super) name: &'static str,
    /// Where it is read.
    pub(super) source: &'static str,
    /// What it counts.
    pub(super) meaning: &'static str,
}

/// Tables of the top-down analysis.
#[derive(Debug, Serialize)]
pub(super) struct ListedTopdown {
    /// All.
    pub(super) tables: Vec<ListedTable>,
    /// The id of the one for this machine.
    pub(super) here: Option<&'static str>,
    /// Why there is none.
    pub(super) why_not: Option<String>,
}

/// A table of formulas.
#[derive(Debug, Serialize)]
pub(super) struct ListedTable {
    /// Its name.
    pub(super) id: &'static str,
    /// For which CPUs.
    pub(super) cpus: &'static str,
    /// The document it is from.
    pub(super) source: &'static str,
    /// What it cannot tell about them; empty if nothing is missing.
    pub(super) missing: &'static str,
    /// Its nodes, as paths.
    pub(super) nodes: Vec<&'static str>,
}

impl Listed {
    pub(super) fn of(wanted: &impl Fn(Listing) -> bool) -> Self {
        let settings = || SETTING_FORMS.iter().map(|&(key, form, meaning)| ListedSetting { key, form, meaning });
        let counters = || COUNTERS.iter().map(|&(name, source, meaning)| ListedCounter { name, source, meaning });
        Self {
            workloads: wanted(Listing::Workloads).then(|| WORKLOADS.iter().map(|info| workload(info)).collect()),
            knobs: wanted(Listing::Knobs).then(|| settings().collect()),
            counters: wanted(Listing::Counters).then(|| counters().collect()),
            topdown: wanted(Listing::Counters).then(topdown),
            analyses: wanted(Listing::Analyses).then(|| schedlab_report::trace_definitions().copied().collect()),
        }
    }
}

fn workload(info: &WorkloadInfo) -> ListedWorkload {
    let option = |&OptionDoc { name, form, default, doc, .. }: &OptionDoc| ListedOption { name, form, default, doc };
    ListedWorkload {
        id: format!("{}/{}", info.name, info.version),
        reference: info.reference,
        summary: info.summary,
        operation: info.operation,
        primary: info.primary,
        shorthand: info.shorthand,
        options: info.options.iter().map(option).collect(),
    }
}

fn topdown() -> ListedTopdown {
    let table = |table: &Table| ListedTable {
        id: table.id,
        cpus: table.cpus,
        source: table.source,
        missing: table.missing,
        nodes: table.paths().collect(),
    };
    let here = table_of(&Roots::default());
    ListedTopdown {
        tables: TABLES.into_iter().map(table).collect(),
        here: here.as_ref().ok().map(|table| table.id),
        why_not: here.err(),
    }
}
