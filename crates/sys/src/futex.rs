//! futex(2) wait with an absolute time-out, and wake, on an `AtomicU32`.

use crate::clock;
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`, until a wake, a signal or CLOCK_MONOTONIC `deadline_ns` (`u64::MAX`: none).
/// May return early; the caller checks the word.
pub fn wait(word: &AtomicU32, expected: u32, deadline_ns: u64) {
    let at = clock::timespec(deadline_ns.min(i64::MAX as u64));
    let timeout = if deadline_ns == u64::MAX { std::ptr::null() } else { &raw const at };
    // SAFETY: `word` is borrowed for the whole call and aligned; `timeout` is null or a live timespec. FUTEX_WAIT_BITSET
    // takes an absolute CLOCK_MONOTONIC time.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            expected,
            timeout,
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
}

/// Wakes up to `count` waiters, in this process or another that maps the word.
pub fn wake(word: &AtomicU32, count: u32) {
    // SAFETY: `word` is borrowed for the whole call; the kernel uses its address only as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count.min(i32::MAX as u32)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_wait_ends_at_its_deadline_and_on_a_wake() {
        let word = AtomicU32::new(0);
        let deadline = clock::monotonic_ns() + 5_000_000;
        while clock::monotonic_ns() < deadline {
            wait(&word, 0, deadline);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                word.store(1, Ordering::Release);
                wake(&word, 1);
            });
            while word.load(Ordering::Acquire) == 0 {
                wait(&word, 0, u64::MAX);
            }
        });
        assert_eq!(word.load(Ordering::Relaxed), 1);
    }
}
