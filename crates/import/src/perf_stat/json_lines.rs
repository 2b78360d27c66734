//! `perf stat -j`: one object per line, with the keys listed in perf-stat(1) under JSON FORMAT. Until 6.4, and in
//! locales with a decimal comma, bare numbers are not valid JSON (`"pcnt-running" : 100,00`); they are fixed before
//! parsing.

use super::{Count, Run, Running, Runs, Span, Value, no_value};
use crate::error::shown;
use crate::json;
use crate::number::plain;
use crate::{ImportError, Source};
use serde_json::{Map, Value as Json};

/// Keys of the aggregate, from `--per-socket` and similar options.
const SCOPES: [&str; 9] = ["cpu", "core", "cluster", "cache", "die", "socket", "node", "thread", "cgroup"];

/// Whether some line is an object with a count.
pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(is_count_line)
}

fn is_count_line(line: &str) -> bool {
    line.trim_start().starts_with('{') && line.contains("\"counter-value\"") && line.contains("\"event\"")
}

/// All runs of a text. Other lines are the command's own output; objects without a count hold a metric.
pub(super) fn runs(source: &Source) -> Result<Vec<Run>, ImportError> {
    let mut runs = Runs::default();
    for (index, line) in source.text.lines().enumerate() {
        if line.starts_with("# started on ") {
            runs.end_run();
        } else if is_count_line(line) {
            let count = count(line, index + 1).ok_or_else(|| {
                let why = format!("`{}` is not an object of perf stat -j; is the log cut short?", shown(line));
                ImportError::line(source, index + 1, why)
            })?;
            runs.push(count);
        }
    }
    runs.finish(source)
}

fn count(line: &str, number: usize) -> Option<Count> {
    let object: Map<String, Json> = serde_json::from_str(&with_points(line)).ok()?;
    let value = json::text(&object, "counter-value")?;
    let scope = SCOPES.iter().filter_map(|&key| scope_of(key, object.get(key)?));
    // A number in newer versions of perf, a string in some others.
    let decimal = |key: &str| json::number(&object, key).or_else(|| plain(json::text(&object, key)?));
    let span = match decimal("interval") {
        Some(seconds) if seconds >= 0.0 => Span::Until((seconds * 1e9).round() as u64),
        Some(_) => return None,
        None => Span::Whole,
    };
    let running_ns = decimal("event-runtime").map(|ns| ns as u64);
    Some(Count {
        line: number,
        span,
        scope: scope.collect::<Vec<_>>().join(" "),
        value: no_value(value).or_else(|| plain(value).map(Value::Counted))?,
        unit: json::text(&object, "unit").unwrap_or_default().to_owned(),
        event: json::text(&object, "event").filter(|e| !e.is_empty())?.to_owned(),
        variance_percent: decimal("variance"),
        running: decimal("pcnt-running").map_or(Running::ALWAYS, |p| Running::from_percent(p, running_ns)),
    })
}

/// `"cpu" : "3"` as `CPU3`, as in the other forms; other names are self-explanatory.
fn scope_of(key: &str, value: &Json) -> Option<String> {
    match (key, value) {
        ("cpu", Json::String(cpu)) => Some(format!("CPU{cpu}")),
        ("cpu", Json::Number(cpu)) => Some(format!("CPU{cpu}")),
        (_, Json::String(name)) => Some(name.clone()),
        _ => None,
    }
    .filter(|scope| !scope.is_empty())
}

/// Replaces decimal commas by points: a comma between two digits, outside strings. Between fields perf prints a blank.
fn with_points(line: &str) -> String {
    let bytes = line.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut in_string = false;
    let fix = |(at, c): (usize, char)| {
        if c == '"' && (at == 0 || bytes[at - 1] != b'\\') {
            in_string = !in_string;
        }
        let is_decimal = c == ',' && !in_string && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        if is_decimal { '.' } else { c }
    };
    line.char_indices().map(fix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_many_perfs() {
        let line = r#"{"interval" : 0.201057122, "core" : "S0-D0-C1", "aggregate-number" : 1, "counter-value" : "205.125036", "unit" : "msec", "event" : "task-clock", "variance" : 3.09, "event-runtime" : 205125036, "pcnt-running" : 50.00, "metric-value" : 1.000103, "metric-unit" : "CPUs utilized"}"#;
        let c = count(line, 1).unwrap();
        assert_eq!(
            (c.span, c.scope.as_str(), c.value),
            (Span::Until(201_057_122), "S0-D0-C1", Value::Counted(205.125036))
        );
        assert_eq!((c.variance_percent, c.running), (Some(3.09), Running { share: 0.5, ns: Some(205_125_036) }));
        let german = r#"{"cpu" : "0", "counter-value" : "0,483188", "unit" : "msec", "event" : "task-clock", "event-runtime" : 483188, "pcnt-running" : 100,00, "metric-value" : 0,522312, "metric-unit" : "a,b 1,2"}"#;
        let c = count(german, 1).unwrap();
        assert_eq!((c.value, c.running.share, c.scope.as_str()), (Value::Counted(0.483188), 1.0, "CPU0"));
        assert_eq!(
            count(r#"{"counter-value" : "<not counted>", "unit" : "", "event" : "cs"}"#, 1).unwrap().value,
            Value::NotCounted
        );
        assert_eq!(count(r#"{"counter-value" : "5", "event" : "cs""#, 1), None, "cut short");
    }
}
