//! How fast pages of the kernel become blocks of a recording, on one core, and how small: same-CPU ping-pong (a waking
//! and a switch each) with times as they scatter, of `THREADS` threads. `cargo run --release -p schedlab-trace --example
//! encode_speed`

#![allow(clippy::print_stdout)] // It is a program.

use schedlab_trace::recording::BlockWriter;
use schedlab_trace::{Cpu, Item, PageDecoder};
use std::time::Instant;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

const SWITCH: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
    \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
    \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"%s\", __print_flags(REC->prev_state & 0xff, \"|\", { 0x1, \"S\" }, { 0x2, \"D\" }) : \"R\"\n";

const WAKING: &str = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"comm=%s\", REC->comm\n";

/// Scattering, the same at every run (xorshift64*).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % most
    }
}

fn comm(thread: u32) -> [u8; 16] {
    let mut comm = [0; 16];
    let text = format!("task-{thread}");
    comm[..text.len()].copy_from_slice(text.as_bytes());
    comm
}

fn record(page: &mut Vec<u8>, delta: u64, raw: &[u8]) {
    page.extend(((delta as u32) << 5 | (raw.len() as u32 / 4)).to_le_bytes());
    page.extend_from_slice(raw);
}

/// Full pages, one behind the other in time.
fn pages(count: usize, threads: u32) -> Vec<Vec<u8>> {
    let (mut draw, mut now, mut current) = (Draw(7), 1u64 << 50, 0);
    let one = |count: u32| -> u32 { 1000 + count };
    let mut pages = Vec::with_capacity(count);
    for _ in 0..count {
        let mut page = now.to_le_bytes().to_vec();
        page.extend([0; 8]);
        while page.len() + 40 + 68 <= 4096 {
            let next = (current + 1 + draw.below(u64::from(threads) - 1) as u32) % threads;
            let (waker, wakee) = (one(current), one(next));
            let (waking_ns, switch_ns) = (300 + draw.below(120), 700 + draw.below(300));
            let prio = 120i32.to_le_bytes();
            let waking =
                [&[0x77, 1, 0, 0][..], &waker.to_le_bytes(), &comm(next), &wakee.to_le_bytes(), &prio, &[0; 4]].concat();
            let head = [&[0x74, 1, 0, 0][..], &waker.to_le_bytes(), &comm(current), &waker.to_le_bytes(), &prio].concat();
            let switch = [&head[..], &1u64.to_le_bytes(), &comm(next), &wakee.to_le_bytes(), &prio].concat();
            record(&mut page, waking_ns, &waking);
            record(&mut page, switch_ns, &switch);
            (now, current) = (now + waking_ns + switch_ns, next);
        }
        let commit = (page.len() - 16) as u64;
        page[8..16].copy_from_slice(&commit.to_le_bytes());
        page.resize(4096, 0);
        pages.push(page);
    }
    pages
}

fn measure(threads: u32) -> Result<(), String> {
    let format = |name: &str, id: u16, fields: &str| format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}");
    let (switch, waking) = (format("sched_switch", 0x174, SWITCH), format("sched_waking", 0x177, WAKING));
    let mut decoder = PageDecoder::new(HEADER_PAGE, &[("sched", &switch), ("sched", &waking)], false)?;
    let pages = pages(50_000, threads);
    let mut writer = BlockWriter::new(Cpu(0));
    let (mut events, mut whole, mut stored) = (0, 0, 0);
    let mut decode_only = 0u64;
    let began = Instant::now();
    for page in &pages {
        decoder.decode(page, |_, _| decode_only += 1).map_err(|error| error.to_string())?;
    }
    let decoding = began.elapsed();
    let began = Instant::now();
    for page in &pages {
        let full = !writer.has_room_for(decoder.most_events());
        let block = if full { writer.finish(decoder.names(), decoder.states()) } else { None };
        decoder
            .decode(page, |ts, item| match item {
                Item::Event(what) => writer.push(ts, what),
                Item::Lost(count) => writer.lost(ts, count),
            })
            .map_err(|error| error.to_string())?;
        if let Some(block) = block {
            (events, whole, stored) =
                (events + block.events, whole + block.whole_bytes, stored + block.stored_bytes());
        }
    }
    let all = began.elapsed();
    let per = |bytes: u64| bytes as f64 / events as f64;
    let million_a_second = |seconds: f64| decode_only as f64 / seconds / 1e6;
    println!(
        "{threads} threads: pages to blocks {:.1} M events/s on one core (decoding alone {:.1}); {:.2} bytes an event, {:.2} after lz4",
        million_a_second(all.as_secs_f64()),
        million_a_second(decoding.as_secs_f64()),
        per(whole),
        per(stored)
    );
    Ok(())
}

fn main() -> Result<(), String> {
    [2, 40, 400].into_iter().try_for_each(measure)
}
