//! Tables of values for each task or CPU, by its number.

use crate::engine::TaskId;
use crate::event::Cpu;
use std::marker::PhantomData;

/// A type with numbers that count from 0.
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

/// A value for each number; the default for numbers that have not been used yet.
#[derive(Debug, Clone)]
pub struct Numbered<K, T>(Vec<T>, PhantomData<K>);

/// A value for each task. If a number is reused ([`Observer::retired`](crate::engine::Observer::retired)), its value
/// stays: the caller has to take it out.
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

    /// The same without growing the table; `None` for a number that has not been used.
    #[inline]
    pub fn get(&self, number: K) -> Option<&T> {
        self.0.get(number.index())
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: K) -> Option<&mut T> {
        self.0.get_mut(number.index())
    }

    /// The values of all numbers up to the largest one used.
    pub fn all(&self) -> &[T] {
        &self.0
    }

    /// The values of the first `count` numbers.
    pub fn first(mut self, count: usize) -> Vec<T> {
        self.0.resize_with(count, T::default);
        self.0
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.0.resize_with(count, T::default);
    }
}
