//! SIGKILL of each process of every workload in turn: does the whole of it end with an error, how long does that take, and
//! is anybody or anything left? Each specimen twice: killed at the first instant at which all its processes are there,
//! and in the middle of the run; and the program itself at 400 instants of its start. Fails unless all of it is clean
//! within two seconds. About 2 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Result, bail};
use schedlab_benches::kill::{self, Kill, SPECIMENS, Specimen};
use schedlab_benches::{program, table};
use std::path::Path;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(2);
/// From the appearance of the last process to the middle of the run; by then all have passed the gate.
const MIDDLE: Duration = Duration::from_millis(150);

fn main() -> Result<()> {
    let started = Instant::now();
    let filter = std::env::args().nth(1).unwrap_or_default();
    let program = program::schedlab()?;
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for specimen in SPECIMENS.iter().filter(|s| s.line().contains(&filter)) {
        match killed_in_turn(&program, specimen) {
            Ok(kills) => rows.push(row(specimen, &kills, kills.len().saturating_sub(2), &mut problems)),
            Err(error) => {
                problems.push(format!("{}: {error:#}", specimen.line()));
                rows.push(vec![specimen.line(), "–".into(), "–".into(), "–".into(), "–".into(), table::met(false)]);
            }
        }
    }
    if STARTING.line().contains(&filter) {
        match killed_at_the_start(&program) {
            Ok(kills) => rows.push(row(&STARTING, &kills, 0, &mut problems)),
            Err(error) => problems.push(format!("{}: {error:#}", STARTING.line())),
        }
    }
    let header = [
        "specimen",
        "processes killed, one at a time",
        "ended with an error row",
        "nothing left",
        "seconds to the end of all: median, longest",
        "clean within 2 s",
    ];
    table::print("SIGKILL of any one process", &header, &rows);
    table::closing("kill", started.elapsed());
    match problems.len() {
        0 => Ok(()),
        many => bail!("{many} findings:\n{}", problems.join("\n")),
    }
}

/// The kills of a specimen: each process once at the start and once in the middle.
fn killed_in_turn(program: &Path, specimen: &Specimen) -> Result<Vec<Kill>> {
    let mut kills = Vec::new();
    for after in [Duration::ZERO, MIDDLE] {
        for kill in kill::kill_each(program, specimen, after) {
            kills.push(kill?);
        }
    }
    Ok(kills)
}

/// Only the program is killed, while it starts: processes that it has started must not survive it.
const STARTING: Specimen = Specimen { arguments: &["timer:interval=100ms,duration=60s"], processes: Some(2) };
const STARTS: u32 = 400;

fn killed_at_the_start(program: &Path) -> Result<Vec<Kill>> {
    // From the first instruction of the program to that of the trial takes some milliseconds.
    (0..STARTS).map(|n| kill::kill_at_the_start(program, &STARTING, n * Duration::from_micros(20))).collect()
}

/// `expected`: how many kills should be followed by a message; a killed program prints none.
fn row(specimen: &Specimen, kills: &[Kill], expected: usize, problems: &mut Vec<String>) -> Vec<String> {
    let before = problems.len();
    for kill in kills {
        let late = (kill.took > LIMIT).then(|| format!("all of it took {:.2} s to end", kill.took.as_secs_f64()));
        let found = kill.problems().into_iter().chain(late);
        problems.extend(found.map(|problem| format!("{}: {} killed: {problem}", specimen.line(), kill.victim)));
    }
    let seconds: Vec<f64> = kills.iter().map(|kill| kill.took.as_secs_f64()).collect();
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    let with_error = kills.iter().filter(|kill| !kill.said.is_empty()).count();
    let clean = kills.iter().filter(|kill| kill.left.is_empty()).count();
    eprintln!("{}: {} kills, longest {longest:.3} s", specimen.line(), kills.len());
    vec![
        format!("`{}`", specimen.line()),
        kills.len().to_string(),
        format!("{with_error} of {expected}"),
        format!("{clean} of {}", kills.len()),
        format!("{:.3}, {longest:.3}", schedlab_stats::median(&seconds)),
        table::met(problems.len() == before),
    ]
}
