//! The human-readable output of perf stat, on standard error or in `-o FILE`, mixed with the command's own output.
//! Lines count only below ` Performance counter stats for`, or if they begin with the time that `-I` prints. Numbers
//! have the user's locale. Printed by tools/perf/util/stat-display.c.

use super::{Count, Run, Running, Span, Value, interval_ns, no_value};
use crate::error::shown;
use crate::number::{grouped, plain};
use crate::{ImportError, Source};

const HEADER: &str = "Performance counter stats for ";
/// Replacements without a blank inside, used while a line is split into words.
const NO_VALUES: [(&str, &str); 2] = [("<not counted>", "<not-counted>"), ("<not supported>", "<not-supported>")];

/// Whether the text has a header of perf stat or a line of `-I`.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(HEADER) || interval_line(line, 1).is_some_and(|c| c.is_ok()))
}

/// The part of perf's output that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The command's own output.
    Outside,
    /// Below the header.
    Counts,
    /// `--table`.
    Table,
}

/// All runs of a text.
pub(super) fn runs(source: &Source) -> Result<Vec<Run>, ImportError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut part = Part::Outside;
    let wrong = |number: usize, line: &str| {
        ImportError::line(source, number, format!("`{}` is not a line of perf stat's counts", shown(line)))
    };
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        if let Some(target) = line.trim_start().strip_prefix(HEADER) {
            let is_summary = part == Part::Outside && runs.last().is_some_and(is_interval_run);
            if !is_summary {
                runs.push(Run::default());
            }
            if let Some(run) = runs.last_mut() {
                (run.target, run.repetitions) = header(target);
            }
            part = Part::Counts;
        } else if let Some(count) = interval_line(line, number) {
            let count = count.map_err(|()| wrong(number, line))?;
            let goes_on = runs.last().and_then(|r| r.counts.last()).map(|c| c.span);
            if !matches!((goes_on, count.span), (Some(Span::Until(before)), Span::Until(now)) if now >= before) {
                runs.push(Run::default());
            }
            runs.last_mut().expect("one was pushed").counts.push(count);
            part = Part::Outside;
        } else if let Some(run) = runs.last_mut() {
            part = footer_or_count(run, part, number, line).map_err(|()| wrong(number, line))?;
        }
    }
    Ok(runs)
}

/// Whether all of the run so far came from `-I`, so that a header now begins its summary.
fn is_interval_run(run: &Run) -> bool {
    let is_interval = |c: &Count| matches!(c.span, Span::Until(_));
    run.target.is_empty() && !run.counts.is_empty() && run.counts.iter().all(is_interval)
}

/// Handles a line of a run that is not a header; returns the part that the next line belongs to.
fn footer_or_count(run: &mut Run, part: Part, number: usize, line: &str) -> Result<Part, ()> {
    let seconds = |words: &str| plain(words.split_ascii_whitespace().next()?);
    if line.trim_start().starts_with("# Table of individual measurements") {
        return Ok(Part::Table);
    }
    if let Some((before, _)) = line.split_once(" seconds time elapsed") {
        if run.elapsed_s.is_none() {
            run.elapsed_s = Some(seconds(before).ok_or(())?);
        }
        return Ok(Part::Outside);
    }
    for (mark, field) in [(" seconds user", &mut run.user_s), (" seconds sys", &mut run.sys_s)] {
        if let Some(before) = line.strip_suffix(mark).filter(|_| part == Part::Outside && field.is_none()) {
            // The command may print these words too; perf's are preceded only by a number.
            *field = plain(before.trim());
            return Ok(part);
        }
    }
    match part {
        Part::Counts => {
            let is_summary = run.counts.first().is_some_and(|c| matches!(c.span, Span::Until(_)));
            let span = if is_summary { Span::Summary } else { Span::Whole };
            run.counts.extend(count(line, number, span)?);
        }
        // `0.00481 (+0.00248) ####`
        Part::Table if line.contains('(') => run.each_elapsed_s.push(seconds(line).ok_or(())?),
        Part::Table | Part::Outside => {}
    }
    Ok(part)
}

/// Splits `'hackbench -g 1' (3 runs):`, `'system wide':` or `process id '13020':` into what was measured and the number
/// of runs. A pid does not tell what was run, so it is left out.
fn header(text: &str) -> (String, Option<u64>) {
    let text = text.trim_end().trim_end_matches(':');
    let (text, repetitions) = match text.rsplit_once(" (") {
        Some((before, runs)) if runs.ends_with(" runs)") => (before, runs.trim_end_matches(" runs)").parse().ok()),
        _ => (text, None),
    };
    match text.split_once('\'') {
        Some(("", quoted)) => (quoted.strip_suffix('\'').unwrap_or(quoted).trim().to_owned(), repetitions),
        Some((kind, _)) => (kind.trim().to_owned(), repetitions),
        None => (text.trim().to_owned(), repetitions),
    }
}

/// A line that begins with the time of `-I`; `Err` if the rest is not a count.
fn interval_line(line: &str, number: usize) -> Option<Result<Count, ()>> {
    let trimmed = line.trim_start();
    let (time, rest) = trimmed.split_once(' ')?;
    let span = Span::Until(interval_ns(time)?);
    // `1.000000000 seconds time elapsed`, and perf's lines that have only a metric.
    if rest.trim_start().starts_with("seconds ") {
        return None;
    }
    count(rest, number, span).transpose()
}

/// `[SCOPE [CPUS]]  VALUE [UNIT]  EVENT [CGROUP]  [# metric]  [( +- x% )]  [(y%)]`. `None` for a line that does not
/// begin with a number (blank, metric only, advice); `Err` for one that begins like a count but is not one.
fn count(line: &str, number: usize, span: Span) -> Result<Option<Count>, ()> {
    let (line, shares) = without_shares(line);
    let mut left = line.split('#').next().unwrap_or_default().to_owned();
    for (printed, word) in NO_VALUES {
        left = left.replace(printed, word);
    }
    let words: Vec<&str> = left.split_ascii_whitespace().collect();
    let value_of = |word: &str| {
        let no = NO_VALUES.iter().find(|(_, w)| *w == word).and_then(|(printed, _)| no_value(printed));
        no.or_else(|| grouped(word).map(Value::Counted))
    };
    let starts_like_one = words.first().is_some_and(|w| w.starts_with(|c: char| c == '<' || c.is_ascii_digit()));
    // The value is the last number that is followed by one to three words, because numbers of CPUs may come before it.
    let place =
        (1..=3).filter_map(|behind| words.len().checked_sub(behind + 1)).find(|&at| value_of(words[at]).is_some());
    let Some(at) = place else { return if starts_like_one { Err(()) } else { Ok(None) } };
    let value = value_of(words[at]).ok_or(())?;
    let (unit, event, cgroup) = match &words[at + 1..] {
        [event] => ("", *event, ""),
        // perf 4: `task-clock (msec)`.
        [event, "(msec)"] => ("msec", *event, ""),
        // A unit follows its value after one blank, an event after several.
        [second, third] if follows_closely(&left, words[at], second) => (*second, *third, ""),
        [event, cgroup] => ("", *event, *cgroup),
        [unit, event, cgroup] => (*unit, *event, *cgroup),
        _ => return Err(()),
    };
    if !event.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{') {
        return if starts_like_one { Err(()) } else { Ok(None) };
    }
    let before = &words[..at];
    // `S0  2`: the aggregate and the number of CPUs in it.
    let names = if before.len() > 1 && before[before.len() - 1].parse::<u32>().is_ok() {
        before.len() - 1
    } else {
        before.len()
    };
    let scope = before[..names].iter().copied().chain(Some(cgroup)).filter(|w| !w.is_empty());
    Ok(Some(Count {
        line: number,
        span,
        scope: scope.collect::<Vec<_>>().join(" "),
        value,
        unit: old_unit(event, unit).to_owned(),
        event: event.to_owned(),
        variance_percent: shares.variance,
        running: shares.running.map_or(Running::ALWAYS, |percent| Running::from_percent(percent, None)),
    }))
}

/// perf 3 printed milliseconds of CPU time without saying so.
fn old_unit<'a>(event: &str, unit: &'a str) -> &'a str {
    let name = event.split(':').next().unwrap_or_default();
    if unit.is_empty() && matches!(name, "task-clock" | "cpu-clock") { "msec" } else { unit }
}

fn follows_closely(line: &str, value: &str, next: &str) -> bool {
    line.contains(&format!("{value} {next} "))
}

/// The percentages in parentheses at the end of a line.
#[derive(Debug, Default)]
struct Shares {
    variance: Option<f64>,
    running: Option<f64>,
}

/// Takes `( +-  0.50% )` and `(83.33%)` off the end of a line.
fn without_shares(line: &str) -> (&str, Shares) {
    let mut shares = Shares::default();
    let mut line = line.trim_end();
    while let Some((before, inside)) = line.strip_suffix(')').and_then(|l| l.rsplit_once('(')) {
        let Some(percent) = inside.trim().strip_suffix('%') else { break };
        match percent.trim().strip_prefix("+-") {
            Some(variance) => shares.variance = plain(variance.trim()),
            None => shares.running = plain(percent.trim()),
        }
        line = before.trim_end();
    }
    (line, shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Count {
        count(line, 1, Span::Whole).unwrap().unwrap()
    }

    #[test]
    fn lines_of_many_perfs() {
        let c = one("             78.40 msec task-clock                       #    1.487 CPUs utilized          ");
        assert_eq!((c.value, c.unit.as_str(), c.event.as_str()), (Value::Counted(78.4), "msec", "task-clock"));
        let c = one("       1708.761321 task-clock                #   11.037 CPUs utilized");
        assert_eq!((c.value, c.unit.as_str()), (Value::Counted(1708.761321), "msec"));
        let c = one("          1.234567      task-clock (msec)         #    0.5 CPUs utilized");
        assert_eq!((c.value, c.unit.as_str()), (Value::Counted(1.234567), "msec"));
        let c = one("S0        2             403.01 msec task-clock     #    2.000 CPUs utilized   (75.00%)");
        assert_eq!((c.scope.as_str(), c.value, c.running.share), ("S0", Value::Counted(403.01), 0.75));
        let c = one("         5\u{202f}205\u{202f}202      cycles:u   ( +-  0,50% )  (62,50%)");
        assert_eq!((c.event.as_str(), c.variance_percent, c.running.share), ("cycles:u", Some(0.5), 0.625));
        let c = one("     <not counted>      cs          system.slice      ");
        assert_eq!((c.value, c.event.as_str(), c.scope.as_str()), (Value::NotCounted, "cs", "system.slice"));
        let c = one("              1.23 Joules power/energy-pkg/   ");
        assert_eq!((c.unit.as_str(), c.event.as_str()), ("Joules", "power/energy-pkg/"));
    }

    #[test]
    fn headers_name_what_was_measured() {
        assert_eq!(header("'hackbench -g 1' (3 runs):"), ("hackbench -g 1".into(), Some(3)));
        assert_eq!(header("process id '13020':"), ("process id".into(), None));
        assert_eq!(header("'CPU(s) 0':"), ("CPU(s) 0".into(), None));
    }

    #[test]
    fn what_is_no_count_is_passed_over_or_refused() {
        for line in ["", "        #   12.3 %  tma_frontend_bound", "Some events weren't counted. Try disabling the NMI"]
        {
            assert_eq!(count(line, 1, Span::Whole), Ok(None), "{line}");
        }
        for line in ["12,34x", "  12 13 14", " <not quite> cycles"] {
            assert_eq!(count(line, 1, Span::Whole), Err(()), "{line}");
        }
    }
}
