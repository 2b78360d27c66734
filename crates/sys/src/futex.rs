//! futex(2) wait with an absolute time-out, and wake, on an `AtomicU32`.

use crate::clock;
use std::sync::atomic::AtomicU32;

/// Who may wait on a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(libc::c_int);

impl Scope {
    /// Any process that maps the word: the kernel looks up the page behind the address on every call.
    pub const SHARED: Self = Self(0);
    /// Threads of one process: the address itself is the key, which is cheaper and is what pthreads use.
    pub const PRIVATE: Self = Self(libc::FUTEX_PRIVATE_FLAG);

    /// Sleeps while `word` holds `expected`, until it is woken, a signal arrives or CLOCK_MONOTONIC reaches
    /// `deadline_ns` (`u64::MAX`: no time-out). May return early; the caller checks the word.
    pub fn wait(self, word: &AtomicU32, expected: u32, deadline_ns: u64) {
        let at = clock::timespec(deadline_ns.min(i64::MAX as u64));
        let timeout = if deadline_ns == u64::MAX { std::ptr::null() } else { &raw const at };
        // SAFETY: `word` is borrowed for the whole call and aligned; `timeout` is null or a live timespec.
        // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT_BITSET | self.0,
                expected,
                timeout,
                std::ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            )
        };
    }

    /// Wakes up to `count` waiters of the same scope.
    pub fn wake(self, word: &AtomicU32, count: u32) {
        let count = count.min(i32::MAX as u32);
        // SAFETY: `word` is borrowed for the whole call; the kernel uses its address only as a key.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | self.0, count) };
    }
}

/// [`Scope::wait`] for a word that any process may map.
pub fn wait(word: &AtomicU32, expected: u32, deadline_ns: u64) {
    Scope::SHARED.wait(word, expected, deadline_ns);
}

/// [`Scope::wake`] for a word that any process may map.
pub fn wake(word: &AtomicU32, count: u32) {
    Scope::SHARED.wake(word, count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_wait_ends_at_its_deadline_and_on_a_wake() {
        for scope in [Scope::SHARED, Scope::PRIVATE] {
            let word = AtomicU32::new(0);
            let deadline = clock::monotonic_ns() + 5_000_000;
            while clock::monotonic_ns() < deadline {
                scope.wait(&word, 0, deadline);
            }
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    word.store(1, Ordering::Release);
                    scope.wake(&word, 1);
                });
                while word.load(Ordering::Acquire) == 0 {
                    scope.wait(&word, 0, u64::MAX);
                }
            });
            assert_eq!(word.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn a_process_wakes_another_through_a_shared_word() {
        let words = crate::shared_memory::SharedFutexes::new(2).unwrap();
        let child = crate::process::fork_child(|| {
            words.word(1).store(1, Ordering::Release);
            wake(words.word(1), 1);
            0
        })
        .unwrap();
        while words.word(1).load(Ordering::Acquire) == 0 {
            wait(words.word(1), 0, u64::MAX);
        }
        assert!(crate::process::wait_for(child).unwrap().status.success());
    }
}
