//! Thread ids, and the threads of a workload. Source: gettid(2), pthread_create(3), pthread_attr_setstacksize(3),
//! pthread_clockjoin_np(3).
//!
//! A workload's threads are not `std::thread`s. The time that hackbench reports includes the end of each thread. There
//! std's threads unmap a signal stack, and glibc returns the pages of a larger stack to the kernel (`madvise`): 20 µs
//! per thread, 3 ms in a workload of 160. These threads start and end as pthread_create makes them.

use crate::clock;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Stack of a workload's thread. 20 kB is enough for the loops, and glibc keeps a stack unchanged when its thread ends
/// if it is at most 16 kB larger than the thread's own page. A build without optimisation needs more.
const HERD_STACK_BYTES: usize = if cfg!(debug_assertions) { 128 << 10 } else { 20 << 10 };

/// Thread id of the caller.
pub fn current_tid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    let tid = unsafe { libc::gettid() };
    tid as u32
}

/// Process id of the caller.
pub fn current_pid() -> u32 {
    std::process::id()
}

type Body = Box<dyn FnOnce() + Send>;

/// A running thread with a small stack; if dropped without being joined, it keeps running.
#[derive(Debug)]
pub struct HerdThread {
    handle: libc::pthread_t,
    joined: bool,
}

/// How joining the thread went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Its body returned.
    Done,
    /// Its body panicked. If the build aborts on panics, this is never returned, because the process is gone.
    Panicked,
    /// It is still running at the deadline.
    NotYet,
}

impl HerdThread {
    /// Starts a thread that runs `body`; `EAGAIN` if the process limit is reached.
    pub fn spawn(body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let attributes = SmallStack::new()?;
        let body: *mut Body = Box::into_raw(Box::new(Box::new(body)));
        let mut handle = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised and live, `handle` is writable, and `run` takes over the box that
        // `body` points to. The closure is `Send` and `'static`, so it may run and end in another thread.
        let error = unsafe { libc::pthread_create(handle.as_mut_ptr(), &raw const attributes.0, run, body.cast()) };
        if error != 0 {
            // SAFETY: no thread was made, so the box is still ours alone.
            drop(unsafe { Box::from_raw(body) });
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: pthread_create answered 0, so it has written the handle.
        let handle = unsafe { handle.assume_init() };
        Ok(Self { handle, joined: false })
    }

    /// Waits for the thread's end until CLOCK_MONOTONIC `deadline_ns`; a thread that has been joined stays `Done`.
    pub fn join_until(&mut self, deadline_ns: u64) -> io::Result<Joined> {
        if self.joined {
            return Ok(Joined::Done);
        }
        let mut answer = std::ptr::null_mut();
        match self.timed_join(&mut answer, deadline_ns) {
            0 => {
                self.joined = true;
                Ok(if answer.is_null() { Joined::Done } else { Joined::Panicked })
            }
            libc::ETIMEDOUT => Ok(Joined::NotYet),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[cfg(target_env = "gnu")]
    fn timed_join(&mut self, answer: &mut *mut c_void, deadline_ns: u64) -> i32 {
        unsafe extern "C" {
            fn pthread_clockjoin_np(
                thread: libc::pthread_t,
                answer: *mut *mut c_void,
                clock: libc::clockid_t,
                deadline: *const libc::timespec,
            ) -> i32;
        }
        let deadline = clock::timespec(deadline_ns);
        // SAFETY: `joined` is false (a second join answers before it gets here), so the handle is valid and not yet
        // detached; both pointers are to live locals.
        unsafe { pthread_clockjoin_np(self.handle, answer, libc::CLOCK_MONOTONIC, &raw const deadline) }
    }

    /// musl can join by the wall clock only. If that clock steps, one wait is longer or shorter, and the caller waits
    /// again.
    #[cfg(not(target_env = "gnu"))]
    fn timed_join(&mut self, answer: &mut *mut c_void, deadline_ns: u64) -> i32 {
        unsafe extern "C" {
            fn pthread_timedjoin_np(
                thread: libc::pthread_t,
                answer: *mut *mut c_void,
                deadline: *const libc::timespec,
            ) -> i32;
        }
        let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
        let deadline = clock::timespec(clock::realtime_ns().saturating_add(left_ns));
        // SAFETY: as above.
        unsafe { pthread_timedjoin_np(self.handle, answer, &raw const deadline) }
    }
}

impl Drop for HerdThread {
    fn drop(&mut self) {
        if !self.joined {
            // SAFETY: not joined, so the handle is valid; after this it is not used.
            unsafe { libc::pthread_detach(self.handle) };
        }
    }
}

/// The first function of a workload's thread. A panic is caught here, because unwinding into C is undefined.
extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` passed a box it had let go of, and each thread gets its own, once.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    match catch_unwind(AssertUnwindSafe(*body)) {
        Ok(()) => std::ptr::null_mut(),
        Err(_) => std::ptr::without_provenance_mut(1),
    }
}

struct SmallStack(libc::pthread_attr_t);

impl SmallStack {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialises what it is given, a writable local.
        let error = unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: initialised by the call above.
        let mut small = Self(unsafe { attributes.assume_init() });
        // SAFETY: initialised attributes, exclusively borrowed.
        match unsafe { libc::pthread_attr_setstacksize(&raw mut small.0, HERD_STACK_BYTES) } {
            0 => Ok(small),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for SmallStack {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::pthread_attr_destroy(&raw mut self.0) };
    }
}

/// Stack of a scoped thread: the standard library's own start-up and exit code needs more than the loops do.
const SCOPED_STACK_BYTES: usize = 128 << 10;

/// Starts a std thread with a small stack in a scope; the scope joins it at its end.
pub fn spawn_small_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().stack_size(SCOPED_STACK_BYTES).spawn_scoped(scope, body)
}

/// CPUs that this process may run on; 1 where that cannot be read.
pub fn usable_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Starts work in a std thread.
pub fn start(work: Work<'static>) -> JoinHandle<()> {
    std::thread::spawn(work)
}

/// One type for all work, so that the code that starts and ends such a thread (3 kB) is compiled once.
pub type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs `work` for each number below `count`, each in its own thread, and returns the results. If one panics, this
/// panics.
pub fn side_by_side<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::default()).collect();
    in_threads(count, &|number| *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(number)));
    let mut all = Vec::with_capacity(count);
    for one in results {
        all.extend(one.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    all
}

fn in_threads(count: usize, work: &(dyn Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        for number in 0..count {
            let one: Work<'_> = Box::new(move || work(number));
            scope.spawn(one);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_runs_its_body_and_is_joined_or_waited_for_in_vain() {
        let (go, gate) = channel::<()>();
        let (answer, result) = channel();
        let mut thread = HerdThread::spawn(move || {
            gate.recv().unwrap();
            answer.send(current_tid()).unwrap();
        })
        .unwrap();
        assert_eq!(thread.join_until(clock::monotonic_ns() + 1_000_000).unwrap(), Joined::NotYet);
        go.send(()).unwrap();
        assert_eq!(thread.join_until(u64::MAX).unwrap(), Joined::Done);
        assert_ne!(result.recv().unwrap(), current_tid());
    }

    #[test]
    fn work_is_done_side_by_side_and_its_results_come_in_order() {
        let all = std::sync::Barrier::new(3);
        let work = |number| {
            all.wait();
            number * number
        };
        assert_eq!(side_by_side(3, work), [0, 1, 4]);
        assert_eq!(side_by_side(0, work), []);
    }

    #[test]
    fn a_panic_is_an_answer_and_an_unjoined_thread_goes_on() {
        let mut thread = HerdThread::spawn(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
        assert_eq!(thread.join_until(u64::MAX).unwrap(), Joined::Panicked);
        let (answer, result) = channel();
        drop(HerdThread::spawn(move || answer.send(1).unwrap()).unwrap());
        assert_eq!(result.recv().unwrap(), 1);
    }
}
