//! The page of `perf sched latency`, byte for byte as perf 6.4 and newer print it.

use schedlab_analyze::trace::perf_latency::PerfLatency;
use std::io::{self, Write};

/// Writes perf's table.
pub fn perf_latency_text(found: &PerfLatency, out: &mut dyn Write) -> io::Result<()> {
    let rule = |dashes: usize| format!(" {}", "-".repeat(dashes));
    writeln!(out, "\n{}", rule(139))?;
    writeln!(
        out,
        "  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start           \
         | Max delay end          |"
    )?;
    writeln!(out, "{}", rule(139))?;
    let ms = |ns: u64| ns as f64 / 1e6;
    let (mut runtime, mut count) = (0, 0);
    for row in &found.rows {
        runtime += row.runtime_ns;
        count += row.count;
        let who = if row.merged > 1 { format!("({})", row.merged) } else { row.tid.to_string() };
        let task = format!("  {}:{who} ", crate::escape::terminal(&row.comm));
        writeln!(
            out,
            "{task:24}|{:11.3} ms |{:9} | avg:{:8.3} ms | max:{:8.3} ms | max start: {:>12} s | max end: {:>12} s",
            ms(row.runtime_ns),
            row.count,
            ms(row.total_ns / row.count.max(1)),
            ms(row.max_ns),
            seconds(row.max_start_ns),
            seconds(row.max_end_ns),
        )?;
    }
    writeln!(out, "{}", rule(113))?;
    writeln!(out, "  TOTAL:                |{:11.3} ms |{count:9} |", ms(runtime))?;
    writeln!(out, "{}", rule(51))?;
    bad_events(found, out)?;
    writeln!(out)
}

fn bad_events(found: &PerfLatency, out: &mut dyn Write) -> io::Result<()> {
    let mut info = |bad: u64, all: u64, what: &str, chunks: &str, end: &str| {
        if bad == 0 || all == 0 {
            return Ok(());
        }
        let share = bad as f64 / all as f64 * 100.0;
        writeln!(out, "  INFO: {share:.3}% {what} ({bad} out of {all}{chunks}){end}")
    };
    info(found.unordered, found.timestamps, "unordered timestamps", "", "")?;
    info(found.lost, found.records, "lost events", &format!(", in {} chunks", found.lost_chunks), "")?;
    let end = if found.lost > 0 { " (due to lost events?)" } else { "" };
    info(found.switch_bugs, found.timestamps, "context switch bugs", "", end)
}

/// Seconds and microseconds, truncated as perf does.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_analyze::trace::perf_latency::PerfRow;

    #[test]
    fn a_row_is_perfs_own() {
        let row = PerfRow {
            comm: "sched-messaging".into(),
            tid: 24005,
            merged: 81,
            runtime_ns: 568_227_000,
            count: 9680,
            total_ns: 2_703_000 * 9680,
            max_ns: 228_078_000,
            max_start_ns: 14_359_455_348_999,
            max_end_ns: 14_359_683_426_000,
        };
        let (lost, lost_chunks, records) = (1779, 8, 17017);
        let bad = PerfLatency { timestamps: 7015, switch_bugs: 6, ..PerfLatency::default() };
        let found = PerfLatency { rows: vec![row], lost, lost_chunks, records, ..bad };
        let mut out = Vec::new();
        perf_latency_text(&found, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        // Taken from perf 6.12.
        let lines = [
            "  sched-messaging:(81)  |    568.227 ms |     9680 | avg:   2.703 ms | max: 228.078 ms | max start: 14359.455348 s | max end: 14359.683426 s",
            "  INFO: 10.454% lost events (1779 out of 17017, in 8 chunks)",
            "  INFO: 0.086% context switch bugs (6 out of 7015) (due to lost events?)",
        ];
        for line in lines {
            assert!(text.lines().any(|l| l == line), "{text}");
        }
    }
}
