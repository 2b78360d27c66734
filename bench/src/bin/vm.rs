//! What guests must show. The virtual lane: boots with one seed give the same outcome to the byte, whatever the host does
//! beside them. The real lane: how long it takes from the command to its first output. Outcomes are kept below
//! `bench/series/vm/`, so that an interrupted run goes on where it stopped; two guests run side by side. `full` makes as
//! many boots as the committed table has.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::{program, table};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A row of the table: the machine, and how many boots of it are compared.
struct Row {
    machine: &'static str,
    options: &'static [&'static str],
    boots: usize,
    full: usize,
}

#[rustfmt::skip]
const ROWS: [Row; 6] = [
    Row { machine: "1 CPU", options: &["--cpus", "1"], boots: 20, full: 100 },
    Row { machine: "2 CPUs", options: &["--cpus", "2"], boots: 20, full: 100 },
    Row { machine: "4 CPUs", options: &["--cpus", "4"], boots: 20, full: 100 },
    Row { machine: "8 CPUs", options: &["--cpus", "8"], boots: 4, full: 20 },
    Row { machine: "16 CPUs", options: &["--cpus", "16"], boots: 2, full: 20 },
    Row { machine: "64 CPUs, 2 sockets", options: &["--topology", "sockets=2,cores=32,nodes=2"], boots: 2, full: 2 },
];

const KERNEL: &str = "debian:6.1";
const WORKLOAD: [&str; 4] = ["bench", "messaging:5x5,groups=2,loops=50", "--json", "-"];
const FIRST_OUTPUTS: usize = 10;
/// Of the boots of a row, every fifth runs beside a loaded host.
const LOADED_EVERY: usize = 5;

fn main() -> Result<()> {
    let started = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let full = words.iter().any(|word| word == "full");
    let only: Vec<&String> = words.iter().filter(|word| *word != "full").collect();
    let wanted = |row: &&Row| only.is_empty() || only.iter().any(|word| row.machine.starts_with(word.as_str()));
    let root = std::env::current_dir()?.join("bench/series/vm");
    std::fs::create_dir_all(&root)?;
    let rows: Vec<Vec<String>> =
        ROWS.iter().filter(wanted).map(|row| exactness(row, full, &root)).collect::<Result<_>>()?;
    let header = ["virtual lane", "boots with one seed", "beside a loaded host", "different outcomes", "median boot", "bar met"];
    table::print("Bit-exact guests", &header, &rows);
    if only.is_empty() {
        table::print("From the command to its first output, real lane", &["kernel", "runs", "median", "range", "bar"], &[first_output(&root)?]);
    }
    table::closing("vm", started.elapsed());
    Ok(())
}

/// All boots of a row, two at a time; those that are there already are not repeated.
fn exactness(row: &Row, full: bool, root: &Path) -> Result<Vec<String>> {
    let boots = if full { row.full } else { row.boots };
    let file = |boot: usize| root.join(format!("{}-{boot}.json", row.machine.replace([' ', ','], "")));
    let open: Vec<usize> = (0..boots).filter(|&boot| !file(boot).exists()).collect();
    let mut seconds = Vec::new();
    for pair in open.chunks(2) {
        let load = Load::start(pair.iter().any(|boot| is_loaded(*boot)));
        let began = Instant::now();
        let answers: Vec<Result<()>> = std::thread::scope(|scope| {
            let guests: Vec<_> = pair.iter().map(|&boot| scope.spawn(move || keep(row, root, &file(boot)))).collect();
            guests.into_iter().map(|guest| guest.join().unwrap_or_else(|_| bail!("a thread panicked"))).collect()
        });
        drop(load);
        answers.into_iter().collect::<Result<()>>()?;
        seconds.push(began.elapsed().as_secs_f64());
        eprintln!("{}: boots {pair:?}, {:.1} s", row.machine, began.elapsed().as_secs_f64());
    }
    let outcomes: BTreeSet<Vec<u8>> = (0..boots).map(|boot| std::fs::read(file(boot))).collect::<Result<_, _>>()?;
    let loaded = (0..boots).filter(|&boot| is_loaded(boot)).count();
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).map_or("(kept)".into(), |s| format!("{s:.1} s, two at a time"));
    let (boots, loaded, different) = (boots.to_string(), loaded.to_string(), outcomes.len());
    Ok(vec![row.machine.into(), boots, loaded, (different - 1).to_string(), median, table::met(different == 1)])
}

/// Pairs, so that both guests of a pair have the same neighbour.
fn is_loaded(boot: usize) -> bool {
    boot / 2 % LOADED_EVERY == 1
}

/// One boot, its outcome kept whole or not at all. The current directory is part of the guest, so it is the same for all.
fn keep(row: &Row, root: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(program::schedlab()?);
    command.args(["vm", "run", "--kernel", KERNEL, "--lane", "virtual", "--seed", "1", "--timeout", "30min"]);
    command.args(row.options).arg("--").args(WORKLOAD).current_dir(root);
    let output = program::output(command)?;
    let part: PathBuf = file.with_extension("part");
    std::fs::write(&part, &output.stdout)?;
    std::fs::rename(&part, file).with_context(|| format!("{} cannot be written", file.display()))
}

/// A busy thread for each CPU, until dropped.
struct Load(Option<(std::sync::Arc<AtomicBool>, Vec<std::thread::JoinHandle<()>>)>);

impl Load {
    fn start(wanted: bool) -> Self {
        if !wanted {
            return Self(None);
        }
        let end = std::sync::Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let burn = |end: std::sync::Arc<AtomicBool>| {
            std::thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..cpus).map(|_| burn(std::sync::Arc::clone(&end))).collect();
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

/// Time until the first byte of the command's own output.
fn first_output(root: &Path) -> Result<Vec<String>> {
    let mut seconds = Vec::new();
    for _ in 0..FIRST_OUTPUTS {
        let began = Instant::now();
        let mut child = Command::new(program::schedlab()?)
            .args(["vm", "run", "--kernel", KERNEL, "--", "bench", "pipe:loops=1000", "--counters", "basic"])
            .current_dir(root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdout = child.stdout.take().context("stdout is piped")?;
        stdout.read_exact(&mut [0]).context("the guest said nothing")?;
        seconds.push(began.elapsed().as_secs_f64());
        std::io::copy(&mut stdout, &mut std::io::sink())?;
        if !child.wait()?.success() {
            bail!("the guest's command failed");
        }
        // Neighbouring boots share a host that has just been busy.
        std::thread::sleep(Duration::from_millis(500));
    }
    seconds.sort_by(f64::total_cmp);
    let (first, last, median) = (seconds[0], seconds[FIRST_OUTPUTS - 1], seconds[FIRST_OUTPUTS / 2]);
    let range = format!("{first:.1} … {last:.1} s");
    let bar = format!("6 s: {}", table::met(median <= 6.0));
    Ok(vec![KERNEL.into(), FIRST_OUTPUTS.to_string(), format!("{median:.1} s"), range, bar])
}
