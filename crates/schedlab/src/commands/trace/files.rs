//! Finds the files of a trace. FILE may be `-` or a pipe if the format allows.

use crate::commands::record::TRACE_FILE;
use anyhow::{Context, Result, bail};
use schedlab_analyze::trace::{ByteSource, Forward, Reader};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

pub(crate) fn open(path: &Path, wanted: schedlab_trace::Kinds) -> Result<Reader> {
    let path = trace_in(path);
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    let parts = parts_of(&path)?;
    Ok(if parts.is_empty() {
        Reader::open(&name, bytes(&path)?, wanted)?
    } else {
        Reader::open_parts(&name, bytes(&path.join("data"))?, parts, wanted)?
    })
}

/// The files that the threads of `perf record --threads` wrote, in order; empty if it is not such a directory.
fn parts_of(path: &Path) -> Result<Vec<Box<dyn ByteSource>>> {
    let numbers = part_numbers(path);
    if let Some((missing, _)) = numbers.iter().enumerate().find(|(number, there)| number != *there) {
        bail!("{} has no data.{missing}, which a thread of perf recorded: copy the whole directory", path.display());
    }
    numbers.iter().map(|number| bytes(&path.join(format!("data.{number}")))).collect()
}

/// The numbers in the names of these files, in order.
pub(super) fn part_numbers(path: &Path) -> Vec<usize> {
    let files = if path.join("data").is_file() { std::fs::read_dir(path).ok() } else { None };
    let number = |name: &OsStr| name.to_str()?.strip_prefix("data.")?.parse().ok();
    let mut numbers: Vec<usize> =
        files.into_iter().flatten().filter_map(|file| number(&file.ok()?.file_name())).collect();
    numbers.sort_unstable();
    numbers
}

/// The trace inside a directory that `record -o` or `bench --trace` wrote; any other path as it is.
pub(super) fn trace_in(path: &Path) -> PathBuf {
    let inside = path.join(TRACE_FILE);
    if inside.is_file() {
        return inside;
    }
    // `perf record --kcore` writes its one file into a directory; with --threads there are more.
    let of_perf = path.join("data");
    if of_perf.is_file() && part_numbers(path).is_empty() { of_perf } else { path.to_owned() }
}

/// A file, read at any position, or a pipe, read from beginning to end.
fn bytes(path: &Path) -> Result<Box<dyn ByteSource>> {
    if path == Path::new("-") {
        return standard_input();
    }
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let kind = file.metadata().with_context(|| format!("{} cannot be looked at", path.display()))?.file_type();
    if kind.is_dir() {
        bail!("{} is a directory, {}", path.display(), of_directory(path));
    }
    Ok(if kind.is_file() { Box::new(file) } else { Box::new(Forward::new(file)) })
}

/// Standard input is also read at any position if it is a file of which nothing has been read yet.
fn standard_input() -> Result<Box<dyn ByteSource>> {
    let owned = std::io::stdin().as_fd().try_clone_to_owned().context("standard input cannot be read")?;
    let mut file = File::from(owned);
    let whole = file.metadata().is_ok_and(|m| m.is_file()) && file.stream_position().is_ok_and(|at| at == 0);
    Ok(if whole { Box::new(file) } else { Box::new(Forward::new(file)) })
}

/// An error for a directory that is not a trace: what it is, and what to name instead.
fn of_directory(path: &Path) -> &'static str {
    if path.join("manifest.json").exists() {
        "that of a run: give one of its traces (traces/*.slt); only `trace diff`, `slow`, `copies` and `kworkers` accept a run directory"
    } else {
        "and neither trace.slt of `schedlab record` nor data of `perf record` is in it"
    }
}
