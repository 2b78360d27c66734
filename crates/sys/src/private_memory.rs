//! Memory of one task that no allocator has used before: one anonymous `MAP_PRIVATE` mapping. A page has no memory of
//! its own until it is written; before that, reads find the kernel's shared page of zeros. Source: mmap(2), mm/memory.c
//! (`do_anonymous_page`).

use crate::shared_memory::map;
use std::io;
use std::ptr::NonNull;

/// The mapping; unmapped on drop. A child made by fork has a copy.
#[derive(Debug)]
pub struct PrivateWords {
    base: NonNull<u64>,
    words: usize,
}

// SAFETY: the mapping is plain memory, reached through its owner alone, and it is not tied to the thread that made it.
unsafe impl Send for PrivateWords {}

impl PrivateWords {
    /// Maps `words` zeroed words; none of them has memory yet.
    pub fn new(words: usize) -> io::Result<Self> {
        let words = words.max(1);
        Ok(Self { base: map(words * 8, libc::MAP_PRIVATE)?.cast(), words })
    }

    /// All words.
    pub fn words(&mut self) -> &mut [u64] {
        // SAFETY: the mapping has exactly `words` 8-byte words, is page-aligned, zeroed, lives as long as `self`, and
        // the exclusive borrow of `self` is the only way to it.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.words) }
    }
}

impl Drop for PrivateWords {
    fn drop(&mut self) {
        // SAFETY: `base` and the length are those of the mapping made in `new`; no reference can outlive `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zero_until_written_and_a_child_writes_its_own_copy() {
        let mut memory = PrivateWords::new(10_000).unwrap();
        assert!(memory.words().iter().all(|&word| word == 0));
        memory.words()[9_999] = 7;
        let child = crate::process::fork_child(|| {
            memory.words()[9_999] += 1;
            i32::from(memory.words()[9_999] != 8)
        });
        assert!(crate::process::wait_for(child.unwrap()).unwrap().status.success());
        assert_eq!(memory.words()[9_999], 7);
    }
}
