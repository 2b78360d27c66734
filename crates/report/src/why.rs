//! The result of `schedlab why` as plain text for a mail: a paragraph, the difference under each combination of the
//! confirmed toggles, what goes with it, and how the search was done.

use crate::document::{Block, Document};
use crate::groups;
use crate::labels::verdict;
use crate::number::{effect_text, given, maybe_quantity, p_value, significant};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::{Effect, OnKernel, WhyContrast, WhyFindings, WhyKernelsFindings, metric_name};
use schedlab_plan::counted;

/// Most combinations, and most contrasts, that are printed.
const MAX_ROWS: usize = 16;

/// The findings as a page.
pub fn why(found: &WhyFindings) -> Document {
    let mut page = Document::default();
    let mut text = paragraph(found);
    if let Some(sentence) = found.groups.as_ref().and_then(groups::sentence) {
        text += &format!(" {sentence} That goes with the difference, too, and is of one trial of each arm.");
    }
    page.add(found.difference.claim.clone(), vec![Block::Text(text)]);
    let cells = Block::table(cells(found)).into_iter();
    page.add(
        format!("`{}` against `{}`, by what is switched", found.difference.arms[1], found.difference.arms[0]),
        cells.collect(),
    );
    page.add("What changes it", Block::table(contrasts(found)).into_iter().collect());
    let beside = Block::table(beside(found)).into_iter();
    let aside = "This goes with the difference; it is not shown to be its cause.".to_owned();
    page.add("What goes with it", beside.chain([Block::Aside(aside)]).collect());
    if let Some(of_groups) = &found.groups {
        let title = format!("By part of the kernel, {} per {}", of_groups.unit, of_groups.operation);
        page.add(title, Block::table(groups::table(of_groups)).into_iter().collect());
    }
    page.add("How it was looked for", how(found));
    page.0.retain(|section| !section.blocks.iter().all(|block| matches!(block, Block::Aside(_))));
    page
}

/// The answer in sentences.
fn paragraph(found: &WhyFindings) -> String {
    let difference = &found.difference;
    if !difference.is_there {
        return "No difference was shown, so no toggle was looked for. Give the plan more `trials` or longer ones, or arms that \
                differ more; the run's report says which size its trials can find."
            .into();
    }
    let toggles = counted(found.factors.len(), "toggles of the scheduler");
    if let Some(cut) = &found.cut {
        return format!("The screen of {toggles} is incomplete: {cut}.");
    }
    if !found.finished {
        return format!("The screen of {toggles} is incomplete; continue with `--resume`.");
    }
    if found.named.is_empty() {
        // The number of its blocks was computed from the spread of the first comparison.
        const MUCH_NOISE: f64 = 1.5;
        let most = found.stages.iter().map(|stage| stage.sd).fold(0.0, f64::max) / found.difference.sd;
        let noisy = if most > MUCH_NOISE && most.is_finite() {
            format!(
                " But blocks under the toggles varied {} times as much as in the comparison that this is based on, so a change of \
                 this size may have been missed: give the plan longer trials, or run it on a quieter machine.",
                significant(most, 2)
            )
        } else {
            String::new()
        };
        return format!(
            "Of the {toggles} that were varied none was found to change the ratio of the two arms by {} or more, half of the \
             difference on a log scale.{noisy} What may: what is compiled in, code outside of the scheduler, or a toggle that \
             was left out (below).",
            change_of(found.smallest)
        );
    }
    let mut text = format!("Of {toggles}, it depends on {}.", list(&found.named));
    for cell in found.cells.iter().filter(|cell| is_shown(found, &cell.switched)) {
        let interval =
            cell.change.as_ref().map(|change| format!(" (changed by {})", short(change))).unwrap_or_default();
        text += &format!(
            " With {} it is {}{interval}, instead of {}.",
            list(&cell.switched),
            change_of(cell.difference),
            change_of(found.cells[0].difference)
        );
    }
    let together: Vec<&WhyContrast> =
        found.contrasts.iter().filter(|c| c.factors.len() > 1 && c.p_adjusted <= found.alpha).collect();
    for contrast in together {
        text += &format!(" {} act together: one's change depends on the other.", list(&contrast.factors));
    }
    text + &format!(
        " The toggles were switched at random in order, on trials that were not used to choose them; the chance of naming any \
         wrongly is at most {}.",
        given(found.alpha)
    )
}

/// Whether a combination has at least one toggle, and only named ones.
fn is_shown(found: &WhyFindings, switched: &[String]) -> bool {
    !switched.is_empty() && switched.iter().all(|name| found.named.contains(name))
}

fn list(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

/// `-34 %`; a factor if the percentage would be `-100 %`, or if the ratio is more than ten.
fn change_of(ratio: f64) -> String {
    if !(0.02..=10.0).contains(&ratio) {
        return format!("{} ×", significant(ratio, 2));
    }
    let percent = 100.0 * (ratio - 1.0);
    let digits = if percent.abs() < 9.95 { 1 } else { 0 };
    format!("{percent:+.digits$} %")
}

fn short(effect: &Effect) -> String {
    effect_text(effect, "")
}

/// A toggle with its letter; several only by their letters, because their names would not fit into a line.
fn label(found: &WhyFindings, names: &[String], between: &str) -> String {
    let singles = found.cells.iter().filter(|cell| cell.switched.len() == 1).map(|cell| &cell.switched[0]);
    let singles: Vec<&String> = singles.collect();
    let letter = |name: &String| {
        let at = singles.iter().position(|single| *single == name)?;
        char::from_u32('a' as u32 + u32::try_from(at).ok()?).map(String::from)
    };
    let letters: Option<Vec<String>> = names.iter().map(letter).collect();
    match (names, letters) {
        ([one], Some(letters)) => format!("{}  {one}", letters[0]),
        (_, Some(letters)) => letters.join(between),
        (names, None) => names.join(between),
    }
}

fn cells(found: &WhyFindings) -> Table {
    let mut table =
        Table::new(&[("switched", Align::Left), ("difference", Align::Right), ("changed by [95 %]", Align::Right)]);
    for cell in found.cells.iter().take(MAX_ROWS) {
        let switched = if cell.switched.is_empty() { "nothing".into() } else { label(found, &cell.switched, " + ") };
        let change = cell.change.as_ref().map(short).unwrap_or_default();
        table.push([switched, change_of(cell.difference), change].map(Cell::from).into());
    }
    table
}

fn contrasts(found: &WhyFindings) -> Table {
    let mut table = Table::new(&[
        ("toggle", Align::Left),
        ("changed by", Align::Right),
        ("p, Holm", Align::Right),
        ("", Align::Left),
    ]);
    for contrast in found.contrasts.iter().take(MAX_ROWS) {
        let named = if contrast.p_adjusted <= found.alpha { "named" } else { "" };
        let row = [
            label(found, &contrast.factors, " × "),
            short(&contrast.effect),
            p_value(Some(contrast.p_adjusted)),
            named.to_owned(),
        ];
        table.push(row.map(Cell::from).into());
    }
    table
}

fn beside(found: &WhyFindings) -> Table {
    let [a, b] = &found.difference.arms;
    let header = [("per operation", Align::Left), (a, Align::Right), (b, Align::Right), ("change", Align::Right)];
    let mut table = Table::new(&header);
    for one in found.difference.beside.iter().filter(|one| one.differs && found.difference.is_there) {
        let median = |arm: usize| maybe_quantity(one.medians[arm], &one.unit);
        let change = one.effect.as_ref().map(|effect| effect_text(effect, &one.unit)).unwrap_or_default();
        let name = metric_name(&one.metric);
        let name = name.strip_suffix(" per operation").unwrap_or(&name).to_owned();
        table.push([name, median(0), median(1), change].map(Cell::from).into());
    }
    table
}

fn how(found: &WhyFindings) -> Vec<Block<'static>> {
    let stage = |stage: &schedlab_analyze::WhyStage| {
        let kept = if stage.kept.is_empty() { "none".into() } else { stage.kept.join(", ") };
        let (rows, blocks) = (counted(stage.rows, "combinations"), counted(stage.blocks, "blocks"));
        format!(
            "{}: {} in {rows} and {blocks}, SD of a block {:.1} %; {} {kept}",
            stage.stage,
            counted(stage.factors, "toggles"),
            100.0 * stage.sd,
            if stage.stage == "full" { "named:" } else { "kept:" }
        )
    };
    let all: Vec<&str> = found.factors.iter().map(|factor| factor.name.as_str()).collect();
    let verb = if found.stages.is_empty() { "not varied yet" } else { "varied" };
    let varied = format!("{verb}, each against its present value: {}", all.join(", "));
    let left_out = found.left_out.iter().map(|line| format!("not varied: {line}"));
    let stages = found.stages.iter().map(stage).chain([varied]).chain(left_out);
    Block::list(stages.filter(|_| found.difference.is_there)).into_iter().collect()
}

/// The difference over a list of kernels as a page.
pub fn why_kernels(found: &WhyKernelsFindings) -> Document {
    let [a, b] = &found.arms;
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("difference [95 %]", Align::Right),
        ("verdict", Align::Left),
        ("against the one before", Align::Right),
        ("p, Holm", Align::Right),
    ]);
    for on in &found.kernels {
        let step = on.step.as_ref().map(short).unwrap_or_default();
        let p = on.p_adjusted.map_or(String::new(), |p| p_value(Some(p)));
        table.push([on.kernel.clone(), short(&on.effect), verdict(&on.verdict).into(), step, p].map(Cell::from).into());
    }
    let mut page = Document::default();
    let title = format!("{}: `{b}` against `{a}`, {}", found.title, metric_name(&found.metric));
    let workload = Block::Aside(format!("Workload: {}", found.workload));
    let without =
        found.not_compared.iter().map(|one| format!("no difference to compare on {}: {}", one.kernel, one.why));
    let blocks = [Block::Text(course(found)), Block::Table(table)].into_iter().chain(Block::list(without));
    page.add(title, blocks.chain([workload]).collect());
    page
}

/// Where in the list the difference changed.
fn course(found: &WhyKernelsFindings) -> String {
    let changed = |pair: &[OnKernel]| {
        let [before, after] = pair else { return None };
        let text = format!(
            "from {} to {} it changed, {} to {}",
            before.kernel,
            after.kernel,
            change_of(before.effect.value),
            change_of(after.effect.value)
        );
        after.p_adjusted.filter(|p| *p <= found.alpha).map(|_| text)
    };
    let all: Vec<String> = found.kernels.windows(2).filter_map(changed).collect();
    let chance = given(found.alpha);
    let left = if found.left.is_empty() {
        String::new()
    } else {
        format!(" Not measured yet: {}; `--resume` continues.", found.left.join(", "))
    };
    match &found.kernels[..] {
        [] | [_] => left.trim_start().to_owned(),
        _ if all.is_empty() => format!(
            "No change of the difference from one kernel to the next was shown (Holm, {chance} over all steps).{left}"
        ),
        _ => format!("Between neighbours in this list: {} (Holm, {chance} over all steps).{left}", all.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_too_large_for_percent_is_a_factor() {
        let all = [1.0, 0.66, 0.05, 0.004, 12.3].map(change_of);
        assert_eq!(all, ["+0.0 %", "-34 %", "-95 %", "0.0040 ×", "12 ×"]);
    }
}
