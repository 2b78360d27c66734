//! Encoded words of mail headers, `=?UTF-8?q?caf=C3=A9?=` (RFC 2047): how git writes a subject that is not ASCII.

/// The text with its encoded words decoded, and white space between two of them dropped. A word that cannot be decoded,
/// or has a character set other than UTF-8, ASCII or Latin-1, stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    // Bytes of adjacent words, because a character may be split between two.
    let mut open = Vec::new();
    while let Some(at) = rest.find("=?") {
        let between = &rest[..at];
        let Some((bytes, after)) = word(&rest[at..]) else {
            flush(&mut open, &mut out);
            out += &rest[..at + 2];
            rest = &rest[at + 2..];
            continue;
        };
        if open.is_empty() || !between.trim().is_empty() {
            flush(&mut open, &mut out);
            out += between;
        }
        open.extend(bytes);
        rest = after;
    }
    flush(&mut open, &mut out);
    out + rest
}

/// Decoded text may contain anything, but a subject is one line.
fn flush(open: &mut Vec<u8>, out: &mut String) {
    let text = String::from_utf8_lossy(open).replace(char::is_control, " ");
    out.push_str(&text);
    open.clear();
}

/// `=?CHARSET?ENCODING?TEXT?=` at the beginning of a text: its bytes as UTF-8, and the rest of the text.
fn word(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (set, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (inside, after) = rest.split_once("?=")?;
    let bytes = match encoding {
        "q" | "Q" => of_quoted(inside.as_bytes())?,
        "b" | "B" => of_base64(inside.as_bytes())?,
        _ => return None,
    };
    // A language may follow the character set (RFC 2231).
    let set = set.split('*').next().unwrap_or_default().to_ascii_lowercase();
    let bytes = match set.as_str() {
        "utf-8" | "utf8" | "us-ascii" => bytes,
        "iso-8859-1" | "latin1" => bytes.into_iter().map(char::from).collect::<String>().into_bytes(),
        _ => return None,
    };
    Some((bytes, after))
}

fn of_quoted(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            b'_' => b' ',
            b'=' => {
                let mut digit = || char::from(*bytes.next()?).to_digit(16);
                (digit()? << 4 | digit()?) as u8
            }
            other => other,
        });
    }
    Some(out)
}

fn of_base64(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut count) = (Vec::with_capacity(text.len()), 0u32, 0);
    let text = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded_and_what_is_none_stays() {
        for (text, expected) in [
            ("[PATCH 1/2] =?UTF-8?q?sched:=20caf=C3=A9_x?=", "[PATCH 1/2] sched: café x"),
            ("=?utf-8?B?w6TDtsO8?= and more", "äöü and more"),
            ("=?UTF-8?q?a=20b?= =?UTF-8?q?=C3=A9?= c", "a bé c"),
            // A character split between two words, as some mailers do.
            ("=?UTF-8?q?=C3?=  =?UTF-8?q?=A9?=", "é"),
            ("=?ISO-8859-1?Q?caf=E9?=", "café"),
            ("=?UTF-8?q?a=0Ab?=", "a b"),
            (
                "=?KOI8-R?B?8NLJ?= =?UTF-8?q?bad=G0?= =?x a ? b : c",
                "=?KOI8-R?B?8NLJ?= =?UTF-8?q?bad=G0?= =?x a ? b : c",
            ),
            ("=?UTF-8?B?a?=", ""),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}
