//! Formats × recorders × options: short recordings, and of each the events, switches, waits and longest wait that
//! `schedlab trace` reports, next to an independent reading of `perf script --ns`, `trace-cmd report`, the text itself
//! or what was encoded; or the sentence with which the file is refused. `cargo xtask bench formats -- [WORD] [--perf
//! PATH]... [--keep DIR]`: rows that hold WORD, more perfs than that of PATH, and a directory in which the recordings
//! stay. Needs root; what cannot be run is reported with the reason. Ends with 1 if any row differs. About 6 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod dat;
mod perf;
mod perfetto;
mod row;
mod text;

use anyhow::{Context, Result};
use row::{Row, RowResult};
use schedlab_benches::formats::scratch::Scratch;
use schedlab_benches::{program, table};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What the rows of all formats need.
pub(crate) struct Lab {
    pub(crate) schedlab: PathBuf,
    pub(crate) perfs: Vec<PathBuf>,
    pub(crate) scratch: Scratch,
    filter: String,
    rows: RefCell<Vec<Row>>,
}

fn main() -> Result<ExitCode> {
    let started = Instant::now();
    let lab = Lab::from_arguments(std::env::args().skip(1))?;
    for section in [perf::rows, dat::rows, text::rows, perfetto::rows] {
        section(&lab)?;
    }
    let rows = lab.rows.take();
    table::print("Formats, recorders, options", &row::HEADER, &rows.iter().map(Row::cells).collect::<Vec<_>>());
    let count = |judged: RowResult| rows.iter().filter(|row| row.judged() == judged).count();
    println!(
        "\n{} rows: {} equal, {} refused as they must be, {} could not be run, {} differ.",
        rows.len(),
        count(RowResult::Equal),
        count(RowResult::Refused),
        count(RowResult::NotRun),
        count(RowResult::Differs)
    );
    table::closing("formats", started.elapsed());
    let differ = count(RowResult::Differs);
    if differ > 0 {
        eprintln!("{differ} rows differ");
    }
    Ok(if differ > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Lab {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut perfs, mut keep, mut filter) = (vec![PathBuf::from("perf")], None, String::new());
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a path"));
            match argument.as_str() {
                "--perf" => perfs.push(value()?.into()),
                "--keep" => keep = Some(PathBuf::from(value()?)),
                word => word.clone_into(&mut filter),
            }
        }
        let schedlab = std::path::absolute(program::schedlab()?)?;
        let scratch = Scratch::new("formats", keep.as_deref())?;
        Ok(Self { schedlab, perfs, scratch, filter, rows: RefCell::default() })
    }

    /// Makes the row with this name, unless others were selected. On an error the row counts as not run.
    pub(crate) fn row(&self, [format, recorder, options]: [&str; 3], make: impl FnOnce(&Path) -> Result<row::Outcome>) {
        let name = format!("{format} {recorder} {options}");
        if !name.contains(&self.filter) {
            return;
        }
        let file: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let outcome =
            make(&self.scratch.path(&file)).unwrap_or_else(|error| row::Outcome::NotRun(format!("{error:#}")));
        let row = Row { format: format.into(), recorder: recorder.into(), options: options.into(), outcome };
        eprintln!("{}", row.cells().join(" | "));
        self.rows.borrow_mut().push(row);
    }

    /// A load of this many pairs of threads that wake and preempt each other, for this many milliseconds.
    pub(crate) fn load(&self, pairs: u32, ms: u32) -> Command {
        let mut command = Command::new(&self.schedlab);
        let spec = format!("pipe:copies={pairs},duration={ms}ms");
        command.args(["bench", &spec, "--latency", "off", "--counters", "basic"]);
        command
    }

    /// Runs the load to its end.
    pub(crate) fn run_load(&self) -> Result<()> {
        program::output(self.load(3, 100)).map(drop)
    }
}
