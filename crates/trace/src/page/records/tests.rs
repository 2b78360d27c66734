use super::*;

const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

fn page(commit: u64, words: &[u32]) -> Vec<u8> {
    let mut page = 1000u64.to_le_bytes().to_vec();
    page.extend(commit.to_le_bytes());
    words.iter().for_each(|w| page.extend(w.to_le_bytes()));
    page.resize(4096, 0);
    page
}

fn head(type_len: u32, delta: u32) -> u32 {
    delta << 5 | type_len
}

#[test]
fn records_of_all_types_are_followed() {
    let words = [
        head(1, 5),
        0xaaaa, // 4 bytes at +5
        head(30, 3),
        1, // 2^27 + 3 later
        head(0, 1),
        8,
        0xbbbb, // 8 − 4 bytes in a word of its own
        head(29, 7),
        8,
        0, // discarded
        head(31, 9),
        2, // absolute
        head(2, 0),
        1,
        2,
        head(29, 0),
    ];
    let page = page(words.len() as u64 * 4 + 40, &words);
    let format = PageFormat::parse(HEADER, false).unwrap();
    let opened = format.open(&page).unwrap();
    let mut records = opened.records();
    let times: Vec<(u64, usize)> = records.by_ref().map(|(ts, data)| (ts, data.len())).collect();
    assert_eq!(times, [(1005, 4), (1005 + (1 << 27) + 3 + 1, 4), ((2 << 27) + 9, 8)]);
    assert!(records.broken.is_none() && opened.missed.is_none());
}

#[test]
fn an_absolute_time_goes_round_after_59_bits() {
    let start = (1u64 << 59) - 10;
    let words = [head(31, 7), 0, head(1, 1), 0];
    let mut page = page(16, &words);
    page[..8].copy_from_slice(&start.to_le_bytes());
    let opened = PageFormat::parse(HEADER, false).unwrap().open(&page).unwrap();
    assert_eq!(opened.records().map(|(ts, _)| ts).collect::<Vec<_>>(), [(1 << 59) + 8]);
    assert_eq!(absolute(7, (1 << 59) - 1), (1 << 59) + 7);
    assert_eq!(absolute(7, 9), 7, "a little back is a little back");
}

#[test]
fn a_page_reports_what_was_missed_before_it() {
    let format = PageFormat::parse(HEADER, false).unwrap();
    let stored = page(8 | MISSED | MISSED_STORED, &[head(1, 0), 0, 77, 0]);
    assert_eq!(format.open(&stored).unwrap().missed, Some(77));
    let unknown = page(8 | MISSED, &[head(1, 0), 0, 77, 0]);
    assert_eq!(format.open(&unknown).unwrap().missed, Some(0));
}

#[test]
fn kernels_of_32_bits_and_big_endian_ones_have_their_layout() {
    let mut bytes = 7u64.to_be_bytes().to_vec();
    bytes.extend(8u32.to_be_bytes());
    bytes.extend((1u32 << 27 | 4).to_be_bytes());
    bytes.extend([1, 2, 3, 4]);
    let format = PageFormat::of_long(4, true);
    let page = format.open(&bytes).unwrap();
    assert_eq!(page.records().collect::<Vec<_>>(), [(11, &[1u8, 2, 3, 4][..])]);
}

#[test]
fn lengths_that_lie_end_the_page() {
    let format = PageFormat::parse(HEADER, false).unwrap();
    assert!(format.open(&page(5000, &[])).is_err());
    assert!(format.open(&[0; 12]).is_err());
    for words in [[head(0, 0), 3], [head(0, 0), 4000], [head(29, 1), u32::MAX], [head(28, 0), 0]] {
        let page = page(8, &words);
        let mut records = format.open(&page).unwrap().records();
        assert_eq!((records.next(), records.broken.is_some()), (None, true), "{words:?}");
    }
}
