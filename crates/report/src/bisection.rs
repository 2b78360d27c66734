//! The result of a bisection, on a terminal.

use crate::document::{Block, Document, Tone};
use crate::labels::capital;
use crate::number::effect_text;
use crate::table::{Align, Table};
use schedlab_analyze::{BisectFindings, BisectMember, BisectOutcome, metric_name};
use schedlab_plan::counted;

/// Members less probable than this are left out of the table; the JSON has all.
const SHOWN: f64 = 0.01;

/// The answer, the effect, and the other places where the change may be.
pub fn bisection(found: &BisectFindings) -> Document {
    let mut page = Document::default();
    let tone = match found.answer {
        BisectOutcome::Change { .. } => Tone::Good,
        BisectOutcome::Reversed => Tone::Bad,
        _ => Tone::Open,
    };
    let mut cost = format!(
        "{}, {} {}, {} trials with warm-up",
        counted(found.rounds, "rounds"),
        found.units,
        found.unit_name,
        found.trials
    );
    // If the answer is that there is nothing to find, the error rate is not controlled: a small change may be missed.
    if matches!(found.answer, BisectOutcome::Change { .. }) {
        cost += &format!("; the chance of a wrong answer is kept at {:.0} %", 100.0 * found.error);
    }
    page.add("", vec![Block::Headline(capital(&found.sentence), tone), Block::Text(cost)]);
    let name = metric_name(&found.metric);
    let effects = [("bad against good end, until they differ", &found.ends), ("size of the change", &found.change)];
    // If no change is looked for, none has a size or a place.
    let is_looked_for = found.units > 0 && !matches!(found.answer, BisectOutcome::Nothing | BisectOutcome::Reversed);
    let terms = effects.iter().take(1 + usize::from(is_looked_for)).filter_map(|(what, effect)| {
        Some(((*what).to_owned(), format!("{name} {}", effect_text(effect.as_ref()?, &found.unit))))
    });
    page.add("", vec![Block::Terms(terms.collect())]);
    let mut table = Table::new(&[("", Align::Right), ("member", Align::Left), ("probability", Align::Right)]);
    for member in found.members.iter().filter(|member| is_looked_for && member.probability >= SHOWN) {
        let BisectMember { index, name, probability, .. } = member;
        // It stands also for the members before it that could not be tried.
        let before = found.members.iter().take(*index).rev().take_while(|member| member.skipped.is_some()).count();
        let (which, name) = match before {
            0 => (index.to_string(), name.clone()),
            _ => (format!("{}–{index}", index - before), format!("one of these, {name} at the latest")),
        };
        table.push(vec![which.into(), name.into(), format!("{:.1} %", (100.0 * probability).min(99.9)).into()]);
    }
    page.add("", Block::table(table).into_iter().collect());
    let skipped = found.members.iter().filter_map(|member| {
        Some(format!("{} `{}` could not be tried: {}", member.index, member.name, member.skipped.as_ref()?))
    });
    if let Some(list) = Block::warnings(skipped) {
        page.add("", vec![list]);
    }
    found.why.iter().map(crate::why::why).fold(page, Document::and)
}
