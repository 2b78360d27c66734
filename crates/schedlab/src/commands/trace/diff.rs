//! `schedlab trace diff A B`: compares two traces, or two sets of traces.

use super::super::destination;
use super::files::{open, trace_in};
use super::most;
use super::traces::{self, Traced};
use crate::cli::OutputOptions;
use crate::exit::usage;
use crate::output::write_file;
use crate::output::{print_findings, print_line};
use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use schedlab_analyze::trace::diff::{TraceMetrics, TraceSurvey, compared, decides, look, measure, wanted};
use schedlab_analyze::trace::{DiffOptions, TaskFilter, diff};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Sides {
    /// The trace to compare with, or a run directory: alone, its two arms are compared; with B, it must have one arm
    a: PathBuf,
    /// The other trace, or a run directory
    b: Option<PathBuf>,
    /// More traces of A; a verdict needs five on each side
    #[arg(long, value_name = "TRACE", num_args = 1.., requires = "b")]
    more_a: Vec<PathBuf>,
    /// More traces of B
    #[arg(long, value_name = "TRACE", num_args = 1.., requires = "b")]
    more_b: Vec<PathBuf>,
    /// Only threads with this name; `*` matches any characters; may be given several times
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    comm: Vec<String>,
    /// Match task names exactly (by default, digits in them are ignored)
    #[arg(long)]
    whole_names: bool,
    /// Show at most N rows of each table, 0 for all [default: 5; in JSON as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Also write an HTML page with plots of how waits differ, decile by decile
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Sides) -> Result<()> {
    let [a, b] = sides(args)?;
    let read: Vec<&Path> = a.iter().chain(&b).map(PathBuf::as_path).collect();
    destination::check("--html", args.html.as_deref(), &read, false)?;
    let tasks = TaskFilter { comms: args.comm.clone(), ..TaskFilter::default() };
    let top = args.top.map(|top| most(Some(top), 0).unwrap_or(usize::MAX));
    let options = DiffOptions { tasks, whole_names: args.whole_names, top };
    let (of_a, of_b) = (looked(&a)?, looked(&b)?);
    let used = compared(&of_a, &of_b)?;
    let in_stretches = !decides([a.len(), b.len()]);
    let measured = |files: &[PathBuf], looked: &[(String, TraceSurvey)]| -> Result<Vec<TraceMetrics>> {
        let one = |(file, (name, looked)): (&PathBuf, &(String, TraceSurvey))| {
            Ok(measure(name, &mut open(file, used.kinds)?, &options, in_stretches.then_some(*looked))?)
        };
        files.iter().zip(looked).map(one).collect()
    };
    let (a, b) = (measured(&a, &of_a)?, measured(&b, &of_b)?);
    let found = diff(&a, &b, &used, &options)?;
    if let Some(file) = &args.html {
        write_file(file, |out| schedlab_report::trace_diff(&found).html("schedlab trace diff", out))?;
    }
    if args.json {
        // In one line, because indented JSON is half as long again.
        return print_line(schedlab_plan::json::small(&found)?);
    }
    print_findings(&OutputOptions::default(), "", &found, schedlab_report::trace_diff)
}

/// The files of A and of B.
fn sides(args: &Sides) -> Result<[Vec<PathBuf>; 2]> {
    let (is_a_run, dir) = (is_run(&args.a), args.a.display());
    let Some(b) = &args.b else {
        if !is_a_run {
            std::fs::metadata(&args.a).with_context(|| format!("{dir} cannot be opened"))?;
            usage!(
                "one trace cannot be compared: give two (`trace diff {dir} OTHER`), or a run directory with two traced arms"
            );
        }
        let mut arms = traces::by_arm(&args.a)?;
        let names: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
        let (Some(b), Some(a), true) = (arms.pop(), arms.pop(), arms.is_empty()) else {
            bail!(
                "{dir} has {} with traces ({}), but a comparison has two sides: give their files, {dir}/traces/*.slt, with --more-a and --more-b",
                schedlab_plan::counted(names.len(), "arms"),
                names.join(", ")
            );
        };
        crate::output::say(format_args!("A is `{}`, B is `{}`", a.name, b.name));
        return Ok([files(a), files(b)]);
    };
    let side = |first: &Path, more: &[PathBuf]| {
        let each = std::iter::once(first).chain(more.iter().map(PathBuf::as_path)).map(of_one);
        each.collect::<Result<Vec<_>>>().map(|all| all.concat())
    };
    Ok([side(&args.a, &args.more_a)?, side(b, &args.more_b)?])
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").exists()
}

fn files(arm: Traced) -> Vec<PathBuf> {
    arm.files.into_iter().map(|(_, file)| file).collect()
}

/// A trace, or all traces of a run with one arm.
fn of_one(path: &Path) -> Result<Vec<PathBuf>> {
    if path == Path::new("-") {
        usage!("-: a trace is read twice to be compared, and standard input once: name a file");
    }
    if !is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut arms = traces::by_arm(path)?;
    match (arms.pop(), arms.is_empty()) {
        (Some(arm), true) => Ok(files(arm)),
        _ => bail!("{} has several arms with traces: give it alone, or give its trace files", path.display()),
    }
}

/// Which events each trace has. A pipe is refused, because it can be read only once.
fn looked(files: &[PathBuf]) -> Result<Vec<(String, TraceSurvey)>> {
    let one = |file: &PathBuf| {
        let name = file.display().to_string();
        let place = trace_in(file);
        if std::fs::metadata(&place).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            usage!("{name} is not a file: a trace is read twice to be compared; copy it into one first");
        }
        Ok((name, look(&mut open(file, wanted())?)?))
    };
    files.iter().map(one).collect()
}
