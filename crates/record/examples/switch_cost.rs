//! The cost of counting at a context switch: a pipe ping-pong between two processes on one CPU, without counting and
//! with each way of counting, in alternation. `cargo run --release -p schedlab-record --example switch_cost`
//!
//! It measures the CPU time of both processes per round, so that other work on the machine matters little. For the
//! parent, t0 is before the first round of a slice of 20 000 and t1 after the last; the child is measured from its
//! start to its end. It prints the median over 15 slices of each.

use schedlab_sys::perf_event::{Event, Group, Target};
use schedlab_sys::{affinity, clock, process};
use std::io::{Read, Write};

const ROUNDS: u32 = 20_000;
const SLICES: usize = 15;

fn slice(events: &[Event], target: Target) -> std::io::Result<f64> {
    let group = Group::open(events, target)?;
    let (mut from_parent, mut to_child) = std::io::pipe()?;
    let (mut from_child, mut to_parent) = std::io::pipe()?;
    let child = process::fork_child(|| {
        let mut token = [0u8; 8];
        for _ in 0..ROUNDS {
            if from_parent.read_exact(&mut token).and_then(|()| to_parent.write_all(&token)).is_err() {
                return 1;
            }
        }
        0
    })?;
    group.enable()?;
    let mut token = [7u8; 8];
    let t0 = clock::thread_cpu_ns();
    for _ in 0..ROUNDS {
        to_child.write_all(&token)?;
        from_child.read_exact(&mut token)?;
    }
    let t1 = clock::thread_cpu_ns();
    group.disable()?;
    let child_ns = process::wait_for(child)?.rusage.cpu_ns;
    Ok((t1 - t0 + child_ns) as f64 / f64::from(ROUNDS))
}

fn main() -> std::io::Result<()> {
    let cpu = *affinity::allowed_cpus(0)?.last().unwrap_or(&0);
    affinity::set_affinity(0, &[cpu])?;
    let (all, cheap) = (Event::SOFTWARE, [Event::PageFaults, Event::CpuMigrations]);
    let rows: [(&str, &[Event], Target); 7] = [
        ("bare", &[], Target::Cpu(cpu)),
        ("per CPU: migrations, faults", &cheap, Target::Cpu(cpu)),
        ("per CPU: switches", &[Event::ContextSwitches], Target::Cpu(cpu)),
        ("per CPU: all four", &all, Target::Cpu(cpu)),
        ("inherited: migrations", &[Event::CpuMigrations], Target::ThisProcessAndChildren),
        ("inherited: all four", &all, Target::ThisProcessAndChildren),
        ("bare again", &[], Target::Cpu(cpu)),
    ];
    let mut taken = vec![Vec::new(); rows.len()];
    for _ in 0..SLICES {
        for (row, (_, events, target)) in rows.iter().enumerate() {
            taken[row].push(slice(events, *target)?);
        }
    }
    let median = |mut v: Vec<f64>| {
        v.sort_by(f64::total_cmp);
        v[v.len() / 2]
    };
    let bare = median(taken[0].clone());
    let mut out = std::io::stdout().lock();
    for ((name, ..), times) in rows.iter().zip(taken) {
        let ns = median(times);
        writeln!(out, "{name:30} {ns:8.0} ns a round  {:+6.2} %", (ns / bare - 1.0) * 100.0)?;
    }
    Ok(())
}
