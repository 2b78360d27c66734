//! `perf stat -x SEP`: `[TIME SEP] [AGGREGATE SEP [CPUS SEP]] value SEP unit SEP event SEP [x% SEP] running ns SEP
//! percent running [SEP metric SEP unit]` (perf-stat(1), CSV FORMAT). The separator is detected for each line: it is
//! the one that yields these fields. A locale with a decimal comma together with `-x,` is ambiguous, and refused.

use super::{Count, Run, Running, Runs, Span, Value, interval_ns, no_value};
use crate::error::shown;
use crate::number::plain;
use crate::{ImportError, Source};

const SEPARATORS: [char; 6] = [';', '\t', '|', '@', ':', ','];

/// Whether some line has the fields of perf stat. At least four fields must follow the value, so that a table of
/// numbers does not match.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(|line| count(line, 1).is_some())
}

/// All runs of a text. Lines that are not a count with any separator are the command's own output, unless only decimal
/// commas keep them from being one.
pub(super) fn runs(source: &Source) -> Result<Vec<Run>, ImportError> {
    let mut runs = Runs::default();
    for (index, line) in source.text.lines().enumerate() {
        if line.starts_with("# started on ") {
            runs.end_run();
        } else if let Some(count) = count(line, index + 1) {
            runs.push(count);
        } else if has_decimal_commas(line) {
            let why = format!(
                "`{}` has decimal commas between commas; repeat perf stat with `-x ';'` or LC_ALL=C",
                shown(line)
            );
            return Err(ImportError::line(source, index + 1, why));
        }
    }
    runs.finish(source)
}

/// The count in a line, with the separator that yields one.
fn count(line: &str, number: usize) -> Option<Count> {
    SEPARATORS.into_iter().find_map(|separator| {
        let fields: Vec<&str> = line.trim().split(separator).map(str::trim).collect();
        of_fields(&fields, separator, number)
    })
}

fn of_fields(fields: &[&str], separator: char, number: usize) -> Option<Count> {
    let (span, fields) = match fields {
        [first, rest @ ..] if interval_ns(first).is_some() && rest.len() >= 5 => {
            (Span::Until(interval_ns(first)?), rest)
        }
        ["summary", rest @ ..] => (Span::Summary, rest),
        all => (Span::Whole, all),
    };
    let value_of = |field: &str| no_value(field).or_else(|| plain(field).map(Value::Counted));
    let (scope, fields) = match fields {
        [first, ..] if value_of(first).is_some() => ("", fields),
        // A socket, die, core or node is followed by the number of its CPUs; a CPU or a thread is not.
        [scope, cpus, rest @ ..]
            if cpus.parse::<u32>().is_ok() && rest.first().is_some_and(|f| value_of(f).is_some()) =>
        {
            (*scope, rest)
        }
        [scope, rest @ ..] => (*scope, rest),
        [] => return None,
    };
    let [value, unit, event, rest @ ..] = fields else { return None };
    if !event.starts_with(|c: char| c.is_ascii_alphabetic() || c == '{') || plain(unit).is_some() {
        return None;
    }
    let (event, rest) = whole_event(event, rest, separator);
    // A cgroup comes between the event and the shares.
    let (cgroup, rest) = match rest {
        [cgroup, more @ ..] if !is_share(cgroup) => (*cgroup, more),
        _ => ("", rest),
    };
    let (variance, rest) = match rest {
        [share, more @ ..] if share.ends_with('%') => (Some(plain(share.strip_suffix('%')?)?), more),
        _ => (None, rest),
    };
    let [running_ns, percent, metric @ ..] = rest else { return None };
    if !matches!(metric.len(), 0 | 2) {
        return None;
    }
    let running_ns = running_ns.parse::<u64>().ok()?;
    Some(Count {
        line: number,
        span,
        scope: [scope, cgroup].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" "),
        value: value_of(value)?,
        unit: (*unit).to_owned(),
        event,
        variance_percent: variance,
        running: Running::from_percent(plain(percent)?, Some(running_ns)),
    })
}

/// An event such as `cpu/event=0x3c,umask=1/`, which perf does not quote: the text between the two slashes is one
/// field.
fn whole_event<'f>(first: &str, mut rest: &'f [&'f str], separator: char) -> (String, &'f [&'f str]) {
    let mut event = first.to_owned();
    while event.matches('/').count() % 2 == 1
        && let [next, more @ ..] = rest
    {
        event.push(separator);
        event.push_str(next);
        rest = more;
    }
    (event, rest)
}

fn is_share(field: &str) -> bool {
    field.strip_suffix('%').is_some_and(|p| plain(p).is_some()) || field.parse::<u64>().is_ok()
}

/// `0,45,msec,task-clock,…`: digits, a comma, digits, and then the fields of a count.
fn has_decimal_commas(line: &str) -> bool {
    let joined = |line: &str| -> Option<String> {
        let (whole, rest) = line.trim().split_once(',')?;
        let (fraction, rest) = rest.split_once(',')?;
        let are_digits = [whole, fraction].iter().all(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
        are_digits.then(|| format!("{whole}.{fraction},{rest}"))
    };
    let Some(line) = joined(line) else { return false };
    let fields: Vec<&str> = line.split(',').collect();
    // The shares after them also have commas, so it is enough that unit and event are in the right place.
    matches!(fields.as_slice(), [_, unit, event, _, _, _, ..] if unit.starts_with(char::is_alphabetic)
        && event.starts_with(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Count {
        count(line, 1).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn fields_of_every_aggregation() {
        let c = one("87.15,msec,task-clock,87146990,100.00,1.442,CPUs utilized");
        assert_eq!((c.value, c.unit.as_str(), c.running.ns), (Value::Counted(87.15), "msec", Some(87_146_990)));
        assert_eq!(
            one("     0.201056171,1,,context-switches,531070,100.00,1.883,K/sec").span,
            Span::Until(201_056_171)
        );
        let c = one("S0,2,94,,context-switches,403510024,75.00,232.956,/sec");
        assert_eq!((c.scope.as_str(), c.value, c.running.share), ("S0", Value::Counted(94.0), 0.75));
        let c = one("S0-D0-C1,1,<not counted>,,cycles,0,0.00,,");
        assert_eq!((c.scope.as_str(), c.value), ("S0-D0-C1", Value::NotCounted));
        assert_eq!(one("CPU1,203.53,msec,task-clock,203526890,100.00,1.000,CPUs utilized").scope, "CPU1");
        assert_eq!(one("hackbench-123,5,,cs,10,100.00").scope, "hackbench-123");
        assert_eq!(one("5,,cs,system.slice,10,100.00").scope, "system.slice");
        assert_eq!(one("         summary,1,,context-switches,611821,100.00,1.634,K/sec").span, Span::Summary);
        assert_eq!(one("5,,cpu/event=0x3c,umask=1/u,10,100.00,,").event, "cpu/event=0x3c,umask=1/u");
        let c = one("0,44;msec;task-clock;3,79%;444812;100,00;0;CPUs utilized");
        assert_eq!((c.value, c.variance_percent), (Value::Counted(0.44), Some(3.79)));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "a,b", "1,2,3,4,5,6,7", ",,,,,,0.3,stalled cycles per insn", "Time: 0.1", "5,,7,10,100.00"] {
            assert_eq!(count(line, 1), None, "{line}");
        }
        assert!(has_decimal_commas("0,45,msec,task-clock,8,03%,450209,100,00,0,CPUs utilized"));
        assert!(!has_decimal_commas("0,45,46,47") && !has_decimal_commas("a,b"));
    }
}
