//! perf.data, recorded by each given perf.

use super::Lab;
use super::row::{Expected, Outcome, compare};
use anyhow::{Context, Result, bail, ensure};
use schedlab_benches::formats::instance::EVENTS;
use schedlab_benches::formats::lines::{self, Text};
use schedlab_benches::program;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is recorded, and perf's options for it.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    /// `-a`, with a load of this many pairs.
    All(u32),
    /// A command that perf starts, and its children.
    Command,
    /// A process that is already running.
    Process,
    /// Everything, written to standard output.
    Pipe,
    /// `perf sched record`.
    Sched,
}

const ROWS: [(&str, Target); 19] = [
    ("-a", Target::All(3)),
    ("-a -z", Target::All(3)),
    ("-a -z, beside a load", Target::All(24)),
    ("-a -z22", Target::All(3)),
    ("-a --overwrite", Target::All(3)),
    ("-a -k mono", Target::All(3)),
    ("-a -k monotonic_raw", Target::All(3)),
    ("-a -k boottime", Target::All(3)),
    ("-a -k tai", Target::All(3)),
    ("-a -o -", Target::Pipe),
    ("-a -z -o -", Target::Pipe),
    ("-a -g", Target::All(3)),
    ("-a --all-cgroups", Target::All(3)),
    ("-a --threads", Target::All(3)),
    ("-a -z --threads", Target::All(3)),
    // One thread reads the rings of all CPUs, if the machine has one node.
    ("-a --threads=numa", Target::All(3)),
    ("COMMAND, no -a", Target::Command),
    ("-p PID", Target::Process),
    ("perf sched record", Target::Sched),
];

pub(crate) fn rows(lab: &Lab) -> Result<()> {
    for perf in &lab.perfs {
        let version = version(perf);
        for (options, whom) in ROWS {
            let recorder = version.as_ref().map_or_else(|_| perf.display().to_string(), Clone::clone);
            lab.row(["perf.data", &recorder, options], |file| {
                version.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                row(lab, perf, options, whom, file)
            });
        }
    }
    Ok(())
}

fn version(perf: &Path) -> Result<String> {
    let mut command = Command::new(perf);
    command.arg("--version");
    Ok(String::from_utf8_lossy(&program::output(command)?.stdout).trim().replace(" version", ""))
}

fn row(lab: &Lab, perf: &Path, options: &str, whom: Target, file: &Path) -> Result<Outcome> {
    // Pages of each CPU's ring: more of them if events were lost.
    for pages in ["2048", "16384"] {
        record(lab, perf, options, whom, file, pages)?;
        let text = script(perf, file, whom)?;
        ensure!(!text.events.is_empty(), "perf script finds no event in what perf recorded");
        if text.lost == 0 {
            let must = match options {
                // The file does not say whether a ring wrapped: each CPU begins at its oldest event.
                _ if options.contains("--overwrite") => Expected::ReportLoss,
                _ => Expected::Agree,
            };
            return compare(lab, file, &text, must);
        }
    }
    bail!("perf lost events twice")
}

fn record(lab: &Lab, perf: &Path, options: &str, whom: Target, file: &Path, pages: &str) -> Result<()> {
    if file.is_dir() {
        std::fs::remove_dir_all(file)?;
    }
    let mut command = Command::new(perf);
    if whom == Target::Sched {
        command.args(["sched", "record", "-m", pages, "-o"]).arg(file);
    } else {
        command.args(["record", "-m", pages]);
        for event in EVENTS {
            command.arg("-e").arg(format!("sched:{event}"));
        }
        let words = options.split(',').next().unwrap_or_default().split_whitespace();
        command.args(words.filter(|word| word.starts_with('-') && !["-o", "-", "-p"].contains(word) || is_clock(word)));
        match whom {
            Target::Pipe => command.args(["-o", "-"]).stdout(File::create(file)?),
            _ => command.arg("-o").arg(file).stdout(Stdio::null()),
        };
    }
    let mut observed = None;
    if whom == Target::Process {
        let load = lab.load(3, 100);
        // perf attaches before this starts, because it would record only the later part of processes forked earlier.
        let mut late = Command::new("sh");
        late.args(["-c", "sleep 1; exec \"$@\"", "sh"]).arg(load.get_program()).args(load.get_args());
        let child = late.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        command.args(["-p", &child.id().to_string()]);
        observed = Some(child);
    } else {
        let load = match whom {
            Target::All(pairs) => lab.load(pairs, 25 * pairs),
            _ => lab.load(3, 100),
        };
        // The output must not get into perf's pipe.
        command.args(["--", "sh", "-c", "exec \"$@\" >/dev/null", "sh"]).arg(load.get_program()).args(load.get_args());
    }
    let output = command.stderr(Stdio::piped()).spawn().and_then(std::process::Child::wait_with_output);
    if let Some(mut child) = observed {
        child.wait()?;
    }
    let output = output.with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}", said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("perf failed"));
    Ok(())
}

fn is_clock(word: &str) -> bool {
    ["mono", "monotonic_raw", "boottime", "tai"].contains(&word)
}

/// All samples as read by perf itself.
fn script(perf: &Path, file: &Path, whom: Target) -> Result<Text> {
    let mut command = Command::new(perf);
    command.args(["script", "--ns", "--show-lost-events", "-F", "comm,tid,cpu,time,event,trace", "-i"]);
    match whom {
        Target::Pipe => command.arg("-").stdin(File::open(file)?),
        _ => command.arg(file).stdin(Stdio::null()),
    };
    let text = lines::parse(&String::from_utf8_lossy(&program::output(command)?.stdout));
    Ok(Text { in_turn: !matches!(whom, Target::Command | Target::Process), ..text })
}
