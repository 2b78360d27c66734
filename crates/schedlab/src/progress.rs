//! The progress line on standard error: how far the run is, how long it will still take, and the estimate with its
//! interval. On a terminal it is rewritten; in a log there is a line for each look, or for each tenth of a run without
//! looks. Single events are also written to the run's log.

mod line;
mod remaining;

use crate::output::say;
use line::Line;
use remaining::Remaining;
use schedlab_analyze::Scale;
use schedlab_plan::manifest::Design;
use schedlab_plan::plain;
use schedlab_plan::units::format_ns;
use schedlab_plan::{MIN_UNITS, Manifest, Mark, OneByOne, TrialRecord, TrialStatus, WorkloadSpec, counted};
use schedlab_run::RunLog;
use schedlab_trial::Event;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Receives the events of the trial loop.
pub(crate) struct Progress {
    line: Line,
    block: Option<(u32, u32)>,
    remaining: Remaining,
    /// The latest estimates, as text.
    state: String,
    /// When the run and the workload began.
    began: [Instant; 2],
    /// When the next interval may be computed.
    next_interval: Instant,
    /// Names, in the manifest's order.
    arms: Vec<String>,
    /// The shortest unique name of each workload.
    workloads: Vec<String>,
    log: RunLog,
}

impl Progress {
    /// For a new run, or for one that continues if it has `trials` already.
    pub(crate) fn new(manifest: &Manifest, trials: &[TrialRecord], log: RunLog) -> Self {
        let arms = manifest.arms.iter().map(|arm| arm.name.clone()).collect();
        let settings = || manifest.arms.iter().flat_map(|arm| &arm.settings);
        let shared: Vec<WorkloadSpec> = manifest.workloads.iter().map(|own| own.shared_by(settings())).collect();
        let all = || shared.iter().enumerate();
        let label = |(own, workload): (usize, &WorkloadSpec)| {
            workload.label_among(all().filter(|(other, _)| *other != own).map(|(_, other)| other))
        };
        let workloads = all().map(label).collect();
        let before: BTreeSet<_> = trials.iter().filter(|t| !t.warm_up).map(|t| (t.workload, t.block)).one_by_one();
        let (design, before) = (manifest.design.clone(), before.len() as u32);
        let remaining = Remaining { design, workloads: manifest.workloads.len() as u32, begun: 0, before, done: 0 };
        let now = Instant::now();
        let began = [now, now];
        let mut progress = Self {
            line: Line::new(),
            block: None,
            remaining,
            state: String::new(),
            began,
            next_interval: now,
            arms,
            workloads,
            log,
        };
        progress.say(&format!("{}: seed {}", manifest.title, manifest.seed));
        if !trials.is_empty() {
            progress.say(&format!("resumed after {}", counted(trials.len(), "trials")));
        }
        progress
    }

    fn say(&mut self, line: &str) {
        let line = &plain::line(line);
        self.line.say(line);
        self.note(line);
    }

    /// Writes only to the run's log. If the log cannot be written, as on a full disk, neither can the next trial be
    /// stored, and that error is the one to report.
    pub(crate) fn note(&self, line: &str) {
        let _ = self.log.line(&plain::line(line));
    }

    /// The arm of a trial; a switchback trial has all arms.
    fn arm(&self, arm: Option<u32>) -> String {
        let name = arm.and_then(|arm| self.arms.get(arm as usize));
        name.map_or("both arms".into(), |name| format!("arm `{name}`"))
    }

    pub(crate) fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Workload { .. } => {
                self.block = None;
                self.state.clear();
                self.remaining.begun += 1;
                self.began[1] = Instant::now();
            }
            Event::Trial { record, trials, manifest } => self.trial(record, trials, manifest),
            Event::Forecast { workload, block_ns, blocks, trials, manifest } => {
                // A round of a study has too few blocks for a verdict, and needs none.
                let enough = Some(*blocks as usize).filter(|&blocks| blocks >= MIN_UNITS);
                let detectable = enough
                    .and_then(|blocks| schedlab_analyze::forecast(manifest, trials, *workload, blocks))
                    .map(|forecast| format!("; by the pilot, {}", forecast.sentence))
                    .unwrap_or_default();
                let most = if matches!(manifest.design, Design::OpenEnded { .. }) { " at most" } else { "" };
                let all = Duration::from_nanos(block_ns.saturating_mul(u64::from(*blocks)));
                self.say(&format!(
                    "{}: {} of {}, about {}{most}{detectable}",
                    self.workloads[*workload as usize],
                    counted(*blocks, "blocks"),
                    format_ns(block_ns / 1_000_000 * 1_000_000),
                    remaining::about(all),
                ));
            }
            Event::ArmDropped { arm, reason, .. } => {
                self.say(&format!("{} could not be applied and is left out: {reason}", self.arm(Some(*arm))))
            }
            Event::Look { look, trials, manifest } => {
                self.state = interval_line(manifest, trials, look.workload);
                let line = self.where_it_is(look.workload, look.blocks.saturating_sub(1), &self.state);
                self.say(&line);
            }
            Event::Ended { workload, reason } => {
                let which = if self.workloads.len() > 1 {
                    format!("{} ", self.workloads[*workload as usize])
                } else {
                    String::new()
                };
                self.say(&format!("{which}ended: {reason}"));
            }
        }
    }

    fn trial(&mut self, record: &TrialRecord, trials: &[TrialRecord], manifest: &Manifest) {
        if let TrialStatus::Failed(reason) = &record.status {
            self.say(&format!("trial {} of {} failed: {reason}", record.trial, self.arm(record.arm)));
        }
        for mark in &record.marks {
            // On a shared machine they are many, so the report only counts them.
            self.note(&format!("trial {} of {}: {}", record.trial, self.arm(record.arm), mark_text(mark)));
        }
        let block = (record.workload, record.block);
        if record.warm_up || self.block == Some(block) {
            self.line.tick();
            return;
        }
        if self.block.replace(block).is_some() {
            self.remaining.done += 1;
        }
        // With a budget the interval is shown at the looks, because computing it in between would take time from the
        // trials. Otherwise it may take a hundredth of the time, because its cost grows with the run; a log has ten of
        // them.
        let (looks, is_tenth) = match manifest.design {
            Design::Fixed { blocks: most } | Design::OpenEnded { max_blocks: most } => {
                (false, Remaining::is_tenth(record.block, most))
            }
            Design::Budgeted { .. } => (true, false),
        };
        if !self.line.terminal && !is_tenth {
            return;
        }
        let now = Instant::now();
        if !looks && (!self.line.terminal || now >= self.next_interval) {
            self.state = interval_line(manifest, trials, record.workload);
            self.next_interval = now + 100 * now.elapsed();
        }
        let line = plain::line(&self.where_it_is(record.workload, record.block, &self.state));
        if self.line.terminal { self.line.set(line) } else { say(&line) }
    }

    /// `pipe: block 5 of 14, about 0:12 left: B -8 % [-28, +19]`.
    fn where_it_is(&self, workload: u32, block: u32, state: &str) -> String {
        let [of_run, of_workload] = self.began.map(|began| began.elapsed());
        let remaining = self.remaining.say(block, of_run, of_workload);
        let colon = if state.is_empty() { "" } else { ": " };
        format!("{}: {remaining}{colon}{state}", self.workloads[workload as usize])
    }

    pub(crate) fn finish(&mut self) {
        self.line.clear();
    }
}

fn mark_text(mark: &Mark) -> String {
    match mark {
        Mark::Steal { share } => format!("steal {:.1} %", share * 100.0),
        Mark::Thermal { evidence } => format!("thermal: {evidence}"),
        Mark::Pause { evidence } => format!("a pause of {evidence} before it"),
        Mark::Foreign { what } => format!("changed under us: {what}"),
    }
}

/// Contrasts in a line before `N more`; one more is shown if it is the last.
const MAX_CONTRASTS: usize = 4;

/// The first primary contrasts so far, `B +3.4 % [+2.6, +4.2]`; empty before there is an interval.
fn interval_line(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> String {
    if manifest.factorial.is_some() {
        // Its arms are not separate questions, and they are many.
        return String::new();
    }
    let contrasts = schedlab_analyze::primary_contrasts(manifest, trials, workload);
    let metrics: BTreeSet<&str> = contrasts.iter().map(|c| c.metric.as_str()).collect();
    let line = contrasts.iter().filter_map(|c| {
        // A difference has the unit of its metric, which is not known here.
        let effect = c.contrast.effect.filter(|effect| effect.scale == Scale::Ratio)?;
        let arm = manifest.arms.get(c.contrast.arm as usize)?;
        let on = if metrics.len() > 1 { format!(" {}", c.metric) } else { String::new() };
        Some(format!("{}{on} {}", arm.name, schedlab_report::effect_text(&effect, "")))
    });
    short_list(line.collect())
}

/// The first few in a line, and how many others there are.
fn short_list(mut all: Vec<String>) -> String {
    let others = all.len().saturating_sub(MAX_CONTRASTS);
    // "And one more" would be as long as the one itself.
    if others > 1 {
        all.truncate(MAX_CONTRASTS);
        all.push(format!("{others} more"));
    }
    all.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::short_list;

    #[test]
    fn a_line_has_at_most_five_contrasts_and_counts_the_others() {
        let line = |count: usize| short_list((1..=count).map(|n| n.to_string()).collect());
        assert_eq!([line(0), line(1), line(5)], ["", "1", "1 · 2 · 3 · 4 · 5"]);
        assert_eq!([line(6), line(40)], ["1 · 2 · 3 · 4 · 2 more", "1 · 2 · 3 · 4 · 36 more"]);
    }
}
