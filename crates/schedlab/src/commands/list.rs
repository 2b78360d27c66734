//! `schedlab list`: names and forms, from the tables the program itself uses.

use crate::cli::{List, Listing};
use crate::exit;
use crate::output::{print_line, to_stdout};
use anyhow::Result;
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
    if wanted(Listing::Workloads) {
        write_workloads(out)?;
    }
    if wanted(Listing::Knobs) {
        writeln!(out, "knobs (join them with `;` in --a, --b, --set or a plan's `set`):")?;
        for (_, form, meaning) in SETTING_FORMS {
            writeln!(out, "  {form:<36} {meaning}")?;
        }
        writeln!(out, "  `schedlab tune show` prints the ones this kernel has, with their values\n")?;
    }
    if wanted(Listing::Counters) {
        writeln!(out, "counters:")?;
        for (name, source, meaning) in schedlab_record::COUNTERS {
            writeln!(out, "  {name:<28} {source:<20} {meaning}")?;
        }
        write_topdown(out)?;
    }
    if wanted(Listing::Analyses) {
        writeln!(out, "\nmetrics of traces (schedlab trace):")?;
        for definition in schedlab_analyze::trace::all_definitions() {
            writeln!(out, "  {:<18} {}", definition.id, definition.means)?;
        }
    }
    Ok(())
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
fn write_topdown(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\ntop-down tables (--counters topdown):")?;
    for table in schedlab_record::topdown::TABLES {
        writeln!(out, "  {:<28} {}\n  {:<28} {}", table.id, table.cpus, "", table.source)?;
    }
    match schedlab_record::topdown::table_of(&schedlab_record::Roots::default()) {
        Ok(table) => writeln!(out, "  here: {}", table.id),
        Err(why) => writeln!(out, "  none here: {why}"),
    }
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

fn write_workloads(out: &mut dyn Write) -> io::Result<()> {
    for w in schedlab_bench::WORKLOADS {
        writeln!(out, "{}/{}  {}\n  twin: {}; one operation: {}", w.name, w.version, w.summary, w.twin, w.operation)?;
        if !w.shorthand.is_empty() {
            writeln!(out, "  shorthand: {}:{}", w.name, w.shorthand)?;
        }
        for o in w.options {
            // A long form pushes its sentence to the right, never into it.
            writeln!(out, "  {:<18} {:<24} {} [{}]", o.name, o.form, o.doc, o.default)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
