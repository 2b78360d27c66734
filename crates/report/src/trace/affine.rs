//! Wake-affine statistics on a terminal: which wakers switch between wakees, and for which wakings wake-affine was
//! ruled out.

use super::basis::basis;
use super::{more, nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{NONE, count, percent, significant};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::affine::{Affine, AffineRow, MAX_WAKEES};
use schedlab_plan::counted;

/// The findings as a page.
pub(super) fn page(found: &Affine) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.rows.is_empty() {
        page.add("Wakers", vec![Block::Table(wakers(found))]);
    }
    let excluded = &found.excluded;
    let reasons = [
        (excluded.on_cpu, "of a thread that was on its CPU still"),
        (excluded.other_class, "of a thread of another class than the fair one"),
        (excluded.pinned, "of a thread that may use one CPU only"),
        (excluded.by_strangers, "by a thread that was on its CPU before the trace began"),
        (excluded.itself, "of the thread itself"),
    ];
    let reasons = reasons.into_iter().filter(|(number, _)| *number > 0);
    let reasons = reasons.map(|(number, why)| format!("{} {why}, not counted", counted(number, "wakings")));
    let mut end: Vec<Remark> = more(found.more_rows, "wakers").into_iter().collect();
    end.extend(reasons.chain(caveats(found)).map(Remark::note));
    end.extend(basis(&found.lacking, if found.total.wakings > 0 { found.definitions } else { &[] }));
    page.ends(end.into_iter().chain(remarks(&found.trace)))
}

fn claim(found: &Affine) -> String {
    let total = &found.total;
    if total.wakings == 0 {
        return nothing(&found.trace, "no waking that chooses a CPU is known");
    }
    let flips = format!(
        "{}, {} of them to another thread than the last",
        counted(total.wakings, "wakings"),
        percent(share(total.flips, total.wakings))
    );
    match (total.wide_share(), found.llc_size) {
        (Some(wide), Some(llc_size)) => format!(
            "{flips}; by estimate {} of {} were wide, where {} a cache.",
            percent(wide),
            counted(total.wakings - total.unsettled, "wakings"),
            if llc_size == 1 { "each CPU has".into() } else { format!("{llc_size} CPUs share") },
        ),
        _ => format!("{flips}; whether wake_wide() applied is not known."),
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}

fn wakers(found: &Affine) -> Table {
    let mut header = vec![("waker", Align::Left)];
    let columns = ["wakes", "wakees", "flips", "/cycle", "wakee_flips", "wide", "unknown"];
    header.extend(columns.map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.rows {
        table.push(cells(row));
    }
    table
}

fn cells(row: &AffineRow) -> Vec<Cell> {
    let name = if row.idle_of.is_some() { row.comm.clone() } else { super::task(&row.comm, row.tid, row.tasks) };
    let wakees = if row.wakees >= MAX_WAKEES as u64 { format!("{}+", row.wakees) } else { count(row.wakees) };
    vec![
        name.into(),
        count(row.wakings).into(),
        wakees.into(),
        count(row.flips).into(),
        row.flips_per_cycle().map_or(NONE.to_owned(), |flips| significant(flips, 3)).into(),
        count(row.most_flips.into()).into(),
        row.wide_share().map_or(NONE.to_owned(), percent).into(),
        percent(share(row.unsettled, row.wakings)).into(),
    ]
}

/// The assumptions of the estimate.
fn caveats(found: &Affine) -> Vec<String> {
    let mut seen = Vec::new();
    if !found.rule_known {
        seen.push(format!("kernel {} decides by the rule used before 4.3: nothing is estimated", found.trace.release));
    }
    match found.llc_size {
        None => seen.push(
            "the trace does not say how many CPUs its machine has: with --llc-size the rule can be estimated".into(),
        ),
        Some(size) if found.llc_size_assumed => {
            seen.push(format!(
                "that {size} CPUs, all of them, share a last-level cache is an assumption; --llc-size says it"
            ));
        }
        Some(_) => {}
    }
    if !found.affinity_known {
        seen.push(
            "which CPUs threads may use is not known: wakings of those that may use one only are counted too".into(),
        );
    }
    seen
}
