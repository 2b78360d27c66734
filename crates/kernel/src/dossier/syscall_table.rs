//! Numbers of system calls: `arch/x86/entry/syscalls/syscall_64.tbl`, `scripts/syscall.tbl` and their like.

use super::SourceLine;
use super::interfaces::{Interface, Kind};

/// One for each line `NUMBER ABI NAME [ENTRY [COMPAT]]`.
pub(super) fn of(path: &str, text: &[u8]) -> Vec<Interface> {
    let text = String::from_utf8_lossy(text);
    let interface = |(at, line): (usize, &str)| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        let [number, abi, name, entries @ ..] = &words[..] else { return None };
        let detail = [&[*number], entries].concat().join(" ");
        let place = SourceLine { file: path.to_owned(), line: at + 1 };
        let is_row = number.bytes().all(|b| b.is_ascii_digit());
        let row = || Interface::new(Kind::SyscallNumber, format!("{name} ({abi})"), detail, String::new(), place);
        is_row.then(row)
    };
    text.lines().enumerate().filter_map(interface).collect()
}
