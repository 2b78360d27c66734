//! Options of a Kconfig file (Documentation/kbuild/kconfig-language.rst).

use super::SourceLine;
use super::interfaces::{Interface, Kind};
use crate::source::conditions::joined;

/// What the following lines belong to.
enum Of {
    Nothing,
    Option,
    /// The innermost `menu` or `choice`.
    Block,
    /// A help text, and its indentation, which is that of its first line.
    Help(Option<usize>),
}

/// Options with their entries. As condition an option has the dependencies of the `if`, `menu` and `choice` around it
/// in this file.
pub(super) fn of(path: &str, text: &[u8]) -> Vec<Interface> {
    let text = String::from_utf8_lossy(text);
    let mut out: Vec<Interface> = Vec::new();
    let (mut of, mut around) = (Of::Nothing, Vec::<String>::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let mut words: Vec<&str> = without_comment(line).split_whitespace().collect();
        while words.last().is_some_and(|word| *word == "\\") {
            words.pop();
            let next = lines.next().map_or("", |(_, next)| next);
            words.extend(without_comment(next).split_whitespace());
        }
        let Some(&first) = words.first() else { continue };
        if let Of::Help(begun) = &mut of {
            let indented = indentation(line);
            if indented > 0 && indented >= *begun.get_or_insert(indented) {
                continue;
            }
        }
        let rest = words[1..].join(" ");
        match first {
            "config" | "menuconfig" if words.len() == 2 => {
                let place = SourceLine { file: path.to_owned(), line: at + 1 };
                let held: Vec<String> =
                    around.iter().filter(|held| !held.is_empty()).map(|held| joined(held)).collect();
                out.push(Interface::new(Kind::Kconfig, rest, String::new(), held.join(" && "), place));
                of = Of::Option;
            }
            "if" => {
                around.push(rest);
                of = Of::Nothing;
            }
            "menu" | "choice" => {
                around.push(String::new());
                of = Of::Block;
            }
            "endif" | "endmenu" | "endchoice" => {
                around.pop();
                of = Of::Nothing;
            }
            "comment" | "source" | "mainmenu" => of = Of::Nothing,
            "help" | "---help---" => of = Of::Help(None),
            _ => match (&of, out.last_mut()) {
                (Of::Option, Some(option)) => append(&mut option.detail, "; ", &words.join(" ")),
                (Of::Block, _) if first == "depends" && words.get(1) == Some(&"on") => {
                    let held = joined(&words[2..].join(" "));
                    around.last_mut().into_iter().for_each(|all| append(all, " && ", &held));
                }
                _ => {}
            },
        }
    }
    out
}

fn append(to: &mut String, apart: &str, text: &str) {
    to.push_str(if to.is_empty() { "" } else { apart });
    to.push_str(text);
}

/// The column of the first word; a tab advances to the next multiple of eight.
fn indentation(line: &str) -> usize {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.fold(0, |column, byte| if byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 })
}

/// The line without its comment, which starts at a `#` outside of strings.
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
