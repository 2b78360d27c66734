//! What the binary says: results on standard output, talk on standard error, and nothing on either that steers a terminal
//! but our own colours on one: whatever a page, a message or a guest let through ends here. A reader who has seen enough (`schedlab list |
//! head`) is no error and changes no exit code, and one who has left standard error ends no run.

use anyhow::{Context, Result};
use schedlab_run::json::Room;
use schedlab_run::plain::Plain;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

/// Writes results to standard output, which is one of a kind: every command's results go through here.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stdout = io::stdout();
    let colours = stdout.is_terminal();
    to(Plain::new(stdout.lock(), colours), write).context("standard output cannot be written")
}

/// The same for what is no text: traces for other programs.
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

/// An answer for programs, in the room that `--top` leaves.
pub(crate) fn print_answer<T: Serialize + ?Sized>(schema: &str, value: &T, top: Option<usize>) -> Result<()> {
    print_line(schedlab_run::json::answer(schema, value, Room::of(top))?)
}

/// One line of talk.
pub(crate) fn say(line: impl Display) {
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
    fn a_reader_who_left_is_no_error_and_a_full_disk_is() {
        let written = |kind| to(Closed(kind), |out| writeln!(out, "line")).map_err(|e| e.kind());
        assert_eq!(written(ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(written(ErrorKind::StorageFull), Err(ErrorKind::StorageFull));
    }
}
