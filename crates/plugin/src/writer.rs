//! Lines of numbers into a file, through a buffer.

use crate::qemu;
use core::ffi::{CStr, c_int, c_uint};

pub(crate) struct Writer {
    file: c_int,
    buffer: [u8; 4096],
    length: usize,
    /// Something could not be written. Nothing more is written then, so that nothing follows a gap, in particular not
    /// `end`.
    is_cut: bool,
}

impl Writer {
    /// A new file; `path` ends with a zero byte.
    pub(crate) fn create(path: &CStr) -> Option<Self> {
        // SAFETY: a C string; the mode is given, as O_CREAT asks for.
        let file = unsafe { qemu::open(path.as_ptr(), qemu::CREATE_AND_WRITE, 0o600 as c_uint) };
        (file >= 0).then_some(Self { file, buffer: [0; 4096], length: 0, is_cut: false })
    }

    /// Writes what is still in the buffer, and closes the file.
    pub(crate) fn close(mut self) {
        self.flush();
        // SAFETY: the descriptor is ours and closed once.
        unsafe { qemu::close(self.file) };
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.length == self.buffer.len() {
                self.flush();
            }
            if let Some(place) = self.buffer.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
    }

    /// The rest of a line.
    pub(crate) fn numbers(&mut self, numbers: impl Iterator<Item = u64>) {
        for number in numbers {
            self.push(b" ");
            self.number::<10>(number);
        }
        self.push(b"\n");
    }

    pub(crate) fn number<const BASE: u64>(&mut self, mut number: u64) {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            let digit = (number % BASE) as u8;
            if let Some(place) = digits.get_mut(first) {
                *place = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            }
            number /= BASE;
            if number == 0 || first == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or_default());
    }

    /// After a short or failed write the file lacks its last line, `end`, and the host reports it.
    fn flush(&mut self) {
        let mut rest = self.buffer.get(..self.length).unwrap_or_default();
        self.length = 0;
        while !self.is_cut && !rest.is_empty() {
            // SAFETY: `rest` is part of our buffer.
            let written = unsafe { qemu::write(self.file, rest.as_ptr().cast(), rest.len()) };
            rest = usize::try_from(written).ok().filter(|n| *n > 0).and_then(|n| rest.get(n..)).unwrap_or_default();
            self.is_cut = written <= 0;
        }
    }
}
