//! From trial records to tables; rows are in the order of the records.

use super::columns::Cell::{F, T, U};
use super::columns::Table;
use super::schema::Tables;
use schedlab_plan::histogram::bucket_range;
use schedlab_plan::outcome::{Count, TrialOutcome};
use schedlab_plan::record::{Mark, TrialRecord, TrialStatus};

/// All tables of a run.
pub(super) fn tables(trials: &[TrialRecord]) -> [Table; 16] {
    let mut tables = Tables::empty();
    for record in trials {
        push_trial(&mut tables, record);
        for mark in &record.marks {
            push_mark(&mut tables.marks, record.trial, mark);
        }
        if let Some(outcome) = &record.outcome {
            push_outcome(&mut tables, record.trial, outcome);
            push_distributions(&mut tables, record.trial, outcome);
            push_counts(&mut tables, record.trial, outcome);
        }
    }
    tables.all()
}

/// A serde name (`snake_case` of a variant) as text.
pub(super) fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("a variant without content is a word, not {other:?}"),
    }
}

fn u(x: impl Into<u64>) -> super::columns::Cell<'static> {
    U(Some(x.into()))
}

fn push_trial(tables: &mut Tables, r: &TrialRecord) {
    let (status, reason) = match &r.status {
        TrialStatus::Ok => ("ok", None),
        TrialStatus::Failed(why) => ("failed", Some(why.as_str())),
        TrialStatus::NotApplied(why) => ("not_applied", Some(why.as_str())),
    };
    let o = r.outcome.as_ref();
    let level = o.map(|o| word(o.stamping.level));
    tables.trials.push([
        u(r.trial),
        u(r.workload),
        U(r.arm.map(Into::into)),
        u(r.block),
        u(r.position),
        U(r.repeats_block.map(Into::into)),
        u(r.warm_up),
        T(Some(status)),
        T(reason),
        u(r.started_unix_ns),
        u(r.wall_ns),
        T(Some(&r.boot_id)),
        T(o.map(|o| o.workload.as_str())),
        U(o.map(|o| o.operations)),
        T(o.map(|o| o.operation.as_str())),
        T(level.as_deref()),
        U(o.map(|o| o.stamping.every)),
        U(o.map(|o| o.stamping.stamped)),
        F(o.map(|o| o.stamping.cost_ns)),
        F(o.map(|o| o.stamping.cost_share)),
    ]);
}

fn push_mark(table: &mut Table, trial: u64, mark: &Mark) {
    let (name, share, what) = match mark {
        Mark::Steal { share } => ("steal", Some(*share), None),
        Mark::Thermal { evidence } => ("thermal", None, Some(evidence.as_str())),
        Mark::Pause { evidence } => ("pause", None, Some(evidence.as_str())),
        Mark::Foreign { what } => ("foreign", None, Some(what.as_str())),
    };
    table.push([u(trial), T(Some(name)), F(share), T(what)]);
}

fn push_outcome(tables: &mut Tables, trial: u64, o: &TrialOutcome) {
    for m in &o.metrics {
        let direction = word(m.direction);
        tables.metrics.push([u(trial), T(Some(&m.name)), F(Some(m.value)), T(Some(&m.unit)), T(Some(&direction))]);
    }
    for p in &o.phases {
        tables.phases.push([u(trial), T(Some(&p.name)), u(p.start_ns), u(p.end_ns)]);
    }
    for s in &o.slowest {
        let (start, end, tid, group) = (u(s.start_ns), u(s.end_ns), u(s.tid), u(s.group));
        tables.slow_operations.push([u(trial), T(Some(&s.name)), start, end, tid, group]);
    }
    for t in &o.tiers {
        tables.tiers.push([u(trial), T(Some(t.tier.name())), u(t.operations)]);
    }
    for g in &o.groups {
        tables.groups.push([u(trial), T(Some(&g.autogroup)), T(Some(&g.cgroup)), u(g.tasks)]);
    }
    for w in &o.windows {
        let times = [u(w.start_ns), u(w.counted_from_ns), u(w.end_ns), u(w.operations)];
        let [start, counted, end, operations] = times;
        tables.windows.push([u(trial), u(w.pair), u(w.is_b), start, counted, end, operations]);
    }
    for a in &o.applied {
        let setting = a.setting.to_string();
        tables.applied.push([u(trial), T(Some(&setting)), T(Some(&a.effective)), T(a.not_applied.as_deref())]);
    }
    for l in &o.loads {
        let cpu = (u(l.asked_cpu_ns), u(l.achieved_cpu_ns));
        tables.loads.push([u(trial), T(Some(&l.spec)), cpu.0, cpu.1, u(l.alive)]);
    }
    for (kind, lines) in [("native", &o.native_lines), ("note", &o.notes)] {
        for line in lines {
            tables.lines.push([u(trial), T(Some(kind)), T(Some(line))]);
        }
    }
}

fn push_distributions(tables: &mut Tables, trial: u64, o: &TrialOutcome) {
    for (index, named) in o.histograms.iter().enumerate() {
        let h = &named.histogram;
        tables.distributions.push([
            u(trial),
            u(index as u64),
            T(Some(&named.name)),
            T(named.tier.map(|t| t.name())),
            u(h.count()),
            u(h.sum_ns),
            u(h.min_ns),
            u(h.max_ns),
        ]);
        for &(cell, count) in &h.cells {
            let (low, high) = bucket_range(cell as usize);
            tables.cells.push([u(trial), u(index as u64), u(cell), u(low), u(high), u(count)]);
        }
    }
}

fn push_counts(tables: &mut Tables, trial: u64, o: &TrialOutcome) {
    for c in &o.counters {
        let (value, running, enabled, why) = match &c.count {
            Count::Exact(value) => (Some(*value), None, None, None),
            Count::Scaled { value, running_ns, enabled_ns } => {
                (Some(*value), Some(*running_ns), Some(*enabled_ns), None)
            }
            Count::NotCounted(why) => (None, None, None, Some(why.as_str())),
        };
        let texts = [T(Some(&c.name)), T(Some(&c.scope)), T(Some(&c.source))];
        let [name, scope, source] = texts;
        tables.counters.push([u(trial), name, scope, source, U(value), U(running), U(enabled), T(why)]);
    }
    for s in &o.series {
        tables.series.push([u(trial), u(s.t_ns), T(Some(&s.name)), T(Some(&s.scope)), F(Some(s.delta))]);
    }
    for t in &o.tasks {
        tables.tasks.push([
            u(trial),
            u(t.tid),
            T(Some(&t.role)),
            u(t.group),
            u(t.operations),
            U(t.voluntary_switches),
            U(t.involuntary_switches),
            U(t.run_ns),
            U(t.run_delay_ns),
            U(t.timeslices),
            U(t.migrations),
            U(t.cpu_ns),
            U(t.last_cpu.map(Into::into)),
            F(t.same_cpu_share),
        ]);
    }
}
