//! Tests of the decoders: how records of old and new kernels are decoded with their formats.

use super::*;
use crate::Tid;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

fn decoder(kind: Kind, fields: &str, big_endian: bool) -> Result<RecordDecoder, String> {
    let text = format!("name: {}\nID: 7\nformat:\n{COMMON}{fields}", kind.name());
    RecordDecoder::new(kind, &Format::parse("sched", &text).expect("a format"), big_endian)
}

/// The format on a 32-bit kernel, where a long has four bytes.
const SWITCH_32: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:long prev_state;\toffset:32;\tsize:4;\tsigned:1;\n\
    \tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n\
    \tfield:int next_prio;\toffset:56;\tsize:4;\tsigned:1;\n";

fn switch_32(big_endian: bool, next_pid: u32) -> Vec<u8> {
    let number = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut raw = vec![0; 8];
    raw.extend(b"prev\0garbage\0\0\0\0");
    [77, 120, 2].iter().for_each(|n| raw.extend(number(*n)));
    raw.extend(b"fifteen letters\0");
    [next_pid, u32::MAX].iter().for_each(|n| raw.extend(number(*n)));
    raw
}

#[test]
fn a_kernel_of_32_bits_is_read_in_either_byte_order() {
    for big_endian in [false, true] {
        let decoder = decoder(Kind::SchedSwitch, SWITCH_32, big_endian).unwrap();
        let mut dictionary = Dictionary::default();
        let what = decoder.decode(&switch_32(big_endian, 78), &mut dictionary).unwrap();
        let What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } = what else {
            panic!("a switch")
        };
        assert_eq!((prev.0, next.0, prev_prio.get(), next_prio.get()), (77, 78, Some(120), Some(-1)));
        let name = |name| dictionary.names.text(name);
        assert_eq!((name(prev_comm), name(next_comm)), ("prev", "fifteen letters"));
        assert_eq!(dictionary.states.letters(prev_state), "D");
    }
}

#[test]
fn records_that_lie_are_refused() {
    let decoder = decoder(Kind::SchedSwitch, SWITCH_32, false).unwrap();
    let (mut dictionary, raw) = (Dictionary::default(), switch_32(false, 78));
    for end in 0..raw.len() {
        assert_eq!(decoder.decode(&raw[..end], &mut dictionary), Err(Refused::Short), "{end} bytes");
    }
    assert_eq!(decoder.decode(&switch_32(false, 1 << 30), &mut dictionary), Err(Refused::Number));
}

#[test]
fn strings_may_lie_elsewhere_in_the_record() {
    for (ctype, from) in [("__data_loc", 12), ("__rel_loc", 0)] {
        let field = format!("\tfield:{ctype} char[] name;\toffset:8;\tsize:4;\tsigned:0;\n");
        let text = format!(
            "name: irq_handler_entry\nID: 9\nformat:\n{COMMON}{field}\tfield:int irq;\toffset:4;\tsize:4;\tsigned:1;\n"
        );
        let decoder = RecordDecoder::new(Kind::IrqHandlerEntry, &Format::parse("irq", &text).unwrap(), false).unwrap();
        let mut raw = vec![0, 0, 0, 0, 27, 0, 0, 0];
        raw.extend((from | 5u32 << 16).to_le_bytes());
        raw.extend(b"eth0\0");
        let mut dictionary = Dictionary::default();
        let What::IrqEntry { irq, name } = decoder.decode(&raw, &mut dictionary).unwrap() else { panic!() };
        assert_eq!((irq, dictionary.names.text(name)), (27, "eth0"));
        raw.truncate(15);
        assert_eq!(decoder.decode(&raw, &mut dictionary), Err(Refused::Short));
    }
}

#[test]
fn system_calls_are_read_whatever_a_long_is() {
    for (long, big_endian) in [(8, false), (8, true), (4, false), (4, true)] {
        let field = |ctype: &str, at: u32, size: u32, signed: u8| {
            format!("\tfield:{ctype};\toffset:{at};\tsize:{size};\tsigned:{signed};\n")
        };
        let args = field("unsigned long args[6]", 8 + long, 6 * long, 0);
        let enter = decoder(Kind::SysEnter, &(field("long id", 8, long, 1) + &args), big_endian).unwrap();
        let ret = field("long ret", 8 + long, long, 1);
        let exit = decoder(Kind::SysExit, &(field("long id", 8, long, 1) + &ret), big_endian).unwrap();
        let number = |n: i64| match (long, big_endian) {
            (8, true) => n.to_be_bytes().to_vec(),
            (8, false) => n.to_le_bytes().to_vec(),
            (_, true) => (n as i32).to_be_bytes().to_vec(),
            (_, false) => (n as i32).to_le_bytes().to_vec(),
        };
        let pid = if big_endian { 77u32.to_be_bytes() } else { 77u32.to_le_bytes() };
        let record = |numbers: &[i64]| {
            let head = [&[0; 4][..], &pid].concat();
            head.into_iter().chain(numbers.iter().flat_map(|n| number(*n))).collect::<Vec<u8>>()
        };
        let mut dictionary = Dictionary::default();
        let raw = record(&[202, 0x7ffd_0000, 128, 1, 2, 3, 4]);
        let (tid, futex) = (Tid(77), crate::Syscall(202));
        let what = What::SysEnter { tid, number: futex, arg0: 0x7ffd_0000.into(), arg1: 128 };
        assert_eq!(enter.decode(&raw, &mut dictionary), Ok(what), "{long} {big_endian}");
        assert_eq!(enter.decode(&raw[..8 + 2 * long as usize], &mut dictionary), Err(Refused::Short));
        let what = What::SysExit { tid, number: futex, ret: (-110_i64 as u64).into() };
        assert_eq!(exit.decode(&record(&[202, -110]), &mut dictionary), Ok(what));
        let skipped = What::SysExit { tid, number: crate::Syscall::OTHER, ret: (-38_i64 as u64).into() };
        assert_eq!(exit.decode(&record(&[-1, -38]), &mut dictionary), Ok(skipped));
    }
    let lacking = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n";
    assert_eq!(decoder(Kind::SysEnter, lacking, false).unwrap_err(), "sys_enter has no six numbers `args`");
}

#[test]
fn a_move_to_a_cgroup_is_read() {
    let fields = "\tfield:int dst_root;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:u64 dst_id;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] dst_path;\toffset:28;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] comm;\toffset:32;\tsize:4;\tsigned:0;\n";
    let decoder = decoder(Kind::CgroupAttachTask, fields, false).unwrap();
    let mut raw = vec![0; 36];
    let mut put = |at: usize, n: u32| raw[at..at + 4].copy_from_slice(&n.to_le_bytes());
    [(8, 3), (24, 12), (28, 36 | 5 << 16), (32, 41 | 4 << 16)].into_iter().for_each(|(at, n)| put(at, n));
    raw.extend(b"/a/b\0web\0");
    let mut dictionary = Dictionary::default();
    let What::CgroupAttach { tid, comm, dst_root, dst_path } = decoder.decode(&raw, &mut dictionary).unwrap() else {
        panic!("a move")
    };
    let name = |name| dictionary.names.text(name);
    assert_eq!((tid.0, name(comm), dst_root, name(dst_path)), (12, "web", 3, "/a/b"));
}

#[test]
fn a_format_without_a_field_says_which() {
    let lacking = SWITCH_32.replace("next_pid", "next_tid");
    assert_eq!(decoder(Kind::SchedSwitch, &lacking, false).unwrap_err(), "sched_switch has no number `next_pid`");
    let odd = SWITCH_32.replace("offset:24;\tsize:4", "offset:24;\tsize:3");
    assert_eq!(decoder(Kind::SchedSwitch, &odd, false).unwrap_err(), "sched_switch has no number `prev_pid`");
}

#[test]
fn a_wakeup_that_woke_nobody_is_none() {
    let fields = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n";
    let decoder = decoder(Kind::SchedWakeup, fields, false).unwrap();
    let mut raw = vec![0; 40];
    assert_eq!(decoder.decode(&raw, &mut Dictionary::default()), Err(Refused::NoWakeup));
    raw[32] = 1;
    assert!(decoder.decode(&raw, &mut Dictionary::default()).is_ok());
}
