//! Claims of others about the arms and this run's answer, and which of many arms is the best.

use super::workload::Of;
use crate::document::Block;
use crate::labels;
use crate::number::effect_text;
use schedlab_analyze::{BestArm, Standing, StatementFindings, metric_name};

const KEY: &str = "Holds: the interval lies on the side that is claimed. Does not hold: an effect of interest on that side is \
                   excluded (for spreads 25 %). All intervals of the statements together are at the run's level.";
/// The answers of a run to a statement, as text.
pub(crate) const ANSWERS: [(Standing, &str); 3] =
    [(Standing::Holds, "holds"), (Standing::DoesNotHold, "does not hold"), (Standing::NotDecided, "not decided")];
/// Most arms that are named as indistinguishable from the best; more are only counted.
const NAMED: usize = 8;

/// The statements of a workload.
pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let statements = &of.workload.statements;
    let mut all: Vec<Block<'_>> = of.workload.best.iter().map(|best| Block::Text(sentence(of, best))).collect();
    if !statements.is_empty() {
        all.push(Block::Lead("What others said".into()));
        all.push(Block::Terms(statements.iter().map(answered).collect()));
        all.push(Block::Aside(KEY.into()));
    }
    all
}

/// `Best by messages a second: `m=3ms w=30ms`, +31 % [20, 43] over `default`; not distinguishable from it: …`
fn sentence(of: Of<'_>, best: &BestArm) -> String {
    let name = |arm: u32| format!("`{}`", labels::arm_name(of.findings, arm));
    let over = best.effect.map(|e| format!(", {} over {}", effect_text(&e, ""), name(0))).unwrap_or_default();
    let rest: Vec<String> = best.candidates.iter().filter(|arm| **arm != best.arm).map(|arm| name(*arm)).collect();
    let others = match rest.len() {
        0 => "all others are worse".to_owned(),
        n if n > NAMED => format!("not distinguishable from it: {n} of {} others", of.findings.arms.len() - 1),
        _ => format!("not distinguishable from it: {}", rest.join(", ")),
    };
    format!("Best by {}: {}{over}; {others}.", metric_name(&best.metric), name(best.arm))
}

/// The answer, followed by the number, the statement, and what it claims about which arms.
fn answered(said: &StatementFindings) -> (String, String) {
    let answer = ANSWERS.iter().find(|(answer, _)| *answer == said.answer).map_or("", |(_, word)| word);
    let figure = said.effect.map(|e| format!("{}: ", effect_text(&e, ""))).unwrap_or_default();
    let word = if said.claim == "same" { "as" } else { "than" };
    let than = said.than.as_ref().map(|than| format!(" {word} {than}")).unwrap_or_default();
    let reason = if said.reason.is_empty() { String::new() } else { format!("; {}", said.reason) };
    (answer.into(), format!("{figure}{} ({}: {}{than}{reason})", said.says, said.arms, said.claim))
}
