//! Text that leaves the program. Names, reasons and lines come from guests, traces, commands and run directories. They
//! must not control a terminal, end a line or a field, or change the direction of the text next to them. Every printer
//! uses this module: [`line()`] for a text within a line, [`Plain`] for a whole stream.

use std::io::{self, Write};

/// Whether a character could do that: a control character, a mark that changes the direction of text (Unicode's
/// bidirectional formatting, UAX #9), or Unicode's own line and paragraph separators.
pub fn is_control_char(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text as part of one line: each such character becomes a blank.
pub fn line(text: &str) -> String {
    text.replace(is_control_char, " ")
}

/// JSON with those characters as escapes. They occur only in strings, where `\u202e` means the same.
pub(crate) fn json(json: String) -> String {
    // Line breaks of the layout are outside strings; inside strings serde_json has already escaped everything below a
    // blank.
    let raw = |c: char| is_control_char(c) && c != '\n';
    if !json.contains(raw) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if raw(c) { out.push_str(&format!("\\u{:04x}", u32::from(c))) } else { out.push(c) }
    }
    out
}

/// A stream for a terminal or a file: lines and tabs pass, escape sequences and other such characters do not. Bytes
/// that are not UTF-8 become `�`.
#[derive(Debug)]
pub struct Plain<W: Write> {
    inner: W,
    /// Whether sequences that set colours pass: those of our own pages, on a terminal.
    colours: bool,
    state: State,
    /// The first bytes of a character whose remaining bytes have not arrived yet.
    begun: Vec<u8>,
}

/// The stream's position in an escape sequence (ECMA-48, and what xterm accepts).
#[derive(Debug, PartialEq)]
enum State {
    Text,
    /// After a carriage return, which ends a line unless a line feed does.
    Return,
    /// After ESC.
    Escape,
    /// In a control sequence, with its characters so far.
    Sequence(String),
    /// In a string that a terminator ends. The end of the line ends it, too: a string that never ends must not hide the
    /// rest.
    String,
}

/// Longest sequence that is recognised, in characters.
const LONGEST: usize = 64;

impl<W: Write> Plain<W> {
    /// With `colours`, sequences that set colours pass.
    pub fn new(inner: W, colours: bool) -> Self {
        Self { inner, colours, state: State::Text, begun: Vec::new() }
    }

    fn take(&mut self, c: char, out: &mut String) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.begin(c, out),
            State::Return => {
                if c != '\n' {
                    out.push('\n');
                }
                self.begin(c, out);
            }
            State::Escape => match c {
                '[' => self.state = State::Sequence(String::new()),
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::String,
                ' '..='/' => self.state = State::Escape,
                c if is_control_char(c) => self.begin(c, out),
                _ => {}
            },
            State::Sequence(mut so_far) => match c {
                ' '..='?' if so_far.len() < LONGEST => {
                    so_far.push(c);
                    self.state = State::Sequence(so_far);
                }
                'm' if self.colours && so_far.chars().all(|c| c.is_ascii_digit() || c == ';') => {
                    out.push_str(&format!("\u{1b}[{so_far}m"));
                }
                '@'..='~' => {}
                c => self.begin(c, out),
            },
            State::String => match c {
                '\u{7}' | '\u{9c}' => {}
                '\n' | '\u{1b}' => self.begin(c, out),
                _ => self.state = State::String,
            },
        }
    }

    /// Handles a character outside of sequences.
    fn begin(&mut self, c: char, out: &mut String) {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => self.state = State::Return,
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Sequence(String::new()),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = State::String,
            c if is_control_char(c) => {}
            c => out.push(c),
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let (mut rest, mut out) = (&all[..], String::with_capacity(all.len()));
        while !rest.is_empty() {
            let (text, behind) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let text = std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                    (text, Some(error.error_len()))
                }
            };
            text.chars().for_each(|c| self.take(c, &mut out));
            rest = &rest[text.len()..];
            match behind {
                None => {}
                Some(Some(wrong)) => {
                    self.take('\u{fffd}', &mut out);
                    rest = &rest[wrong..];
                }
                Some(None) => {
                    self.begun = rest.to_vec();
                    break;
                }
            }
        }
        out
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let passes = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        if self.state == State::Text && self.begun.is_empty() && bytes.iter().all(passes) {
            return self.inner.write(bytes);
        }
        let text = self.decode(bytes);
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles the rest of bytes that arrive in pieces.
    fn left(bytes: &[u8], piece: usize, colours: bool) -> String {
        let mut plain = Plain::new(Vec::new(), colours);
        bytes.chunks(piece).for_each(|piece| plain.write_all(piece).unwrap());
        String::from_utf8(plain.inner).unwrap()
    }

    #[test]
    fn a_text_within_a_line_stays_there() {
        assert_eq!(line("a\x1b[2Jb\nc µs"), "a [2Jb c µs");
        assert_eq!(line("x\u{202e}y\u{2066}z\u{200f}\u{61c}\u{9b}"), "x y z   ");
        assert_eq!(line("日本 é 🦀 👩\u{200d}💻"), "日本 é 🦀 👩\u{200d}💻");
    }

    #[test]
    fn sequences_are_gone_however_they_are_cut() {
        let cases: [(&[u8], &str); 9] = [
            (b"a\x1b[2J\x1b[31mb\x1b[0m\n", "ab\n"),
            (b"\x1b]0;title\x07x\x1b]52;c;cm0=\x1b\\y", "xy"),
            (b"\x1bPq#0\x1b\\k\x1b(Bl\x1bcm", "klm"),
            (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
            ("c1 \u{9b}2J\u{9d}0;t\u{9c}end \u{202e}fdp\u{202c}".as_bytes(), "c1 end fdp"),
            (b"8 bit \x9b2J", "8 bit \u{fffd}2J"),
            (b"never ended \x1b]0;\nbut the line", "never ended \nbut the line"),
            (b"bell\x07back\x08del\x7fnul\x00", "bellbackdelnul"),
            ("µ 日 🦀\t\n".as_bytes(), "µ 日 🦀\t\n"),
        ];
        for (bytes, expected) in cases {
            for piece in 1..=bytes.len() {
                assert_eq!(
                    left(bytes, piece, false),
                    expected,
                    "{:?} in pieces of {piece}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }

    #[test]
    fn only_what_sets_colours_passes_where_there_are_colours() {
        let bytes = b"\x1b[1;31mred\x1b[0m\x1b[2J\x1b[?25l\x1b[>1m\x1b]0;t\x07.";
        for piece in 1..=bytes.len() {
            assert_eq!(left(bytes, piece, true), "\x1b[1;31mred\x1b[0m.");
        }
    }

    #[test]
    fn nothing_that_steers_is_left_of_any_bytes() {
        let of = b"\x1b[]P\\;0m\x07\x9b\x9c\xc2\xe2\x80\xae\r\nxyz \x00\x7f";
        let mut random = schedlab_stats::Random::new(1);
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..40).map(|_| of[random.below(of.len())]).collect();
            let out = left(&bytes, 1 + random.below(7), false);
            assert!(!out.contains(|c| is_control_char(c) && c != '\n'), "{bytes:?} became {out:?}");
        }
    }

    #[test]
    fn json_says_the_same_in_escapes() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{7f}\u{9b}\u{2028}", "µs"] });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let escaped = json(text);
            assert!(
                escaped.contains("a\\u202e") && escaped.contains("\\u007f\\u009b\\u2028") && escaped.contains("µs")
            );
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }
}
