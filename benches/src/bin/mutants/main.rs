//! A thousand mutants of a small trace of each format: bits flipped, ends cut off, ranges zeroed, blocks swapped.
//! `trace latency` and `trace check` must answer or refuse each within 5 s and 512 MiB, without a panic; and where their
//! numbers are not those of the whole trace, something must be said to be missing. A difference in silence is put down to
//! *payload* where the recorder's own reader takes the same mutant in silence with other numbers, too (a time, an id or a
//! name that was changed is another one, where no checksum says otherwise), with what that reader finds changed; else to the
//! header or the layout of the data. Fails on anything but silent payload.
//! `cargo xtask bench mutants -- [WORD] [COUNT] [--keep DIR]`: formats that hold WORD, this many mutants of each, and
//! where to leave those that differ in silence. Needs root for the recordings. About 14 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod changed;
mod made;
mod mutant;
mod specimen;

use anyhow::{Context, Result, bail};
use changed::{CHANGES, Change};
use mutant::Mutant;
use schedlab_benches::formats::lines::Text;
use schedlab_benches::formats::numbers::{self, Answered, Numbers};
use schedlab_benches::formats::scratch::Scratch;
use schedlab_benches::{program, table};
use schedlab_stats::Random;
use specimen::Specimen;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MUTANTS: usize = 1000;
/// Recordings are repeated up to this often until nothing is missing.
const RECORDINGS: usize = 20;
const LIMIT: Duration = Duration::from_secs(5);
const LIMIT_BYTES: u64 = 512 << 20;

/// The result of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    /// The same numbers as the intact trace.
    Same,
    /// Other numbers, and a report that something is missing or wrong.
    Reported,
    /// Other numbers without a report, as from the recorder's own reader.
    Payload,
    Header,
    Layout,
    /// A panic, a hang, too much memory.
    Failed,
}

const FATES: [(Fate, &str); 7] = [
    (Fate::Refused, "refused"),
    (Fate::Same, "same numbers"),
    (Fate::Reported, "other numbers, reported"),
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
    let (mut tried, mut not_run) = (Vec::new(), Vec::new());
    for kind in specimen::KINDS.iter().filter(|kind| kind.name.contains(&filter)) {
        match lab.specimen(kind).and_then(|(specimen, whole)| lab.try_all(&specimen, &whole, count)) {
            Err(error) => not_run.push(format!("{}: not run: {error:#}", kind.name)),
            Ok(all) => {
                eprintln!("{}", all.row().join(" | "));
                tried.push(all);
            }
        }
    }
    let header: Vec<&str> = ["format", "bytes"]
        .into_iter()
        .chain(FATES.iter().map(|(_, name)| *name))
        .chain(["longest, s", "most memory, MiB"])
        .collect();
    table::print(
        &format!("{count} mutants of each format"),
        &header,
        &tried.iter().map(Tried::row).collect::<Vec<_>>(),
    );
    let header: Vec<&str> = ["format"].into_iter().chain(CHANGES.iter().map(|(_, name)| *name)).collect();
    let rows: Vec<_> = tried.iter().filter(|all| all.count(Fate::Payload) > 0).map(Tried::changes_row).collect();
    table::print("Silent payload, by what the recorder's own reader finds changed", &header, &rows);
    not_run.iter().for_each(|sentence| println!("\n{sentence}"));
    table::closing("mutants", started.elapsed());
    let bad: usize = tried.iter().map(Tried::bad).sum();
    Ok(if bad > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The maxima over all mutants of a specimen.
#[derive(Default)]
struct Most {
    took: Duration,
    rss_bytes: u64,
}

/// The results of all mutants of a specimen.
#[derive(Default)]
struct Tried {
    name: &'static str,
    bytes: usize,
    fates: [usize; FATES.len()],
    changes: [usize; CHANGES.len()],
    most: Most,
}

impl Tried {
    fn count(&self, fate: Fate) -> usize {
        self.fates[fate as usize]
    }

    fn bad(&self) -> usize {
        [Fate::Failed, Fate::Header, Fate::Layout].map(|fate| self.count(fate)).iter().sum()
    }

    fn row(&self) -> Vec<String> {
        let mut row = vec![self.name.to_owned(), self.bytes.to_string()];
        row.extend(self.fates.iter().map(usize::to_string));
        row.extend([format!("{:.2}", self.most.took.as_secs_f64()), (self.most.rss_bytes >> 20).to_string()]);
        row
    }

    fn changes_row(&self) -> Vec<String> {
        [self.name.to_owned()].into_iter().chain(self.changes.iter().map(usize::to_string)).collect()
    }
}

impl Lab {
    /// A trace in which nothing is missing, and what is reported for it, so that any other complaint about a mutant is
    /// due to the mutation.
    fn specimen(&self, kind: &specimen::Kind) -> Result<(Specimen, Answered)> {
        let _busy = program::keep_cpus_busy()?;
        let mut missing = String::new();
        for _ in 0..RECORDINGS {
            let specimen = Specimen::new(kind, &self.schedlab, &self.scratch)?;
            let answer = self.ask(&specimen, None, &mut Most::default())?.map_err(anyhow::Error::msg)?;
            let whole = answer.map_err(|why| anyhow::anyhow!("the whole trace is refused: {why}"))?;
            if specimen.is_whole(&whole.wrong) {
                return Ok((specimen, whole));
            }
            missing = whole.wrong.join("; ");
        }
        bail!("something was missing in each of {RECORDINGS} recordings: {missing}")
    }

    fn try_all(&self, specimen: &Specimen, whole: &Answered, count: usize) -> Result<Tried> {
        let reference =
            specimen.read(&specimen.path).context("the whole trace is not read by its recorder's reader")?;
        let mut all = Tried { name: specimen.name, bytes: specimen.bytes.len(), ..Tried::default() };
        let mut random = Random::new(14);
        for number in 0..count {
            let mutant = Mutant::draw(number, specimen.bytes.len(), &mut random);
            let (fate, why) = match self.ask(specimen, Some(&mutant), &mut all.most)? {
                Err(failure) => (Fate::Failed, failure),
                Ok(Err(_)) => (Fate::Refused, String::new()),
                Ok(Ok(answered)) => match judge(specimen, &mutant, &answered, whole, &reference) {
                    RowResult::Fate(fate, why) => (fate, why),
                    RowResult::Payload(change) => {
                        all.changes[change as usize] += 1;
                        (Fate::Payload, format!("{change:?}"))
                    }
                },
            };
            all.fates[fate as usize] += 1;
            if matches!(fate, Fate::Failed | Fate::Payload | Fate::Header | Fate::Layout) {
                eprintln!("{} mutant {number}: {mutant:?}: {fate:?} {why}", specimen.name);
                if let Some(keep) = &self.keep {
                    std::fs::create_dir_all(keep)?;
                    specimen.write(None, &keep.join(specimen.file_name()))?;
                    specimen.write(Some(&mutant), &keep.join(format!("{}-{number}", specimen.file_name())))?;
                }
            }
        }
        Ok(all)
    }

    /// The outer `Err` is a panic, a hang or too much memory.
    fn ask(
        &self,
        specimen: &Specimen,
        mutant: Option<&Mutant>,
        most: &mut Most,
    ) -> Result<Result<numbers::Answer, String>> {
        specimen.write(mutant, &specimen.mutant)?;
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
}

enum RowResult {
    /// And the reason, if it is bad.
    Fate(Fate, String),
    Payload(Change),
}

fn judge(specimen: &Specimen, mutant: &Mutant, answered: &Answered, whole: &Answered, reference: &Text) -> RowResult {
    if answered.numbers == whole.numbers {
        return RowResult::Fate(Fate::Same, String::new());
    }
    let is_new = |sentence: &String| !whole.wrong.iter().any(|known| is_like(known, sentence));
    if answered.wrong.iter().any(is_new) || answered.lacking.iter().any(|sentence| !whole.lacking.contains(sentence)) {
        return RowResult::Fate(Fate::Reported, String::new());
    }
    if let Some(read) = specimen.read(&specimen.mutant).filter(|read| Numbers::of(read) != Numbers::of(reference)) {
        return RowResult::Payload(changed::change(reference, &read));
    }
    let fate = if mutant.touches(&specimen.data) { Fate::Layout } else { Fate::Header };
    let (own, of) = (&answered.numbers, &whole.numbers);
    let why = format!(
        "{} events, waits {:?} {:?}; whole {}, {:?} {:?}",
        own.all(),
        own.wakeup,
        own.preempt,
        of.all(),
        of.wakeup,
        of.preempt
    );
    RowResult::Fate(fate, why)
}

/// Whether a sentence is already reported for the intact trace; a different time after the same beginning does not
/// matter.
fn is_like(known: &str, sentence: &str) -> bool {
    let words = |text: &str| text.split_once(" before ").map(|(words, _)| words.to_owned());
    known == sentence || words(known).is_some_and(|known| Some(known) == words(sentence))
}

/// The name of a file of this name.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A path as text.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the temporary directory's path is not text")
}
