//! One line for each time on a CPU, or a picture of them.

use crate::chart::{self, CpuTurns, Draw, Turn, TurnEnd};
use crate::escape::terminal;
use crate::number::quantity;
use crate::table::middle_cut;
use schedlab_analyze::trace::{Seconds, TimehistRow, Turns, UnknownInterval};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Width of a terminal from which on times are printed with their nanoseconds.
const WIDE: usize = 104;

/// The names of the columns, for a terminal of this width.
pub fn timehist_header(columns: usize, out: &mut dyn Write) -> io::Result<()> {
    if columns < WIDE {
        return writeln!(
            out,
            "{:>13}  CPU  {:<14}{}  left",
            "at s, rest ms",
            "task",
            NAMES.map(|name| format!("  {name:>8}")).concat()
        );
    }
    let names = NAMES.map(|name| format!("  {:>10}", format!("{name} ms"))).concat();
    writeln!(out, "{:>18}   CPU  {:<24}{names}  left", "at s", "task")
}

const NAMES: [&str; 4] = ["slept", "woken", "preempt", "ran"];

/// A row; a time that is not known is a dash. If system calls were recorded, the one in which the task slept comes
/// last. A narrow terminal has times in whole microseconds, as perf has them, and the system call on a line of its own.
pub fn timehist_line(row: &TimehistRow, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let is_wide = columns >= WIDE;
    let digits = if is_wide { 6 } else { 3 };
    let ms = |ns: Option<u64>| ns.map_or(crate::number::NONE.to_owned(), |ns| format!("{:.digits$}", ns as f64 / 1e6));
    let times = [row.slept_ns, row.wakeup_wait_ns, row.preempt_wait_ns, row.run_ns].map(ms);
    let task = format!("{}:{}", terminal(&row.comm), row.tid);
    let left = row.left.as_deref().map_or(crate::number::NONE.to_owned(), terminal);
    let (at, cpu, call) = (Seconds(row.at_ns), row.cpu, row.slept_in.as_deref().map(terminal));
    if is_wide {
        let times = times.map(|time| format!("  {time:>10}")).concat();
        let call = call.map_or(String::new(), |call| format!("    slept in {call}"));
        return writeln!(out, "{at:>18.9}  {cpu:>4}  {task:<24}{times}  {left}{call}");
    }
    let (times, task) = (times.map(|time| format!("  {time:>8}")).concat(), middle_cut(&task, 14));
    writeln!(out, "{at:>13.6}  {cpu:>3}  {task:<14}{times}  {left}")?;
    call.map_or(Ok(()), |call| writeln!(out, "{:>20}slept in {call}", ""))
}

/// Most times on a CPU, and unknown times between them, that a picture can show.
pub const MAX_TURNS: usize = 1000;
/// A task that got its CPU within this time after it was woken has preempted the previous one, ns.
const SOON_NS: u64 = 100_000;

/// Which task had each CPU, and how each time on a CPU ended, as a file. `place`: of which trace, on which machine,
/// when.
pub fn timehist_svg(Turns { rows, holes }: &Turns, place: &str) -> String {
    let from = rows.iter().map(begin).min().unwrap_or(0);
    let to = rows.iter().map(|row| row.at_ns).max().unwrap_or(0);
    let length = to.saturating_sub(from).max(1);
    let mut of_cpu: BTreeMap<u16, (Vec<&TimehistRow>, Vec<&UnknownInterval>)> = BTreeMap::new();
    rows.iter().for_each(|row| of_cpu.entry(row.cpu).or_default().0.push(row));
    let is_shown = |hole: &&UnknownInterval| hole.start_ns < to && hole.end_ns > from;
    holes.iter().filter(is_shown).for_each(|hole| of_cpu.entry(hole.cpu).or_default().1.push(hole));
    let share = |ns: u64| (ns.clamp(from, to) - from) as f64 / length as f64;
    let turns = |rows: &Vec<&TimehistRow>| {
        let turn = |(index, row): (usize, &&TimehistRow)| Turn {
            from: share(begin(row)),
            to: share(row.at_ns),
            task: format!("{}:{}", row.comm, row.tid),
            end: ended(row, rows.get(index + 1).copied()),
        };
        rows.iter().enumerate().map(turn).collect()
    };
    let unknown =
        |holes: &Vec<&UnknownInterval>| holes.iter().map(|hole| (share(hole.start_ns), share(hole.end_ns))).collect();
    let lane = |(cpu, (rows, holes)): (&u16, &(Vec<_>, Vec<_>))| CpuTurns {
        name: format!("CPU {cpu}"),
        turns: turns(rows),
        unknown: unknown(holes),
    };
    let cpus = of_cpu.iter().map(lane).collect();
    let chart =
        chart::Turns { from: format!("from {:.6} s", Seconds(from)), length: quantity(length as f64, "ns"), cpus };
    let description = format!(
        "{} turns: {} ended by a task just woken, {} by one that had waited, {} by waiting.",
        rows.len(),
        chart.count(TurnEnd::Woken),
        chart.count(TurnEnd::Waited),
        chart.count(TurnEnd::Waits)
    );
    chart.draw(super::WIDTH).standalone("Who had each CPU, and who took it", place, &description)
}

fn begin(row: &TimehistRow) -> u64 {
    row.at_ns.saturating_sub(row.run_ns.unwrap_or(0))
}

/// How a time on a CPU ended, from the state in which the task left and from what the next task on the CPU had waited
/// for.
fn ended(row: &TimehistRow, next: Option<&TimehistRow>) -> TurnEnd {
    let left = row.left.as_deref();
    match left.map(|left| left.starts_with('R')) {
        None => TurnEnd::Open,
        Some(false) => TurnEnd::Waits,
        Some(true) => match next {
            None => TurnEnd::Open,
            // In between, the CPU was idle, or a task ran that was filtered out or is not known.
            Some(next) if begin(next) != row.at_ns => TurnEnd::Open,
            Some(next) if next.wakeup_wait_ns.is_some_and(|ns| ns <= SOON_NS) => TurnEnd::Woken,
            Some(next) if next.wakeup_wait_ns.or(next.preempt_wait_ns).is_some() => TurnEnd::Waited,
            Some(_) => TurnEnd::Open,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::width;

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
            run_ns: Some(run_ns),
            left,
        }
    }

    #[test]
    fn a_line_keeps_within_80_columns_and_wider_ones_have_the_nanoseconds() {
        let mut long = row(7, 1_234_567, (99_999_123_456_789, 1_234_567_891), "R+", Some(12_345_678));
        long.comm = "a thread's name".into();
        (long.preempt_wait_ns, long.slept_ns) = (Some(9_999_999_999), Some(9_999_999_999));
        let line = |columns| {
            let mut text = Vec::new();
            timehist_header(columns, &mut text).unwrap();
            timehist_line(&long, columns, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert!(line(80).lines().all(|line| width(line) <= 80), "{}", line(80));
        assert!(line(80).contains(" 1234.568  R+") && line(104).contains("1234.567891  R+"), "{}", line(80));
        long.slept_in = Some("a_long_name_of_a_system_call".into());
        let mut text = Vec::new();
        timehist_line(&long, 80, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().lines().all(|line| width(line) <= 80));
    }

    #[test]
    fn a_turn_ends_by_waiting_or_by_one_that_was_just_woken_or_had_waited() {
        let rows = [
            row(0, 1, (1_000_000, 900_000), "R+", None),
            row(0, 2, (2_000_000, 1_000_000), "R", Some(20_000)),
            row(0, 3, (3_000_000, 1_000_000), "R", Some(1_500_000)),
            row(0, 5, (4_000_000, 900_000), "S", Some(1_000)),
            row(1, 4, (3_000_000, 100_000), "", None),
        ];
        let turns =
            |rows: &[TimehistRow], holes: &[UnknownInterval]| Turns { rows: rows.to_vec(), holes: holes.to_vec() };
        let svg = timehist_svg(&turns(&rows, &[]), "here");
        let said = "5 turns: 1 ended by a task just woken, 1 by one that had waited, 1 by waiting.";
        assert!(
            svg.contains(said) && svg.contains("CPU 1") && svg.contains("from 0.000100 s") && svg.contains("A:2"),
            "{svg}"
        );
        assert!(timehist_svg(&turns(&[], &[]), "here").contains("0 turns"));
        assert!(!svg.contains("Not known:"), "{svg}");
        // CPU 0 has a hole before its last time on the CPU, and CPU 2 has only a hole.
        let hole = |cpu, start_ns, end_ns| UnknownInterval { cpu, start_ns, end_ns };
        let svg = timehist_svg(&turns(&rows, &[hole(0, 3_000_000, 3_100_000), hole(2, 0, 9_000_000)]), "here");
        assert!(svg.contains("Not known: events are missing") && svg.contains("CPU 2"), "{svg}");
        assert_eq!(svg.matches("class=\"block\"").count(), 3, "of each CPU, and of the legend");
    }
}
