//! The head of a report: its main result, its further results, and what was compared.

use super::Subject;
use crate::document::{Block, Landmark, Section, Tone};
use crate::{labels, pictures, remarks};
use schedlab_analyze::{Claim, Findings};

/// The main result of a report, as a sentence.
pub(crate) fn headline(findings: &Findings) -> (String, Tone) {
    match (&findings.void, findings.claims.first()) {
        (Some(why), _) => (format!("VOID, nothing is compared: {why}"), Tone::Bad),
        (_, Some(claim)) => (claim.sentence.clone(), Tone::from(&claim.verdict)),
        _ => ("No claim: there is nothing to compare.".to_owned(), Tone::None),
    }
}

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let (text, tone) = headline(findings);
    let questions = Box::new(|| Vec::from_iter(pictures::all_questions(&subject.input)));
    let mut blocks = vec![Block::Headline(text, tone), Block::Pictures(questions)];
    let (head, more) = remarks::claims(findings);
    let said = |claims: &[&Claim]| {
        let claims = Vec::from_iter(claims.iter().map(|c| (c.sentence.clone(), c.verdict.clone())));
        (!claims.is_empty()).then_some(Block::Claims(claims))
    };
    // The first claim is the headline, unless the headline says that nothing is judged.
    blocks.extend(said(head.get(usize::from(findings.void.is_none())..).unwrap_or_default()));
    if !more.is_empty() {
        blocks.push(Block::Text(format!("{}; see the tables.", remarks::more_claims(more.len()))));
        blocks.push(Block::More("These claims".into(), Box::new(move || Vec::from_iter(said(&more)))));
    }
    vec![Section { landmark: Landmark::Head, ..Section::body("claims", "", blocks) }]
}

/// The arms: name, settings, role.
pub(super) fn arms<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let term = |(arm, name): (u32, String)| {
        let spec = findings.arms.get(arm as usize).map_or("", |a| a.spec.as_str());
        (name, format!("{}{}", labels::spec(findings, spec), labels::arm_role(findings, arm)))
    };
    let arms = Block::Arms(labels::arms(findings).into_iter().map(term).collect());
    let section = Section { landmark: Landmark::Legend, ..Section::body("arms", "Arms", vec![arms]) };
    (!findings.arms.is_empty()).then_some(section).into_iter().collect()
}
