//! Transport over shared memory: the bytes are in a shared mapping, and a futex word holds whose turn it is. There is
//! no spinning in user space: a transaction is two wakes and two waits, the minimum that the kernel offers between
//! processes. A task cannot see from the memory that its partner has died; the control process notices, and ends all
//! tasks.

use super::{Caller, Client, Link, Server, Sizes};
use crate::task::TaskError;
use schedlab_sys::futex;
use schedlab_sys::shared_memory::{SharedFutexes, SharedWords};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Whose turn it is.
const CLIENT: u32 = 0;
const SERVER: u32 = 1;

struct Memory {
    turn: SharedFutexes,
    bytes: SharedWords,
}

impl Memory {
    /// Passes the turn to its next owner, and wakes it.
    #[inline(always)]
    fn pass_to(&self, owner: u32) {
        self.turn.word(0).store(owner, Release);
        futex::wake(self.turn.word(0), 1);
    }

    /// Sleeps until it is `owner`'s turn.
    #[inline(always)]
    fn wait_for(&self, owner: u32) {
        let word = self.turn.word(0);
        loop {
            let now = word.load(Acquire);
            if now == owner {
                return;
            }
            futex::wait(word, now, u64::MAX);
        }
    }
}

/// Copies bytes into shared words; passing the turn (release) makes them visible.
#[inline(always)]
fn put(words: &[AtomicU64], bytes: &[u8]) {
    let chunks = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    for (word, chunk) in words.iter().zip(chunks.chain([last.as_slice()])) {
        word.store(u64::from_ne_bytes(chunk.try_into().unwrap_or_default()), Relaxed);
    }
}

/// Copies bytes out of shared words, after the turn was acquired.
#[inline(always)]
fn get(words: &[AtomicU64], bytes: &mut [u8]) {
    for (word, chunk) in words.iter().zip(bytes.chunks_mut(8)) {
        let value = word.load(Relaxed).to_ne_bytes();
        chunk.copy_from_slice(&value[..chunk.len()]);
    }
}

pub(super) struct FutexLink(Arc<Memory>);

impl FutexLink {
    pub(super) fn new(sizes: Sizes) -> io::Result<Self> {
        let words = sizes.request.max(sizes.reply).div_ceil(8) + 1;
        Ok(Self(Arc::new(Memory { turn: SharedFutexes::new(1)?, bytes: SharedWords::new(words)? })))
    }

    /// The mapping is shared with the parent, but a new child has no page-table entries for it.
    fn end(&self) -> Arc<Memory> {
        self.0.bytes.fault_in(0..self.0.bytes.words().len(), true);
        Arc::clone(&self.0)
    }
}

impl Link for FutexLink {
    fn client(&mut self) -> Result<Box<dyn Client>, TaskError> {
        Ok(Box::new(FutexClient(self.end())))
    }
    fn server(&mut self) -> Result<Box<dyn Server>, TaskError> {
        Ok(Box::new(FutexServer(self.end())))
    }
}

struct FutexClient(Arc<Memory>);

impl Client for FutexClient {
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError> {
        Ok(Box::new(self))
    }
}

impl Caller for &FutexClient {
    #[inline]
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError> {
        put(self.0.bytes.words(), request);
        self.0.pass_to(SERVER);
        self.0.wait_for(CLIENT);
        get(self.0.bytes.words(), reply);
        Ok(())
    }
}

struct FutexServer(Arc<Memory>);

impl Server for FutexServer {
    #[inline]
    fn receive(&mut self, request: &mut [u8]) -> Result<(), TaskError> {
        self.0.wait_for(SERVER);
        get(self.0.bytes.words(), request);
        Ok(())
    }
    #[inline]
    fn reply(&mut self, reply: &[u8]) -> Result<(), TaskError> {
        put(self.0.bytes.words(), reply);
        self.0.pass_to(CLIENT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_come_out_as_they_went_in() {
        let words: Vec<AtomicU64> = (0..9).map(|_| AtomicU64::new(u64::MAX)).collect();
        for length in 0..=64 {
            let bytes: Vec<u8> = (0..length as u8).map(|i| i.wrapping_mul(37) + 1).collect();
            put(&words, &bytes);
            let mut back = vec![0; length];
            get(&words, &mut back);
            assert_eq!(back, bytes);
        }
    }
}
