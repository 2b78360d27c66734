//! What the arms of a sweep gain in one question and lose in another.

use super::Subject;
use crate::document::{Block, Make, Section};
use crate::labels;
use crate::number::{NONE, effect_text};
use crate::pictures::{self, Picture};
use crate::table::{Align, Names, Table};
use schedlab_analyze::{Findings, MetricFindings, Tradeoff, TradeoffObjective, Verdict};

const KEY: &str = "The Pareto front: arms that no other beats in every column. Neighbours whose intervals overlap may \
                   not differ. Which of them is best depends on what the machine is for.";

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let section = |tradeoff: &'a Tradeoff| {
        let picture: Make<'a, Picture> = Box::new(move || Vec::from_iter(pictures::tradeoff(&subject.input)));
        let (front, compared) = (tradeoff.front.len(), tradeoff.compared);
        let decided =
            if has_verdict(findings, tradeoff) { "" } else { " No arm has a verdict in any of these questions." };
        let lead = format!("By the estimates {front} of {compared} arms are beaten by no other.{decided}");
        let blocks = vec![
            Block::Pictures(picture),
            Block::Text(lead),
            Block::Table(table(findings, tradeoff)),
            Block::Aside(KEY.into()),
        ];
        Section::body("tradeoff", "What is gained here and lost there", blocks)
    };
    findings.tradeoff.as_ref().map(section).into_iter().collect()
}

/// Whether any arm is better or worse in an objective.
fn has_verdict(findings: &Findings, tradeoff: &Tradeoff) -> bool {
    let metrics = tradeoff.objectives.iter().filter_map(|of| labels::metric_of(findings, of));
    let mut verdicts = metrics.flat_map(|metric| metric.contrasts.iter().map(|contrast| &contrast.verdict));
    verdicts.any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
}

/// A row for each arm of the front, with its change in each objective.
fn table(findings: &Findings, tradeoff: &Tradeoff) -> Table {
    let titles: Vec<String> =
        tradeoff.objectives.iter().map(|of| labels::objective(findings, of, &tradeoff.objectives)).collect();
    let header = [("arm", Align::Left)].into_iter().chain(titles.iter().map(|title| (title.as_str(), Align::Right)));
    let mut table = Table::new(&header.collect::<Vec<_>>());
    table.names = Some(Names::Column(0));
    for arm in &tradeoff.front {
        let name = labels::arm_name(findings, *arm);
        let change = |of: &TradeoffObjective| labels::metric_of(findings, of).map_or(NONE.into(), |m| change(m, *arm));
        let cells = [name.into()].into_iter().chain(tradeoff.objectives.iter().map(|of| change(of).into()));
        table.push(cells.collect());
    }
    table
}

fn change(metric: &MetricFindings, arm: u32) -> String {
    let contrast = metric.contrasts.iter().find(|contrast| contrast.arm == arm);
    match contrast.map(|contrast| contrast.effect) {
        None => "control".into(),
        Some(effect) => effect.map_or_else(|| NONE.into(), |effect| effect_text(&effect, &metric.unit)),
    }
}
