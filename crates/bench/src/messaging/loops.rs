//! The timed loops of `messaging/1`: the shortest functions here, compiled once for each stamping level, delay and end
//! condition.
//!
//! A message of 16 bytes or more begins with a header: the first word holds a magic number, the kind and the sender's
//! CPU; in a stamped message the second word holds the CLOCK_MONOTONIC send time. Where messages of several senders may
//! interleave in a stream (TCP, messages larger than a page), a header can end up inside another message. The magic
//! number shows this; such a message is counted and its bytes are verified, but it has no tier and no latency.

use crate::delay::Delay;
use crate::dispatch::{TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{Step, TaskError, Work};
use crate::topology::Topology;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::{cpu_number, fd};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

const MAGIC: u64 = 0x5ced_1ab0_2d00_0000;
const PLAIN: u64 = MAGIC;
const STAMPED: u64 = MAGIC | 1 << 16;
const CPU_MASK: u64 = 0xffff;
/// First byte of an end marker and fill byte of every message (hackbench's `-`).
const END: u8 = b'E';
pub(super) const FILL: u8 = b'-';

#[inline(always)]
fn put_word(message: &mut [u8], word: usize, value: u64) {
    message[word * 8..word * 8 + 8].copy_from_slice(&value.to_ne_bytes());
}

#[inline(always)]
fn get_word(message: &[u8], word: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&message[word * 8..word * 8 + 8]);
    u64::from_ne_bytes(bytes)
}

/// A sender's loop; returns the messages sent.
pub(super) struct Send<'a, const HEADER: bool> {
    pub(super) outs: &'a [OwnedFd],
    pub(super) message: &'a mut [u8],
    pub(super) counter: &'a AtomicU64,
}

impl<const HEADER: bool> TimedLoop for Send<'_, HEADER> {
    type Output = Result<u64, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let (mut sent, mut next) = (0u64, 0usize);
        while until.more(sent) {
            delay.spin();
            if HEADER {
                let cpu = u64::from(cpu_number::current_cpu()) & CPU_MASK;
                if stamp.due() {
                    put_word(self.message, 0, STAMPED | cpu);
                    put_word(self.message, 1, monotonic_ns());
                } else {
                    put_word(self.message, 0, PLAIN | cpu);
                }
            }
            fd::write_full(self.outs[next].as_fd(), self.message).map_err(TaskError::at(Step::Write))?;
            sent += 1;
            self.counter.store(sent, Relaxed);
            next += 1;
            if next == self.outs.len() {
                next = 0;
            }
        }
        Ok(sent)
    }
}

/// After the stop flag: the last sender of the group to stop tells every receiver. By then nobody else sends, so the
/// marker cannot interleave with anything.
pub(super) fn send_end(outs: &[OwnedFd], message: &mut [u8], senders_left: &AtomicU64) -> Result<(), TaskError> {
    if senders_left.fetch_sub(1, AcqRel) != 1 {
        return Ok(());
    }
    message.fill(END);
    for out in outs {
        fd::write_full(out.as_fd(), message).map_err(TaskError::at(Step::Write))?;
    }
    Ok(())
}

/// A receiver's loop.
pub(super) struct Receive<'a, const HEADER: bool> {
    pub(super) input: &'a OwnedFd,
    pub(super) message: &'a mut [u8],
    pub(super) topology: &'a Topology,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) group: usize,
    pub(super) counter: &'a AtomicU64,
    pub(super) senders_left: &'a AtomicU64,
}

impl<const HEADER: bool> TimedLoop for Receive<'_, HEADER> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, _stamp: S, _delay: P, until: U) -> Self::Output {
        let mut work = Work::default();
        while until.more(work.operations) {
            fd::read_full(self.input.as_fd(), self.message).map_err(TaskError::at(Step::Read))?;
            if HEADER {
                let head = get_word(self.message, 0);
                let kind = head & !CPU_MASK;
                if kind == PLAIN || kind == STAMPED {
                    let tier = self.topology.tier((head & CPU_MASK) as u32, cpu_number::current_cpu());
                    work.tiers[tier as usize] += 1;
                    if S::ANY
                        && kind == STAMPED
                        && let Some(recorder) = self.recorder
                    {
                        let end_ns = monotonic_ns();
                        let latency_ns = end_ns.saturating_sub(get_word(self.message, 1));
                        recorder.record_operation(0, tier, self.group, latency_ns, end_ns);
                        work.stamped += 1;
                    }
                }
            }
            // In a message shorter than the marker, an `E` can only be part of an interleaved header.
            if self.message[0] == END && self.senders_left.load(Acquire) == 0 && self.message.iter().all(|&b| b == END)
            {
                break;
            }
            work.operations += 1;
            self.counter.store(work.operations, Relaxed);
        }
        Ok(work)
    }
}
