//! What guests must show. The virtual lane: boots with one seed give the same outcome to the byte, whatever the host does
//! beside them. The real lane: how long it takes from the command to its first output. Outcomes are kept below
//! `benches/series/vm/`, for this build of schedlab, so that an interrupted run continues where it stopped; two guests
//! run side by side. Arguments: numbers of CPUs, for those rows alone; `boots=N`, or `full` for 100 boots up to 4 CPUs,
//! 20 of 8 and of 16, 2 of 64; `real`, for the real lane alone, which wants an idle host where the virtual one does
//! not. Without arguments: up to 4 CPUs, and the real lane. About 5 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::load::Load;
use schedlab_benches::{program, table};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A row of the table: the machine, and how many of its boots are compared.
struct Row {
    machine: &'static str,
    cpus: u32,
    options: &'static [&'static str],
    boots: usize,
    full: usize,
}

#[rustfmt::skip]
const ROWS: [Row; 6] = [
    Row { machine: "1 CPU", cpus: 1, options: &["--cpus", "1"], boots: 10, full: 100 },
    Row { machine: "2 CPUs", cpus: 2, options: &["--cpus", "2"], boots: 10, full: 100 },
    Row { machine: "4 CPUs", cpus: 4, options: &["--cpus", "4"], boots: 10, full: 100 },
    Row { machine: "8 CPUs", cpus: 8, options: &["--cpus", "8"], boots: 4, full: 20 },
    Row { machine: "16 CPUs", cpus: 16, options: &["--cpus", "16"], boots: 2, full: 20 },
    Row { machine: "64 CPUs, 2 sockets", cpus: 64, options: &["--topology", "sockets=2,cores=32,nodes=2"], boots: 2, full: 2 },
];

const KERNEL: &str = "debian:6.1";
/// Our own kernel, from `vm build`; the plans in experiments/ use the same.
const SMALL_KERNEL: &str = "build:6.1-hz1000";
const BUILD_IT: &str = "schedlab vm build linux-source-6.1 --set HZ_1000=y --name 6.1-hz1000";
/// Time from the command to its first output in the real lane: the bar for each kernel.
const FIRST_OUTPUT_BARS: [(&str, f64); 2] = [(KERNEL, 6.0), (SMALL_KERNEL, 3.0)];
const EXACTNESS: [&str; 6] =
    ["virtual lane", "boots with one seed", "beside a loaded host", "different outcomes", "median boot", "bar met"];
const WORKLOAD: [&str; 6] = ["bench", "messaging:5x5,groups=2,loops=50", "--json", "-", "--top", "0"];
const FIRST_OUTPUTS: usize = 10;
/// Every fifth boot of a row runs while the host is loaded.
const LOADED_EVERY: usize = 5;

fn main() -> Result<()> {
    let started = Instant::now();
    let asked = Asked::of(std::env::args().skip(1))?;
    let root = std::env::current_dir()?.join("benches/series/vm").join(of_this_build()?);
    std::fs::create_dir_all(&root)?;
    if !asked.real {
        let wanted = ROWS.iter().filter(|row| asked.wants(row));
        let rows: Vec<Vec<String>> =
            wanted.map(|row| exactness(row, asked.boots(row), &root)).collect::<Result<_>>()?;
        table::print("Bit-exact guests", &EXACTNESS, &rows);
    }
    if asked.cpus.is_empty() {
        first_outputs(&root)?;
    }
    table::closing("vm", started.elapsed());
    Ok(())
}

/// The command line.
#[derive(Default)]
struct Asked {
    cpus: Vec<u32>,
    full: bool,
    real: bool,
    most: Option<usize>,
}

impl Asked {
    fn of(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut asked = Self::default();
        for word in words {
            if word == "full" {
                asked.full = true;
            } else if word == "real" {
                asked.real = true;
            } else if let Some(number) = word.strip_prefix("boots=") {
                let number = number.parse().ok().filter(|n| *n >= 2);
                asked.most = Some(number.with_context(|| format!("{word}: give a number of boots, 2 or more"))?);
            } else {
                let cpus = word.parse().ok().filter(|n| ROWS.iter().any(|row| row.cpus == *n));
                let known = "1, 2, 4, 8, 16 or 64 CPUs, boots=N, full or real";
                asked.cpus.push(cpus.with_context(|| format!("`{word}` is not a row: give {known}"))?);
            }
        }
        Ok(asked)
    }

    fn wants(&self, row: &Row) -> bool {
        match self.cpus.as_slice() {
            [] => self.full || row.cpus <= 4,
            named => named.contains(&row.cpus),
        }
    }

    fn boots(&self, row: &Row) -> usize {
        self.most.unwrap_or(if self.full { row.full } else { row.boots })
    }
}

/// Identifies this build: another build has another initramfs, and its guests differ from the first instruction on.
fn of_this_build() -> Result<String> {
    let binary = std::fs::metadata(program::schedlab()?)?;
    let built = binary.modified()?.duration_since(std::time::UNIX_EPOCH)?.as_secs();
    Ok(format!("{:x}-{built:x}", binary.len()))
}

/// All boots of a row, two at a time; boots that are already there are not repeated.
fn exactness(row: &Row, boots: usize, root: &Path) -> Result<Vec<String>> {
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

/// By pairs, so that both guests of a pair run with the same load.
fn is_loaded(boot: usize) -> bool {
    boot / 2 % LOADED_EVERY == 1
}

/// One boot, whose outcome is stored completely or not at all. The current directory is part of the guest, so it is the
/// same for all.
fn keep(row: &Row, root: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(program::schedlab()?);
    command.args(["vm", "run", "--kernel", KERNEL, "--lane", "virtual", "--seed", "1", "--boot-timeout", "30min"]);
    command.args(["--timeout", "30min"]);
    command.args(row.options).arg("--").args(WORKLOAD).current_dir(root);
    let output = program::output(command)?;
    let part: PathBuf = file.with_extension("part");
    std::fs::write(&part, &output.stdout)?;
    std::fs::rename(&part, file).with_context(|| format!("{} cannot be written", file.display()))
}

/// The table of the real lane. Our own kernel exists only if it was built.
fn first_outputs(root: &Path) -> Result<()> {
    let mut list = Command::new(program::schedlab()?);
    list.args(["vm", "list"]);
    let cached = program::text(list)?;
    let mut rows = Vec::new();
    for (kernel, bar_s) in FIRST_OUTPUT_BARS {
        if kernel == SMALL_KERNEL && !cached.lines().any(|line| line.split_whitespace().next() == Some(kernel)) {
            eprintln!("{kernel} is not in the cache, so its row is left out: {BUILD_IT}");
            continue;
        }
        rows.push(first_output(kernel, bar_s, root)?);
    }
    let header = ["kernel", "runs", "median", "range", "bar"];
    table::print("From the command to its first output, real lane", &header, &rows);
    Ok(())
}

/// Time until the first byte of the command's own output.
fn first_output(kernel: &str, bar_s: f64, root: &Path) -> Result<Vec<String>> {
    let mut seconds = Vec::new();
    for _ in 0..FIRST_OUTPUTS {
        let began = Instant::now();
        let mut child = Command::new(program::schedlab()?)
            .args(["vm", "run", "--kernel", kernel, "--", "bench", "pipe:loops=1000", "--counters", "basic"])
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
        // The host has just been busy with the previous boot.
        std::thread::sleep(Duration::from_millis(500));
    }
    seconds.sort_by(f64::total_cmp);
    let (first, last, median) = (seconds[0], seconds[FIRST_OUTPUTS - 1], seconds[FIRST_OUTPUTS / 2]);
    let range = format!("{first:.1} … {last:.1} s");
    let bar = format!("{bar_s:.0} s: {}", table::met(median <= bar_s));
    Ok(vec![kernel.into(), FIRST_OUTPUTS.to_string(), format!("{median:.1} s"), range, bar])
}
