//! The command of the run, its plan, and the place of its rows.

use super::Subject;
use crate::document::{Block, Section};
use crate::labels;

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let manifest = subject.input.manifest;
    let more = || {
        let rows = format!(
            "Raw data: the run directory, format {}: manifest.json, and tables/ in Parquet (trials, metrics, histograms, \
             counters, tasks), which pandas, Polars and DuckDB read as they are. The same findings as JSON: schedlab report \
             RUN --json.",
            manifest.format_version
        );
        let plan = (!manifest.plan_toml.is_empty()).then(|| Block::Verbatim(manifest.plan_toml.clone()));
        [Block::Text(rows)].into_iter().chain(plan).collect()
    };
    let blocks = vec![
        Block::Text(format!("schedlab {}:", manifest.schedlab_version)),
        Block::Command(labels::shell(&subject.input.findings.command)),
        Block::More("The raw data, and the whole plan, as run".into(), Box::new(more)),
    ];
    vec![Section::body("repeat", "Repeat it", blocks)]
}
