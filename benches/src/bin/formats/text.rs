//! Text from a tracefs instance: `trace` and `trace_pipe`, with each clock and with the options that change its
//! columns.

use super::Lab;
use super::dat::must;
use super::row::{Expected, Outcome, compare};
use anyhow::{Result, ensure};
use schedlab_benches::formats::instance::Instance;
use schedlab_benches::formats::lines;
use std::path::Path;

/// Options of a recording: 1 or 0 is written to a file below `options`.
const OPTIONS: [&[(&str, &str)]; 6] = [
    &[("irq-info", "0")],
    &[("record-tgid", "1")],
    &[("irq-info", "0"), ("record-tgid", "1")],
    &[("latency-format", "1")],
    &[("context-info", "0")],
    &[("verbose", "1"), ("latency-format", "1")],
];

/// `trace`, and the file from which reading removes events.
const FILES: [&str; 2] = ["trace", "trace_pipe"];

pub(crate) fn rows(lab: &Lab) -> Result<()> {
    let clocks = Instance::new().and_then(|instance| instance.clocks()).unwrap_or_else(|_| vec!["mono".into()]);
    for file in FILES {
        for clock in &clocks {
            lab.row(["text", "tracefs", &format!("{file}, clock {clock}")], |path| {
                row(lab, file, clock, &[], path, must(clock))
            });
        }
        for options in OPTIONS {
            let words: Vec<String> = options.iter().map(|(name, on)| format!("{name} {on}")).collect();
            // Without times, or with hexadecimal numbers in other places: these columns are not documented anywhere.
            let other = options.iter().any(|(name, _)| ["context-info", "verbose"].contains(name));
            let must = if other { Expected::Refuse } else { Expected::Agree };
            lab.row(["text", "tracefs", &format!("{file}, {}", words.join(", "))], |path| {
                row(lab, file, "mono", options, path, must)
            });
        }
    }
    Ok(())
}

fn row(lab: &Lab, file: &str, clock: &str, options: &[(&str, &str)], path: &Path, must: Expected) -> Result<Outcome> {
    let instance = Instance::new()?;
    for (name, on) in options {
        instance.write(&format!("options/{name}"), on)?;
    }
    instance.record(clock, || lab.run_load())?;
    let text = if file == "trace" { instance.read("trace")? } else { instance.pipe()? };
    std::fs::write(path, &text)?;
    let text = lines::parse(&text);
    ensure!(must == Expected::Refuse || !text.events.is_empty(), "no line is read by the reference");
    ensure!(text.lost == 0, "the kernel lost events");
    compare(lab, path, &text, must)
}
