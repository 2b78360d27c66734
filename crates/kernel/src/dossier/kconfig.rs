//! Options of a Kconfig file (Documentation/kbuild/kconfig-language.rst).

use super::Place;
use super::interfaces::{Interface, Kind};

pub(super) fn of(path: &str, text: &[u8]) -> Vec<Interface> {
    let text = String::from_utf8_lossy(text);
    let mut out: Vec<Interface> = Vec::new();
    let (mut is_in_option, mut is_in_help) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let words: Vec<&str> = without_comment(line).split_whitespace().collect();
        let Some(&first) = words.first() else { continue };
        if !line.starts_with([' ', '\t']) {
            is_in_help = false;
            is_in_option = matches!((first, words.len()), ("config" | "menuconfig", 2));
            if is_in_option {
                let (name, place) = (words[1].to_owned(), Place { file: path.to_owned(), line: at + 1 });
                let (detail, condition) = (String::new(), String::new());
                out.push(Interface { kind: Kind::Kconfig, name, detail, condition, place });
            }
            continue;
        }
        is_in_help |= matches!(first, "help" | "---help---");
        let Some(option) = out.last_mut().filter(|_| is_in_option && !is_in_help) else { continue };
        if !first.starts_with('#') {
            let apart = if option.detail.is_empty() { "" } else { "; " };
            option.detail = format!("{}{apart}{}", option.detail, words.join(" "));
        }
    }
    out
}

/// Without a `#` that no string holds, and what follows it.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let begin = line.char_indices().find(|(_, c)| {
        match quote {
            None if matches!(c, '"' | '\'') => quote = Some(*c),
            Some(open) if open == *c => quote = None,
            _ => {}
        }
        *c == '#' && quote.is_none()
    });
    begin.map_or(line, |(at, _)| &line[..at])
}
