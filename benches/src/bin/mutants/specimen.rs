//! A small trace of each format, and its other reader.

use crate::made::{self, Made};
use crate::mutant::Mutant;
use anyhow::{Context, Result};
use schedlab_benches::formats::lines::{self, Text};
use schedlab_benches::formats::protobuf;
use schedlab_benches::formats::scratch::Scratch;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A format.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    made: Made,
}

pub(crate) const KINDS: [Kind; 19] = [
    Kind { name: "perf.data", made: Made::Perf(&[]) },
    Kind { name: "perf.data -z", made: Made::Perf(&["-z"]) },
    Kind { name: "perf.data --overwrite", made: Made::Perf(&["--overwrite"]) },
    Kind { name: "perf.data --threads", made: Made::Perf(&["--threads"]) },
    Kind { name: "perf pipe", made: Made::PerfPipe(&[]) },
    Kind { name: "perf pipe -z", made: Made::PerfPipe(&["-z"]) },
    Kind { name: "perf script", made: Made::PerfScript },
    Kind { name: "trace.dat 6", made: Made::Dat(None) },
    Kind { name: "trace.dat 7", made: Made::Dat(Some(["7", "none"])) },
    Kind { name: "trace.dat 7 zstd", made: Made::Dat(Some(["7", "zstd"])) },
    Kind { name: "trace.dat 7 zlib", made: Made::DatZlib },
    Kind { name: "raw pages in a tar", made: Made::Pages },
    Kind { name: "text", made: Made::Text { latency: false } },
    Kind { name: "text, latency-format", made: Made::Text { latency: true } },
    Kind { name: "atrace -z", made: Made::Atrace },
    Kind { name: "Perfetto", made: Made::Perfetto { compact: false } },
    Kind { name: "Perfetto compact", made: Made::Perfetto { compact: true } },
    Kind { name: "Perfetto in a zip", made: Made::PerfettoZip },
    Kind { name: "schedlab record", made: Made::Recording },
];

/// A trace of some thousand events.
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    made: Made,
    /// For a directory: all of its files, one after the other.
    pub(crate) bytes: Vec<u8>,
    /// The files, below [`path`](Self::path) or [`mutant`](Self::mutant); one without a name is the trace itself.
    files: Vec<(PathBuf, Range<usize>)>,
    /// Where events and their containers are; everything outside is header.
    pub(crate) data: Range<usize>,
    pub(crate) path: PathBuf,
    /// Where its mutants are written, one at a time.
    pub(crate) mutant: PathBuf,
}

impl Specimen {
    pub(crate) fn new(kind: &Kind, schedlab: &Path, scratch: &Scratch) -> Result<Self> {
        let path = scratch.path(&super::plain(kind.name));
        let mut load = Command::new(schedlab);
        load.args(["bench", "pipe:duration=10ms", "--latency", "off", "--counters", "basic"]);
        if path.is_dir() {
            std::fs::remove_dir_all(&path)?;
        }
        kind.made.make(schedlab, load, &path)?;
        let (mut bytes, mut files) = (Vec::new(), Vec::new());
        for name in names(&path)? {
            let from = bytes.len();
            bytes.extend(std::fs::read(below(&path, &name))?);
            files.push((name, from..bytes.len()));
        }
        let data = data(kind.made, &bytes)?;
        Ok(Self { name: kind.name, made: kind.made, mutant: path.with_extension("mutant"), bytes, files, data, path })
    }

    pub(crate) fn file_name(&self) -> String {
        super::plain(self.name)
    }

    /// Writes a mutant, or the trace itself, below `at`. In a directory, a cut shortens one file.
    pub(crate) fn write(&self, mutant: Option<&Mutant>, at: &Path) -> Result<()> {
        let bytes = mutant.map_or_else(|| self.bytes.clone(), |mutant| mutant.of(&self.bytes));
        if self.files.len() > 1 {
            std::fs::create_dir_all(at)?;
        }
        for (name, range) in &self.files {
            let of_cut = matches!(mutant, Some(Mutant::Cut { at }) if !range.contains(at));
            let file =
                if of_cut { &self.bytes[range.clone()] } else { &bytes[range.start..range.end.min(bytes.len())] };
            std::fs::write(below(at, name), file)?;
        }
        Ok(())
    }

    /// Whether nothing is reported missing except what is missing in every trace of this kind.
    pub(crate) fn is_whole(&self, wrong: &[String]) -> bool {
        wrong.iter().all(|sentence| self.made.said_of_all().iter().any(|words| sentence.starts_with(words)))
    }

    /// The other reader's view of a file that it accepts without complaint; `None` if it complains or crashes, or if
    /// there is no other reader. For formats in which every byte is checksummed, or that nothing else reads here, there
    /// is none, so any silent difference is a defect.
    pub(crate) fn read(&self, path: &Path) -> Option<Text> {
        let bytes = || std::fs::read(path).ok();
        let path_text = path.to_str()?;
        let script = ["perf", "script", "--ns", "-F", "comm,tid,cpu,time,event,trace", "--show-lost-events", "-i"];
        let mut command = Command::new("timeout");
        command.arg("10");
        match self.made {
            Made::Perf(_) => command.args(script).arg(path),
            Made::PerfPipe(_) => command.args(script).arg("-").stdin(File::open(path).ok()?),
            Made::Dat(_) => command.args(["trace-cmd", "report", "-t", path_text]),
            Made::Pages => {
                let dat = path.with_extension("dat");
                std::fs::write(&dat, made::dat_of_tar(path).ok()?).ok()?;
                command.args(["trace-cmd", "report", "-t"]).arg(dat)
            }
            Made::PerfScript | Made::Text { .. } => return Some(lines::parse(&String::from_utf8_lossy(&bytes()?))),
            Made::Perfetto { compact } => {
                let mut events = protobuf::decode(&bytes()?)?;
                if compact {
                    protobuf::infer_prev(&mut events);
                }
                return Some(Text::of(events));
            }
            Made::DatZlib | Made::Atrace | Made::PerfettoZip | Made::Recording => return Some(Text::default()),
        };
        let output = command.output().ok()?;
        let found = lines::parse(&String::from_utf8_lossy(&output.stdout));
        (output.status.success() && found.lost == 0).then_some(found)
    }
}

/// The files of a directory sorted by name; a single file has no name.
fn names(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![PathBuf::new()]);
    }
    let entries = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().into()));
    let mut names: Vec<PathBuf> = entries.collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

fn below(path: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() { path.to_owned() } else { path.join(name) }
}

/// The position of its events.
fn data(made: Made, bytes: &[u8]) -> Result<Range<usize>> {
    let word = |at: usize| bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    Ok(match made {
        // The first file of the directory has the header, all others only events.
        Made::Perf(["--threads"]) => word(40).context("no header of perf.data")? as usize..bytes.len(),
        Made::Perf(_) => {
            let (at, size) = word(40).zip(word(48)).context("no header of perf.data")?;
            at as usize..(at + size) as usize
        }
        // After the description of the events, which takes some ten kB; the rest is events.
        Made::Dat(_) => {
            let formats = b"print fmt: ";
            let last = bytes.windows(formats.len()).rposition(|window| window == formats);
            last.unwrap_or(0)..bytes.len()
        }
        Made::Text { .. } => bytes.windows(2).rposition(|window| window == b"\n#").map_or(0, |at| at + 1)..bytes.len(),
        // The file consists of blocks from its first byte.
        _ => 0..bytes.len(),
    })
}
