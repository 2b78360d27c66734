//! Finds the metric in a command's output: the first capture group of a regular expression, or a JSON pointer.

use regex_lite::Regex;
use schedlab_plan::Direction;
use serde_json::Value;

/// Which match counts when an expression matches more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// All matches must agree.
    Only,
    First,
    Last,
}

/// Where the number is.
#[derive(Debug, Clone)]
pub(super) enum MetricSource {
    Pattern { pattern: Regex, pick: Pick },
    Pointer(String),
}

/// A metric to be extracted from the output.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) place: MetricSource,
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) direction: Direction,
}

/// A regular expression with the group that holds the number, or why it is not one.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|e| format!("is not a regular expression: {e}"))?;
    match pattern.captures_len() {
        1 => Err("has no group; put brackets around the number: `tps = ([0-9.]+)`".to_owned()),
        _ => Ok(pattern),
    }
}

impl Wanted {
    /// The number, or a clause that says why there is none.
    pub(super) fn find(&self, output: &str) -> Result<f64, String> {
        match &self.place {
            MetricSource::Pattern { pattern, pick } => by_pattern(pattern, *pick, output),
            MetricSource::Pointer(pointer) => by_pointer(pointer, output),
        }
    }
}

fn by_pattern(pattern: &Regex, pick: Pick, output: &str) -> Result<f64, String> {
    let mut found = Vec::new();
    for captures in pattern.captures_iter(output) {
        let Some(group) = captures.get(1) else { continue };
        let value = number(group.as_str());
        found.push(value.ok_or_else(|| format!("`{pattern}` matched `{}`, which is not a number", group.as_str()))?);
    }
    match (found.as_slice(), pick) {
        ([], _) => Err(format!("the output has no match for `{pattern}`")),
        (&[first, ..], Pick::First) => Ok(first),
        (&[.., last], Pick::Last) => Ok(last),
        (&[first, ref rest @ ..], Pick::Only) => match rest.iter().find(|&&other| other != first) {
            None => Ok(first),
            Some(other) => Err(format!(
                "`{pattern}` matched {} times with different values ({first}, {other}, …); give pick=first or pick=last",
                found.len()
            )),
        },
    }
}

/// A finite number; commas may separate thousands, as in perf's output.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let groups: Vec<&str> = text.split(['.', 'e']).next().unwrap_or_default().split(',').collect();
    let grouped = groups.len() > 1
        && groups[1..].iter().all(|g| g.len() == 3 && g.bytes().all(|b| b.is_ascii_digit()))
        && (1..=3).contains(&groups[0].trim_start_matches('-').len());
    let plain = if grouped { text.replace(',', "") } else { text.to_owned() };
    plain.parse().ok().filter(|value: &f64| value.is_finite())
}

fn by_pointer(pointer: &str, output: &str) -> Result<f64, String> {
    let document = document(output).ok_or("the output holds no JSON")?;
    let Some(value) = document.pointer(pointer) else { return Err(missing(&document, pointer)) };
    let found = match value {
        Value::Number(value) => value.as_f64(),
        Value::String(text) => number(text),
        _ => None,
    };
    found.ok_or_else(|| format!("`{pointer}` holds {}, which is not a number", shortened(value)))
}

/// The first JSON object or array that begins a line: tools print warnings before it.
fn document(output: &str) -> Option<Value> {
    let starts = std::iter::once(0).chain(output.match_indices('\n').map(|(at, _)| at + 1));
    let documents = starts.map(|at| output[at..].trim_start()).filter(|rest| rest.starts_with(['{', '[']));
    documents.filter_map(|rest| serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()).next()
}

/// How far the pointer can be followed, and what is there.
fn missing(document: &Value, pointer: &str) -> String {
    let mut known = "";
    for (at, _) in pointer.match_indices('/').skip(1) {
        if document.pointer(&pointer[..at]).is_some() {
            known = &pointer[..at];
        }
    }
    let holds = match document.pointer(known) {
        Some(Value::Object(map)) => {
            let keys: Vec<&str> = map.keys().take(12).map(String::as_str).collect();
            format!("has {}{}", keys.join(", "), if map.len() > 12 { ", …" } else { "" })
        }
        Some(Value::Array(items)) => format!("is a list of {}", items.len()),
        Some(value) => format!("is {}", shortened(value)),
        None => "is not there".to_owned(),
    };
    format!("the JSON has no `{pointer}`: `{}` {holds}", if known.is_empty() { "/" } else { known })
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PGBENCH: &str = "latency average = 1.5 ms\ntps = 671.46 (without initial connection time)\n";

    fn find(expression: &str, pick: Pick, output: &str) -> Result<f64, String> {
        by_pattern(&pattern(expression).unwrap(), pick, output)
    }

    #[test]
    fn the_first_group_is_the_number() {
        assert_eq!(find(r"tps = ([0-9.]+)", Pick::Only, PGBENCH), Ok(671.46));
        assert_eq!(find(r"(?m)^\s+([0-9,.]+)\s+cycles", Pick::Only, "   1,234,567.5      cycles\n"), Ok(1_234_567.5));
        assert_eq!(number("-1,000"), Some(-1000.0));
        assert_eq!((number("0,5"), number("1,00"), number("inf"), number("")), (None, None, None, None));
    }

    #[test]
    fn different_matches_need_a_choice() {
        let progress = "progress: 1.0 s, 10 tps\nprogress: 2.0 s, 12 tps\n";
        let error = find(r"([0-9]+) tps", Pick::Only, progress).unwrap_err();
        assert!(error.contains("2 times") && error.contains("pick=last"), "{error}");
        assert_eq!(find(r"([0-9]+) tps", Pick::First, progress), Ok(10.0));
        assert_eq!(find(r"([0-9]+) tps", Pick::Last, progress), Ok(12.0));
        assert_eq!(find("(7)", Pick::Only, "7 7 7"), Ok(7.0), "the same value is one value");
    }

    #[test]
    fn what_is_not_found_is_said() {
        assert!(find("(x)", Pick::Only, "").unwrap_err().contains("no match for `(x)`"));
        assert!(find("tps = (.*)w", Pick::Only, PGBENCH).unwrap_err().contains("not a number"));
        assert!(pattern("a(").unwrap_err().contains("not a regular expression"));
        assert!(pattern("tps").unwrap_err().contains("no group"));
    }

    #[test]
    fn a_pointer_leads_through_lists_and_past_warnings() {
        let output =
            "fio: a warning {\n{\n \"jobs\": [{\"read\": {\"iops\": 12.5, \"bw\": \"1,024\", \"lat\": {}}}]\n}\nbye\n";
        assert_eq!(by_pointer("/jobs/0/read/iops", output), Ok(12.5));
        assert_eq!(by_pointer("/jobs/0/read/bw", output), Ok(1024.0));
        let error = by_pointer("/jobs/0/write/iops", output).unwrap_err();
        assert!(error.contains("`/jobs/0` has read"), "{error}");
        let error = by_pointer("/jobs/1/read", output).unwrap_err();
        assert!(error.contains("list of 1"), "{error}");
        assert!(by_pointer("/jobs/0/read/lat", output).unwrap_err().contains("{}, which is not a number"));
        assert!(by_pointer("/x", "no json").unwrap_err().contains("no JSON"));
    }
}
