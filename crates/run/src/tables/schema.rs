//! Every table's columns; FORMAT.md describes them. `u` unsigned, `f` floating point, `t` text.

use super::columns::Table;

type Columns = &'static [(&'static str, char)];

const TRIALS: Columns = &[
    ("trial", 'u'),
    ("workload", 'u'),
    ("arm", 'u'),
    ("block", 'u'),
    ("position", 'u'),
    ("repeats_block", 'u'),
    ("warm_up", 'u'),
    ("status", 't'),
    ("status_reason", 't'),
    ("started_unix_ns", 'u'),
    ("wall_ns", 'u'),
    ("boot_id", 't'),
    ("workload_id", 't'),
    ("operations", 'u'),
    ("operation", 't'),
    ("stamping", 't'),
    ("stamped_every", 'u'),
    ("stamped", 'u'),
    ("stamp_cost_ns", 'f'),
    ("stamp_cost_share", 'f'),
];
const MARKS: Columns = &[("trial", 'u'), ("mark", 't'), ("share", 'f'), ("what", 't')];
const METRICS: Columns = &[("trial", 'u'), ("name", 't'), ("value", 'f'), ("unit", 't'), ("direction", 't')];
const PHASES: Columns = &[("trial", 'u'), ("name", 't'), ("start_ns", 'u'), ("end_ns", 'u')];
const DISTRIBUTIONS: Columns = &[
    ("trial", 'u'),
    ("histogram", 'u'),
    ("name", 't'),
    ("tier", 't'),
    ("count", 'u'),
    ("sum_ns", 'u'),
    ("min_ns", 'u'),
    ("max_ns", 'u'),
];
const CELLS: Columns =
    &[("trial", 'u'), ("histogram", 'u'), ("cell", 'u'), ("low_ns", 'u'), ("high_ns", 'u'), ("count", 'u')];
/// Since version 3.
pub(super) const SLOW_OPERATIONS: &str = "slow_operations";
const SLOW_OPERATION_COLUMNS: Columns =
    &[("trial", 'u'), ("name", 't'), ("start_ns", 'u'), ("end_ns", 'u'), ("tid", 'u'), ("group", 'u')];
const TIERS: Columns = &[("trial", 'u'), ("tier", 't'), ("operations", 'u')];
const COUNTERS: Columns = &[
    ("trial", 'u'),
    ("name", 't'),
    ("scope", 't'),
    ("source", 't'),
    ("value", 'u'),
    ("running_ns", 'u'),
    ("enabled_ns", 'u'),
    ("not_counted", 't'),
];
const SERIES: Columns = &[("trial", 'u'), ("t_ns", 'u'), ("name", 't'), ("scope", 't'), ("delta", 'f')];
const TASKS: Columns = &[
    ("trial", 'u'),
    ("tid", 'u'),
    ("role", 't'),
    ("group", 'u'),
    ("operations", 'u'),
    ("voluntary_switches", 'u'),
    ("involuntary_switches", 'u'),
    ("run_ns", 'u'),
    ("run_delay_ns", 'u'),
    ("timeslices", 'u'),
    ("migrations", 'u'),
    ("cpu_ns", 'u'),
    ("last_cpu", 'u'),
    ("same_cpu_share", 'f'),
];
const GROUPS: Columns = &[("trial", 'u'), ("autogroup", 't'), ("cgroup", 't'), ("tasks", 'u')];
const WINDOWS: Columns = &[
    ("trial", 'u'),
    ("pair", 'u'),
    ("is_b", 'u'),
    ("start_ns", 'u'),
    ("counted_from_ns", 'u'),
    ("end_ns", 'u'),
    ("operations", 'u'),
];
const APPLIED: Columns = &[("trial", 'u'), ("setting", 't'), ("effective", 't'), ("not_applied", 't')];
const LOADS: Columns =
    &[("trial", 'u'), ("spec", 't'), ("asked_cpu_ns", 'u'), ("achieved_cpu_ns", 'u'), ("alive", 'u')];
const LINES: Columns = &[("trial", 'u'), ("kind", 't'), ("text", 't')];

/// All tables, empty.
pub(super) struct Tables {
    pub(super) trials: Table,
    pub(super) marks: Table,
    pub(super) metrics: Table,
    pub(super) phases: Table,
    pub(super) distributions: Table,
    pub(super) cells: Table,
    pub(super) slow_operations: Table,
    pub(super) tiers: Table,
    pub(super) counters: Table,
    pub(super) series: Table,
    pub(super) tasks: Table,
    pub(super) groups: Table,
    pub(super) windows: Table,
    pub(super) applied: Table,
    pub(super) loads: Table,
    pub(super) lines: Table,
}

impl Tables {
    pub(super) fn empty() -> Self {
        Self {
            trials: Table::new("trials", TRIALS),
            marks: Table::new("marks", MARKS),
            metrics: Table::new("metrics", METRICS),
            phases: Table::new("phases", PHASES),
            distributions: Table::new("distributions", DISTRIBUTIONS),
            cells: Table::new("histogram_cells", CELLS),
            slow_operations: Table::new(SLOW_OPERATIONS, SLOW_OPERATION_COLUMNS),
            tiers: Table::new("tiers", TIERS),
            counters: Table::new("counters", COUNTERS),
            series: Table::new("series", SERIES),
            tasks: Table::new("tasks", TASKS),
            groups: Table::new("task_groups", GROUPS),
            windows: Table::new("windows", WINDOWS),
            applied: Table::new("applied", APPLIED),
            loads: Table::new("loads", LOADS),
            lines: Table::new("lines", LINES),
        }
    }

    pub(super) fn all(self) -> [Table; 16] {
        [
            self.trials,
            self.marks,
            self.metrics,
            self.phases,
            self.distributions,
            self.cells,
            self.slow_operations,
            self.tiers,
            self.counters,
            self.series,
            self.tasks,
            self.groups,
            self.windows,
            self.applied,
            self.loads,
            self.lines,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_md_names_every_table_and_column() {
        let text = include_str!("../../../../FORMAT.md");
        for table in Tables::empty().all() {
            let heading = format!("**{}**", table.name);
            let section = text.split(&heading).nth(1).unwrap_or_else(|| panic!("FORMAT.md has no {heading}"));
            let section = section.split("\n**").next().unwrap_or_default();
            for (column, _) in &table.columns {
                assert!(section.contains(&format!("`{column}`")), "FORMAT.md: {}.{column}", table.name);
            }
        }
    }
}
