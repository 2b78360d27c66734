//! The length of each CPU's queue, on a terminal: the time at each length, and a line over time.

use super::basis::basis;
use super::{nothing, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{NONE, ns_of as ns, percent, significant};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::queues::{QueueRow, Queues};

/// The findings as a page.
pub(super) fn page(found: &Queues) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.cpus.is_empty() {
        let shares = Block::Table(shares(found));
        page.add("Share of the known time by number of threads that run or wait", vec![shares]);
        let mut table = Table::new(&[("CPU", Align::Right), ("", Align::Left)]);
        for row in &found.cpus {
            let signs: String = row.slices.iter().map(|mean| sign(*mean)).collect();
            table.push(vec![name(row).into(), format!("|{signs}|").into()]);
        }
        let (start, slice) = (Seconds(found.start_ns), ns(found.slice_ns));
        let key = Block::Text("rounded: . none, 1 to 9, + more; ? not known".into());
        let title = format!("Average number of threads over time, from {start:.6} s, {slice} per column");
        page.add(title, vec![Block::Table(table), key]);
    }
    let seen = [
        (
            found.missed_ns,
            "of waiting is not in the queue lengths: the CPU was not known, or the wait was recognized \
                           only at its end",
        ),
        (
            found.censored_ns,
            "in the queue lengths are of waits that were censored later: the lengths may be too high by this much",
        ),
    ];
    let seen = seen.into_iter().filter(|(time, _)| *time > 0);
    let seen = seen.map(|(time, what)| Remark::note(format!("{} {what}", ns(time))));
    let basis = basis(&found.lacking, if found.cpus.is_empty() { &[] } else { found.definitions });
    page.ends(seen.chain(basis).chain(remarks(&found.trace)))
}

fn claim(found: &Queues) -> String {
    let QueueRow { mean, max, max_at_ns, .. } = &found.all;
    let (Some(mean), Some(max_at_ns)) = (mean, max_at_ns) else {
        return nothing(&found.trace, "no CPU's queue is known");
    };
    let mean = significant(*mean, 3);
    let threads = if *max == 1 { "thread" } else { "threads" };
    let longest = found
        .cpus
        .iter()
        .find(|row| row.max == *max && row.max_at_ns == Some(*max_at_ns))
        .map_or_else(String::new, name);
    let conserved = match (found.crowded_ns, found.not_conserved_ns) {
        (0, _) if *max < 2 => "no CPU had two or more".to_owned(),
        (0, _) => "no CPU had two or more of which one could run elsewhere".to_owned(),
        (crowded, 0) => format!("while a CPU had two or more ({}), no other was idle", ns(crowded)),
        (crowded, idle) => format!("while a CPU had two or more ({}), another was idle for {}", ns(crowded), ns(idle)),
    };
    format!(
        "{mean} runnable threads a CPU, at most {max} {threads} (CPU {longest}, {:.6} s); {conserved}.",
        Seconds(*max_at_ns)
    )
}

fn name(row: &QueueRow) -> String {
    row.cpu.map_or_else(|| "all".into(), |cpu| cpu.to_string())
}

/// The first and the last length of each column: single ones, then doubling.
fn columns(max: u64) -> Vec<(u64, u64)> {
    let single = (0..4).map(|length| (length, length));
    let doubling = (2..64).map(|bits| (1 << bits, (1 << bits) * 2 - 1));
    single.chain(doubling).take_while(|(first, _)| *first <= max.clamp(2, 4096)).collect()
}

fn shares(found: &Queues) -> Table {
    let columns = columns(found.all.max);
    let mut header: Vec<(String, Align)> = vec![("CPU".into(), Align::Right)];
    let lengths =
        columns.iter().map(|(first, last)| if first == last { first.to_string() } else { format!("{first}–{last}") });
    let names = ["mean", "max", "at s"].map(String::from).into_iter().chain(lengths).chain(["not known".into()]);
    header.extend(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(&header.iter().map(|(name, align)| (name.as_str(), *align)).collect::<Vec<_>>());
    let all = (found.cpus.len() > 1).then_some(&found.all);
    for row in found.cpus.iter().chain(all) {
        let share =
            |part: u64, of: u64| if part == 0 { String::new() } else { percent(part as f64 / of.max(1) as f64) };
        let mut cells: Vec<Cell> = vec![name(row).into()];
        cells.push(row.mean.map_or(NONE.into(), |mean| significant(mean, 3)).into());
        cells.push(row.max.to_string().into());
        cells.push(row.max_at_ns.map_or(NONE.into(), |at| format!("{:.6}", Seconds(at))).into());
        for (first, last) in &columns {
            let part = row.at_ns.iter().skip(*first as usize).take((last - first + 1) as usize).sum();
            cells.push(share(part, row.known_ns).into());
        }
        cells.push(share(row.unknown_ns, row.known_ns + row.unknown_ns).into());
        table.push(cells);
    }
    table
}

fn sign(mean: Option<f64>) -> char {
    match mean {
        None => '?',
        Some(mean) if mean < 0.5 => '.',
        Some(mean) => char::from_digit(mean.round() as u32, 10).unwrap_or('+'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_signs() {
        let signs = [None, Some(0.0), Some(0.49), Some(0.5), Some(9.4), Some(9.5), Some(1e6)].map(sign);
        assert_eq!(signs, ['?', '.', '.', '1', '9', '+', '+']);
    }

    #[test]
    fn columns_double_up_to_the_longest() {
        assert_eq!(columns(0), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(columns(9)[3..], [(3, 3), (4, 7), (8, 15)]);
        assert_eq!(columns(u64::MAX).last(), Some(&(4096, 8191)));
    }
}
