//! The output of the binary: results on standard output, messages on standard error. All control sequences except our
//! own colours are removed here, whether they come from a page, a message or a guest. A reader that closes the pipe
//! (`schedlab list | head`) is not an error and does not change the exit code, and a closed standard error does not end
//! a run.

use crate::cli::OutputOptions;
use anyhow::{Context, Result, bail};
use schedlab_plan::json::{Room, USUAL_BYTES};
use schedlab_plan::plain::Plain;
use schedlab_report::Document;
use schedlab_sys::places::{self, Draft};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Writes results to standard output; all results of commands go through here.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stdout = io::stdout();
    let colours = stdout.is_terminal();
    to(Plain::new(stdout.lock(), colours), write).context("standard output cannot be written")
}

/// The same for binary data: traces for other programs.
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

/// Prints results in sentences, wrapped on a terminal.
pub(crate) fn print_fitted(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    print_line(fitted(&String::from_utf8_lossy(&text), columns(io::stdout())))
}

/// The width of a terminal; no limit if it is not one.
fn columns(of: impl std::os::fd::AsFd) -> usize {
    schedlab_sys::terminal::columns(of).map_or(usize::MAX, usize::from)
}

/// Prints a JSON result, shortened as `--top` says.
pub(crate) fn print_answer<T: Serialize + ?Sized>(schema: &str, value: &T, top: Option<usize>) -> Result<()> {
    print_line(schedlab_plan::json::answer(schema, value, Room::of(top))?)
}

/// Printed when a result with one object per line is cut, because it has no member `shortened`.
pub(crate) const LINES_CUT: &str = "output cut at 20 kB: --top N prints N lines, --top 0 all";

/// Prints such a result: `top` lines, or as many as fit into the usual size.
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

/// `--top` for a result whose rows are already cut; other lists are not.
pub(crate) fn rows_are_cut(top: Option<usize>) -> Option<usize> {
    top.map(|rows| if rows == 0 { 0 } else { usize::MAX })
}

/// Prints findings as JSON, or as text for this terminal.
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

/// Writes a whole result to a file.
pub(crate) fn write_answer<T: Serialize>(file: &Path, schema: &str, found: &T) -> Result<()> {
    write_file(file, |out| writeln!(out, "{}", schedlab_plan::json::answer(schema, found, Room::All)?))
}

/// Bytes per write.
const BUFFER: usize = 1 << 18;

/// Writes to a temporary file in the same directory and renames it, so that a reader never sees half a file, and none
/// is left behind. Devices and pipes are written directly.
pub(crate) fn write_file(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let what = || format!("{} cannot be written", file.display());
    // The target of a symbolic link is replaced, not the link.
    let place = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let kind = std::fs::metadata(&place).map(|there| there.file_type());
    if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
        bail!("{} is a directory; give a file in it", file.display());
    }
    if kind.is_ok_and(|kind| !kind.is_file()) {
        let mut out = BufWriter::with_capacity(BUFFER, std::fs::File::create(&place).with_context(what)?);
        return write(&mut out).and_then(|()| out.flush()).with_context(what);
    }
    // Removes temporary files left there by a killed process of ours.
    let holder = place.parent().filter(|holder| !holder.as_os_str().is_empty());
    places::remove_drafts(holder.unwrap_or(Path::new(".")));
    let draft = Draft::beside(&place, 0o666).with_context(what)?;
    let mut out = BufWriter::with_capacity(BUFFER, &draft.file);
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    written.and_then(|()| draft.finish(&place)).with_context(what)
}

/// Width of text on standard output: from `COLUMNS`, else that of the terminal, else that of a mail.
pub(crate) fn terminal_width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|columns| *columns > 0);
    asked.or_else(|| schedlab_sys::terminal::columns(io::stdout()).map(usize::from)).unwrap_or(80)
}

/// Whether text on standard output has colours.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints a message on standard error, wrapped on a terminal.
pub(crate) fn say(line: impl Display) {
    say_whole(fitted(&line.to_string(), columns(io::stderr())));
}

/// Wraps lines that are too long; lines that fit keep their layout.
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

/// Prints one line of a message that is meant to be copied, without wrapping.
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
