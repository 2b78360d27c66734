//! `schedlab list`: names and forms, from the tables the program itself uses.

use crate::cli::{List, Listing};
use crate::exit;
use anyhow::Result;
use schedlab_run::setting::SETTING_FORMS;
use serde_json::{Value, json};

pub(super) fn run(args: &List) -> Result<u8> {
    let wanted = |listing| args.what.is_none() || args.what == Some(listing);
    if args.json {
        let mut all = serde_json::Map::new();
        if wanted(Listing::Workloads) {
            all.insert("workloads".into(), workloads());
        }
        if wanted(Listing::Knobs) {
            all.insert("knobs".into(), SETTING_FORMS.iter().map(|(k, form)| json!({"key": k, "form": form})).collect());
        }
        if wanted(Listing::Counters) {
            let rows = schedlab_record::COUNTERS.iter();
            all.insert(
                "counters".into(),
                rows.map(|(n, s, d)| json!({"name": n, "source": s, "meaning": d})).collect(),
            );
        }
        println!("{}", serde_json::to_string_pretty(&Value::Object(all))?);
        return Ok(exit::DONE);
    }
    if wanted(Listing::Workloads) {
        print_workloads();
    }
    if wanted(Listing::Knobs) {
        println!("knobs (join them with `;` in --a, --b, --set or a plan's `set`):");
        for (_, form) in SETTING_FORMS {
            println!("  {form}");
        }
        println!("  `schedlab tune show` prints the ones this kernel has, with their values\n");
    }
    if wanted(Listing::Counters) {
        println!("counters:");
        for (name, source, meaning) in schedlab_record::COUNTERS {
            println!("  {name:<28} {source:<20} {meaning}");
        }
    }
    Ok(exit::DONE)
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

fn print_workloads() {
    for w in schedlab_bench::WORKLOADS {
        println!("{}/{}  {}\n  twin: {}; one operation is a {}", w.name, w.version, w.summary, w.twin, w.operation);
        if !w.shorthand.is_empty() {
            println!("  shorthand: {}:{}", w.name, w.shorthand);
        }
        for o in w.options {
            println!("  {:<12} {:<24} {} [{}]", o.name, o.form, o.doc, o.default);
        }
        println!();
    }
}
