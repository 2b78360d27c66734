//! Decodes one table row into a trial.

use super::super::columns::Table;
use schedlab_plan::histogram::{BUCKETS, Histogram};
use schedlab_plan::outcome::*;
use schedlab_plan::record::{Mark, TrialRecord, TrialStatus};
use serde::de::DeserializeOwned;

pub(super) type Row = Result<(), String>;

pub(super) fn distribution(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let tier = t.maybe_text("tier", i).map(|_| t.variant("tier", i)).transpose()?;
    let histogram = Histogram {
        cells: Vec::new(),
        sum_ns: t.u("sum_ns", i)?,
        min_ns: t.u("min_ns", i)?,
        max_ns: t.u("max_ns", i)?,
    };
    o.histograms.push(NamedHistogram { name: t.text("name", i)?, tier, histogram });
    Ok(())
}

pub(super) fn cell(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let index: u32 = t.small("histogram", i)?;
    let cell: u32 = t.small("cell", i)?;
    let histogram = o.histograms.get_mut(index as usize).ok_or(format!("row {i}: there is no histogram {index}"))?;
    if cell as usize >= BUCKETS {
        return Err(format!("row {i}: there is no cell {cell}"));
    }
    histogram.histogram.cells.push((cell, t.u("count", i)?));
    Ok(())
}

pub(super) fn counter(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    let count = match (t.maybe_u("value", i), t.maybe_u("running_ns", i), t.maybe_u("enabled_ns", i)) {
        (Some(value), Some(running_ns), Some(enabled_ns)) => Count::Scaled { value, running_ns, enabled_ns },
        (Some(value), ..) => Count::Exact(value),
        (None, ..) => Count::NotCounted(t.text("not_counted", i)?),
    };
    o.counters.push(Counter {
        name: t.text("name", i)?,
        scope: t.text("scope", i)?,
        source: t.text("source", i)?,
        count,
    });
    Ok(())
}

pub(super) fn task(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    o.tasks.push(TaskRecord {
        tid: t.small("tid", i)?,
        role: t.text("role", i)?,
        group: t.small("group", i)?,
        operations: t.u("operations", i)?,
        voluntary_switches: t.maybe_u("voluntary_switches", i),
        involuntary_switches: t.maybe_u("involuntary_switches", i),
        run_ns: t.maybe_u("run_ns", i),
        run_delay_ns: t.maybe_u("run_delay_ns", i),
        timeslices: t.maybe_u("timeslices", i),
        migrations: t.maybe_u("migrations", i),
        cpu_ns: t.maybe_u("cpu_ns", i),
        last_cpu: t.maybe_u("last_cpu", i).and_then(|c| c.try_into().ok()),
        same_cpu_share: t.maybe_number("same_cpu_share", i),
    });
    Ok(())
}

pub(super) fn window(t: &Table, i: usize, o: &mut TrialOutcome) -> Row {
    o.windows.push(Window {
        pair: t.small("pair", i)?,
        is_b: t.u("is_b", i)? == 1,
        start_ns: t.u("start_ns", i)?,
        counted_from_ns: t.u("counted_from_ns", i)?,
        end_ns: t.u("end_ns", i)?,
        operations: t.u("operations", i)?,
    });
    Ok(())
}

pub(super) fn mark(t: &Table, i: usize) -> Result<Mark, String> {
    Ok(match t.text("mark", i)?.as_str() {
        "steal" => Mark::Steal { share: t.number("share", i)? },
        "thermal" => Mark::Thermal { evidence: t.text("what", i)? },
        "pause" => Mark::Pause { evidence: t.text("what", i)? },
        "foreign" => Mark::Foreign { what: t.text("what", i)? },
        other => return Err(format!("row {i}: `{other}` is not a mark")),
    })
}

pub(super) fn trial(t: &Table, i: usize) -> Result<TrialRecord, String> {
    let reason = || t.text("status_reason", i);
    let status = match t.text("status", i)?.as_str() {
        "ok" => TrialStatus::Ok,
        "failed" => TrialStatus::Failed(reason()?),
        "not_applied" => TrialStatus::NotApplied(reason()?),
        other => return Err(format!("row {i}: `{other}` is not a status")),
    };
    let small = |name: &str| {
        t.maybe_u(name, i).map(|x| u32::try_from(x).map_err(|e| format!("row {i}, {name}: {e}"))).transpose()
    };
    Ok(TrialRecord {
        trial: t.u("trial", i)?,
        workload: t.small("workload", i)?,
        arm: small("arm")?,
        block: t.small("block", i)?,
        position: t.small("position", i)?,
        repeats_block: small("repeats_block")?,
        warm_up: t.u("warm_up", i)? == 1,
        status,
        marks: Vec::new(),
        started_unix_ns: t.u("started_unix_ns", i)?,
        wall_ns: t.u("wall_ns", i)?,
        boot_id: t.text("boot_id", i)?,
        outcome: t.maybe_text("workload_id", i).map(|workload| outcome(t, i, workload)).transpose()?,
    })
}

fn outcome(t: &Table, i: usize, workload: String) -> Result<TrialOutcome, String> {
    let stamping = StampingReport {
        level: t.variant("stamping", i)?,
        every: t.u("stamped_every", i)?,
        stamped: t.u("stamped", i)?,
        cost_ns: t.number("stamp_cost_ns", i)?,
        cost_share: t.number("stamp_cost_share", i)?,
    };
    Ok(TrialOutcome {
        workload,
        operations: t.u("operations", i)?,
        operation: t.text("operation", i)?,
        stamping,
        ..TrialOutcome::default()
    })
}

/// Typed access to one cell; errors name the row and the column.
impl Table {
    fn maybe_u(&self, name: &str, i: usize) -> Option<u64> {
        self.u64s(name).get(i).copied().flatten()
    }
    pub(super) fn u(&self, name: &str, i: usize) -> Result<u64, String> {
        self.maybe_u(name, i).ok_or_else(|| format!("row {i} has no {name}"))
    }
    pub(super) fn small(&self, name: &str, i: usize) -> Result<u32, String> {
        self.u(name, i)?.try_into().map_err(|e| format!("row {i}, {name}: {e}"))
    }
    pub(super) fn number(&self, name: &str, i: usize) -> Result<f64, String> {
        self.f64s(name).get(i).copied().flatten().ok_or_else(|| format!("row {i} has no {name}"))
    }
    fn maybe_number(&self, name: &str, i: usize) -> Option<f64> {
        self.f64s(name).get(i).copied().flatten()
    }
    pub(super) fn maybe_text(&self, name: &str, i: usize) -> Option<String> {
        self.texts(name).get(i).cloned().flatten()
    }
    pub(super) fn text(&self, name: &str, i: usize) -> Result<String, String> {
        self.maybe_text(name, i).ok_or_else(|| format!("row {i} has no {name}"))
    }
    pub(super) fn variant<V: DeserializeOwned>(&self, name: &str, i: usize) -> Result<V, String> {
        let word = self.text(name, i)?;
        serde_json::from_value(serde_json::Value::String(word)).map_err(|e| format!("row {i}, {name}: {e}"))
    }
}
