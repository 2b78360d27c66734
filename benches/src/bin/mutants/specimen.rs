//! A small trace of each format, and who reads it beside us.

use anyhow::{Context, Result};
use schedlab_benches::formats::instance::{EVENTS, Instance};
use schedlab_benches::formats::numbers::Numbers;
use schedlab_benches::formats::protobuf::{self, Layout};
use schedlab_benches::formats::scratch::Scratch;
use schedlab_benches::formats::{dat_file, lines};
use schedlab_benches::program;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How it is made.
#[derive(Clone, Copy)]
enum Made {
    Perf(&'static [&'static str]),
    /// Converted to this version and compression; as it is where there is none.
    Dat(Option<[&'static str; 2]>),
    Text,
    Perfetto {
        compact: bool,
    },
    Recording,
}

/// A format.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    made: Made,
}

pub(crate) const KINDS: [Kind; 9] = [
    Kind { name: "perf.data", made: Made::Perf(&[]) },
    Kind { name: "perf.data -z", made: Made::Perf(&["-z"]) },
    Kind { name: "trace.dat 6", made: Made::Dat(None) },
    Kind { name: "trace.dat 7", made: Made::Dat(Some(["7", "none"])) },
    Kind { name: "trace.dat 7 zstd", made: Made::Dat(Some(["7", "zstd"])) },
    Kind { name: "text", made: Made::Text },
    Kind { name: "Perfetto", made: Made::Perfetto { compact: false } },
    Kind { name: "Perfetto compact", made: Made::Perfetto { compact: true } },
    Kind { name: "schedlab record", made: Made::Recording },
];

/// A trace of some thousand events.
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    made: Made,
    pub(crate) bytes: Vec<u8>,
    /// Where events and their containers are; everything outside is header.
    pub(crate) data: Range<usize>,
    pub(crate) path: PathBuf,
    /// Where its mutants lie, one at a time.
    pub(crate) mutant: PathBuf,
}

impl Specimen {
    pub(crate) fn new(kind: &Kind, schedlab: &Path, scratch: &Scratch) -> Result<Self> {
        let path = scratch.path(&super::plain(kind.name));
        let mut load = Command::new(schedlab);
        load.args(["bench", "pipe:duration=10ms", "--latency", "off", "--counters", "basic"]);
        let bytes = match kind.made {
            Made::Perf(options) => perf(options, &load, &path)?,
            Made::Dat(converted) => dat(converted, load, &path)?,
            Made::Text => text(load)?.into_bytes(),
            Made::Perfetto { compact } => {
                let layout = Layout { compact, compressed: false, sequences: false, hole: None };
                protobuf::encode(&lines::parse(&text(load)?).events, layout).0
            }
            Made::Recording => recording(schedlab, &path)?,
        };
        std::fs::write(&path, &bytes)?;
        let data = data(kind.made, &bytes)?;
        Ok(Self { name: kind.name, made: kind.made, mutant: path.with_extension("mutant"), bytes, data, path })
    }

    pub(crate) fn file_name(&self) -> String {
        super::plain(self.name)
    }

    /// What another reader makes of a file in silence; `None` where it complains, dies, or there is none.
    pub(crate) fn read(&self, path: &Path) -> Option<Numbers> {
        let path_text = path.to_str()?;
        let words: &[&str] = match self.made {
            Made::Perf(_) => &[
                "perf",
                "script",
                "--ns",
                "-F",
                "comm,tid,cpu,time,event,trace",
                "--show-lost-events",
                "-i",
                path_text,
            ],
            Made::Dat(_) => &["trace-cmd", "report", "-t", path_text],
            Made::Text => {
                return Some(Numbers::of(&lines::parse(&String::from_utf8_lossy(&std::fs::read(path).ok()?))));
            }
            Made::Perfetto { compact } => {
                let mut events = protobuf::decode(&std::fs::read(path).ok()?)?;
                if compact {
                    protobuf::infer_prev(&mut events);
                }
                return Some(Numbers::of(&lines::Text::of(events)));
            }
            Made::Recording => return Some(Numbers::default()),
        };
        let output = Command::new("timeout").arg("10").args(words).output().ok()?;
        let found = lines::parse(&String::from_utf8_lossy(&output.stdout));
        (output.status.success() && found.lost == 0).then(|| Numbers::of(&found))
    }
}

/// Where its events lie.
fn data(made: Made, bytes: &[u8]) -> Result<Range<usize>> {
    let word = |at: usize| bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    Ok(match made {
        Made::Perf(_) => {
            let (at, size) = word(40).zip(word(48)).context("no header of perf.data")?;
            at as usize..(at + size) as usize
        }
        // Behind what describes the events, which are all of the file but some ten kB.
        Made::Dat(_) => {
            let formats = b"print fmt: ";
            let last = bytes.windows(formats.len()).rposition(|window| window == formats);
            last.unwrap_or(0)..bytes.len()
        }
        Made::Text => bytes.windows(2).rposition(|window| window == b"\n#").map_or(0, |at| at + 1)..bytes.len(),
        // Both are blocks from their first bytes on.
        Made::Perfetto { .. } | Made::Recording => 0..bytes.len(),
    })
}

fn perf(options: &[&str], load: &Command, path: &Path) -> Result<Vec<u8>> {
    let mut command = Command::new("perf");
    command.args(["record", "-a", "-m", "1024"]).args(options);
    for event in EVENTS {
        command.arg("-e").arg(format!("sched:{event}"));
    }
    command.arg("-o").arg(path).arg("--").arg(load.get_program()).args(load.get_args());
    program::output(command)?;
    Ok(std::fs::read(path)?)
}

fn text(load: Command) -> Result<String> {
    let instance = Instance::new()?;
    instance.record("mono", || program::output(load).map(drop))?;
    instance.read("trace")
}

fn dat(converted: Option<[&str; 2]>, load: Command, path: &Path) -> Result<Vec<u8>> {
    let instance = Instance::new()?;
    instance.record("mono", || program::output(load).map(drop))?;
    let pages = instance.pages()?;
    let bytes = dat_file::version_6(&instance, &pages)?;
    let Some([version, compression]) = converted else { return Ok(bytes) };
    let from = path.with_extension("6");
    std::fs::write(&from, bytes)?;
    let mut command = Command::new("trace-cmd");
    command
        .args(["convert", "--file-version", version, "--compression", compression, "-i"])
        .arg(from)
        .arg("-o")
        .arg(path);
    program::output(command)?;
    Ok(std::fs::read(path)?)
}

fn recording(schedlab: &Path, path: &Path) -> Result<Vec<u8>> {
    let dir = path.with_extension("dir");
    let mut command = Command::new(schedlab);
    command.args(["record", "-o", super::text(&dir)?, "--", "pipe:duration=10ms"]);
    program::output(command)?;
    let file = dir.join("trace.slt");
    let bytes = std::fs::read(&file).with_context(|| format!("{} is missing", file.display()))?;
    std::fs::remove_dir_all(&dir)?;
    Ok(bytes)
}
