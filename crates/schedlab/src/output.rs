//! What the binary prints: results on standard output, messages on standard error. All control sequences except our own
//! colours are removed here, whatever page, message or guest they come from. A reader that has seen enough (`schedlab
//! list | head`) is no error and does not change the exit code, and a closed standard error does not end a run.

use crate::cli::OutputOptions;
use anyhow::{Context, Result};
use schedlab_plan::json::{Room, USUAL_BYTES};
use schedlab_plan::plain::Plain;
use schedlab_report::Document;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

/// Writes results to standard output, which is one of a kind: every command's results go through here.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stdout = io::stdout();
    let colours = stdout.is_terminal();
    to(Plain::new(stdout.lock(), colours), write).context("standard output cannot be written")
}

/// The same for what is not text: traces for other programs.
pub(crate) fn bytes_to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    to(io::stdout().lock(), write).context("standard output cannot be written")
}

fn to(destination: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(destination);
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// One line of results.
pub(crate) fn print_line(line: impl Display) -> Result<()> {
    to_stdout(|out| writeln!(out, "{line}"))
}

/// Results in sentences: on a terminal in lines that fit.
pub(crate) fn print_fitted(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    print_line(fitted(&String::from_utf8_lossy(&text), columns(io::stdout())))
}

/// Columns of a terminal; no limit if it is not one.
fn columns(of: impl std::os::fd::AsFd) -> usize {
    schedlab_sys::terminal::columns(of).map_or(usize::MAX, usize::from)
}

/// An answer for programs, in the room that `--top` leaves.
pub(crate) fn print_answer<T: Serialize + ?Sized>(schema: &str, value: &T, top: Option<usize>) -> Result<()> {
    print_line(schedlab_plan::json::answer(schema, value, Room::of(top))?)
}

/// An answer of an object a line, which has no member `shortened`, says so when it is cut.
pub(crate) const LINES_CUT: &str = "output cut at 20 kB: --top N prints N lines, --top 0 all";

/// Such an answer: `top` lines of it, or as many as fit in the usual size.
pub(crate) fn print_answer_lines(whole: &str, top: Option<usize>) -> Result<()> {
    let most = top.filter(|top| *top > 0).unwrap_or(usize::MAX);
    let ends = whole.match_indices('\n').map(|(at, _)| at + 1).take(most);
    let end = ends.take_while(|end| top.is_some() || *end <= USUAL_BYTES).last().unwrap_or(0);
    to_stdout(|out| out.write_all(&whole.as_bytes()[..end]))?;
    if top.is_none() && end < whole.len() {
        say(LINES_CUT);
    }
    Ok(())
}

/// `--top` of an answer whose rows are cut to it already: no others are.
pub(crate) fn rows_are_cut(top: Option<usize>) -> Option<usize> {
    top.map(|rows| if rows == 0 { 0 } else { usize::MAX })
}

/// Findings as JSON, or as a page for this terminal.
pub(crate) fn print_findings<T: Serialize>(
    answer: &OutputOptions,
    schema: &str,
    found: &T,
    page: impl FnOnce(&T) -> Document,
) -> Result<()> {
    if answer.json { print_answer(schema, found, answer.top) } else { print_page(&page(found)) }
}

pub(crate) fn print_page(page: &Document) -> Result<()> {
    to_stdout(|out| page.text(terminal_width(), colour(), out))
}

/// Columns for text on standard output: what `COLUMNS` says, else what the terminal says, else those of a mail.
pub(crate) fn terminal_width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|columns| *columns > 0);
    asked.or_else(|| schedlab_sys::terminal::columns(io::stdout()).map(usize::from)).unwrap_or(80)
}

/// Whether text on standard output has colours.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Talk: on a terminal in lines that fit.
pub(crate) fn say(line: impl Display) {
    say_whole(fitted(&line.to_string(), columns(io::stderr())));
}

/// Each line that is too long in several; a line that fits stays as it is laid out.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    let of_line = |line: &str| match line.chars().count() > columns {
        true => {
            let indent = &line[..line.len() - line.trim_start().len()];
            let lines = schedlab_report::wrap(line, columns.saturating_sub(indent.len()));
            lines.iter().map(|part| format!("{indent}{part}")).collect::<Vec<_>>().join("\n")
        }
        false => line.to_owned(),
    };
    text.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// One line of talk that is there to be copied.
pub(crate) fn say_whole(line: impl Display) {
    let _ = to(io::stderr(), |out| writeln!(Plain::new(out, false), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails every write with this kind.
    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn talk_fits_the_terminal_and_keeps_its_words() {
        let line = "schedlab: pipe: cpus=7: CPU 7 is not among the CPUs we may use here (0-1)";
        let shown = fitted(&format!("{line}\n  a   b"), 40);
        assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.ends_with("\n  a   b") && shown.replace('\n', " ").starts_with(line), "{shown}");
        assert_eq!(fitted(line, usize::MAX), line, "in a file");
        assert_eq!(fitted("  one two three", 12), "  one two\n  three", "the next line is as far in");
    }

    #[test]
    fn a_reader_who_left_is_no_error_and_a_full_disk_is() {
        let written = |kind| to(Closed(kind), |out| writeln!(out, "line")).map_err(|e| e.kind());
        assert_eq!(written(ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(written(ErrorKind::StorageFull), Err(ErrorKind::StorageFull));
    }
}
