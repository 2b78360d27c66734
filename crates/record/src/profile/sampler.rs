//! Samples while something runs: opens an event and its ring on every CPU, and drains the rings from a thread of its
//! own. That thread is created before the events, so that events for the children of the calling thread do not follow
//! it.
//!
//! If permitted, everything that runs on the CPUs is sampled, even if only one command is wanted; samples are then
//! assigned by descent from the command. The alternative, an event that follows tasks, is switched with them, at a cost
//! at every context switch: it added 16 % to the CPU time of the same-CPU ping-pong, per-CPU events 2 %.

use super::error::ProfileError;
use super::gather::{Gathered, InOrder};
use super::naming;
use super::proc_scan;
use crate::Roots;
use schedlab_plan::profile::Profile;
use schedlab_plan::units::CpuList;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::perf_ring::{Pace, SampleOrder, SampleRing, Sampled};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pages of a ring: with the control page exactly what `kernel.perf_event_mlock_kb` allows a user per CPU by default.
const RING_PAGES: usize = 128;
/// The smallest ring that is tried if less memory may be locked.
const FEWEST_PAGES: usize = 8;
/// How often the rings are drained at the default frequency; a ring is less than a quarter full after a tenth of a
/// second.
const DRAIN_EVERY: Duration = Duration::from_millis(100);

/// The default frequency. It is a prime, so that it does not run in step with the tick or with a workload whose period
/// is a round number. It takes about one sample per millisecond, which costs some 2 % and measures a share of 10 % to
/// ±0.6 % in ten seconds of CPU time.
pub const DEFAULT_HZ: u32 = 997;

/// Whose samples are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileScope {
    /// Those of the whole machine.
    Everyone,
    /// The processes that the calling thread starts from now on, and their descendants.
    Children,
}

impl ProfileScope {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Everyone => "the whole machine",
            Self::Children => "the command and its children",
        }
    }
    /// The ways to sample them, the cheapest first.
    fn ways(self) -> &'static [Sampled] {
        match self {
            Self::Everyone => &[Sampled::Everyone],
            Self::Children => &[Sampled::Everyone, Sampled::ChildrenThatExec],
        }
    }
}

/// What is sampled.
#[derive(Debug, Clone)]
pub struct ProfileOrder {
    /// Whose samples.
    pub scope: ProfileScope,
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
    /// The trees of /proc and /sys.
    pub roots: Roots,
}

/// What worked on the first CPU.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    sampled: Sampled,
    pace: Pace,
    with_kernel: bool,
    ring_pages: usize,
}

/// Sampling in progress.
#[derive(Debug)]
pub struct Sampler {
    order: ProfileOrder,
    agreed: Agreed,
    cpus: u32,
    start_ns: u64,
    collector: JoinHandle<Result<(Gathered, u64), String>>,
    messages: Sender<Message>,
}

enum Message {
    Begin { rings: Vec<SampleRing>, gathered: Box<Gathered>, every: Duration },
    End,
}

impl Sampler {
    /// Starts sampling. Children are those that the calling thread starts from now on, so the caller must be the thread
    /// that starts them.
    pub fn start(order: ProfileOrder) -> Result<Self, ProfileError> {
        let cpus = online_cpus(&order.roots).map_err(ProfileError::Cpus)?;
        let (messages, inbox) = channel();
        let collector = std::thread::Builder::new()
            .name("profile".into())
            .spawn(move || collect(&inbox))
            .map_err(|error| ProfileError::Collector(error.to_string()))?;
        let start_ns = monotonic_ns();
        let (rings, agreed) = open_all(&order, &cpus)?;
        let ours = std::process::id();
        let mut gathered = Box::new(match (order.scope, agreed.sampled) {
            (ProfileScope::Children, Sampled::Everyone) => Gathered::of_descendants(start_ns, ours),
            _ => Gathered::new(start_ns, ours),
        });
        if agreed.sampled == Sampled::Everyone {
            for (ring, cpu) in rings.iter().zip(&cpus) {
                ring.enable().map_err(|cause| ProfileError::Open { cpu: *cpu, cause })?;
            }
        }
        if order.scope == ProfileScope::Everyone {
            // After the events were enabled, so that nothing is missed in between.
            proc_scan::read_all(&order.roots.proc, &mut gathered);
        }
        let opened = rings.len() as u32;
        let slower = f64::from(DEFAULT_HZ) / f64::from(order.frequency_hz.max(DEFAULT_HZ));
        let every = DRAIN_EVERY.mul_f64(slower).max(Duration::from_millis(5));
        let begin = Message::Begin { rings, gathered, every };
        messages.send(begin).map_err(|_| ProfileError::Collector("its thread has died".into()))?;
        Ok(Self { order, agreed, cpus: opened, start_ns, collector, messages })
    }

    /// Stops sampling, and resolves all addresses.
    pub fn stop(self) -> Result<Profile, ProfileError> {
        let died = || ProfileError::Collector("its thread has died".into());
        self.messages.send(Message::End).map_err(|_| died())?;
        let collected = self.collector.join().map_err(|_| died())?;
        let (gathered, end_ns) = collected.map_err(ProfileError::Collector)?;
        let roots = &self.order.roots;
        let mut profile = Profile {
            pace: name(self.agreed.pace).into(),
            unit: if self.agreed.pace == Pace::Cycles { "cycles" } else { "ns" }.into(),
            blind_with_interrupts_off: self.agreed.pace == Pace::CpuClock || !has_nmi(roots),
            frequency_hz: self.order.frequency_hz,
            of: self.order.scope.name().into(),
            cpus: self.cpus,
            start_ns: self.start_ns,
            length_ns: end_ns.saturating_sub(self.start_ns),
            ..Profile::default()
        };
        if !self.agreed.with_kernel {
            profile.notes.push(format!(
                "user code only: the kernel's side needs root, CAP_PERFMON, or kernel.perf_event_paranoid of 1 or less (it \
                 is {})",
                paranoid(roots)
            ));
        }
        if self.agreed.sampled == Sampled::ChildrenThatExec {
            profile.notes.push(
                "sampled by events that follow the tasks, which costs at every context switch; with the right to sample the \
                 whole machine it costs an eighth of that"
                    .into(),
            );
        }
        naming::name_all(gathered, roots, &mut profile);
        Ok(profile)
    }
}

fn name(pace: Pace) -> &'static str {
    match pace {
        Pace::Cycles => "cycles",
        Pace::CpuClock => "cpu-clock",
    }
}

/// Whether the interrupt of a hardware counter arrives even if interrupts are off.
fn has_nmi(roots: &Roots) -> bool {
    let cmdline = || std::fs::read_to_string(roots.proc.join("cmdline")).unwrap_or_default();
    cfg!(target_arch = "x86_64") || cmdline().contains("irqchip.gicv3_pseudo_nmi=1")
}

fn paranoid(roots: &Roots) -> String {
    let read = std::fs::read_to_string(roots.proc.join("sys/kernel/perf_event_paranoid"));
    read.map_or_else(|error| format!("unreadable: {error}"), |text| text.trim().to_owned())
}

fn online_cpus(roots: &Roots) -> Result<Vec<u32>, String> {
    let file = roots.sys.join("devices/system/cpu/online");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let list: CpuList = text.trim().parse().map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(list.as_slice().to_vec())
}

/// A ring on each CPU, all alike. A CPU that has gone offline meanwhile is left out.
fn open_all(order: &ProfileOrder, cpus: &[u32]) -> Result<(Vec<SampleRing>, Agreed), ProfileError> {
    let (mut rings, mut agreed) = (Vec::with_capacity(cpus.len()), None);
    for &cpu in cpus {
        let opened = match agreed {
            None => first_ring(order, cpu),
            Some(agreed) => fitting_ring(order, agreed, cpu),
        };
        match opened {
            Ok((ring, how)) => {
                rings.push(ring);
                agreed = Some(how);
            }
            Err(cause) if is_errno(&cause, &[libc_errno::ENODEV]) => {}
            Err(cause) if is_errno(&cause, &[libc_errno::EACCES, libc_errno::EPERM]) => {
                let paranoid = paranoid(&order.roots);
                return Err(match order.scope {
                    ProfileScope::Everyone => ProfileError::WholeMachineRefused { paranoid },
                    ProfileScope::Children => ProfileError::Refused { paranoid, cause },
                });
            }
            Err(cause) => return Err(too_fast(order).unwrap_or(ProfileError::Open { cpu, cause })),
        }
    }
    agreed.map(|agreed| (rings, agreed)).ok_or_else(|| ProfileError::Cpus("none of them could be opened".into()))
}

/// The kernel returns EINVAL for a frequency above its limit, and lowers that limit itself if sampling takes too long.
fn too_fast(order: &ProfileOrder) -> Option<ProfileError> {
    let limit = std::fs::read_to_string(order.roots.proc.join("sys/kernel/perf_event_max_sample_rate")).ok()?;
    let (asked_hz, most_hz) = (order.frequency_hz, limit.trim().parse().ok()?);
    (asked_hz > most_hz).then_some(ProfileError::TooFast { asked_hz, most_hz })
}

/// The cheapest permitted way: with cycles if they can be counted, otherwise with the timer; including the kernel's
/// side if that is permitted.
fn first_ring(order: &ProfileOrder, cpu: u32) -> io::Result<(SampleRing, Agreed)> {
    let mut refused = None;
    for &sampled in order.scope.ways() {
        for pace in [Pace::Cycles, Pace::CpuClock] {
            for with_kernel in [true, false] {
                match fitting_ring(order, Agreed { sampled, pace, with_kernel, ring_pages: RING_PAGES }, cpu) {
                    Ok(opened) => return Ok(opened),
                    Err(error) if is_errno(&error, &[libc_errno::EACCES, libc_errno::EPERM]) => refused = Some(error),
                    Err(error) if pace == Pace::CpuClock => return Err(error),
                    // There is no such counter here; the timer always exists.
                    Err(_) => break,
                }
            }
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// The ring, or a smaller one if less memory may be locked.
fn fitting_ring(order: &ProfileOrder, mut how: Agreed, cpu: u32) -> io::Result<(SampleRing, Agreed)> {
    loop {
        let sample = SampleOrder {
            pace: how.pace,
            frequency_hz: order.frequency_hz,
            cpu,
            sampled: how.sampled,
            with_kernel: how.with_kernel,
            most_frames: 0,
            ring_pages: how.ring_pages,
        };
        match SampleRing::open(&sample) {
            Err(error) if is_errno(&error, &[libc_errno::EPERM]) && how.ring_pages > FEWEST_PAGES => {
                how.ring_pages /= 2
            }
            opened => return Ok((opened?, how)),
        }
    }
}

/// The errno(3) values that matter here; they are the same on all architectures we build for.
mod libc_errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENODEV: i32 = 19;
}

fn is_errno(error: &io::Error, any: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|errno| any.contains(&errno))
}

/// The collecting thread: drains the rings periodically, and once more at the end; returns what it collected and when
/// it ended.
fn collect(inbox: &Receiver<Message>) -> Result<(Gathered, u64), String> {
    let Ok(Message::Begin { mut rings, mut gathered, every }) = inbox.recv() else {
        return Err("sampling did not begin".into());
    };
    let mut order = InOrder::default();
    // Everything older than the previous round has been drained from the rings: a record is written soon after its
    // time.
    let mut round_before_ns = 0;
    loop {
        let ended = !matches!(inbox.recv_timeout(every), Err(RecvTimeoutError::Timeout));
        let now_ns = monotonic_ns();
        if ended {
            rings.iter().try_for_each(SampleRing::disable).map_err(|error| error.to_string())?;
        }
        rings.iter_mut().for_each(|ring| ring.drain(order.buffer()));
        order.hand_over(if ended { u64::MAX } else { round_before_ns }, &mut gathered);
        if ended {
            return Ok((*gathered, now_ns));
        }
        round_before_ns = now_ns;
    }
}
