//! Synthetic pages of the kernel's ring buffer, as read from `trace_pipe_raw`, to time the recorder's encoder. Layout
//! and formats are those of Linux 6.18 on x86-64.

use schedlab_stats::Random;

/// The kernel's `events/header_page`.
pub const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
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

/// The `format` files of the two events, each with its system.
pub fn formats() -> [(&'static str, String); 2] {
    let format = |name: &str, id: u16, fields: &str| format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}");
    [("sched", format("sched_switch", SWITCH_ID, SWITCH)), ("sched", format("sched_waking", WAKING_ID, WAKING))]
}

const SWITCH_ID: u16 = 0x174;
const WAKING_ID: u16 = 0x177;

fn comm(thread: u32) -> [u8; 16] {
    let mut comm = [0; 16];
    let text = format!("task-{thread}");
    comm[..text.len()].copy_from_slice(text.as_bytes());
    comm
}

/// TASK_INTERRUPTIBLE.
const ASLEEP: u64 = 1;

/// The common fields of every event: its id, flags, and the running thread.
fn common(id: u16, tid: u32) -> [u8; 8] {
    let mut common = [0; 8];
    common[..2].copy_from_slice(&id.to_le_bytes());
    common[4..].copy_from_slice(&tid.to_le_bytes());
    common
}

fn record(page: &mut Vec<u8>, delta: u64, raw: &[u8]) {
    page.extend(((delta as u32) << 5 | (raw.len() as u32 / 4)).to_le_bytes());
    page.extend_from_slice(raw);
}

/// `count` full pages, consecutive in time, of this many threads (at least 2) that wake each other: as from same-CPU
/// ping-pong, a waking and a switch each time, at jittered times.
pub fn ping_pong(count: usize, threads: u32) -> Vec<Vec<u8>> {
    let (mut draw, mut now, mut current) = (Random::new(7), 1u64 << 50, 0);
    let tid = |thread: u32| -> u32 { 1000 + thread };
    let mut pages = Vec::with_capacity(count);
    for _ in 0..count {
        let mut page = now.to_le_bytes().to_vec();
        page.extend([0; 8]);
        while page.len() + 40 + 68 <= 4096 {
            let next = (current + 1 + draw.below(threads as usize - 1) as u32) % threads;
            let (waker, wakee) = (tid(current), tid(next));
            let (waking_ns, switch_ns) = (300 + draw.below(120) as u64, 700 + draw.below(300) as u64);
            let prio = 120i32.to_le_bytes();
            let waking = [&common(WAKING_ID, waker)[..], &comm(next), &wakee.to_le_bytes(), &prio, &[0; 4]].concat();
            let leaves = [&comm(current)[..], &waker.to_le_bytes(), &prio, &ASLEEP.to_le_bytes()].concat();
            let switch = [&common(SWITCH_ID, waker)[..], &leaves, &comm(next), &wakee.to_le_bytes(), &prio].concat();
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
