//! JSON for people: one entry per line, indented by two. serde_json writes compact JSON, and this module lays it out.
//! An indenting serializer for every printed type, and another for each kind of output, would make the program a
//! hundred kilobytes larger.

mod short;

pub use short::{Room, USUAL_BYTES};

use serde::Serialize;

/// The same text as `serde_json::to_string_pretty`, with characters that control a terminal as escapes. Fails if a map
/// has keys that are not strings.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    Ok(laid_out(&small(value)?))
}

/// The same in one line.
pub fn small<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value).map(crate::plain::json)
}

/// An answer: an object whose first member is its `schema`, cut to the available room.
pub fn answer<T: Serialize + ?Sized>(schema: &str, value: &T, room: Room) -> Result<String, serde_json::Error> {
    Ok(short::shortened(&line(schema, value)?, room))
}

/// An object in one line, whose first member is its `schema` (unless it has one already).
pub fn line<T: Serialize + ?Sized>(schema: &str, value: &T) -> Result<String, serde_json::Error> {
    Ok(with_schema(schema, small(value)?))
}

fn with_schema(schema: &str, object: String) -> String {
    let members = object.strip_prefix('{').unwrap_or(&object);
    if members.starts_with("\"schema\":") {
        return object;
    }
    let between = if members == "}" { "" } else { "," };
    format!("{{\"schema\":\"{schema}\"{between}{members}")
}

/// Lays out JSON that has no space outside its strings.
fn laid_out(small: &str) -> String {
    let (mut out, mut depth, mut from) = (String::with_capacity(small.len() * 3 / 2), 0, 0);
    let (mut quoted, mut escaped, mut before) = (false, false, 0);
    for (at, &byte) in small.as_bytes().iter().enumerate() {
        if quoted {
            quoted = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        // A piece ends only at an ASCII byte, so pieces are whole characters.
        let (opens, closes) = (matches!(before, b'{' | b'['), matches!(byte, b'}' | b']'));
        depth -= usize::from(closes && !opens);
        let broken = if closes { !opens } else { opens || before == b',' };
        if broken {
            out.push_str(&small[from..at]);
            from = at;
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth + usize::from(opens && !closes)));
        }
        depth += usize::from(opens && !closes);
        if before == b':' {
            out.push_str(&small[from..at]);
            from = at;
            out.push(' ');
        }
        (quoted, before) = (byte == b'"', byte);
    }
    out + &small[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn agrees(value: &Value) {
        assert_eq!(pretty(value).unwrap(), serde_json::to_string_pretty(value).unwrap());
    }

    #[test]
    fn it_is_laid_out_as_serde_json_does() {
        agrees(&json!(null));
        agrees(&json!({}));
        agrees(&json!([]));
        agrees(&json!({ "a": [], "b": {}, "c": [1, [2, []], { "d": "e" }], "f": { "g": { "h": -1.5e-9 } } }));
        agrees(&json!(["{", "}", "[1,2]", "a:b", "\\", "\"", "\\\"", "\n", "ü…", "", { ":,": "," }]));
    }

    #[test]
    fn any_value_is() {
        let mut random = schedlab_stats::Random::new(1);
        let mut draw = move |below: u64| random.next_u64() % below;
        for _ in 0..500 {
            agrees(&drawn(&mut draw, 0));
        }
    }

    fn drawn(draw: &mut dyn FnMut(u64) -> u64, depth: u64) -> Value {
        match draw(6 + depth) {
            0 | 1 => Value::Array((0..draw(4)).map(|_| drawn(draw, depth + 1)).collect()),
            2 | 3 => Value::Object((0..draw(4)).map(|_| (text(draw), drawn(draw, depth + 1))).collect()),
            4 => json!(draw(1 << 60)),
            _ => Value::String(text(draw)),
        }
    }

    fn text(draw: &mut dyn FnMut(u64) -> u64) -> String {
        (0..draw(6)).map(|_| ['"', '\\', '{', ']', ',', ':', 'a', 'é', '\n'][draw(9) as usize]).collect()
    }
}
