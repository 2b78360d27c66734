//! Decompression of one gzip member, for /proc/config.gz: the one place where the kernel hands out deflate. Written here
//! because it is all the deflate schedlab needs; input that is damaged or too long gives `None`.
//! Source: RFC 1951 (deflate), RFC 1952 (gzip).

/// No kernel config is longer; it bounds what a damaged stream can make us allocate.
const MAX_BYTES: usize = 8 << 20;

/// The decompressed bytes, checked against the member's CRC-32 and length.
pub(crate) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let body = gzip_body(bytes)?;
    let mut bits = Bits { bytes: body, at: 0, hold: 0, held: 0 };
    let out = inflate(&mut bits)?;
    let trailer = body.get(bits.at - (bits.held / 8) as usize..)?;
    let word = |at: usize| Some(u32::from_le_bytes(trailer.get(at..at + 4)?.try_into().ok()?));
    (word(0)? == crc32fast::hash(&out) && word(4)? == out.len() as u32).then_some(out)
}

/// What follows the member's header.
fn gzip_body(bytes: &[u8]) -> Option<&[u8]> {
    let (&[0x1f, 0x8b, 8, flags, ..], mut rest) = (bytes.get(..10)?, bytes.get(10..)?) else { return None };
    if flags & 4 != 0 {
        let length = usize::from(u16::from_le_bytes(rest.get(..2)?.try_into().ok()?));
        rest = rest.get(2 + length..)?;
    }
    for name_or_comment in [8, 16] {
        if flags & name_or_comment != 0 {
            let end = rest.iter().position(|&byte| byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 { rest.get(2..) } else { Some(rest) }
}

/// Bits from the least significant end of each byte.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    hold: u32,
    held: u32,
}

impl Bits<'_> {
    /// The next `count` (≤ 16) bits as a number.
    fn take(&mut self, count: u32) -> Option<u32> {
        while self.held < count {
            self.hold |= u32::from(*self.bytes.get(self.at)?) << self.held;
            self.at += 1;
            self.held += 8;
        }
        let value = self.hold & ((1 << count) - 1);
        self.hold >>= count;
        self.held -= count;
        Some(value)
    }

    /// The rest of the current byte is padding.
    fn align(&mut self) {
        let padding = self.held % 8;
        self.hold >>= padding;
        self.held -= padding;
    }
}

/// A canonical prefix code: how many codes of each length, and the symbols in code order.
struct Code {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl Code {
    /// From the length of each symbol's code; 0 is no code.
    fn new(lengths: &[u8]) -> Self {
        let mut counts = [0u16; 16];
        for &length in lengths {
            counts[usize::from(length)] += 1;
        }
        counts[0] = 0;
        let mut symbols: Vec<u16> = (0..lengths.len() as u16).filter(|&s| lengths[usize::from(s)] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[usize::from(symbol)]);
        Self { counts, symbols }
    }

    /// One symbol: codes of a length are consecutive numbers, so the first of each length is enough to know.
    fn decode(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first, mut index) = (0u32, 0u32, 0u32);
        for &count in &self.counts[1..] {
            code |= bits.take(1)?;
            let count = u32::from(count);
            if code < first + count {
                return self.symbols.get((index + code - first) as usize).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

fn inflate(bits: &mut Bits<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let last = bits.take(1)?;
        match bits.take(2)? {
            0 => stored(bits, &mut out)?,
            1 => {
                let mut lengths = [8u8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                compressed(bits, &mut out, &Code::new(&lengths), &Code::new(&[5; 30]))?;
            }
            2 => {
                let (literals, distances) = dynamic_codes(bits)?;
                compressed(bits, &mut out, &literals, &distances)?;
            }
            _ => return None,
        }
        if last == 1 {
            return Some(out);
        }
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut Vec<u8>) -> Option<()> {
    bits.align();
    let (length, inverse) = (bits.take(16)?, bits.take(16)?);
    if length != !inverse & 0xffff || out.len() + length as usize > MAX_BYTES {
        return None;
    }
    for _ in 0..length {
        out.push(bits.take(8)? as u8);
    }
    Some(())
}

/// The codes of a block that brings its own: their lengths, themselves coded.
fn dynamic_codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let of_lengths = bits.take(4)? as usize + 4;
    let mut lengths = [0u8; 19];
    for &symbol in &ORDER[..of_lengths] {
        lengths[symbol] = bits.take(3)? as u8;
    }
    let code = Code::new(&lengths);
    let mut lengths: Vec<u8> = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (value, times) = match code.decode(bits)? {
            length @ 0..=15 => (length as u8, 1),
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        lengths.extend(std::iter::repeat_n(value, times as usize));
    }
    (lengths.len() == literals + distances).then(|| (Code::new(&lengths[..literals]), Code::new(&lengths[literals..])))
}

fn compressed(bits: &mut Bits<'_>, out: &mut Vec<u8>, literals: &Code, distances: &Code) -> Option<()> {
    loop {
        let length = match literals.decode(bits)? {
            byte @ 0..=255 => {
                out.push(byte as u8);
                continue;
            }
            256 => return Some(()),
            symbol => length_of(bits, symbol - 257)?,
        };
        let code = distances.decode(bits)?;
        let distance = distance_of(bits, code)?;
        let from = out.len().checked_sub(distance)?;
        if out.len() + length > MAX_BYTES {
            return None;
        }
        // The copy may overlap what it writes: byte by byte, as the format means it.
        for index in from..from + length {
            out.push(out[index]);
        }
    }
}

/// Lengths 3 … 258: eight codes without extra bits, then four to each number of extra bits; the last code is 258.
fn length_of(bits: &mut Bits<'_>, code: u16) -> Option<usize> {
    Some(match u32::from(code) {
        code @ 0..8 => code as usize + 3,
        28 => 258,
        code @ 8..28 => {
            let extra = code / 4 - 1;
            (((4 + code % 4) << extra) + 3 + bits.take(extra)?) as usize
        }
        _ => return None,
    })
}

/// Distances 1 … 32768: four codes without extra bits, then two to each number of extra bits.
fn distance_of(bits: &mut Bits<'_>, code: u16) -> Option<usize> {
    Some(match u32::from(code) {
        code @ 0..4 => code as usize + 1,
        code @ 4..30 => {
            let extra = code / 2 - 1;
            (((2 + code % 2) << extra) + 1 + bits.take(extra)?) as usize
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'CONFIG_HZ=250\nCONFIG_HZ=250\nCONFIG_HZ=250\n' | gzip -9n` (a fixed-code block with a match).
    const FIXED: [u8; 37] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x73, 0xf6, 0xf7, 0x73, 0xf3, 0x74, 0x8f, 0xf7,
        0x88, 0xb2, 0x35, 0x32, 0x35, 0xe0, 0x72, 0xc6, 0xc3, 0x03, 0x00, 0x77, 0x02, 0x8b, 0x8f, 0x2a, 0x00, 0x00,
        0x00,
    ];

    #[test]
    fn a_small_member_and_its_checks() {
        assert_eq!(gunzip(&FIXED).unwrap(), "CONFIG_HZ=250\n".repeat(3).as_bytes());
        for end in 0..FIXED.len() {
            assert_eq!(gunzip(&FIXED[..end]), None, "cut at {end}");
        }
        for bit in 80..FIXED.len() * 8 {
            let mut damaged = FIXED;
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A flipped bit changes the bytes, the checksum or the length: never another text. The unused bits that
            // pad the last byte of the stream are the exception.
            let same = gunzip(&damaged).is_none_or(|text| text == "CONFIG_HZ=250\n".repeat(3).as_bytes());
            assert!(same, "bit {bit}");
        }
    }

    #[test]
    fn this_kernels_own_config_is_read() {
        let Ok(bytes) = std::fs::read("/proc/config.gz") else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "schedlab-skip: config.gz: needs a kernel with CONFIG_IKCONFIG_PROC");
            return;
        };
        let text = String::from_utf8(gunzip(&bytes).unwrap()).unwrap();
        assert!(text.contains("\nCONFIG_HZ="), "a kernel config has a tick");
    }
}
