//! `schedlab list`: names and forms, from the tables the program itself uses.

use super::report::terminal_width;
use crate::cli::{List, Listing};
use crate::exit;
use crate::output::{print_line, to_stdout};
use anyhow::Result;
use schedlab_report::terms_text;
use schedlab_run::setting::SETTING_FORMS;
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn run(args: &List) -> Result<u8> {
    let wanted = |listing| args.what.is_none() || args.what == Some(listing);
    if args.json {
        let mut all = serde_json::Map::new();
        if wanted(Listing::Workloads) {
            all.insert("workloads".into(), workloads());
        }
        if wanted(Listing::Knobs) {
            all.insert(
                "knobs".into(),
                SETTING_FORMS.iter().map(|(k, form, m)| json!({"key": k, "form": form, "meaning": m})).collect(),
            );
        }
        if wanted(Listing::Counters) {
            let rows = schedlab_record::COUNTERS.iter();
            all.insert(
                "counters".into(),
                rows.map(|(n, s, d)| json!({"name": n, "source": s, "meaning": d})).collect(),
            );
            all.insert("topdown".into(), topdown());
        }
        if wanted(Listing::Analyses) {
            all.insert(
                "analyses".into(),
                serde_json::to_value(schedlab_analyze::trace::all_definitions().collect::<Vec<_>>())?,
            );
        }
        print_line(schedlab_run::json::pretty(&Value::Object(all))?)?;
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
        let rows = schedlab_analyze::trace::all_definitions().map(|d| (d.id.to_owned(), d.means.to_owned()));
        section("Metrics of traces (schedlab trace)", rows.collect(), out)?;
    }
    Ok(())
}

fn of_workload(w: &schedlab_bench::WorkloadInfo) -> Vec<(String, String)> {
    let mut rows = vec![("reference".into(), w.twin.to_owned()), ("operation".into(), w.operation.to_owned())];
    if !w.shorthand.is_empty() {
        rows.push(("short form".into(), format!("{}:{}", w.name, w.shorthand)));
    }
    rows.extend(w.options.iter().map(|o| (format!("{}={}", o.name, o.form), format!("{} [{}]", o.doc, o.default))));
    rows
}

fn workloads() -> Value {
    let option =
        |o: &schedlab_bench::OptionDoc| json!({"name": o.name, "form": o.form, "default": o.default, "doc": o.doc});
    let rows = schedlab_bench::WORKLOADS.iter().map(|w| {
        json!({
            "id": format!("{}/{}", w.name, w.version), "twin": w.twin, "summary": w.summary, "operation": w.operation,
            "primary": w.primary, "shorthand": w.shorthand, "options": w.options.iter().map(option).collect::<Value>(),
        })
    });
    rows.collect()
}

/// Tables of top-down formulas, and the one for this machine or why it has none.
fn topdown_tables() -> Vec<(String, String)> {
    let tables = schedlab_record::topdown::TABLES.into_iter();
    let mut rows: Vec<(String, String)> = tables.map(|t| (t.id.into(), format!("{} [{}]", t.cpus, t.source))).collect();
    rows.push(match schedlab_record::topdown::table_of(&schedlab_record::Roots::default()) {
        Ok(table) => ("here".into(), table.id.into()),
        Err(why) => ("none here".into(), why),
    });
    rows
}

fn topdown() -> Value {
    let row = |table: &schedlab_record::topdown::Table| {
        let nodes: Vec<&str> = table.paths().collect();
        json!({"id": table.id, "cpus": table.cpus, "source": table.source, "missing": table.missing, "nodes": nodes})
    };
    let here = schedlab_record::topdown::table_of(&schedlab_record::Roots::default());
    json!({
        "tables": schedlab_record::topdown::TABLES.into_iter().map(row).collect::<Value>(),
        "here": here.as_ref().map(|t| t.id).ok(),
        "why_not": here.err(),
    })
}
