//! The tables: their rows, and the order of the rows.

use super::judge::{Judged, Values, change, decides, judge};
use super::measure::{Compared, DiffError, TraceMetrics};
use super::numbers::{MIN_WAITS, Number, TABLES, wakeups};
use super::presence::{is_thread, names, only, ran_most};
use super::threads::STRETCHES;
use super::{DEFINITIONS, DiffChange, DiffDecile, DiffOptions, DiffRow, DiffShift, DiffTable, SCHEMA, TraceDiff};
use schedlab_plan::histogram::Histogram;
use schedlab_plan::{InOrder, counted};
use schedlab_stats::welch;
use std::collections::BTreeSet;

/// A trace with at least this share of censored waits, or of time in which the running thread is not known, gets a
/// remark.
const LACKS_MUCH: f64 = 0.01;

/// The complete comparison, with all rows.
pub(super) fn found(
    a: &[TraceMetrics],
    b: &[TraceMetrics],
    used: &Compared,
    options: &DiffOptions,
) -> Result<TraceDiff, DiffError> {
    refuse(a, b, options)?;
    let verdict = decides([a.len(), b.len()]);
    let ran_most = ran_most(a, b);
    let mut tables: Vec<DiffTable> = Vec::new();
    let mut to_judge = Vec::new();
    for (about, numbers) in &TABLES {
        let skipped = |number: &&Number| {
            let of_wakeups = number.of.starts_with("wakeup") || matches!(*about, "wakers" | "chains");
            (of_wakeups && !used.wakeups) || (number.of == "not_conserved" && !alike_affinity(a, b))
        };
        let numbers: Vec<&Number> = numbers.iter().filter(|number| !skipped(number)).collect();
        if numbers.is_empty() {
            continue;
        }
        let row = |name: &str| {
            let is_main = matches!(*about, "threads" | "waits") && ran_most.contains(name) || *about == "queues";
            let changes = numbers.iter().map(|number| {
                let values = values(number, about, name, [a, b]);
                let (found, is_judged) = change((number.of, number.unit, number.least), &values, verdict);
                to_judge.push(is_judged.then_some((values, number.least, is_main)));
                found
            });
            DiffRow { name: name.to_owned(), only: only(about, name, a, b), changes: changes.collect() }
        };
        let all: BTreeSet<&str> = a.iter().chain(b).flat_map(|m| names(about, m)).collect();
        let rows: Vec<DiffRow> = all.into_iter().map(row).collect();
        tables.push(DiffTable { about, rows, more_rows: 0 });
    }
    let changes = tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.changes);
    // Half of the error goes to the threads that ran most and to the queues: a few traces could not show anything among
    // hundreds of numbers of threads that hardly ran.
    let (mut of_main, mut of_others): (Vec<Judged<'_>>, Vec<Judged<'_>>) = Default::default();
    for (change, to_judge) in changes.zip(to_judge) {
        let Some((values, least, is_main)) = to_judge else { continue };
        if is_main { &mut of_main } else { &mut of_others }.push(Judged { change, values, least });
    }
    let judged = (of_main.len() + of_others.len()) as u64;
    let shares = if of_main.is_empty() || of_others.is_empty() { 1.0 } else { 2.0 };
    judge(&mut of_main, a.len(), shares);
    judge(&mut of_others, a.len(), shares);
    tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.changes).for_each(round);
    tables.iter_mut().for_each(order);
    let mut named: Vec<String> = Vec::new();
    for row in tables.iter().flat_map(|table| &table.rows).filter(|row| row.is_named()) {
        if !named.contains(&row.name) {
            named.push(row.name.clone());
        }
    }
    let one_sided = tables.iter().filter(|table| table.about == "threads").flat_map(|table| &table.rows);
    let one_sided = one_sided.filter(|row| !named.contains(&row.name)).filter_map(one_sided_run);
    let one_sided = one_sided.take(super::ROWS).collect();
    let traces = |side: &[TraceMetrics]| side.iter().map(|m| m.trace.clone()).collect();
    Ok(TraceDiff {
        schema: SCHEMA,
        definitions: DEFINITIONS,
        basis: if verdict { "verdict" } else { "description" },
        named,
        one_sided,
        judged,
        a: traces(a),
        b: traces(b),
        remarks: remarks(a, b, used),
        lacking: lacking(a, b, used),
        shifts: if used.wakeups { shifts(&tables, a, b) } else { Vec::new() },
        tables,
    })
}

fn all_names<'m>(about: &str, side: &'m [TraceMetrics]) -> BTreeSet<&'m str> {
    side.iter().flat_map(|m| names(about, m)).collect()
}

/// The values of a number in each trace, and in each stretch.
fn values(number: &Number, about: &str, name: &str, sides: [&[TraceMetrics]; 2]) -> Values {
    let is_known = number.of != "ran" || is_thread(name, sides[0], sides[1]);
    let value = |m: &TraceMetrics| (number.value)(m, name).filter(|_| is_known);
    let traces = sides.map(|side| side.iter().map(value).collect());
    let of_trace = |m: &TraceMetrics| {
        let Some(stretch) = number.stretch.filter(|_| m.in_stretches) else { return Vec::new() };
        let seconds = m.trace.seconds / STRETCHES as f64;
        let none = Default::default();
        let stretches = m.groups.get(name).map_or(&none, |group| &group.stretches);
        stretches.iter().filter_map(|s| stretch(s, seconds)).collect()
    };
    // If a stretch has no value, the spread is unknown: the few others may be alike by chance.
    let stretches = sides.map(|side| {
        let all: Vec<f64> = side.iter().flat_map(of_trace).collect();
        if all.len() == STRETCHES * side.len() { all } else { Vec::new() }
    });
    let seconds: Vec<f64> = sides.into_iter().flatten().map(|m| m.trace.seconds).collect();
    Values {
        traces,
        stretches,
        seconds: seconds.iter().sum::<f64>() / seconds.len().max(1) as f64,
        of_one_side: only(about, name, sides[0], sides[1]).is_some(),
    }
}

/// For a row that is not named: if its thread ran much on one side only, the row with only that number.
fn one_sided_run(row: &DiffRow) -> Option<DiffRow> {
    const MIN_NS_PER_S: f64 = 1e7;
    let ran = row.changes.iter().find(|change| change.of == "ran").filter(|_| row.only.is_some())?;
    let is_much = ran.change.is_some_and(|by| by.abs() >= MIN_NS_PER_S);
    is_much.then(|| DiffRow { changes: vec![ran.clone()], ..row.clone() })
}

impl DiffRow {
    /// Whether one of its numbers moved or is apart.
    pub fn is_named(&self) -> bool {
        self.changes.iter().any(|change| matches!(change.says, "moved" | "apart"))
    }

    /// The change of the times in it, ns per second.
    fn amount(&self) -> f64 {
        let of_time = self.changes.iter().filter(|change| change.unit == "ns/s");
        of_time.filter_map(|change| change.change).map(f64::abs).sum()
    }
}

fn order(table: &mut DiffTable) {
    table.rows.in_order_by(|x, y| {
        y.is_named().cmp(&x.is_named()).then(y.amount().total_cmp(&x.amount())).then_with(|| x.name.cmp(&y.name))
    });
}

fn shifts(tables: &[DiffTable], a: &[TraceMetrics], b: &[TraceMetrics]) -> Vec<DiffShift> {
    let rows = tables.iter().filter(|table| table.about == "waits").flat_map(|table| &table.rows);
    rows.filter_map(|row| shift(&row.name, a, b)).collect()
}

fn shift(name: &str, a: &[TraceMetrics], b: &[TraceMetrics]) -> Option<DiffShift> {
    let of = |side: &'_ [TraceMetrics]| -> Vec<Histogram> {
        let all = side.iter().filter_map(|m| wakeups(m, name)).filter(|h| h.count() >= MIN_WAITS);
        all.cloned().collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let decile = |tenth: u32| {
        let share = f64::from(tenth) / 10.0;
        let at = |side: &[Histogram]| side.iter().filter_map(|h| h.quantile_ns(share)).collect::<Vec<f64>>();
        let (a, b) = (at(&of_a), at(&of_b));
        let interval_ns = welch(&a, &b, 0.95).map(|e| [e.interval.lo, e.interval.hi]);
        let interval_ns = interval_ns.map(|ends| ends.map(rounded));
        DiffDecile { share, a_ns: rounded(mean(&a)), b_ns: rounded(mean(&b)), interval_ns }
    };
    let waits = |side: &[Histogram]| side.iter().map(Histogram::count).sum();
    (!of_a.is_empty() && !of_b.is_empty()).then(|| DiffShift {
        name: name.to_owned(),
        a_waits: waits(&of_a),
        b_waits: waits(&of_b),
        deciles: (1..10).map(decile).collect(),
    })
}

/// Whether either all traces contain affinities or none does. With affinities, waiting threads that are bound to one
/// CPU do not count as not conserved.
fn alike_affinity(a: &[TraceMetrics], b: &[TraceMetrics]) -> bool {
    let mut known = a.iter().chain(b).map(|m| m.lengths.affinity_known);
    let first = known.next();
    known.all(|known| Some(known) == first)
}

/// Refuses sides that have nothing in common to compare.
fn refuse(a: &[TraceMetrics], b: &[TraceMetrics], options: &DiffOptions) -> Result<(), DiffError> {
    if let Some(m) = a.iter().chain(b).find(|m| m.facts.length_ns == 0) {
        let file = &m.file;
        return Err(DiffError(format!(
            "{file} has all its events at one time, so no rate can be computed: record for longer, as `schedlab record -d 5s` does"
        )));
    }
    let (of_a, of_b) = (all_names("waits", a), all_names("waits", b));
    // A thread that the filter names may be on one side only.
    let request = &options.tasks.comms;
    if !request.is_empty() && of_a.is_empty() && of_b.is_empty() {
        return Err(DiffError(format!(
            "no thread of A or B is called `{}`: `schedlab trace latency FILE --top 0` shows the names",
            request.join("`, `")
        )));
    }
    if request.is_empty() && of_a.is_disjoint(&of_b) {
        return Err(DiffError(format!(
            "no thread of A has a name that B has, so nothing can be matched: give traces of the same workload \
             (`schedlab trace latency {} --top 0` shows the names)",
            a[0].file
        )));
    }
    Ok(())
}

/// What cannot be computed from the events that all traces have; events that only some have were reported before.
fn lacking(a: &[TraceMetrics], b: &[TraceMetrics], used: &Compared) -> Vec<String> {
    let mut lacking: Vec<String> = Vec::new();
    for text in a.iter().chain(b).flat_map(|m| &m.lacking) {
        let said = used.notes.iter().any(|notes| notes.split(' ').next() == text.split(' ').next());
        if !said && !lacking.contains(text) {
            lacking.push(text.clone());
        }
    }
    lacking
}

/// Rounds to four digits: more would be noise, and three times as many bytes.
fn round(change: &mut DiffChange) {
    let DiffChange { a, b, change, interval, p, a_range, b_range, .. } = change;
    [a, b, change, p].into_iter().flatten().for_each(|x| *x = rounded(*x));
    [interval, a_range, b_range].into_iter().flatten().flatten().for_each(|x| *x = rounded(*x));
}

fn rounded(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let digits = 3 - x.abs().log10().floor() as i32;
    // Multiply or divide by a whole number, which is exact; otherwise the digits come back.
    let scale = 10f64.powi(digits.abs());
    if digits >= 0 { (x * scale).round() / scale } else { (x / scale).round() * scale }
}

/// What a reader must know of the sides before trusting any number.
fn remarks(a: &[TraceMetrics], b: &[TraceMetrics], used: &Compared) -> Vec<String> {
    let all = || a.iter().chain(b);
    let mut notes = used.notes.clone();
    if !alike_affinity(a, b) {
        notes.push(
            "only some traces say which CPUs each thread may use, so time that was not conserved is not compared"
                .into(),
        );
    }
    let formats: BTreeSet<&str> = all().map(|m| m.trace.format.as_str()).collect();
    if formats.len() > 1 {
        notes.push(format!(
            "the traces are of several recorders ({}), whose own threads run in their own traces only",
            formats.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    let releases: BTreeSet<&str> = all().map(|m| m.facts.release.as_str()).filter(|r| !r.is_empty()).collect();
    if releases.len() > 1 {
        let releases: Vec<&str> = releases.into_iter().collect();
        notes.push(format!("the traces are of several kernels: {}", releases.join(", ")));
    }
    for m in all() {
        let (file, waits) = (&m.file, m.trace.waits + m.trace.censored);
        let share = m.trace.censored as f64 / waits.max(1) as f64;
        if share >= LACKS_MUCH || m.trace.unknown >= LACKS_MUCH {
            notes.push(format!(
                "{file}: {} of {} are censored, and who ran is not known for {:.1} % of the time: its sums are too low; `schedlab trace \
                 check {file}` says what is missing, and where events were lost larger buffers help (`schedlab record --buffer 64M`)",
                m.trace.censored,
                counted(waits, "waits"),
                100.0 * m.trace.unknown
            ));
        }
    }
    let problems: Vec<String> =
        all().flat_map(|m| m.facts.problems.iter().map(|p| format!("{}: {p}", m.file))).collect();
    notes.extend(problems.iter().take(6).cloned());
    let more = problems.len().saturating_sub(6);
    if more > 0 {
        notes.push(format!("{more} more problems of the traces: `schedlab trace check FILE` lists them"));
    }
    notes
}
