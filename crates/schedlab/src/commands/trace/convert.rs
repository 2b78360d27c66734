//! `schedlab trace convert`: converts a trace for other tools.

use super::files::{open, trace_in};
use crate::commands::destination::is_same;
use crate::exit::usage;
use crate::output::write_file;
use crate::output::{bytes_to_stdout, say};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use schedlab_plan::{SlowOperation, counted};
use schedlab_run::TableDir;
use schedlab_trace::{ConvertError, Converted, Reader, Target};
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Convert {
    /// A trace in any format that schedlab reads, or `-` for standard input
    file: PathBuf,
    /// Output: NAME.perfetto-trace or NAME.pftrace, NAME.txt for ftrace text, or a directory for Parquet tables; `-` with --to
    /// perfetto or --to text for standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Output format, if it does not follow from the name of OUT
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// Perfetto's protobuf, for ui.perfetto.dev and trace_processor
    Perfetto,
    /// A directory of tables, for pandas, Polars and DuckDB
    Parquet,
    /// The lines of tracefs' `trace` file
    Text,
}

impl Convert {
    fn format(&self) -> Result<To> {
        if let Some(to) = self.to {
            return Ok(to);
        }
        if self.output == Path::new("-") {
            usage!("-o -: which format is meant for standard output? Say --to text or --to perfetto");
        }
        Ok(match self.output.extension().and_then(|extension| extension.to_str()) {
            Some("perfetto-trace" | "pftrace" | "pb") => To::Perfetto,
            Some("txt" | "ftrace") => To::Text,
            None | Some("parquet") => To::Parquet,
            _ => usage!(
                "{}: which format is meant? Name it OUT.perfetto-trace, OUT.txt for lines of ftrace, or a directory \
                 without a dot for Parquet tables; or say it with --to",
                self.output.display()
            ),
        })
    }
}

pub(super) fn run(args: &Convert) -> Result<()> {
    let format = args.format()?;
    let file = trace_in(&args.file);
    let to_output = args.output == Path::new("-");
    if to_output && format == To::Parquet {
        usage!("-o -: tables are files of a directory; name one, or choose --to text or --to perfetto");
    }
    if !to_output {
        refuse_same(&file, &args.output)?;
    }
    let mut reader = open(&file, schedlab_trace::Kinds::ALL)?;
    let converted = match format {
        To::Perfetto => {
            let operations = super::slow::beside(&file).map(|outcome| outcome.slowest).unwrap_or_default();
            write(&mut reader, Target::Perfetto, &operations, &args.output)?
        }
        To::Text => write(&mut reader, Target::Text, &[], &args.output)?,
        To::Parquet => {
            let mut dir = TableDir::create(&args.output, schedlab_trace::trace_tables())?;
            let converted = schedlab_trace::convert_to_tables(&mut reader, &mut dir)?;
            dir.finish()?;
            Some(converted)
        }
    };
    // If the reader of our output is gone (EPIPE), print no summary.
    let Some(converted) = converted else { return Ok(()) };
    let written = if to_output { "standard output".into() } else { args.output.display().to_string() };
    say(format_args!("{written}: {}", counted(converted.written, "events")));
    if converted.left_out > 0 {
        say(format_args!("{} that this format has no place for were left out", counted(converted.left_out, "events")));
    }
    for problem in reader.problems().all() {
        say(format_args!("{}: {problem}", file.display()));
    }
    Ok(())
}

/// Refuses to write to the input file, under any name: opening it would truncate it.
fn refuse_same(source: &Path, target: &Path) -> Result<()> {
    // If the file does not exist, the trace reader gives a better error.
    let Some(source) = metadata_of(source).filter(Metadata::is_file) else { return Ok(()) };
    if std::fs::metadata(target).is_ok_and(|there| is_same(&there, &source)) {
        bail!("{} is the input and would be overwritten: give another file with -o", target.display());
    }
    Ok(())
}

fn metadata_of(path: &Path) -> Option<Metadata> {
    if path == Path::new("-") {
        return File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?).metadata().ok();
    }
    std::fs::metadata(path).ok()
}

/// `None` if the reader of our output closed the pipe.
fn write(reader: &mut Reader, target: Target, operations: &[SlowOperation], path: &Path) -> Result<Option<Converted>> {
    let mut done = None;
    let mut unread = None;
    let convert = |out: &mut dyn std::io::Write| match schedlab_trace::convert(reader, target, operations, out) {
        Ok(converted) => {
            done = Some(converted);
            Ok(())
        }
        Err(ConvertError::Write(error)) => Err(error),
        Err(error) => {
            unread = Some(error);
            Err(std::io::ErrorKind::InvalidData.into())
        }
    };
    let written = if path == Path::new("-") { bytes_to_stdout(convert) } else { write_file(path, convert) };
    match unread {
        Some(error) => Err(error.into()),
        None => written.map(|()| done),
    }
}
