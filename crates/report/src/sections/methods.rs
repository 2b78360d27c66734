//! How the verdicts were obtained: design, rules, and how the run ended.

use super::Subject;
use crate::document::{Block, Section};
use crate::labels;
use crate::number::given;

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let rules = &subject.input.findings.rules;
    let rule = format!(
        "Design: {}; smallest effect of interest {}, two-sided error rate {}; stamping: {}; seed {}.",
        rules.design,
        given(rules.sesoi),
        given(rules.alpha),
        rules.stamping,
        rules.seed
    );
    let ended = labels::ended(&subject.input.findings.ended);
    let all = [rule].into_iter().chain(ended).chain(rules.methods.iter().cloned());
    vec![Section::body("methods", "Methods", Vec::from_iter(Block::list(all)))]
}
