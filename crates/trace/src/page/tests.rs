//! Pages written by hand, with known results.

use super::records::{MISSED, MISSED_STORED, PADDING, TIME_EXTEND, TIME_STAMP};
use super::*;
use crate::event::{Context, Cpu, Prio, Tid};

pub(super) const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

/// The layout of a 32-bit kernel.
const HEADER_PAGE_32: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";

const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
    \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
    \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"%s\", __print_flags(REC->prev_state & 0xff, \"|\", { 0x1, \"S\" }, { 0x2, \"D\" }) : \"R\"\n";

const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"comm=%s\", REC->comm\n";

/// A page being written.
struct Written {
    bytes: Vec<u8>,
    big_endian: bool,
    small: bool,
}

impl Written {
    fn new(ts: u64, big_endian: bool, small: bool) -> Self {
        let mut page = Self { bytes: Vec::new(), big_endian, small };
        page.long(ts);
        page.bytes.resize(if small { 12 } else { 16 }, 0);
        page
    }

    fn word(&mut self, value: u32) {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn long(&mut self, value: u64) {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    /// First word of a record.
    fn first(&mut self, kind: u32, delta: u32) {
        let word = if self.big_endian { kind << 27 | delta } else { delta << 5 | kind };
        self.word(word);
    }

    fn event(&mut self, delta: u32, raw: &[u8]) {
        self.first(raw.len() as u32 / 4, delta);
        self.bytes.extend(raw);
    }

    /// The same for an event whose length does not fit into the type: the length follows the first word.
    fn long_event(&mut self, delta: u32, raw: &[u8]) {
        self.first(0, delta);
        self.word(raw.len() as u32 + 4);
        self.bytes.extend(raw);
    }

    /// Fills in the commit size, with `flags`, and appends what follows the records.
    fn finish(mut self, flags: u64, after: &[u8]) -> Vec<u8> {
        let data_at = if self.small { 12 } else { 16 };
        let commit = (self.bytes.len() - data_at) as u64 | flags;
        let mut number = Self { bytes: Vec::new(), ..self };
        if self.small {
            number.word(commit as u32)
        } else {
            number.long(commit)
        }
        self.bytes[8..8 + number.bytes.len()].copy_from_slice(&number.bytes);
        self.bytes.extend(after);
        self.bytes.resize(4096, 0);
        self.bytes
    }
}

fn comm(text: &str) -> [u8; 16] {
    let mut comm = [0; 16];
    comm[..text.len()].copy_from_slice(text.as_bytes());
    comm
}

fn number(value: i32, big_endian: bool) -> [u8; 4] {
    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn common(id: u16, flags: u8, pid: i32, big_endian: bool) -> Vec<u8> {
    let id = if big_endian { id.to_be_bytes() } else { id.to_le_bytes() };
    [&id[..], &[flags, 0], &number(pid, big_endian)].concat()
}

pub(super) fn switch(prev: (&str, i32), state: i64, next: (&str, i32), big_endian: bool) -> Vec<u8> {
    let n = |value| number(value, big_endian);
    let state = if big_endian { state.to_be_bytes() } else { state.to_le_bytes() };
    let common = common(372, 0, prev.1, big_endian);
    let (prev_comm, next_comm) = (comm(prev.0), comm(next.0));
    [&common[..], &prev_comm, &n(prev.1), &n(120), &state, &next_comm, &n(next.1), &n(120)].concat()
}

pub(super) fn waking(pid: i32, waker: i32, cpu: i32, flags: u8, big_endian: bool) -> Vec<u8> {
    let n = |value| number(value, big_endian);
    let common = common(375, flags, waker, big_endian);
    [&common[..], &comm("b"), &n(pid), &n(98), &n(cpu)].concat()
}

pub(super) fn decoder(header_page: &str, big_endian: bool) -> PageDecoder {
    PageDecoder::new(header_page, &[("sched", SWITCH), ("sched", WAKING)], big_endian).unwrap()
}

fn decode(decoder: &mut PageDecoder, page: &[u8]) -> (Result<Page, PageError>, Vec<(u64, Item)>) {
    let mut items = Vec::new();
    let page = decoder.decode(page, |ts, item| items.push((ts, item)));
    (page, items)
}

fn tids(items: &[(u64, Item)]) -> Vec<(u64, u32)> {
    let tid = |item: &Item| match item {
        Item::Event(What::Switch { next, .. }) => next.0,
        Item::Event(What::Waking(wake)) => wake.tid.0,
        _ => u32::MAX,
    };
    items.iter().map(|(ts, item)| (*ts, tid(item))).collect()
}

#[test]
fn events_have_the_times_and_fields_of_the_page_in_either_byte_order_and_width() {
    for (big_endian, small) in [(false, false), (true, false), (true, true)] {
        let mut page = Written::new(1_000, big_endian, small);
        page.event(5, &waking(11, 10, 1, 0x10, big_endian));
        page.event(7, &switch(("a", 10), 1, ("b", 11), big_endian));
        let page = page.finish(0, &[]);
        let mut decoder = decoder(if small { HEADER_PAGE_32 } else { HEADER_PAGE }, big_endian);
        let (found, items) = decode(&mut decoder, &page);
        let found = found.unwrap();
        assert_eq!((found.ts, found.lost, found.events, found.unknown, found.refused), (1_000, None, 2, 0, 0));
        let Item::Event(What::Waking(wake)) = items[0].1 else { panic!("{items:?}") };
        assert_eq!((items[0].0, wake.tid, wake.waker, wake.target_cpu), (1_005, Tid(11), Tid(10), Cpu(1)));
        assert_eq!((wake.prio, wake.context), (Prio::from_raw(98), Context::from_common_flags(0x10)));
        let Item::Event(What::Switch { prev, next, prev_comm, prev_state, .. }) = items[1].1 else { panic!() };
        assert_eq!((items[1].0, prev, next), (1_012, Tid(10), Tid(11)));
        assert_eq!((decoder.names().text(prev_comm), decoder.states().letters(prev_state)), ("a", "S"));
        assert!(!decoder.is_full(found.bytes) && decoder.is_full(4000));
    }
}

#[test]
fn time_extends_and_absolute_times_move_the_clock() {
    let mut page = Written::new(1 << 40, false, false);
    page.first(TIME_EXTEND, 3);
    page.word(2);
    page.event(1, &waking(11, 10, 1, 0, false));
    // Below the page's time only because of the bits that do not fit.
    let stamp = (1u64 << 40) + (1 << 33) + 5;
    page.first(TIME_STAMP, (stamp & ((1 << 27) - 1)) as u32);
    page.word((stamp >> 27) as u32);
    page.event(2, &waking(12, 10, 1, 0, false));
    let (found, items) = decode(&mut decoder(HEADER_PAGE, false), &page.finish(0, &[]));
    assert_eq!(found.unwrap().events, 2);
    assert_eq!(tids(&items), [((1 << 40) + (2 << 27) + 4, 11), (stamp + 2, 12)]);
}

#[test]
fn losses_are_reported_first_with_their_number_where_it_is_stored() {
    let lost = |flags: u64, after: &[u8]| {
        let mut page = Written::new(50, false, false);
        page.event(1, &waking(11, 10, 1, 0, false));
        let (found, items) = decode(&mut decoder(HEADER_PAGE, false), &page.finish(flags, after));
        (found.unwrap().lost, items[0])
    };
    assert_eq!(lost(MISSED | MISSED_STORED, &77u64.to_le_bytes()), (Some(77), (50, Item::Lost(77))));
    assert_eq!(lost(MISSED, &[]), (Some(0), (50, Item::Lost(0))));
    assert_eq!(lost(0, &[]).0, None);
}

#[test]
fn fillers_and_events_taken_back_are_passed_over() {
    let mut page = Written::new(0, false, false);
    page.first(PADDING, 4);
    page.word(12);
    page.bytes.extend([0xff; 8]);
    page.long_event(1, &waking(11, 10, 1, 0, false));
    page.first(1, 0);
    page.word(999);
    page.first(PADDING, 0);
    page.bytes.extend([0xee; 20]);
    let (found, items) = decode(&mut decoder(HEADER_PAGE, false), &page.finish(0, &[]));
    let found = found.unwrap();
    assert_eq!(tids(&items), [(5, 11)], "the time of what was taken back passed all the same");
    assert_eq!((found.events, found.unknown, found.refused), (1, 1, 0));
}

#[test]
fn records_that_cannot_be_what_they_say_are_counted_or_end_the_page() {
    let mut page = Written::new(0, false, false);
    page.event(1, &waking(-5, 10, 1, 0, false));
    page.event(1, &waking(11, 10, 1, 0, false)[..16]);
    page.event(1, &waking(11, 10, 1, 0, false));
    let (found, items) = decode(&mut decoder(HEADER_PAGE, false), &page.finish(0, &[]));
    assert_eq!((found.unwrap().refused, tids(&items)), (2, vec![(3, 11)]));

    let mut page = Written::new(0, false, false);
    page.event(1, &waking(11, 10, 1, 0, false));
    page.first(28, 1);
    let (found, items) = decode(&mut decoder(HEADER_PAGE, false), &page.finish(0, &[]));
    assert_eq!(found.unwrap_err().to_string(), "byte 56 of a page: a record reaches beyond the records");
    assert_eq!(items.len(), 1, "what came before is kept");
}

#[test]
fn a_page_that_claims_more_than_it_has_is_refused() {
    let mut decoder = decoder(HEADER_PAGE, false);
    let page = Written::new(0, false, false).finish(5000, &[]);
    assert_eq!(decode(&mut decoder, &page).0.unwrap_err().at, 8);
    assert_eq!(
        decode(&mut decoder, &page[..10]).0.unwrap_err().to_string(),
        "byte 8 of a page: the page ends in its header"
    );
}

#[test]
fn no_cut_and_no_flip_of_a_page_makes_it_panic() {
    let mut page = Written::new(1 << 40, false, false);
    page.first(TIME_EXTEND, 3);
    page.word(2);
    for i in 0..20 {
        page.event(i, &switch(("a", 10), 1, ("b", 11), false));
        page.long_event(i, &waking(11, 10, 1, 0, false));
    }
    let page = page.finish(MISSED | MISSED_STORED, &1u64.to_le_bytes());
    let mut decoder = decoder(HEADER_PAGE, false);
    for end in 0..page.len() {
        let _ = decode(&mut decoder, &page[..end]);
    }
    for bit in 0..page.len() * 8 {
        let mut flipped = page.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (_, items) = decode(&mut decoder, &flipped);
        assert!(items.len() <= decoder.most_events());
    }
}

#[test]
fn a_decoder_without_what_it_needs_says_what() {
    let error = |header: &str, formats: &[(&str, &str)]| PageDecoder::new(header, formats, false).unwrap_err();
    assert_eq!(error("", &[]), "events/header_page names no timestamp, commit and data");
    assert_eq!(error(HEADER_PAGE, &[("sched", "no")]), "a format of sched is none");
    let other = SWITCH.replace("sched_switch", "sched_other");
    assert_eq!(error(HEADER_PAGE, &[("sched", &other)]), "sched:sched_other is not an event that is read here");
    let bare = SWITCH.replace("prev_state;", "state;");
    assert_eq!(error(HEADER_PAGE, &[("sched", &bare)]), "sched_switch has no number `prev_state`");
}
