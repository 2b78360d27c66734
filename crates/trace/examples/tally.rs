//! Reads a trace and prints how fast that was, and the totals. `cargo run --release --example tally -- FILE [events]`;
//! with `events` only the reader works.

#![allow(clippy::print_stdout)]

use schedlab_trace::{Kinds, Reader, TimeWindow, tally};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("name a trace")?;
    let only_events = args.next().is_some();
    let began = std::time::Instant::now();
    let mut reader = Reader::open(&file, Box::new(std::fs::File::open(&file)?), Kinds::TASKS)?;
    if only_events {
        let (mut batch, mut events) = (Vec::new(), 0);
        while reader.next_batch(&mut batch)? {
            events += batch.len();
        }
        println!("{events} events");
    } else {
        let tally = tally(&mut reader, &TimeWindow::default(), None, &|_| None)?;
        let wakeups: u64 = tally.tasks.iter().map(|t| t.1.wakeup.count()).sum();
        let preempts: u64 = tally.tasks.iter().map(|t| t.1.preempt.count()).sum();
        println!("{} tasks, {wakeups} wakeups, {preempts} preemptions, {:?}", tally.tasks.len(), tally.counts);
    }
    let seconds = began.elapsed().as_secs_f64();
    let info = reader.info();
    let samples: u64 = info.events.iter().map(|e| e.1).sum();
    println!("{samples} samples in {seconds:.3} s: {:.1} M/s", samples as f64 / seconds / 1e6);
    for (name, count) in info.events {
        println!("{count:>12} {name}");
    }
    for problem in reader.problems().all() {
        println!("{problem}");
    }
    Ok(())
}
