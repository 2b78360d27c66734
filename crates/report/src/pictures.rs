//! From findings to charts: which picture shows what, its name, and its description for screen readers. The HTML file
//! inlines the pictures; `--svg` writes them as files.

mod contrasts;
mod designs;
mod grid;
mod regions;
mod rows;
mod shapes;
mod tradeoff;
mod trials;

pub(crate) use rows::{Column, Rows};

use crate::Input;
use crate::chart::{ArmKey, Draw};
use crate::labels;
use schedlab_analyze::{Findings, SearchFindings, WorkloadFindings};

pub(crate) use designs::scaling;
pub(crate) use tradeoff::{searched, tradeoff};

/// Width of a picture that is a file of its own, px.
const FILE_WIDTH: f64 = 760.0;

/// The topic of a picture, which determines its place on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Forest,
    Distribution,
    Latency,
    Timeline,
    Placement,
    Counters,
    Variance,
    OtherMetrics,
}

/// A chart with its texts.
pub(crate) struct Picture {
    /// File name without `.svg`.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// How to read it.
    pub(crate) caption: String,
    /// What it shows, for a screen reader.
    pub(crate) description: String,
    pub(crate) chart: Box<dyn Draw>,
}

impl Picture {
    /// Whether it takes half of the width on a page with two columns.
    pub(crate) fn is_half(&self) -> bool {
        matches!(self.kind, Kind::Distribution | Kind::Latency | Kind::Placement | Kind::Variance)
    }

    /// The same picture with a description for screen readers.
    fn described(self, description: String) -> Self {
        Self { description, ..self }
    }
}

/// Every chart as a file of its own: `(name, svg)`, names without `.svg`, in the order of the report.
pub fn pictures(input: &Input<'_>) -> Vec<(String, String)> {
    let scalings = (0..input.findings.scalings.len()).filter_map(|number| scaling(input.findings, number));
    let place = labels::provenance(input.manifest);
    let file = |p: Picture| (p.name, p.chart.draw(FILE_WIDTH).standalone(&p.title, &place, &p.description));
    let scalings = scalings.map(file);
    let of_workload = |(index, workload): (usize, &WorkloadFindings)| {
        let rows = rows_of(input, index)?;
        let place = format!("{} · {place}", labels::workload_heading(input.findings, workload));
        let file = |p: Picture| {
            let description = format!("Workload {}. {}", labels::shared_spec(input.findings, workload), p.description);
            (p.name, p.chart.draw(FILE_WIDTH).standalone(&p.title, &place, &description))
        };
        Some(of_workload(input, index, &rows).into_iter().map(file).collect::<Vec<_>>())
    };
    let workloads = input.findings.workloads.iter().enumerate().filter_map(of_workload).flatten();
    let questions = all_questions(input).filter(|_| input.findings.workloads.len() > 1);
    let tradeoff = tradeoff(input).map(file);
    questions.map(file).into_iter().chain(tradeoff).chain(scalings).chain(workloads).collect()
}

/// The charts of a search as files, like `pictures`.
pub fn search_pictures(found: &SearchFindings) -> Vec<(String, String)> {
    let file = |p: Picture| (p.name, p.chart.draw(FILE_WIDTH).standalone(&p.title, &found.workload, &p.description));
    searched(found).map(file).into_iter().collect()
}

/// Every question of a run in one picture; `None` for a factorial, whose questions are its main effects.
pub(crate) fn all_questions(input: &Input<'_>) -> Option<Picture> {
    let places = (0..input.findings.workloads.len()).filter_map(|index| Subject::of(input, index)).collect::<Vec<_>>();
    contrasts::all_questions(&places).filter(|_| input.findings.factors.is_empty())
}

/// The trials of one workload; `None` when there is no such workload.
pub(crate) fn rows_of(input: &Input<'_>, index: usize) -> Option<Rows> {
    Subject::of(input, index).map(|place| Rows::of(&place, input))
}

/// The charts of one workload, in the order of the report. A chart without content is absent.
pub(crate) fn of_workload(input: &Input<'_>, index: usize, rows: &Rows) -> Vec<Picture> {
    let Some(place) = Subject::of(input, index) else { return Vec::new() };
    let mut all = Vec::new();
    all.extend(designs::main_effects(&place));
    all.extend(grid::curves(&place));
    all.extend(regions::pictures(&place));
    all.extend(contrasts::primary_forest(&place));
    all.extend(trials::distributions(&place, rows));
    all.extend(shapes::latencies(&place));
    all.extend(trials::timelines(&place, input, rows));
    all.extend(shapes::placement(&place));
    all.extend(shapes::variance(&place));
    all.extend(shapes::counters(&place));
    all.extend(contrasts::other_forest(&place));
    all
}

/// The workload that a picture shows.
pub(crate) struct Subject<'a> {
    findings: &'a Findings,
    workload: &'a WorkloadFindings,
    /// Its index on the page.
    index: usize,
    stem: String,
}

impl<'a> Subject<'a> {
    fn of(input: &Input<'a>, index: usize) -> Option<Self> {
        let findings = input.findings;
        let workload = findings.workloads.get(index)?;
        let stem = format!("{}-{}", index + 1, slug(&labels::workload_label(findings, workload)));
        Some(Self { findings, workload, index, stem })
    }

    fn picture(&self, kind: Kind, name: &str, title: String, caption: &str, chart: Box<dyn Draw>) -> Picture {
        let description = caption.to_owned();
        Picture {
            name: format!("{}-{}", self.stem, slug(name)),
            kind,
            title,
            caption: caption.to_owned(),
            description,
            chart,
        }
    }

    fn arm_name(&self, arm: u32) -> String {
        crate::labels::arm_name(self.findings, arm).to_owned()
    }

    /// The arms for which counters, placement and latencies are known, see [`crate::labels::fact_arms`].
    fn fact_keys(&self) -> Vec<ArmKey> {
        let named = crate::labels::fact_arms(self.findings, self.workload).into_iter();
        named.map(|(arm, name)| ArmKey { arm, name }).collect()
    }

    fn arm_keys(&self) -> Vec<ArmKey> {
        (0..self.findings.arms.len() as u32).map(|arm| ArmKey { arm, name: self.arm_name(arm) }).collect()
    }
}

/// At most 40 letters, digits and single dashes: valid as a file name everywhere.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(40) {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c.to_ascii_lowercase()),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_owned()
}
