//! The threads of the machine at one moment, with information that no event contains: which threads existed already,
//! where each may run, in which group, under which policy.

use super::varint::{fold, put, take, unfold};

/// One thread, as /proc and sched_getattr(2) show it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadState {
    /// Its id in the root pid namespace.
    pub tid: u32,
    /// The id of its process.
    pub pid: u32,
    /// When it was started, ns since boot, in steps of 10 ms; together with `tid` it identifies a task for ever.
    pub start_boot_ns: u64,
    /// Its name.
    pub comm: String,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// Number of the scheduling policy, as in sched(7).
    pub policy: u8,
    /// The kernel's priority: −1 deadline, 0–99 real time, 100–139 fair.
    pub prio: i16,
    /// −20 … 19.
    pub nice: i8,
    /// The slice of a fair thread, ns; 0 if the kernel does not report it.
    pub slice_ns: u64,
    /// CPUs that it may run on, as a list: `0-3,8`.
    pub cpus_allowed: String,
    /// Its cgroup, of the cpu controller.
    pub cgroup: String,
}

/// When a snapshot was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Right after tracing was switched on.
    Start,
    /// Right before it was switched off.
    End,
}

/// Most threads in one part of a file; with more threads there are several parts.
pub(super) const MAX_IN_A_PART: usize = 16_384;

/// Moment, clock, then the distinct strings, then the threads.
pub(super) fn encode(moment: Moment, at_ns: u64, threads: &[ThreadState]) -> Vec<u8> {
    let mut out = vec![moment as u8];
    put(&mut out, at_ns);
    let mut strings: Vec<&str> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for text in threads.iter().flat_map(ThreadState::strings) {
        numbers.entry(text).or_insert_with(|| {
            strings.push(text);
            strings.len() as u64 - 1
        });
    }
    put(&mut out, strings.len() as u64);
    for text in strings {
        put(&mut out, text.len() as u64);
        out.extend_from_slice(text.as_bytes());
    }
    put(&mut out, threads.len() as u64);
    for thread in threads {
        thread.strings().iter().for_each(|text| put(&mut out, numbers[text]));
        let flags = u64::from(thread.policy) << 1 | u64::from(thread.kernel);
        let (prio, nice) = (fold(thread.prio.into()), fold(thread.nice.into()));
        for number in [thread.tid.into(), thread.pid.into(), thread.start_boot_ns, flags, prio, nice, thread.slice_ns] {
            put(&mut out, number);
        }
    }
    out
}

impl ThreadState {
    fn strings(&self) -> [&str; 3] {
        [&self.comm, &self.cpus_allowed, &self.cgroup]
    }
}

/// Decodes what [`encode`] wrote; `Err` describes the invalid byte.
pub(super) fn decode(bytes: &[u8]) -> Result<(Moment, u64, Vec<ThreadState>), String> {
    let mut rest = bytes;
    let decoded = decode_rest(&mut rest);
    let at = bytes.len() - rest.len();
    decoded.ok_or_else(|| format!("byte {at} of a snapshot of threads is not what belongs there"))
}

fn decode_rest(rest: &mut &[u8]) -> Option<(Moment, u64, Vec<ThreadState>)> {
    let moment = match take(rest)? {
        0 => Moment::Start,
        1 => Moment::End,
        _ => return None,
    };
    let at_ns = take(rest)?;
    let strings = super::block::strings(rest)?;
    let count = usize::try_from(take(rest)?).ok().filter(|count| *count <= MAX_IN_A_PART)?;
    let mut threads = Vec::new();
    for _ in 0..count {
        let mut text = || {
            let text = strings.get(usize::try_from(take(rest)?).ok()?)?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        let [comm, cpus_allowed, cgroup] = [text()?, text()?, text()?];
        let mut numbers = [0; 7];
        for number in &mut numbers {
            *number = take(rest)?;
        }
        let [tid, pid, start_boot_ns, flags, prio, nice, slice_ns] = numbers;
        threads.push(ThreadState {
            tid: tid.try_into().ok()?,
            pid: pid.try_into().ok()?,
            start_boot_ns,
            comm,
            kernel: flags & 1 == 1,
            policy: (flags >> 1).try_into().ok()?,
            prio: unfold(prio).try_into().ok()?,
            nice: unfold(nice).try_into().ok()?,
            slice_ns,
            cpus_allowed,
            cgroup,
        });
    }
    Some((moment, at_ns, threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads() -> Vec<ThreadState> {
        let thread = |tid, comm: &str, kernel| ThreadState {
            tid,
            pid: tid,
            start_boot_ns: u64::from(tid) * 10_000_000,
            comm: comm.to_owned(),
            kernel,
            policy: if kernel { 1 } else { 0 },
            prio: if kernel { -1 } else { 120 },
            nice: if kernel { -20 } else { 19 },
            slice_ns: 2_800_000,
            cpus_allowed: "0-1".to_owned(),
            cgroup: "/a b".to_owned(),
        };
        vec![thread(1, "init", false), thread(2, "kthreadd", true), thread(4_194_304, "", false)]
    }

    #[test]
    fn a_snapshot_comes_back_and_repeated_words_are_stored_once() {
        let bytes = encode(Moment::End, 77, &threads());
        assert_eq!(decode(&bytes), Ok((Moment::End, 77, threads())));
        assert_eq!(bytes.windows(4).filter(|w| **w == *b"/a b").count(), 1);
        assert_eq!(decode(&encode(Moment::Start, 0, &[])), Ok((Moment::Start, 0, vec![])));
    }

    #[test]
    fn every_cut_is_an_error_that_names_its_byte() {
        let bytes = encode(Moment::Start, 77, &threads());
        for end in 0..bytes.len() {
            let error = decode(&bytes[..end]).unwrap_err();
            assert!(error.starts_with("byte "), "{error}");
        }
    }
}
