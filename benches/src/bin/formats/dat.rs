//! trace.dat: raw pages of a private tracefs instance with a version 6 header that we write, which trace-cmd reads and
//! converts; and the file that `trace-cmd restore` makes of the same pages.

use super::Lab;
use super::row::{Expected, Outcome, compare};
use anyhow::{Context, Result, ensure};
use schedlab_benches::formats::dat_file::Parts;
use schedlab_benches::formats::instance::Instance;
use schedlab_benches::formats::lines::{self, Text};
use schedlab_benches::program;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions and compressions for `trace-cmd convert`.
const CONVERTED: [[&str; 2]; 4] = [["6", "none"], ["7", "none"], ["7", "zlib"], ["7", "zstd"]];

/// Clocks that do not count ns.
const NOT_NS: [&str; 3] = ["counter", "uptime", "x86-tsc"];

pub(crate) fn rows(lab: &Lab) -> Result<()> {
    let version = version().unwrap_or_else(|_| "trace-cmd".into());
    let clocks = Instance::new().and_then(|instance| instance.clocks()).unwrap_or_else(|_| vec!["mono".into()]);
    for clock in &clocks {
        let options = format!("clock {clock}");
        lab.row(["trace.dat 6", "written here", &options], |file| {
            base(lab, clock, file)?;
            judge(lab, file, must(clock))
        });
        let options = format!("convert, clock {clock}");
        lab.row(["trace.dat 7", &version, &options], |file| {
            let from = file.with_extension("6");
            base(lab, clock, &from)?;
            convert(&from, file, ["7", "none"])?;
            judge(lab, file, must(clock))
        });
    }
    for [to, compression] in CONVERTED {
        let options = format!("convert, {compression}");
        lab.row([&format!("trace.dat {to}"), &version, &options], |file| {
            let from = file.with_extension("6");
            base(lab, "mono", &from)?;
            convert(&from, file, [to, compression])?;
            judge(lab, file, Expected::Agree)
        });
    }
    lab.row(["trace.dat 7", &version, "restore"], |file| {
        restore(lab, file)?;
        judge(lab, file, Expected::Agree)
    });
    Ok(())
}

pub(crate) fn must(clock: &str) -> Expected {
    if NOT_NS.contains(&clock) { Expected::Refuse } else { Expected::Agree }
}

fn version() -> Result<String> {
    // Without a command it prints its usage and exits with 255.
    let output = Command::new("trace-cmd").output()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let line = text.lines().find(|line| line.contains("version")).context("it tells no version")?;
    Ok(line.replace(" version", "").split(" (").next().unwrap_or_default().to_owned())
}

/// A version 6 trace.dat of the load, with this clock.
pub(crate) fn base(lab: &Lab, clock: &str, file: &Path) -> Result<()> {
    let instance = Instance::new()?;
    instance.record(clock, || lab.run_load())?;
    Ok(std::fs::write(file, Parts::of(&instance)?.version_6())?)
}

pub(crate) fn convert(from: &Path, to: &Path, [version, compression]: [&str; 2]) -> Result<()> {
    let mut command = Command::new("trace-cmd");
    command
        .args(["convert", "--file-version", version, "--compression", compression, "-i"])
        .arg(from)
        .arg("-o")
        .arg(to);
    let said = program::text(command)?;
    let refused = said.lines().find(|line| line.contains("compression algorithm") || line.contains("cannot"));
    ensure!(refused.is_none(), "{}", refused.unwrap_or_default().trim());
    Ok(())
}

/// The same pages, assembled by `trace-cmd restore`, with the header of this machine.
fn restore(lab: &Lab, file: &Path) -> Result<()> {
    let instance = Instance::new()?;
    instance.record("local", || lab.run_load())?;
    let mut cpus: Vec<PathBuf> = Vec::new();
    for (cpu, pages) in instance.pages()?.iter().enumerate() {
        let path = file.with_extension(format!("cpu{cpu}"));
        std::fs::write(&path, pages)?;
        cpus.push(path);
    }
    let head = file.with_extension("head");
    let mut command = Command::new("trace-cmd");
    command.args(["restore", "-c", "-o"]).arg(&head);
    program::output(command)?;
    let mut command = Command::new("trace-cmd");
    command.args(["restore", "-i"]).arg(&head).arg("-o").arg(file).args(&cpus);
    program::output(command).map(drop)
}

fn judge(lab: &Lab, file: &Path, must: Expected) -> Result<Outcome> {
    let said = report(file)?;
    let text = if must == Expected::Refuse { Text::default() } else { lines::parse_plain_ns(&said) };
    ensure!(must == Expected::Refuse || !text.events.is_empty(), "trace-cmd report finds no event");
    ensure!(text.lost == 0, "the kernel lost events");
    compare(lab, file, &text, must)
}

/// All events as read by trace-cmd itself, with ns.
fn report(file: &Path) -> Result<String> {
    let mut command = Command::new("trace-cmd");
    command.args(["report", "-t"]).arg(file);
    Ok(String::from_utf8_lossy(&program::output(command)?.stdout).into_owned())
}
