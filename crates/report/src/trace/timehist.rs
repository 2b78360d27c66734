//! One line for each time on a CPU, or a picture of them.

use crate::chart::{Draw, Turn, TurnEnd, Turns};
use crate::escape::terminal;
use crate::number::quantity;
use schedlab_analyze::trace::{Seconds, TimehistRow};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The names of the columns.
pub fn timehist_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>18}  {:>4}  {:<24}  {:>10}  {:>10}  {:>10}  {:>10}  left",
        "at s", "CPU", "task", "slept ms", "woken ms", "preempt ms", "ran ms"
    )
}

/// A row; a time that is not known is a dash. Where system calls were recorded, the one in which the task slept stands last.
pub fn timehist_line(row: &TimehistRow, out: &mut dyn Write) -> io::Result<()> {
    let ms = |ns: Option<u64>| ns.map_or(crate::number::NONE.to_owned(), |ns| format!("{:.6}", ns as f64 / 1e6));
    let task = format!("{}:{}", terminal(&row.comm), row.tid);
    writeln!(
        out,
        "{:>18.9}  {:>4}  {task:<24}  {:>10}  {:>10}  {:>10}  {:>10}  {}{}",
        Seconds(row.at_ns),
        row.cpu,
        ms(row.slept_ns),
        ms(row.wakeup_wait_ns),
        ms(row.preempt_wait_ns),
        ms(Some(row.run_ns)),
        row.left.as_deref().map_or(crate::number::NONE.to_owned(), terminal),
        row.slept_in.as_deref().map_or(String::new(), |call| format!("    slept in {}", terminal(call))),
    )
}

/// Turns that a picture can show.
pub const MOST_TURNS: usize = 1000;
/// A task that had its CPU so soon after it was woken has preempted whoever was there, ns.
const SOON_NS: u64 = 100_000;

/// Who had each CPU, and how each turn ended, as a file. `place`: of which trace, on which machine, when.
pub fn timehist_svg(rows: &[TimehistRow], place: &str) -> String {
    let begin = |row: &TimehistRow| row.at_ns.saturating_sub(row.run_ns);
    let from = rows.iter().map(begin).min().unwrap_or(0);
    let to = rows.iter().map(|row| row.at_ns).max().unwrap_or(0);
    let length = to.saturating_sub(from).max(1);
    let mut of_cpu: BTreeMap<u16, Vec<&TimehistRow>> = BTreeMap::new();
    rows.iter().for_each(|row| of_cpu.entry(row.cpu).or_default().push(row));
    let turns = |rows: &Vec<&TimehistRow>| {
        let share = |ns: u64| (ns - from) as f64 / length as f64;
        let turn = |(index, row): (usize, &&TimehistRow)| Turn {
            from: share(begin(row)),
            to: share(row.at_ns),
            task: format!("{}:{}", row.comm, row.tid),
            end: ended(row, rows.get(index + 1).copied()),
        };
        rows.iter().enumerate().map(turn).collect()
    };
    let cpus = of_cpu.iter().map(|(cpu, rows)| (format!("CPU {cpu}"), turns(rows))).collect();
    let chart = Turns { length: quantity(length as f64, "ns"), cpus };
    let description = format!(
        "{} turns: {} ended by a task just woken, {} by one that had waited, {} by waiting.",
        rows.len(),
        chart.count(TurnEnd::Woken),
        chart.count(TurnEnd::Waited),
        chart.count(TurnEnd::Waits)
    );
    chart.draw(super::WIDTH).standalone("Who had each CPU, and who took it", place, &description)
}

/// How a turn ended, by the state in which the task left and by what the next one on the CPU had waited for.
fn ended(row: &TimehistRow, next: Option<&TimehistRow>) -> TurnEnd {
    let left = row.left.as_deref();
    match left.map(|left| left.starts_with('R')) {
        None => TurnEnd::Open,
        Some(false) => TurnEnd::Waits,
        Some(true) => match next {
            None => TurnEnd::Open,
            Some(next) if next.wakeup_wait_ns.is_some_and(|ns| ns <= SOON_NS) => TurnEnd::Woken,
            Some(next) if next.wakeup_wait_ns.or(next.preempt_wait_ns).is_some() => TurnEnd::Waited,
            Some(_) => TurnEnd::Open,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cpu: u16, tid: u32, (at_ns, run_ns): (u64, u64), left: &str, wakeup_wait_ns: Option<u64>) -> TimehistRow {
        let (slept_ns, preempt_wait_ns) = (None, None);
        let left = Some(left.to_owned()).filter(|left| !left.is_empty());
        TimehistRow {
            at_ns,
            cpu,
            comm: "A".into(),
            tid,
            slept_ns,
            slept_in: None,
            wakeup_wait_ns,
            preempt_wait_ns,
            run_ns,
            left,
        }
    }

    #[test]
    fn a_turn_ends_by_waiting_or_by_one_that_was_just_woken_or_had_waited() {
        let rows = [
            row(0, 1, (1_000_000, 900_000), "R+", None),
            row(0, 2, (2_000_000, 900_000), "R", Some(20_000)),
            row(0, 3, (3_000_000, 900_000), "S", Some(1_500_000)),
            row(1, 4, (3_000_000, 100_000), "", None),
        ];
        let svg = timehist_svg(&rows, "here");
        let said = "4 turns: 1 ended by a task just woken, 1 by one that had waited, 1 by waiting.";
        assert!(svg.contains(said) && svg.contains("CPU 1") && svg.contains("A:2"), "{svg}");
        assert!(timehist_svg(&[], "here").contains("0 turns"));
    }
}
