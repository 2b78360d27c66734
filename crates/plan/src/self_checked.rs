//! JSON with its own CRC-32: the last member of the object covers every byte before it. The manifest is one file that
//! is replaced as a whole, so a separate list would have to be replaced at the same moment.

/// The text around the eight hexadecimal digits. It includes the comma, so that everything before is covered.
const BEFORE: &str = ",\n  \"crc32\": \"";
const AFTER: &str = "\"\n}";
const DIGITS: usize = 8;

/// Adds the member to an object as [`crate::json::pretty`] writes it.
pub fn with_crc(object: &str) -> Vec<u8> {
    let body = object.strip_suffix("\n}").expect("an object with members, laid out");
    let crc = crc32fast::hash(body.as_bytes());
    format!("{body}{BEFORE}{crc:08x}{AFTER}").into_bytes()
}

/// Whether the content is what was written; `None` if it has no CRC.
pub fn is_intact(bytes: &[u8]) -> Option<bool> {
    let (body, digits) = parts(bytes)?;
    Some(format!("{:08x}", crc32fast::hash(body)).as_bytes() == digits)
}

/// The object without the member; `None` if it is not what was written, or has no CRC.
pub fn without_crc(bytes: &[u8]) -> Option<Vec<u8>> {
    let (body, _) = parts(bytes).filter(|_| is_intact(bytes) == Some(true))?;
    Some([body, b"\n}"].concat())
}

/// The covered bytes, and the digits.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_suffix(AFTER.as_bytes())?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((rest.strip_suffix(BEFORE.as_bytes())?, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_can_change_unseen() {
        let written = with_crc("{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
        assert_eq!(is_intact(&written), Some(true));
        assert_eq!(without_crc(&written).unwrap(), b"{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
        let value: serde_json::Value = serde_json::from_slice(&written).unwrap();
        assert_eq!((value["a"].as_u64(), value["crc32"].as_str().map(str::len)), (Some(1), Some(DIGITS)));
        for at in 0..written.len() {
            for bit in 0..8 {
                let mut flipped = written.clone();
                flipped[at] ^= 1 << bit;
                assert_ne!(is_intact(&flipped), Some(true), "byte {at}, bit {bit}");
            }
            assert_ne!(is_intact(&written[..at]), Some(true), "cut to {at}");
        }
        assert_eq!(is_intact(b"{\n  \"a\": 1\n}"), None);
    }
}
