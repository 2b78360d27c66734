//! What is kept of each task or CPU, by its number.

use crate::engine::TaskId;
use crate::event::Cpu;
use std::marker::PhantomData;

/// What has a number that counts from 0.
pub trait Number: Copy {
    /// As an index.
    fn index(self) -> usize;
}

impl Number for TaskId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Number for Cpu {
    #[inline]
    fn index(self) -> usize {
        self.0.into()
    }
}

/// A value of each number; the default for those not asked for yet.
#[derive(Debug, Clone)]
pub struct Numbered<K, T>(Vec<T>, PhantomData<K>);

/// A value of each task. A number that is used again ([`Observer::retired`](crate::engine::Observer::retired)) keeps its value:
/// the caller that counts takes it out.
pub type PerTask<T> = Numbered<TaskId, T>;

/// A value of each CPU.
pub type PerCpu<T> = Numbered<Cpu, T>;

impl<K, T> Default for Numbered<K, T> {
    fn default() -> Self {
        Self(Vec::new(), PhantomData)
    }
}

impl<K: Number, T: Default> Numbered<K, T> {
    /// That of a number.
    #[inline]
    pub fn of(&mut self, number: K) -> &mut T {
        let at = number.index();
        if at >= self.0.len() {
            self.grow(at + 1);
        }
        &mut self.0[at]
    }

    /// The same without making room; `None` for a number that was not asked for.
    #[inline]
    pub fn get(&self, number: K) -> Option<&T> {
        self.0.get(number.index())
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: K) -> Option<&mut T> {
        self.0.get_mut(number.index())
    }

    /// All that were asked for, and those with lower numbers.
    pub fn all(&self) -> &[T] {
        &self.0
    }

    /// The first, as many as there are numbers.
    pub fn first(mut self, count: usize) -> Vec<T> {
        self.0.resize_with(count, T::default);
        self.0
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.0.resize_with(count, T::default);
    }
}
