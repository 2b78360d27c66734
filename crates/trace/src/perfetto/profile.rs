//! A sampled profile as a Perfetto trace: `PerfSample`s with the call chains, frames, images and names that they share
//! (`InternedData`). ui.perfetto.dev draws them below their threads, and as flame graphs of any stretch of time.

use super::schema::packet;
use super::wire::{put_bytes, put_number};
use super::writer::write_packet;
use schedlab_run::profile::{Profile, Sample, TaskIds};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Fields of `InternedData` and of what is interned; the first of each of those is its number, counted from 1.
mod interned {
    pub(super) const FUNCTION_NAMES: u32 = 5;
    pub(super) const FRAMES: u32 = 6;
    pub(super) const CALLSTACKS: u32 = 7;
    pub(super) const MAPPING_PATHS: u32 = 17;
    pub(super) const MAPPINGS: u32 = 19;
    pub(super) const NUMBER: u32 = 1;
    pub(super) const STRING: u32 = 2;
    pub(super) const MAPPING_PATH: u32 = 7;
    pub(super) const FRAME_FUNCTION: u32 = 2;
    pub(super) const FRAME_MAPPING: u32 = 3;
    pub(super) const FRAME_ADDRESS: u32 = 4;
    pub(super) const CALLSTACK_FRAME: u32 = 2;
}

/// Fields of `PerfSample`.
mod sample {
    pub(super) const CPU: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const TID: u32 = 3;
    pub(super) const CALLSTACK: u32 = 4;
    pub(super) const CPU_MODE: u32 = 5;
    pub(super) const TIMEBASE_COUNT: u32 = 6;
    pub(super) const KERNEL_MODE: u64 = 1;
    pub(super) const USER_MODE: u64 = 2;
}

/// Fields of `TracePacketDefaults`, `PerfSampleDefaults`, `PerfEvents.Timebase`, and its counters.
mod defaults {
    pub(super) const PERF_SAMPLE: u32 = 12;
    pub(super) const TIMEBASE: u32 = 1;
    pub(super) const FREQUENCY: u32 = 2;
    pub(super) const COUNTER: u32 = 4;
    pub(super) const CPU_CLOCK: u64 = 1;
    pub(super) const CYCLES: u64 = 10;
}

/// Fields of `ProcessTree`, its processes and threads.
mod tree {
    pub(super) const PROCESSES: u32 = 1;
    pub(super) const THREADS: u32 = 2;
    pub(super) const ID: u32 = 1;
    pub(super) const THREAD_NAME: u32 = 2;
    pub(super) const THREAD_PROCESS: u32 = 3;
    pub(super) const COMMAND_LINE: u32 = 3;
}

/// `TracePacket.sequence_flags`: nothing of before is meant; what was interned is.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Writes these samples of a profile, at their times of CLOCK_MONOTONIC, and whose they are. `names` are those of its
/// functions, one for each.
pub fn write_profile(profile: &Profile, names: &[String], samples: &[Sample], out: &mut dyn Write) -> io::Result<()> {
    let mut body = Vec::new();
    put_number(packet::SEQUENCE_FLAGS, STATE_CLEARED, &mut body);
    put_bytes(packet::DEFAULTS, &pace(profile), &mut body);
    put_bytes(packet::INTERNED_DATA, &tables(profile, names), &mut body);
    write_packet(body, out)?;
    let mut body = Vec::new();
    put_bytes(packet::PROCESS_TREE, &process_tree(profile, samples), &mut body);
    write_packet(body, out)?;
    // What the event has counted so far, by CPU, as the kernel would tell it.
    let mut counted: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in samples {
        let count = counted.entry(sample.cpu).or_default();
        *count = count.saturating_add(sample.weight.into());
        let mut body = Vec::new();
        put_number(packet::TIMESTAMP, profile.start_ns + u64::from(sample.at_us) * 1000, &mut body);
        put_number(packet::SEQUENCE_FLAGS, NEEDS_STATE, &mut body);
        put_bytes(packet::PERF_SAMPLE, &perf_sample(profile, sample, *count), &mut body);
        write_packet(body, out)?;
    }
    Ok(())
}

/// The event that set the pace.
fn pace(profile: &Profile) -> Vec<u8> {
    let (mut timebase, mut of_samples, mut all) = (Vec::new(), Vec::new(), Vec::new());
    put_number(defaults::FREQUENCY, profile.frequency_hz.into(), &mut timebase);
    let counter = if profile.pace == "cycles" { defaults::CYCLES } else { defaults::CPU_CLOCK };
    put_number(defaults::COUNTER, counter, &mut timebase);
    put_bytes(defaults::TIMEBASE, &timebase, &mut of_samples);
    put_bytes(defaults::PERF_SAMPLE, &of_samples, &mut all);
    all
}

/// Images, functions, frames and chains: each has the number of its place in the profile, counted from 1.
fn tables(profile: &Profile, names: &[String]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut entry = Vec::new();
    let mut put = |field: u32, at: usize, fill: &mut dyn FnMut(&mut Vec<u8>)| {
        entry.clear();
        put_number(interned::NUMBER, number(at), &mut entry);
        fill(&mut entry);
        put_bytes(field, &entry, &mut all);
    };
    for (at, image) in profile.images.iter().enumerate() {
        put(interned::MAPPING_PATHS, at, &mut |path| put_bytes(interned::STRING, image.name.as_bytes(), path));
        put(interned::MAPPINGS, at, &mut |mapping| put_number(interned::MAPPING_PATH, number(at), mapping));
    }
    for (at, name) in names.iter().enumerate() {
        put(interned::FUNCTION_NAMES, at, &mut |entry| put_bytes(interned::STRING, name.as_bytes(), entry));
    }
    for (at, frame) in profile.frames.iter().enumerate() {
        // A profile that was damaged may name what is not there; Perfetto drops chains with such a frame.
        let function = profile.functions.get(frame.function as usize);
        put(interned::FRAMES, at, &mut |entry| {
            put_number(interned::FRAME_FUNCTION, number(frame.function as usize), entry);
            put_number(interned::FRAME_MAPPING, function.map_or(0, |f| number(f.image as usize)), entry);
            let address = function.map_or(0, |f| f.start).wrapping_add(frame.offset);
            put_number(interned::FRAME_ADDRESS, address, entry);
        });
    }
    for (at, chain) in profile.chains.iter().enumerate() {
        // The outermost first there.
        put(interned::CALLSTACKS, at, &mut |entry| {
            let frames = chain.frames.iter().rev();
            frames.for_each(|frame| put_number(interned::CALLSTACK_FRAME, number(*frame as usize), entry));
        });
    }
    all
}

/// 0 is nothing there.
fn number(at: usize) -> u64 {
    at as u64 + 1
}

/// Threads under the name that they had last, processes under that of their first thread, if it was met.
fn process_tree(profile: &Profile, samples: &[Sample]) -> Vec<u8> {
    let mut threads: BTreeMap<TaskIds, &str> = BTreeMap::new();
    for sample in samples {
        let task = profile.tasks.get(sample.task as usize);
        let chain = profile.chains.get(sample.chain as usize);
        let comm = chain.and_then(|chain| profile.comms.get(chain.comm as usize));
        // Number 0 is the idle task of every CPU.
        if let (Some(task), Some(comm)) = (task.filter(|task| task.tid > 0), comm) {
            threads.insert(*task, comm);
        }
    }
    let mut tree = Vec::new();
    let mut last_pid = 0;
    for (TaskIds { pid, .. }, comm) in &threads {
        if *pid == std::mem::replace(&mut last_pid, *pid) {
            continue;
        }
        let comm = threads.get(&TaskIds { pid: *pid, tid: *pid }).unwrap_or(comm);
        let mut process = Vec::new();
        put_number(tree::ID, u64::from(*pid), &mut process);
        put_bytes(tree::COMMAND_LINE, comm.as_bytes(), &mut process);
        put_bytes(tree::PROCESSES, &process, &mut tree);
    }
    for (TaskIds { pid, tid }, comm) in &threads {
        let mut thread = Vec::new();
        put_number(tree::ID, u64::from(*tid), &mut thread);
        put_bytes(tree::THREAD_NAME, comm.as_bytes(), &mut thread);
        put_number(tree::THREAD_PROCESS, u64::from(*pid), &mut thread);
        put_bytes(tree::THREADS, &thread, &mut tree);
    }
    tree
}

fn perf_sample(profile: &Profile, sampled: &Sample, count: u64) -> Vec<u8> {
    let TaskIds { pid, tid } = profile.tasks.get(sampled.task as usize).copied().unwrap_or_default();
    let frames = profile.chains.get(sampled.chain as usize).map_or(&[][..], |chain| &chain.frames);
    let innermost = frames.first().and_then(|frame| profile.frames.get(*frame as usize));
    let function = innermost.and_then(|frame| profile.functions.get(frame.function as usize));
    let is_kernel = function.and_then(|f| profile.images.get(f.image as usize)).is_some_and(|image| image.is_kernel);
    let mut out = Vec::new();
    put_number(sample::CPU, sampled.cpu.into(), &mut out);
    put_number(sample::PID, pid.into(), &mut out);
    put_number(sample::TID, tid.into(), &mut out);
    if !frames.is_empty() {
        put_number(sample::CALLSTACK, number(sampled.chain as usize), &mut out);
    }
    put_number(sample::CPU_MODE, if is_kernel { sample::KERNEL_MODE } else { sample::USER_MODE }, &mut out);
    put_number(sample::TIMEBASE_COUNT, count, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::schema::PACKET;
    use super::super::wire::{Fields, Value};
    use super::*;
    use schedlab_run::profile::{CallChain, Frame, Function, Image};

    /// The messages in a field, in their order.
    fn messages(of: &[u8], field: u32) -> Vec<&[u8]> {
        let mut fields = Fields::of(of);
        let found = fields.by_ref().filter_map(|(at, value)| match value {
            Value::Bytes(bytes) if at == field => Some(bytes),
            _ => None,
        });
        let found = found.collect();
        assert!(!fields.broken, "{of:?}");
        found
    }

    fn numbers(of: &[u8], field: u32) -> Vec<u64> {
        let of_field = Fields::of(of).filter_map(|(at, value)| match value {
            Value::Number(number) if at == field => Some(number),
            _ => None,
        });
        of_field.collect()
    }

    fn one(of: &[u8], field: u32) -> u64 {
        let found = numbers(of, field);
        assert_eq!(found.len(), 1, "field {field} of {of:?}");
        found[0]
    }

    fn text(of: &[u8], field: u32) -> String {
        String::from_utf8(messages(of, field)[0].to_vec()).unwrap()
    }

    /// What is interned in a field under a number.
    fn entry(tables: &[u8], field: u32, iid: u64) -> &[u8] {
        messages(tables, field).into_iter().find(|entry| one(entry, 1) == iid).unwrap()
    }

    fn profile() -> (Profile, Vec<String>) {
        let image = |name: &str, is_kernel| Image { name: name.into(), is_kernel };
        let function = |name: &str, image, start| Function { name: name.into(), image, start, length: 64 };
        let frame = |function, offset| Frame { function, offset };
        let chain = |comm, frames: &[u32]| CallChain { comm, idle_task: false, frames: frames.to_vec() };
        let profile = Profile {
            pace: "cycles".into(),
            frequency_hz: 997,
            start_ns: 5_000_000_000,
            images: vec![image("/bin/ping", false), image("[kernel]", true)],
            functions: vec![function("main", 0, 0x1000), function("pipe_write", 1, 0xffff_ffff_8100_0000)],
            frames: vec![frame(0, 16), frame(1, 4)],
            comms: vec!["ping".into(), "helper".into(), "sh".into()],
            tasks: vec![TaskIds { pid: 7, tid: 7 }, TaskIds { pid: 7, tid: 8 }, TaskIds::default()],
            chains: vec![chain(2, &[0]), chain(0, &[1, 0]), chain(1, &[]), chain(0, &[999])],
            ..Profile::default()
        };
        let names = profile.functions.iter().map(|function| function.name.clone()).collect();
        (profile, names)
    }

    fn written(profile: &Profile, names: &[String], samples: &[Sample]) -> Vec<u8> {
        let mut out = Vec::new();
        write_profile(profile, names, samples, &mut out).unwrap();
        out
    }

    #[test]
    fn samples_lead_to_their_functions_the_outermost_first() {
        let (profile, names) = profile();
        let sample = |at_us, chain, task, cpu| Sample { at_us, weight: 1000, chain, task, cpu };
        let samples = [sample(1, 0, 0, 3), sample(2, 1, 0, 3), sample(3, 2, 1, 0)];
        let bytes = written(&profile, &names, &samples);
        let packets = messages(&bytes, PACKET);
        assert_eq!(packets.len(), 5);
        assert!(packets.iter().all(|packet| one(packet, 10) == 1), "one sequence");
        assert_eq!(one(packets[0], 13), 1);
        let timebase = messages(messages(messages(packets[0], 59)[0], 12)[0], 1)[0];
        assert_eq!((one(timebase, 2), one(timebase, 4)), (997, 10));
        let tables = messages(packets[0], 12)[0];

        let second = messages(packets[3], 66)[0];
        assert_eq!((one(packets[3], 8), one(packets[3], 13)), (5_000_002_000, 2));
        assert_eq!([1, 2, 3, 5, 6].map(|field| one(second, field)), [3, 7, 7, 1, 2000], "the kernel's, 2000 so far");
        let stack = numbers(entry(tables, 7, one(second, 4)), 2);
        let told: Vec<_> = stack
            .iter()
            .map(|frame| {
                let frame = entry(tables, 6, *frame);
                let mapping = entry(tables, 19, one(frame, 3));
                let image = text(entry(tables, 17, one(mapping, 7)), 2);
                (text(entry(tables, 5, one(frame, 2)), 2), image, one(frame, 4))
            })
            .collect();
        let expected = [("main", "/bin/ping", 0x1010), ("pipe_write", "[kernel]", 0xffff_ffff_8100_0004)];
        assert_eq!(told, expected.map(|(name, image, at)| (name.to_owned(), image.to_owned(), at)));

        let third = messages(packets[4], 66)[0];
        assert_eq!((one(third, 3), one(third, 5), one(third, 6)), (8, 2, 1000));
        assert!(numbers(third, 4).is_empty(), "a sample without a chain has none");
    }

    #[test]
    fn threads_have_the_name_they_had_last_and_processes_their_first_threads() {
        let (profile, names) = profile();
        let sample = |chain, task| Sample { chain, task, ..Sample::default() };
        let bytes = written(&profile, &names, &[sample(2, 1), sample(0, 0), sample(1, 0), sample(0, 2)]);
        let tree = messages(messages(&bytes, PACKET)[1], 2)[0];
        let processes: Vec<_> = messages(tree, 1).iter().map(|p| (one(p, 1), text(p, 3))).collect();
        assert_eq!(processes, [(7, "ping".to_owned())]);
        let threads: Vec<_> = messages(tree, 2).iter().map(|t| (one(t, 1), one(t, 3), text(t, 2))).collect();
        assert_eq!(threads, [(7, 7, "ping".to_owned()), (8, 7, "helper".to_owned())]);
    }

    #[test]
    fn a_damaged_profile_is_written_without_a_panic() {
        let (mut profile, names) = profile();
        profile.frames[0].function = 77;
        profile.functions[1].image = 77;
        let sample = Sample { chain: 999, task: 999, ..Sample::default() };
        let bytes = written(&profile, &names[..1], &[sample, Sample { chain: 3, ..sample }]);
        assert_eq!(messages(&bytes, PACKET).len(), 4);
    }
}
