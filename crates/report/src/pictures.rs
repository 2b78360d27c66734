//! Findings to charts: which picture shows what, its name, and its description for those who do not see it. The HTML file
//! inlines them; `--svg` writes them as files.

mod contrasts;
mod designs;
mod shapes;
mod trials;

use crate::Input;
use crate::chart::{ArmKey, Draw};
use schedlab_analyze::{Findings, WorkloadFindings};

pub(crate) use designs::scaling;

/// Width of a picture that is a file of its own, px.
const FILE_WIDTH: f64 = 760.0;

/// What a picture is about, which decides where it stands on a page.
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

/// A chart with its words.
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
    /// Half a page wide where the page has two columns.
    pub(crate) fn is_half(&self) -> bool {
        matches!(self.kind, Kind::Distribution | Kind::Latency | Kind::Placement | Kind::Variance)
    }
}

/// Every chart as a file of its own: `(name, svg)`, names without `.svg`, in the order of the report.
pub fn pictures(input: &Input<'_>) -> Vec<(String, String)> {
    let scalings = (0..input.findings.scalings.len()).filter_map(|number| scaling(input.findings, number));
    let all = scalings.chain((0..input.findings.workloads.len()).flat_map(|w| of_workload(input, w)));
    all.map(|p| (p.name, p.chart.draw(FILE_WIDTH).standalone(&p.title, &p.description))).collect()
}

/// The charts of one workload, in the order of the report. A chart without content is absent.
pub(crate) fn of_workload(input: &Input<'_>, index: usize) -> Vec<Picture> {
    let findings = input.findings;
    let Some(workload) = findings.workloads.get(index) else { return Vec::new() };
    let stem = format!("{}-{}", index + 1, slug(&crate::words::workload_label(findings, workload)));
    let place = Place { findings, workload, stem: &stem };
    let mut all = Vec::new();
    all.extend(designs::main_effects(&place));
    all.extend(contrasts::primary_forest(&place));
    all.extend(trials::distributions(&place));
    all.extend(shapes::latencies(&place));
    all.extend(trials::timelines(&place, input));
    all.extend(shapes::placement(&place));
    all.extend(shapes::variance(&place));
    all.extend(shapes::counters(&place));
    all.extend(contrasts::other_forest(&place));
    all
}

/// The workload a picture is drawn of.
pub(crate) struct Place<'a> {
    findings: &'a Findings,
    workload: &'a WorkloadFindings,

    stem: &'a str,
}

impl Place<'_> {
    fn picture(&self, kind: Kind, name: &str, title: String, caption: &str, chart: Box<dyn Draw>) -> Picture {
        let description = format!("{title}, workload {}. {caption}", self.workload.spec);
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
        crate::words::arm_name(self.findings, arm).to_owned()
    }

    fn arm_keys(&self) -> Vec<ArmKey> {
        (0..self.findings.arms.len() as u32).map(|arm| ArmKey { arm, name: self.arm_name(arm) }).collect()
    }
}

/// Letters, digits and single dashes, at most 40: a file name anywhere.
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
