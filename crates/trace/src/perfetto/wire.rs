//! Protobuf encoding: fields with their numbers, read without copying, and written.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in the order of its bytes.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    /// The message could not be parsed to its end.
    pub(super) broken: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message, broken: false }
    }

    fn step(&mut self) -> Option<(u32, Value<'a>)> {
        let (tag, at) = varint(self.rest)?;
        let field = u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?;
        let rest = &self.rest[at..];
        let (value, used) = match tag & 7 {
            0 => varint(rest).map(|(number, used)| (Value::Number(number), used))?,
            1 => (Value::Number(u64::from_le_bytes(rest.get(..8)?.try_into().ok()?)), 8),
            5 => (Value::Number(u64::from(u32::from_le_bytes(rest.get(..4)?.try_into().ok()?))), 4),
            2 => {
                let (length, used) = varint(rest)?;
                let end = used.checked_add(usize::try_from(length).ok()?)?;
                (Value::Bytes(rest.get(used..end)?), end)
            }
            // Protobuf dropped groups before any of this was written.
            _ => return None,
        };
        self.rest = &rest[used..];
        Some((field, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.step();
        if field.is_none() {
            (self.broken, self.rest) = (true, &[]);
        }
        field
    }
}

/// A number of up to ten bytes, and how many bytes it has.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f).checked_shl(7 * at as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some((number, at + 1));
        }
    }
    None
}

/// The numbers of a repeated field, packed or one by one.
pub(super) fn numbers(value: Value<'_>, into: &mut Vec<u64>) {
    match value {
        Value::Number(number) => into.push(number),
        Value::Bytes(mut bytes) => {
            while let Some((number, used)) = varint(bytes) {
                into.push(number);
                bytes = &bytes[used..];
            }
        }
    }
}

/// Appends a varint.
fn put(number: u64, out: &mut Vec<u8>) {
    let mut rest = number;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a number field.
pub(super) fn put_number(field: u32, number: u64, out: &mut Vec<u8>) {
    put(u64::from(field) << 3, out);
    put(number, out);
}

/// Appends a length-delimited field: a string or a message.
pub(super) fn put_bytes(field: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put(u64::from(field) << 3 | 2, out);
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        for (field, number) in [(1, 0), (2, 127), (3, 128), (15, u64::MAX), (16, 300), (5000, 1 << 35)] {
            put_number(field, number, &mut out);
        }
        put_bytes(7, b"text", &mut out);
        let read: Vec<_> = Fields::of(&out).collect();
        let number = |field, number| (field, Value::Number(number));
        let expected = [number(1, 0), number(2, 127), number(3, 128), number(15, u64::MAX), number(16, 300)];
        assert_eq!(read[..5], expected);
        assert_eq!(read[5..], [number(5000, 1 << 35), (7, Value::Bytes(b"text"))]);
    }

    #[test]
    fn lies_end_the_message() {
        for bytes in [
            &[0x0a, 5, 1][..],
            &[0x80],
            &[0x08],
            &[0x0b],
            &[0x00, 1],
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0xff; 12],
        ] {
            let mut fields = Fields::of(bytes);
            assert_eq!((fields.next(), fields.broken), (None, true), "{bytes:?}");
        }
    }

    #[test]
    fn repeated_numbers_come_packed_or_not() {
        let mut all = Vec::new();
        numbers(Value::Bytes(&[1, 0x80, 1, 3]), &mut all);
        numbers(Value::Number(7), &mut all);
        assert_eq!(all, [1, 128, 3, 7]);
    }
}
