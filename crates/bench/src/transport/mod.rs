//! How a request reaches a server process and how its reply comes back: several transports behind one set of traits,
//! used by `transact/1` and `throughput/1`.
//!
//! The control process opens a [`Link`] before the fork; each of the two processes takes its own end and closes the
//! other's. A client process may make transactions from several threads, one at a time: each has its own [`Caller`],
//! made before the timed region, so that a transaction allocates nothing. The traits are used as trait objects: the
//! transport is chosen before the timed region, and an indirect call costs a nanosecond compared with microseconds.

mod binder;
mod futex;
mod seccomp;
mod stream;

use crate::error::BenchError;
use crate::herd::Herd;
use crate::task::{TaskError, Work};
use crate::workload::{OptionDoc, option};
use std::io;
use std::path::Path;

/// What carries the requests and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// The binder driver.
    Binder,
    /// A unix stream socket pair.
    Unix,
    /// Two pipes.
    Pipe,
    /// Shared memory and one futex word.
    Futex,
    /// A trapped system call; with `sync`, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP.
    SeccompNotify {
        /// Whether each side wakes the other on its own CPU.
        sync: bool,
    },
}

impl Transport {
    /// All transports, by the option's words.
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("binder", Self::Binder),
        ("unix", Self::Unix),
        ("pipe", Self::Pipe),
        ("futex", Self::Futex),
        ("seccomp-notify", Self::SeccompNotify { sync: false }),
        ("seccomp-notify-sync", Self::SeccompNotify { sync: true }),
    ];
    /// The form of the option.
    pub(crate) const FORM: &'static str = "binder|unix|pipe|futex|seccomp-notify|seccomp-notify-sync";
    /// The option for the binder device.
    pub(crate) const DEVICE_OPTION: OptionDoc = option(
        "binder-device",
        "PATH|auto",
        "auto",
        "the binder device; auto: one of our own by binderfs, else /dev/binder",
    );

    pub(crate) fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, transport)| *transport == self).map_or("", |(word, _)| word)
    }

    /// Whether there are kernels that let the server run with its caller's scheduling attributes over this transport.
    pub(crate) fn inherits(self) -> bool {
        self == Self::Binder
    }

    /// Number of processes in a run in addition to its pairs.
    pub(crate) fn managers(self) -> usize {
        usize::from(self == Self::Binder)
    }

    /// Descriptors that the control process holds for a pair between its two forks.
    pub(crate) const FILES_PER_LINK: u64 = 8;
}

/// Whether this kernel's binder passes on real-time policies.
pub(crate) fn binder_inherits_real_time() -> bool {
    binder::inherits_real_time(Path::new("/proc"))
}

/// What the pairs of one run have in common.
pub(crate) struct Wiring {
    transport: Transport,
    sizes: Sizes,
    pairs: u32,
    /// How to open the driver, if the transport is binder.
    open: Option<binder::Opener>,
}

impl Wiring {
    /// Called in the control process before the fork; an error if this machine lacks the transport.
    pub(crate) fn new(
        workload: &'static str,
        transport: Transport,
        sizes: Sizes,
        pairs: u32,
        binder_device: Option<&str>,
    ) -> Result<Self, BenchError> {
        let is_binder = transport == Transport::Binder;
        let open = is_binder.then(|| binder::choose(workload, binder_device, Path::new("/proc"))).transpose()?;
        Ok(Self { transport, sizes, pairs, open })
    }

    /// Opens what the two processes of a pair share.
    pub(crate) fn link(&self, pair: u32) -> Result<Box<dyn Link>, BenchError> {
        let opened = || -> io::Result<Box<dyn Link>> {
            Ok(match (self.transport, &self.open) {
                (Transport::Binder, Some(open)) => Box::new(binder::BinderLink::new(open, pair)),
                (Transport::Binder, None) => return Err(io::ErrorKind::NotFound.into()),
                (Transport::Unix, _) => Box::new(stream::StreamLink::unix()?),
                (Transport::Pipe, _) => Box::new(stream::StreamLink::pipes()?),
                (Transport::Futex, _) => Box::new(futex::FutexLink::new(self.sizes)?),
                (Transport::SeccompNotify { sync }, _) => Box::new(seccomp::SeccompLink::new(self.sizes, sync)?),
            })
        };
        opened().map_err(BenchError::io(format!("opening {} for pair {pair}", self.transport.name())))
    }

    /// Forks the process that brings the pairs together, if the transport needs one; before any pair.
    pub(crate) fn start_manager(&self, herd: &mut Herd) -> Result<(), BenchError> {
        let Some(open) = &self.open else { return Ok(()) };
        let mut manager = binder::context_manager(open, self.pairs);
        let prepare = || manager.prepare().map(|()| manager);
        let body =
            |mut manager: Box<dyn Manager>| manager.run().map(|operations| Work { operations, ..Work::default() });
        herd.fork("manager", 0, prepare, body)
    }
}

/// The process that brings pairs together.
pub(crate) trait Manager {
    /// Runs before the gate, until every pair has met.
    fn prepare(&mut self) -> Result<(), TaskError>;
    /// Runs after the gate, until every pair is done; returns how many were.
    fn run(&mut self) -> Result<u64, TaskError>;
}

/// Bytes of the longest request and reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) request: usize,
    pub(crate) reply: usize,
}

/// What both processes of a pair inherit; each takes its end once.
pub(crate) trait Link {
    /// In the client process, before the gate.
    fn client(&mut self) -> Result<Box<dyn Client>, TaskError>;
    /// In the server process, before the gate.
    fn server(&mut self) -> Result<Box<dyn Server>, TaskError>;
}

/// The client process's end.
pub(crate) trait Client: Sync {
    /// What the calling thread makes its transactions with; made outside the timed region.
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError>;
}

/// One thread of a client.
pub(crate) trait Caller {
    /// One synchronous transaction: sends all of `request`, returns when `reply` is full.
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError>;
}

/// The server process's end; single-threaded.
pub(crate) trait Server {
    /// Blocks until the next request has arrived, and fills `request` with it.
    fn receive(&mut self, request: &mut [u8]) -> Result<(), TaskError>;
    /// Replies to the request received last.
    fn reply(&mut self, reply: &[u8]) -> Result<(), TaskError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_sys::process::{self, ExitStatus};

    const SIZES: Sizes = Sizes { request: 16, reply: 8 };

    /// The server adds the two halves of the request, until both are 0; exit code 77: this kernel lacks what it takes.
    fn serve(link: &mut dyn Link) -> i32 {
        let Ok(mut server) = link.server() else { return 77 };
        let mut request = [0; 16];
        loop {
            if server.receive(&mut request).is_err() {
                return 1;
            }
            let (a, b) = request.split_at(8);
            let half = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
            let sum = half(a) + half(b);
            if server.reply(&sum.to_ne_bytes()).is_err() {
                return 2;
            }
            if sum == 0 {
                return 0;
            }
        }
    }

    fn ask(caller: &mut dyn Caller, a: u64, b: u64) -> Option<u64> {
        let (mut request, mut reply) = ([0; 16], [0; 8]);
        request[..8].copy_from_slice(&a.to_ne_bytes());
        request[8..].copy_from_slice(&b.to_ne_bytes());
        caller.transact(&request, &mut reply).ok().map(|()| u64::from_ne_bytes(reply))
    }

    /// From one thread only: the test harness has several, and a fork may copy a lock in std that one of them holds
    /// while it starts; a thread started in the child would wait for it for ever. Both threads of a client are tested
    /// end to end.
    fn transact(link: &mut dyn Link) -> i32 {
        let Ok(client) = link.client() else { return 77 };
        let mut caller = client.caller().unwrap();
        let answered = (1..=50).all(|i| ask(caller.as_mut(), i, 1000) == Some(i + 1000));
        let end = ask(caller.as_mut(), 0, 0);
        i32::from(!(answered && end == Some(0)))
    }

    #[test]
    fn every_transport_carries_requests_and_their_replies() {
        // Binder has its own tests, with its own driver.
        for (word, transport) in Transport::WORDS.into_iter().skip(1) {
            let mut link = Wiring::new("test", transport, SIZES, 1, None).unwrap().link(0).unwrap();
            let server = process::fork_child(|| serve(link.as_mut())).unwrap();
            let client = process::fork_child(|| transact(link.as_mut())).unwrap();
            drop(link);
            let ended = [client, server].map(|pid| process::wait_for(pid).unwrap().status);
            if ended.contains(&ExitStatus::Exited(77)) {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "schedlab-skip: {word}: needs Linux 6.6 with seccomp filters");
                continue;
            }
            assert_eq!(ended, [ExitStatus::Exited(0); 2], "{word}");
        }
    }
}
