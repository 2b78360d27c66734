//! The task on each CPU over time, on a terminal: a line for each CPU, a sign for each slice.

use super::basis::basis;
use super::{nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{count, ns_of, percent};
use crate::table::{Align, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::overview::{CpuMap, Overview};

/// The findings as a page.
pub fn trace_overview(found: &Overview) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.cpus.is_empty() {
        let mut table = Table::new(&[("CPU", Align::Right), ("", Align::Left), ("busy", Align::Right)]);
        for cpu in &found.cpus {
            table.push(vec![cpu.cpu.to_string().into(), format!("|{}|", cpu.signs).into(), busy(cpu).into()]);
        }
        page.add("", vec![Block::Table(table), Block::Table(signs(found))]);
    }
    let names = format!("{} more names share the sign *", count(found.more_names));
    let names = (found.more_names > 0).then(|| Remark::note(names));
    page.ends(names.into_iter().chain(basis(&[], found.definitions)).chain(remarks(&found.trace)))
}

fn claim(found: &Overview) -> String {
    if found.cpus.is_empty() {
        return nothing(&found.trace, "no switch is known");
    }
    let slice = ns_of(found.slice_ns);
    format!("From {:.6} s, {slice} a column: which task ran most on each CPU.", Seconds(found.start_ns))
}

fn busy(cpu: &CpuMap) -> String {
    match cpu.busy_ns + cpu.idle_ns {
        0 => crate::number::NONE.into(),
        known => percent(cpu.busy_ns as f64 / known as f64),
    }
}

fn signs(found: &Overview) -> Table {
    let mut table =
        Table::new(&[("", Align::Left), ("time", Align::Right), ("of all", Align::Right), ("", Align::Left)]);
    let sum = |of: fn(&CpuMap) -> u64| found.cpus.iter().map(of).sum::<u64>();
    let (idle, unknown) = (sum(|cpu| cpu.idle_ns), sum(|cpu| cpu.unknown_ns));
    let all = sum(|cpu| cpu.busy_ns) + idle + unknown;
    let mut push = |sign: char, ns: u64, name: &str| {
        let share = percent(ns as f64 / all.max(1) as f64);
        table.push(vec![sign.to_string().into(), ns_of(ns).into(), share.into(), name.into()]);
    };
    found.signs.iter().for_each(|row| push(row.sign, row.ns, &row.comm));
    push('.', idle, "(idle)");
    if unknown > 0 {
        push('?', unknown, "(not known)");
    }
    let named: u64 = found.signs.iter().map(|row| row.ns).sum();
    let rest = sum(|cpu| cpu.busy_ns).saturating_sub(named);
    if rest > 0 {
        push(if found.more_names > 0 { '*' } else { '-' }, rest, "(others)");
    }
    table
}
