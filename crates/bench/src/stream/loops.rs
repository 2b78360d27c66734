//! The timed loops of `stream/1`. A sender sends the next buffer of its ring, as netperf does; a receiver receives
//! whatever has arrived, until the end of the stream.
//!
//! A stream has no header, so the sender stores its CPU in a word that it shares with its receiver, and only when the
//! CPU changes; the receiver derives the tier of each receive from it.

use crate::delay::Delay;
use crate::dispatch::{TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{Step, TaskError, Work};
use crate::topology::Topology;
use schedlab_plan::Tier;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::{cpu_number, tcp};
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A sender's loop; returns the messages sent and how many of them were stamped.
pub(super) struct Send<'a> {
    pub(super) socket: BorrowedFd<'a>,
    /// Several buffers of `stride` bytes.
    pub(super) ring: &'a [u8],
    pub(super) stride: usize,
    /// Bytes of one send.
    pub(super) bytes: usize,
    pub(super) sender_cpu: &'a AtomicU64,
    pub(super) counter: &'a AtomicU64,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) stream: usize,
}

impl TimedLoop for Send<'_> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let (mut work, mut at, mut last_cpu) = (Work::default(), 0, u32::MAX);
        while until.more(work.operations) {
            delay.spin();
            let cpu = cpu_number::current_cpu();
            if cpu != last_cpu {
                last_cpu = cpu;
                self.sender_cpu.store(cpu.into(), Relaxed);
            }
            let message = &self.ring[at..at + self.bytes];
            let due = S::ANY && stamp.due();
            let before_ns = if due { monotonic_ns() } else { 0 };
            tcp::send_all(self.socket, message).map_err(TaskError::at(Step::Write))?;
            if due && let Some(recorder) = self.recorder {
                // The series has no tiers, so any tier may be named.
                let end_ns = monotonic_ns();
                recorder.record_operation(0, Tier::SameCpu, self.stream, end_ns - before_ns, end_ns);
                work.stamped += 1;
            }
            work.operations += 1;
            self.counter.store(work.operations, Relaxed);
            at += self.stride;
            if at == self.ring.len() {
                at = 0;
            }
        }
        Ok(work)
    }
}

/// A receiver's loop: the sender determines its length.
pub(super) struct Receive<'a> {
    pub(super) socket: BorrowedFd<'a>,
    pub(super) buffer: &'a mut [u8],
    /// Bytes of one send.
    pub(super) bytes: u64,
    pub(super) sender_cpu: &'a AtomicU64,
    /// Whole messages received so far.
    pub(super) counter: &'a AtomicU64,
    pub(super) topology: &'a Topology,
}

impl Receive<'_> {
    /// Receives until the sender has shut its side down; returns the bytes received and the tiers, one per receive.
    pub(super) fn run(self) -> Result<(u64, Work), TaskError> {
        let (mut received, mut work) = (0u64, Work::default());
        loop {
            let got = tcp::receive(self.socket, self.buffer).map_err(TaskError::at(Step::Read))?;
            if got == 0 {
                break;
            }
            let tier = self.topology.tier(self.sender_cpu.load(Relaxed) as u32, cpu_number::current_cpu());
            work.tiers[tier as usize] += 1;
            received += got as u64;
            self.counter.store(received / self.bytes, Relaxed);
        }
        work.operations = received / self.bytes;
        Ok((received, work))
    }
}
