//! The timed region of `transact/1`.
//!
//! t0 is taken in the calling thread right before the request is handed to the transport, t1 right after the whole
//! reply has arrived. In between are the request's way, the server's wakeup, its reading of its own CPU and scheduling
//! attributes (which the references' servers do too), the reply's way and the caller's wakeup. Creating the FIFO thread
//! is outside.

use crate::delay::{Delay, DelayCell, NoDelay};
use crate::task::TaskError;
use crate::transport::Caller;
use schedlab_sys::clock::monotonic_ns;

/// Makes one transaction, timed or not, which is chosen before the loop.
pub(super) trait Timed: Sync {
    /// Makes a transaction; returns the nanoseconds it took, or 0 if it is not timed.
    fn transact(&self, caller: &mut dyn Caller, request: &[u8], reply: &mut [u8]) -> Result<Took, TaskError>;
}

/// How long a transaction took and when it ended; zeros if not timed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Took {
    pub(super) ns: u64,
    pub(super) end_ns: u64,
}

/// With a clock read on both sides, and with or without an injected spin.
struct Stamped<P>(P);

impl<P: Delay + Sync> Timed for Stamped<P> {
    #[inline]
    fn transact(&self, caller: &mut dyn Caller, request: &[u8], reply: &mut [u8]) -> Result<Took, TaskError> {
        let t0 = monotonic_ns();
        self.0.spin();
        caller.transact(request, reply)?;
        let t1 = monotonic_ns();
        Ok(Took { ns: t1 - t0, end_ns: t1 })
    }
}

/// Without clock reads.
struct Unstamped<P>(P);

impl<P: Delay + Sync> Timed for Unstamped<P> {
    #[inline]
    fn transact(&self, caller: &mut dyn Caller, request: &[u8], reply: &mut [u8]) -> Result<Took, TaskError> {
        self.0.spin();
        caller.transact(request, reply)?;
        Ok(Took::default())
    }
}

/// The instance for a run.
pub(super) fn choose(stamped: bool, delay: Option<&DelayCell>) -> Box<dyn Timed> {
    match (stamped, delay) {
        (true, None) => Box::new(Stamped(NoDelay)),
        (true, Some(cell)) => Box::new(Stamped(cell.clone())),
        (false, None) => Box::new(Unstamped(NoDelay)),
        (false, Some(cell)) => Box::new(Unstamped(cell.clone())),
    }
}
