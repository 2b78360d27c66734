//! JSON as tools write it: any number of documents one after another (`cat a.json b.json`), and C++'s `NaN` and
//! `Infinity`, which are not JSON and become null here.

use crate::{ImportError, Source};
use serde_json::{Map, Value};

/// An object and the line it starts on, from 1.
pub(crate) type Document = (usize, Map<String, Value>);

/// All documents of a source. `cut_short` says why a file of this tool may end too early.
pub(crate) fn documents(source: &Source, cut_short: &str) -> Result<Vec<Document>, ImportError> {
    let text = without_nan(source.text.strip_prefix('\u{feff}').unwrap_or(&source.text));
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let mut documents = Vec::new();
    loop {
        let at = stream.byte_offset();
        let blank = text[at..].len() - text[at..].trim_start().len();
        let line = 1 + text[..at + blank].matches('\n').count();
        match stream.next() {
            None => return Ok(documents),
            Some(Ok(Value::Object(object))) => documents.push((line, object)),
            Some(Ok(_)) => return Err(ImportError::line(source, line, "expected a JSON object `{…}`")),
            Some(Err(error)) if error.is_eof() => {
                let why = format!("the JSON that starts here is truncated: {cut_short}");
                return Err(ImportError::line(source, line, why));
            }
            Some(Err(error)) => {
                // serde_json's message ends with the position, which our message has at the beginning.
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                return Err(ImportError::line(source, error.line().max(1), format!("not JSON: {what}")));
            }
        }
    }
}

/// The text with `NaN`, `Infinity` and `-Infinity` outside strings replaced by null.
fn without_nan(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].into_iter().find(|w| !in_string && rest.starts_with(w));
        if let Some(word) = word {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        match c {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && c == '\\' && !escaped;
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// A finite number of an object.
pub(crate) fn number(object: &Map<String, Value>, key: &str) -> Option<f64> {
    object.get(key)?.as_f64().filter(|x| x.is_finite())
}

/// A text of an object.
pub(crate) fn text<'o>(object: &'o Map<String, Value>, key: &str) -> Option<&'o str> {
    object.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<usize>, String> {
        let source = Source { name: "x".into(), file: "x".into(), text: text.into() };
        documents(&source, "try again").map(|d| d.iter().map(|d| d.0).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn documents_follow_each_other() {
        assert_eq!(read("{}\n\n {\"a\": NaN, \"b\": -Infinity, \"c\": \"NaN \\\" Infinity\"}\n"), Ok(vec![1, 3]));
        assert_eq!(without_nan(r#"["\"NaN", NaN]"#), r#"["\"NaN", null]"#);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(read("{}\n{\"a\":1,\n").unwrap_err(), "x line 2: the JSON that starts here is truncated: try again");
        assert_eq!(read("{}\n{\n\"a\":,\n}").unwrap_err(), "x line 3: not JSON: expected value");
        assert_eq!(read("[]").unwrap_err(), "x line 1: expected a JSON object `{…}`");
    }
}
