//! A thousand mutants of a small trace of each format: bits flipped, ends cut off, ranges zeroed, blocks swapped.
//! `trace latency` and `trace check` must answer or refuse each within 5 s and 512 MiB, without a panic; and where their
//! numbers are not those of the whole trace, something must be said to be missing. A difference in silence is put down to
//! *payload* where the recorder's own reader takes the same mutant in silence with other numbers, too (no format but our
//! own has a checksum); else to the header or the layout of the data. Fails on anything but silent payload.
//! `cargo xtask bench mutants -- [WORD] [COUNT] [--keep DIR]`: formats that hold WORD, this many mutants of each, and
//! where to leave those that fail. Needs root for the recordings. About 12 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod mutant;
mod specimen;

use anyhow::{Context, Result, bail};
use mutant::Mutant;
use schedlab_benches::formats::numbers::{self, Numbers, Told};
use schedlab_benches::formats::scratch::Scratch;
use schedlab_benches::{program, table};
use schedlab_stats::Random;
use specimen::Specimen;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MUTANTS: usize = 1000;
/// Until nothing is missing.
const RECORDINGS: usize = 20;
const LIMIT: Duration = Duration::from_secs(5);
const LIMIT_BYTES: u64 = 512 << 20;

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    /// The same numbers as the whole trace.
    Same,
    /// Others, and a word that something is missing or wrong.
    Told,
    /// Others in silence, as the recorder's own reader has it.
    Payload,
    Header,
    Layout,
    /// A panic, a hang, too much memory.
    Failed,
}

const FATES: [(Fate, &str); 7] = [
    (Fate::Refused, "refused"),
    (Fate::Same, "same numbers"),
    (Fate::Told, "other numbers, told"),
    (Fate::Payload, "silent: payload"),
    (Fate::Header, "silent: header"),
    (Fate::Layout, "silent: layout"),
    (Fate::Failed, "panic, hang, memory"),
];

struct Lab {
    schedlab: PathBuf,
    scratch: Scratch,
    keep: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let started = Instant::now();
    let (mut filter, mut count, mut keep) = (String::new(), MUTANTS, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), argument.parse()) {
            ("--keep", _) => keep = Some(PathBuf::from(arguments.next().context("--keep needs a path")?)),
            (_, Ok(number)) => count = number,
            (word, _) => word.clone_into(&mut filter),
        }
    }
    let lab =
        Lab { schedlab: std::path::absolute(program::schedlab()?)?, scratch: Scratch::new("mutants", None)?, keep };
    let (mut rows, mut not_run, mut bad) = (Vec::new(), Vec::new(), 0);
    for kind in specimen::KINDS.iter().filter(|kind| kind.name.contains(&filter)) {
        match lab.specimen(kind).and_then(|(specimen, whole)| lab.try_all(&specimen, &whole, count)) {
            Err(error) => not_run.push(format!("{}: not run: {error:#}", kind.name)),
            Ok((row, failures)) => {
                eprintln!("{}", row.join(" | "));
                rows.push(row);
                bad += failures;
            }
        }
    }
    let header: Vec<&str> = ["format", "bytes"]
        .into_iter()
        .chain(FATES.iter().map(|(_, name)| *name))
        .chain(["longest, s", "most memory, MiB"])
        .collect();
    table::print(&format!("{count} mutants of each format"), &header, &rows);
    not_run.iter().for_each(|sentence| println!("\n{sentence}"));
    table::closing("mutants", started.elapsed());
    Ok(if bad > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What all mutants of a specimen took at most.
#[derive(Default)]
struct Most {
    took: Duration,
    rss_bytes: u64,
}

impl Lab {
    /// A trace in which nothing is missing, and what is reported about it: every complaint about a mutant is one about
    /// the mutation.
    fn specimen(&self, kind: &specimen::Kind) -> Result<(Specimen, Told)> {
        let _busy = program::keep_cpus_busy()?;
        for _ in 0..RECORDINGS {
            let specimen = Specimen::new(kind, &self.schedlab, &self.scratch)?;
            let answer = self.ask(&specimen, &specimen.bytes, &mut Most::default())?.map_err(anyhow::Error::msg)?;
            let whole = answer.map_err(|why| anyhow::anyhow!("the whole trace is refused: {why}"))?;
            if whole.wrong.is_empty() {
                return Ok((specimen, whole));
            }
        }
        bail!("something was missing in each of {RECORDINGS} recordings")
    }

    /// A row of the table, and how many of its mutants are no good.
    fn try_all(&self, specimen: &Specimen, whole: &Told, count: usize) -> Result<(Vec<String>, usize)> {
        let reference =
            specimen.read(&specimen.path).context("the whole trace is not read by its recorder's reader")?;
        let (mut random, mut most, mut fates) = (Random::new(14), Most::default(), [0; FATES.len()]);
        for number in 0..count {
            let mutant = Mutant::draw(number, specimen.bytes.len(), &mut random);
            let bytes = mutant.of(&specimen.bytes);
            let (fate, why) = match self.ask(specimen, &bytes, &mut most)? {
                Err(failure) => (Fate::Failed, failure),
                Ok(Err(_)) => (Fate::Refused, String::new()),
                Ok(Ok(told)) => self.judge(specimen, &mutant, &told, whole, &reference),
            };
            fates[fate as usize] += 1;
            if matches!(fate, Fate::Failed | Fate::Header | Fate::Layout) {
                eprintln!("{} mutant {number}: {mutant:?}: {fate:?} {why}", specimen.name);
                if let Some(keep) = &self.keep {
                    std::fs::create_dir_all(keep)?;
                    std::fs::write(keep.join(format!("{}-{number}", specimen.file_name())), &bytes)?;
                }
            }
        }
        let bad = [Fate::Failed, Fate::Header, Fate::Layout].iter().map(|fate| fates[*fate as usize]).sum();
        let mut row = vec![specimen.name.to_owned(), specimen.bytes.len().to_string()];
        row.extend(fates.iter().map(usize::to_string));
        row.extend([format!("{:.2}", most.took.as_secs_f64()), (most.rss_bytes >> 20).to_string()]);
        Ok((row, bad))
    }

    /// Outer `Err`: a panic, a hang or too much memory.
    fn ask(&self, specimen: &Specimen, bytes: &[u8], most: &mut Most) -> Result<Result<numbers::Answer, String>> {
        std::fs::write(&specimen.mutant, bytes)?;
        let run =
            |analysis| numbers::run(&self.schedlab, analysis, &specimen.mutant, &self.scratch.path("answer"), LIMIT);
        let runs = [run("latency")?, run("check")?];
        for ran in &runs {
            most.took = most.took.max(ran.took);
            most.rss_bytes = most.rss_bytes.max(ran.rss_bytes);
            if let Some(failure) = ran.failure(LIMIT_BYTES) {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(numbers::answer(&runs[0], &runs[1])?))
    }

    fn judge(
        &self,
        specimen: &Specimen,
        mutant: &Mutant,
        told: &Told,
        whole: &Told,
        reference: &Numbers,
    ) -> (Fate, String) {
        if told.numbers == whole.numbers {
            return (Fate::Same, String::new());
        }
        if !told.wrong.is_empty() || told.lacking.iter().any(|sentence| !whole.lacking.contains(sentence)) {
            return (Fate::Told, String::new());
        }
        if specimen.read(&specimen.mutant).is_some_and(|read| read != *reference) {
            return (Fate::Payload, String::new());
        }
        let fate = if mutant.touches(&specimen.data) { Fate::Layout } else { Fate::Header };
        let (own, of) = (&told.numbers, &whole.numbers);
        let why = format!(
            "{} events, waits {:?} {:?}; whole {}, {:?} {:?}",
            own.all(),
            own.wakeup,
            own.preempt,
            of.all(),
            of.wakeup,
            of.preempt
        );
        (fate, why)
    }
}

/// The name of a file of this name.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A path as text.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the temporary directory's path is not text")
}
