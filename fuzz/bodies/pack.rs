//! What must hold for any bytes given as a pack; shared by the fuzz target and the replay of its corpus.

use schedlab_plan::Pack;

pub(crate) fn check(bytes: &[u8]) {
    one(bytes);
    // As a hostile maker writes it: with the checksum of what stands there.
    if let Some(body) = bytes.strip_suffix(b"\n}") {
        let crc = format!(",\n  \"crc32\": \"{:08x}\"\n}}", crc32fast::hash(body));
        one(&[body, crc.as_bytes()].concat());
    }
}

fn one(bytes: &[u8]) {
    match Pack::parse(bytes) {
        Ok(pack) => {
            let again = pack.to_bytes().expect("what was read can be written");
            assert_eq!(Pack::parse(&again).expect("and read"), pack);
            pack.asks_for_trust(|_| true).expect("it was checked");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && said.len() < bytes.len() + 1000, "{said}");
        }
    }
}
