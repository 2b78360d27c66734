//! `schedlab list`: names and syntax, from the tables that the program itself uses.

mod answer;

use crate::cli::{List, Listing};
use crate::exit;
use crate::output::{print_answer, terminal_width, to_stdout};
use answer::Listed;
use anyhow::Result;
use schedlab_plan::setting::SETTING_FORMS;
use schedlab_report::terms_text;
use std::io::{self, Write};

pub(super) fn run(args: &List) -> Result<u8> {
    let wanted = |listing| args.what.is_none() || args.what == Some(listing);
    if args.answer.json {
        print_answer("schedlab/list/1", &Listed::of(&wanted), args.answer.top)?;
        return Ok(exit::DONE);
    }
    to_stdout(|out| text(&wanted, out))?;
    Ok(exit::DONE)
}

fn text(wanted: &impl Fn(Listing) -> bool, out: &mut dyn Write) -> io::Result<()> {
    let mut apart = "";
    let mut section = |heading: &str, rows: Vec<(String, String)>, out: &mut dyn Write| {
        write!(out, "{}", std::mem::replace(&mut apart, "\n"))?;
        terms_text(heading, &rows, terminal_width(), out)
    };
    if wanted(Listing::Workloads) {
        for w in schedlab_bench::WORKLOADS {
            section(&format!("{}/{}: {}", w.name, w.version, w.summary), of_workload(w), out)?;
        }
    }
    if wanted(Listing::Knobs) {
        let rows = SETTING_FORMS.iter().map(|(_, form, meaning)| ((*form).into(), (*meaning).into()));
        section("Knobs (join them with `;` in --a, --b, --set or a plan's `set`)", rows.collect(), out)?;
        writeln!(out, "  `schedlab tune catalog`: every knob, its kernels, and what it does")?;
    }
    if wanted(Listing::Counters) {
        let rows = schedlab_record::COUNTERS.iter();
        let rows = rows.map(|(name, source, meaning)| ((*name).into(), format!("{meaning} [{source}]")));
        section("Counters", rows.collect(), out)?;
        section("Top-down tables (--counters topdown)", topdown_tables(), out)?;
    }
    if wanted(Listing::Analyses) {
        let rows = schedlab_report::trace_definitions().map(|d| (d.id.to_owned(), d.means.to_owned()));
        section("Metrics of traces (schedlab trace)", rows.collect(), out)?;
    }
    Ok(())
}

fn of_workload(w: &schedlab_bench::WorkloadInfo) -> Vec<(String, String)> {
    let mut rows = vec![("reference".into(), w.reference.to_owned()), ("operation".into(), w.operation.to_owned())];
    if !w.shorthand.is_empty() {
        rows.push(("short form".into(), format!("{}:{}", w.name, w.shorthand)));
    }
    rows.extend(w.options.iter().map(|o| (format!("{}={}", o.name, o.form), format!("{} [{}]", o.doc, o.default))));
    rows
}

/// Tables of top-down formulas, and the one for this machine or the reason why there is none.
fn topdown_tables() -> Vec<(String, String)> {
    let tables = schedlab_record::topdown::TABLES.into_iter();
    let mut rows: Vec<(String, String)> = tables.map(|t| (t.id.into(), format!("{} [{}]", t.cpus, t.source))).collect();
    rows.push(match schedlab_record::topdown::table_of(&schedlab_record::Roots::default()) {
        Ok(table) => ("here".into(), table.id.into()),
        Err(why) => ("none here".into(), why),
    });
    rows
}
