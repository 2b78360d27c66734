//! A host that is busy with other work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A busy thread for each CPU, until dropped.
pub struct Load(Option<(Arc<AtomicBool>, Vec<JoinHandle<()>>)>);

impl Load {
    /// Starts the threads if `wanted`.
    pub fn start(wanted: bool) -> Self {
        if !wanted {
            return Self(None);
        }
        let end = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let burn = |end: Arc<AtomicBool>| {
            std::thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..cpus).map(|_| burn(Arc::clone(&end))).collect();
        Self(Some((end, threads)))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let Some((end, threads)) = self.0.take() else { return };
        end.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}
