//! `schedlab report RUN`, and the writing of reports for `run`, `ab`, `compare` and `import`.

use super::{destination, search};
use crate::cli::{OutputOptions, Report, RunOutput};
use crate::exit::{self, usage};
use crate::output::{colour, print_findings, say, terminal_width, to_stdout, write_file};
use crate::session;
use anyhow::{Context, Result};
use schedlab_analyze::{FailOn, Findings};
use schedlab_plan::json::Room;
use schedlab_plan::{Manifest, TrialRecord, shell_words};
use schedlab_report::{Input, More};
use schedlab_sys::places;
use schedlab_trial::Stop;
use std::path::{Path, PathBuf};

pub(super) fn run(args: &Report) -> Result<u8> {
    for (option, file) in [("--html", &args.html), ("--md", &args.md)] {
        destination::check(option, file.as_deref(), &[&args.run], false)?;
    }
    if let Some(found) = search::report(&args.run)? {
        return of_search(&found, args);
    }
    let run = open(&args.run)?;
    let findings = schedlab_analyze::compare(&run.manifest, &run.trials);
    let input = Input { manifest: &run.manifest, trials: &run.trials, findings: &findings };
    if let Some(file) = &args.html {
        write_file(file, |out| schedlab_report::html(&input, out))?;
    }
    if let Some(file) = &args.md {
        write_file(file, |out| schedlab_report::markdown(&input, out))?;
    }
    if let Some(dir) = &args.svg {
        write_pictures(dir, schedlab_report::pictures(&input))?;
    }
    if prints(args) {
        let page = page_of(&args.run);
        let more = More {
            page: if page.exists() { page.display().to_string() } else { String::new() },
            command: full_report_command(&args.run),
        };
        print(&input, form(&args.answer, args.full), &more)?;
    }
    Ok(exit::DONE)
}

fn of_search(found: &schedlab_analyze::SearchFindings, args: &Report) -> Result<u8> {
    let page = schedlab_report::search(found);
    if let Some(file) = &args.html {
        write_file(file, |out| page.html(&found.title, out))?;
    }
    if let Some(file) = &args.md {
        write_file(file, |out| page.markdown(out))?;
    }
    if let Some(dir) = &args.svg {
        let pictures = schedlab_report::search_pictures(found);
        if pictures.is_empty() {
            usage!(
                "the report of a search has a picture if there are two objectives; those of its rounds: \
                 schedlab report DIR/rounds/001 --svg"
            );
        }
        write_pictures(dir, pictures)?;
    }
    if prints(args) {
        print_findings(&args.answer, "", found, schedlab_report::search)?;
    }
    Ok(exit::DONE)
}

/// With output files only, nothing is printed unless requested.
fn prints(args: &Report) -> bool {
    args.answer.json || args.full || args.html.is_none() && args.md.is_none() && args.svg.is_none()
}

fn write_pictures(dir: &Path, pictures: Vec<(String, String)>) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    for (name, svg) in pictures {
        let file = dir.join(format!("{name}.svg"));
        places::write_whole(&file, 0o666, svg.as_bytes())
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// Opens a run, sealed or not, and prints on standard error what a reader must know about it.
pub(super) fn open(dir: &Path) -> Result<schedlab_run::Run> {
    let run = session::packed(dir)?;
    if !run.sealed {
        say(format_args!(
            "schedlab: {} is not sealed: it was interrupted or is still running ({} so far)",
            dir.display(),
            schedlab_plan::counted(run.trials.len(), "trials")
        ));
    }
    for problem in &run.problems {
        say(format_args!("schedlab: {}: {problem}", dir.display()));
    }
    Ok(run)
}

/// The schema of a comparison's findings.
const FINDINGS: &str = "schedlab/findings/2";

/// How a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// At most 25 lines of text.
    Summary,
    /// The whole report as text.
    Full,
    /// As JSON, as long as `--top` allows.
    Json(Option<usize>),
}

/// From the options.
pub(super) fn form(answer: &OutputOptions, full: bool) -> Form {
    match (answer.json, full) {
        (true, _) => Form::Json(answer.top),
        (_, true) => Form::Full,
        _ => Form::Summary,
    }
}

/// The HTML page of a run directory.
fn page_of(dir: &Path) -> PathBuf {
    dir.join("report.html")
}

/// The command that prints the whole report of a run.
pub(super) fn full_report_command(dir: &Path) -> String {
    shell_words::join(["schedlab", "report", &dir.display().to_string(), "--full"])
}

/// Prints the report on standard output.
pub(super) fn print(input: &Input<'_>, form: Form, more: &More) -> Result<()> {
    to_stdout(|out| match form {
        Form::Json(top) => writeln!(out, "{}", schedlab_plan::json::answer(FINDINGS, input.findings, Room::of(top))?),
        Form::Full => schedlab_report::text(input, terminal_width(), colour(), out),
        Form::Summary => schedlab_report::summary(input, more, terminal_width(), colour(), out),
    })
}

/// Finishes an experiment: prints the report, writes the HTML file into the run directory, and returns the exit code.
/// The text comes first, because it needs no disk space.
pub(super) fn conclude(dir: &Path, manifest: &Manifest, trials: &[TrialRecord], output: &RunOutput) -> Result<u8> {
    let findings = schedlab_analyze::compare(manifest, trials);
    let input = Input { manifest, trials, findings: &findings };
    let html = page_of(dir);
    let form = form(&output.answer, output.full);
    print(&input, form, &More { page: html.display().to_string(), command: full_report_command(dir) })?;
    write_file(&html, |out| schedlab_report::html(&input, out))?;
    if form != Form::Summary {
        say(format_args!("report: {}", html.display()));
    }
    Ok(exit_code(&findings, output.fail_on.is_some()))
}

/// 5 for a void run, and for one in which the control or all other arms are not applied, whatever the options; 3 and 4
/// only with `--fail-on worse`.
pub(super) fn exit_code(findings: &Findings, fail_on_worse: bool) -> u8 {
    let asked: &[FailOn] =
        if fail_on_worse { &[FailOn::Void, FailOn::Worse, FailOn::Inconclusive] } else { &[FailOn::Void] };
    if findings.ended == Stop::NothingToCompare.reason() {
        return exit::VOID;
    }
    schedlab_analyze::exit_status(findings, asked)
}
