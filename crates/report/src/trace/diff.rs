//! Two traces side by side, with the largest changes first: tables on a terminal and on a page, and shift functions on
//! the page.

use super::basis::basis;
use super::more;
use crate::chart::{ArmKey, Panel, PanelRow, Panels};
use crate::document::{Block, Document, Remark, Section, Tone};
use crate::number::{NONE, count, ns, p_value, percent, significant, unit_for};
use crate::pictures::{Kind, Picture};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::TraceDiff;
use schedlab_analyze::trace::diff::{DiffChange, DiffRow, DiffShift, DiffTable, DiffTrace};
use schedlab_plan::counted;

/// Most names in the first line.
const MAX_NAMED: usize = 3;

/// The findings as a page.
pub fn trace_diff(found: &TraceDiff) -> Document {
    let mut page = Document(vec![Section::body("", claim(found), vec![Block::Origin(origin(found))])]);
    for table in found.tables.iter().filter(|table| !table.rows.is_empty()) {
        let more = Block::remarks(more(table.more_rows, "rows"));
        let shifts = if table.about == "waits" { found.shifts.clone() } else { Vec::new() };
        let pictures = Block::Pictures(Box::new(move || shifts.iter().enumerate().map(picture).collect()));
        page.add(title(table), [Block::Table(rows(found, table)), pictures].into_iter().chain(more).collect());
    }
    page.ends(
        how(found).chain(found.remarks.iter().map(Remark::warning)).chain(basis(&found.lacking, found.definitions)),
    )
}

/// What changed most, or that nothing did, and on what basis; and what ran on one side only.
fn claim(found: &TraceDiff) -> String {
    let named: Vec<String> = found.named.iter().take(MAX_NAMED).map(|name| in_short(found, name)).collect();
    let others = found.named.len().saturating_sub(MAX_NAMED);
    let others = if others > 0 { format!("; and {}", counted(others, "others")) } else { String::new() };
    let ran = |row: &DiffRow| Some(format!("{} ran only in {}, {}", row.name, row.only?, both(row.changes.first()?)));
    let one_sided: Vec<String> = found.one_sided.iter().filter_map(ran).take(MAX_NAMED).collect();
    let nothing = if one_sided.is_empty() { "Nothing" } else { "Nothing that ran in both" };
    let claim = match (found.basis == "verdict", named.is_empty()) {
        (true, false) => format!("Changed: {}{others}.", named.join("; ")),
        (false, false) => format!("Different, but without a verdict: {}{others}.", named.join("; ")),
        (true, true) => format!(
            "{nothing} changed: {} tested, and none shows a change as large as what is named.",
            counted(found.judged, "numbers")
        ),
        (false, true) => {
            format!("{nothing} is apart: no difference stands out from the variation inside the traces.")
        }
    };
    let but = if named.is_empty() { "But " } else { "Also, " };
    if one_sided.is_empty() { claim } else { format!("{claim} {but}{}.", one_sided.join("; ")) }
}

/// The first named number of a row, in a few words.
fn in_short(found: &TraceDiff, name: &str) -> String {
    let rows = found.tables.iter().flat_map(|table| table.rows.iter().filter(|row| row.name == name));
    let change = rows.flat_map(|row| &row.changes).find(|change| is_named(change));
    change.map_or_else(|| name.to_owned(), |change| format!("{name} {} {}", words(change.of), both(change)))
}

fn origin(found: &TraceDiff) -> String {
    let side = |name: &str, traces: &[DiffTrace]| {
        let seconds: f64 = traces.iter().map(|trace| trace.seconds).sum();
        let first = traces.first();
        let what = first.map_or("", |trace| trace.format.as_str());
        let release = first.map_or("", |trace| trace.release.as_str());
        let kernel = if release.is_empty() { String::new() } else { format!(", kernel {release}") };
        let files = match traces {
            [one] => one.file.clone(),
            [first, ..] => format!("{} and {}", first.file, counted(traces.len() - 1, "more traces")),
            [] => String::new(),
        };
        let waits: u64 = traces.iter().map(|trace| trace.waits).sum();
        format!("{name}: {files} ({what}{kernel}, {} s, {} waits)", significant(seconds, 3), count(waits))
    };
    format!("{}. {}.", side("A", &found.a), side("B", &found.b))
}

/// What a reader must know about how it was judged.
fn how(found: &TraceDiff) -> impl Iterator<Item = Remark> {
    let least = found.a.len().min(found.b.len());
    let text = match (found.basis == "verdict", least) {
        (true, _) => {
            "the unit is the trace; a verdict is as good as the recordings are alike but for what is compared: record the sides \
             in turn and in changing order (A B, B A, A B), not one after the other"
        }
        (false, 1) => {
            "with one trace on a side there is no verdict: two recordings of the same thing may differ by more than either \
             varies as it goes on. Five traces a side have one (--more-a, --more-b), recorded in turn and in changing order"
        }
        (false, _) => "fewer than five traces a side have no verdict; the intervals are only a hint",
    };
    [Remark::note(text)].into_iter()
}

fn title(table: &DiffTable) -> &'static str {
    match table.about {
        "threads" => "Who ran, and who waited behind it: a second of the trace",
        "waits" => "Who waited for a CPU",
        "wakers" => "Who woke whom, and how long the wakee waited",
        "chains" => "Chains of wakeups, and the waits in them",
        _ => "Run queues",
    }
}

fn words(of: &str) -> &'static str {
    match of {
        "ran" => "ran",
        "behind" => "waits behind it",
        "waited" => "waited",
        "wakeup_mean" => "mean after a wakeup",
        "wakeup_p99" => "99th percentile",
        "wakeups" => "wakeups",
        "mean_wait" => "mean wait",
        "delay" => "delay",
        "chains" => "chains",
        "mean_delay" => "mean delay",
        "length" => "threads a CPU",
        "crowded" => "two or more on a CPU",
        _ => "of it with another idle",
    }
}

fn rows(found: &TraceDiff, table: &DiffTable) -> Table {
    let verdict = found.basis == "verdict";
    let mut header = vec![("", Align::Left), (if verdict { "moved" } else { "apart" }, Align::Left)];
    let numbers: Vec<&DiffChange> = table.rows.first().map(|row| row.changes.iter().collect()).unwrap_or_default();
    for number in &numbers {
        header.extend([(words(number.of), Align::Right), ("change", Align::Right)]);
    }
    let mut filled = Table::new(&header);
    // A terminal shows only the change of the first number; a page shows all, with intervals.
    filled.wide = (1..numbers.len()).map(|number| 3 + 2 * number).collect();
    for row in &table.rows {
        let mut cells = vec![name(row).into(), says(row)];
        for (number, change) in row.changes.iter().enumerate() {
            cells.push(both(change).into());
            cells.push(changed(change, number > 0).into());
        }
        filled.push(cells);
    }
    filled
}

fn name(row: &DiffRow) -> String {
    row.only.map_or_else(|| row.name.clone(), |side| format!("{} (only {side})", row.name))
}

fn is_named(change: &DiffChange) -> bool {
    matches!(change.says, "moved" | "apart")
}

/// Which numbers of a row are named.
fn says(row: &DiffRow) -> Cell {
    let named: Vec<&str> = row.changes.iter().filter(|c| is_named(c)).map(|c| words(c.of)).collect();
    if named.is_empty() { "".into() } else { Cell::toned(named.join(", "), Tone::Moved) }
}

fn value(change: &DiffChange, x: f64) -> String {
    match change.unit {
        "ns/s" => format!("{}/s", short(x, "ns")),
        "ns" => short(x, "ns"),
        "1/s" => format!("{}/s", short(x, "")),
        "share" => percent(x),
        _ => significant(x, 3),
    }
}

/// With three digits: further digits are specific to that trace.
fn short(x: f64, unit: &str) -> String {
    let (scale, unit) = unit_for(x.abs(), unit);
    format!("{} {unit}", significant(x / scale, 3)).trim_end().to_owned()
}

fn both(change: &DiffChange) -> String {
    let side = |x: Option<f64>| x.map_or_else(|| NONE.to_owned(), |x| value(change, x));
    format!("{} → {}", side(change.a), side(change.b))
}

/// The change with its interval, and on a page with its p.
fn changed(change: &DiffChange, wide: bool) -> String {
    let signed = |x: f64| format!("{}{}", if x > 0.0 { "+" } else { "" }, value(change, x));
    let Some(by) = change.change else { return NONE.into() };
    let interval = change.interval.map(|[lo, hi]| format!(" [{}, {}]", signed(lo), signed(hi))).unwrap_or_default();
    let p = change.p.filter(|_| wide).map(|p| format!(", p {}", p_value(Some(p)))).unwrap_or_default();
    format!("{}{interval}{p}", signed(by))
}

/// The deciles of both sides, and below them how far they are shifted.
fn picture((number, shift): (usize, &DiffShift)) -> Picture {
    let steps = || shift.deciles.iter().map(|decile| format!("{:.0} %", 100.0 * decile.share)).collect();
    let line = |arm: u32, name: &str, of: fn(&schedlab_analyze::trace::diff::DiffDecile) -> f64| {
        let values = shift.deciles.iter().map(|decile| Some(of(decile)));
        (ArmKey { arm, name: name.into() }, values.collect())
    };
    let sides = Panel {
        title: "waits of A and B".into(),
        steps: steps(),
        lines: vec![line(0, "A", |decile| decile.a_ns), line(1, "B", |decile| decile.b_ns)],
        ..Panel::default()
    };
    let shifted = Panel {
        title: "B less A".into(),
        steps: steps(),
        lines: vec![line(1, "shift", |decile| decile.b_ns - decile.a_ns)],
        intervals: shift.deciles.iter().map(|decile| decile.interval_ns).collect(),
        ..Panel::default()
    };
    let row = |panel: Panel, reference| PanelRow { unit: "ns".into(), panels: vec![panel], reference };
    let intervals = shift.deciles.iter().any(|decile| decile.interval_ns.is_some());
    let intervals = if intervals { "; bars: intervals, unit the trace" } else { "" };
    let seen = |decile: &schedlab_analyze::trace::diff::DiffDecile| {
        format!("{}: {} and {}", percent(decile.share), ns(decile.a_ns), ns(decile.b_ns))
    };
    Picture {
        name: format!("shift-{}", number + 1),
        kind: Kind::Latency,
        title: shift.name.clone(),
        caption: format!(
            "Waits after wakeups by decile, {} of A and {} of B. Below: above 0 B waits longer{intervals}.",
            count(shift.a_waits),
            count(shift.b_waits)
        ),
        description: shift.deciles.iter().map(seen).collect::<Vec<_>>().join("; "),
        chart: Box::new(Panels { rows: vec![row(sides, None), row(shifted, Some(0.0))] }),
    }
}
