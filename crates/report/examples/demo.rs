//! Writes every kind of report of a made-up run, or of a run directory, for viewing:
//! `cargo run -p schedlab-report --example demo [RUN] [OUT]`.

#[path = "../tests/made/mod.rs"]
mod made;

use schedlab_report::Input;
use std::fs::{File, create_dir_all, write};
use std::io::BufWriter;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let run = args.next().filter(|a| a != "-");
    let out = args.next().map_or_else(|| PathBuf::from("/tmp/report-demo"), PathBuf::from);
    let (manifest, trials) = match run {
        Some(dir) => {
            let run = schedlab_run::RunReader::open(dir.as_ref())?;
            (run.manifest, run.trials)
        }
        None => (made::manifest(), made::trials()),
    };
    let findings = schedlab_analyze::compare(&manifest, &trials);
    let input = Input { manifest: &manifest, trials: &trials, findings: &findings };
    create_dir_all(out.join("svg"))?;
    schedlab_report::html(&input, &mut BufWriter::new(File::create(out.join("report.html"))?))?;
    schedlab_report::markdown(&input, &mut File::create(out.join("report.md"))?)?;
    write(out.join("report.json"), schedlab_plan::json::pretty(&findings)?)?;
    schedlab_report::text(&input, 100, true, &mut File::create(out.join("report.txt"))?)?;
    schedlab_report::checks_text(&manifest.environment, 80, true, &mut File::create(out.join("doctor.txt"))?)?;
    if let Some(outcome) = trials.iter().find_map(|t| t.outcome.as_ref()) {
        schedlab_report::bench_text(outcome, 80, &mut File::create(out.join("bench.txt"))?)?;
    }
    for (name, svg) in schedlab_report::pictures(&input) {
        write(out.join("svg").join(format!("{name}.svg")), svg)?;
    }
    Ok(())
}
