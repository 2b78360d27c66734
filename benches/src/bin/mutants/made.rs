//! How a small trace of each format is made.

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use schedlab_benches::formats::dat_file::Parts;
use schedlab_benches::formats::instance::{EVENTS, Instance};
use schedlab_benches::formats::lines;
use schedlab_benches::formats::protobuf::{self, Layout};
use schedlab_benches::program;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Clone, Copy)]
pub(crate) enum Made {
    Perf(&'static [&'static str]),
    /// Written to standard output.
    PerfPipe(&'static [&'static str]),
    PerfScript,
    /// Converted to this version and compression; unconverted if `None`.
    Dat(Option<[&'static str; 2]>),
    /// Written here, because Debian's trace-cmd is built without zlib.
    DatZlib,
    /// SchedViz's archive.
    Pages,
    Text {
        latency: bool,
    },
    Atrace,
    Perfetto {
        compact: bool,
    },
    PerfettoZip,
    Recording,
}

impl Made {
    /// Beginnings of the sentences that are reported for every trace of this kind.
    pub(crate) fn said_of_all(self) -> &'static [&'static str] {
        match self {
            // Each CPU begins at its oldest event, and nothing shows whether there were older ones.
            Self::Perf(["--overwrite"]) => &["the events of CPU", "gaps: ", "reported_lost: "],
            Self::PerfScript => &["the interrupt context of wakings"],
            _ => &[],
        }
    }

    /// Records the load into a file, or a directory.
    pub(crate) fn make(self, schedlab: &Path, load: Command, path: &Path) -> Result<()> {
        let bytes = match self {
            Self::Perf(options) => return perf(options, &load, path),
            Self::PerfPipe(options) => return pipe(options, &load, path),
            Self::PerfScript => {
                let from = path.with_extension("data");
                perf(&[], &load, &from)?;
                let mut command = Command::new("perf");
                command.args(["script", "--ns", "--show-lost-events", "-i"]).arg(from);
                program::output(command)?.stdout
            }
            Self::Dat(converted) => return dat(converted, load, path),
            Self::DatZlib => parts(load)?.version_7_zlib()?,
            Self::Pages => return tar(&parts(load)?, path),
            Self::Text { latency } => text(load, latency)?.into_bytes(),
            Self::Atrace => [b"TRACE:\n", &zlib(text(load, false)?.as_bytes())?[..]].concat(),
            Self::Perfetto { compact } => perfetto(load, compact)?,
            Self::PerfettoZip => zip("trace.perfetto-trace", &perfetto(load, false)?)?,
            Self::Recording => recording(schedlab, path)?,
        };
        Ok(std::fs::write(path, bytes)?)
    }
}

fn record(options: &[&str]) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "-a", "-m", "1024"]).args(options);
    for event in EVENTS {
        command.arg("-e").arg(format!("sched:{event}"));
    }
    command
}

fn perf(options: &[&str], load: &Command, path: &Path) -> Result<()> {
    let mut command = record(options);
    command.arg("-o").arg(path).arg("--").arg(load.get_program()).args(load.get_args());
    program::output(command).map(drop)
}

fn pipe(options: &[&str], load: &Command, path: &Path) -> Result<()> {
    let mut command = record(options);
    // The output of the load must not get into the pipe.
    command.args(["-o", "-", "--", "sh", "-c", "exec \"$@\" >/dev/null", "sh"]);
    command.arg(load.get_program()).args(load.get_args()).stdout(File::create(path)?).stderr(Stdio::null());
    ensure!(command.status()?.success(), "perf record into a pipe failed");
    Ok(())
}

fn parts(load: Command) -> Result<Parts> {
    let instance = Instance::new()?;
    instance.record("mono", || program::output(load).map(drop))?;
    Parts::of(&instance)
}

fn text(load: Command, latency: bool) -> Result<String> {
    let instance = Instance::new()?;
    if latency {
        instance.write("options/latency-format", "1")?;
    }
    instance.record("mono", || program::output(load).map(drop))?;
    instance.read("trace")
}

fn perfetto(load: Command, compact: bool) -> Result<Vec<u8>> {
    let layout = Layout { compact, compressed: false, sequences: false, hole: None };
    Ok(protobuf::encode(&lines::parse(&text(load, false)?).events, layout).0)
}

fn dat(converted: Option<[&str; 2]>, load: Command, path: &Path) -> Result<()> {
    let bytes = parts(load)?.version_6();
    let Some([version, compression]) = converted else { return Ok(std::fs::write(path, bytes)?) };
    let from = path.with_extension("6");
    std::fs::write(&from, bytes)?;
    let mut command = Command::new("trace-cmd");
    command
        .args(["convert", "--file-version", version, "--compression", compression, "-i"])
        .arg(from)
        .arg("-o")
        .arg(path);
    program::output(command).map(drop)
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

/// The files that SchedViz's `trace.sh` packs, and `trace_clock`.
fn tar(parts: &Parts, path: &Path) -> Result<()> {
    let dir = path.with_extension("dir");
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, bytes)
    };
    put("metadata.textproto", b"trace_type: FTRACE\n")?;
    put("trace_clock", parts.clocks.as_bytes())?;
    put("formats/header_page", parts.header_page.as_bytes())?;
    for format in &parts.formats {
        let name = format.lines().find_map(|line| line.strip_prefix("name: ")).context("a format has no name")?;
        put(&format!("formats/sched/{name}/format"), format.as_bytes())?;
    }
    for (cpu, pages) in parts.pages.iter().enumerate() {
        put(&format!("traces/cpu{cpu}"), pages)?;
    }
    let mut command = Command::new("tar");
    command.args(["--format=ustar", "--sort=name", "-b", "1", "-cf"]).arg(path).arg("-C").arg(&dir).arg(".");
    program::output(command)?;
    Ok(std::fs::remove_dir_all(&dir)?)
}

/// The same pages and formats as a trace.dat, which trace-cmd can read.
pub(crate) fn dat_of_tar(path: &Path) -> Result<Vec<u8>> {
    let dir = path.with_extension("unpacked");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir(&dir)?;
    let mut command = Command::new("tar");
    command.arg("-xf").arg(path).arg("-C").arg(&dir);
    program::output(command)?;
    let read =
        |name: &str| Ok::<_, std::io::Error>(String::from_utf8_lossy(&std::fs::read(dir.join(name))?).into_owned());
    let mut pages = Vec::new();
    while let Ok(of_cpu) = std::fs::read(dir.join(format!("traces/cpu{}", pages.len()))) {
        pages.push(of_cpu);
    }
    let formats = EVENTS.iter().filter_map(|event| read(&format!("formats/sched/{event}/format")).ok()).collect();
    let (header_page, clocks) = (read("formats/header_page")?, read("trace_clock")?);
    Ok(Parts { header_page, header_event: String::new(), formats, cmdlines: String::new(), clocks, pages }.version_6())
}

fn zlib(plain: &[u8]) -> Result<Vec<u8>> {
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
    stream.write_all(plain)?;
    Ok(stream.finish()?)
}

/// An archive of one file (APPNOTE.TXT, 4.3).
fn zip(name: &str, plain: &[u8]) -> Result<Vec<u8>> {
    let mut stream = DeflateEncoder::new(Vec::new(), Compression::default());
    stream.write_all(plain)?;
    let packed = stream.finish()?;
    let mut crc = flate2::Crc::new();
    crc.update(plain);
    // Version, flags, deflate, time and date, checksum, sizes, lengths of the name and of the extra field.
    let mut about = [20u16, 0, 8, 0, 0x21].map(u16::to_le_bytes).concat();
    about.extend([crc.sum(), packed.len() as u32, plain.len() as u32].map(u32::to_le_bytes).concat());
    about.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
    let local = [b"PK\x03\x04", &about[..], name.as_bytes(), &packed].concat();
    // Comment, disk, attributes, and the offset of the file.
    let central = [b"PK\x01\x02\x14\x03", &about[..], &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend([central.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat());
    end.extend([0, 0]);
    Ok([local, central, end].concat())
}
