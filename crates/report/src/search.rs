//! The page of a search: the winner and its effect in fresh trials, the other points measured, and what was left out.

use crate::document::{Block, Document, Landmark, Remark, Section, Tone};
use crate::number::{effect, effect_text, given, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::{Effect, Objective, SearchFindings, SearchedPoint, Seen};
use schedlab_plan::counted;

/// Most points of a search in print; an HTML page folds the others.
const IN_PRINT: usize = 12;

/// The findings as a page.
pub fn search(found: &SearchFindings) -> Document {
    let mut page = Document::default();
    let tone = found.verdict.as_ref().map_or(Tone::None, Tone::from);
    let mut head = vec![Block::Headline(found.claim(), tone)];
    head.extend(found.shrinkage().map(Block::Text));
    head.extend(Block::remarks(found.rivals().into_iter().map(Remark::note)));
    head.extend(unfinished(found));
    page.0.push(Section { landmark: Landmark::Head, id: "head".into(), title: String::new(), blocks: head });
    if !found.confirmed.is_empty() {
        page.add("Measured again, in fresh trials", confirmed(found));
    }
    if found.objectives.len() > 1 {
        page.add("Beaten by none in all objectives", front(found));
    }
    page.add("Measured by the search", measured(found));
    if !found.keep.is_empty() {
        page.add("To keep it", Block::list(found.keep.iter().cloned()).into_iter().collect());
    }
    let left_out = found.left_out.iter().map(|out| {
        let (first, more) = (&out.points[0], out.points.len() - 1);
        let others = if more > 0 { format!(" and {} like it", counted(more, "points")) } else { String::new() };
        Remark::warning(format!("{first}{others}: {}", out.why))
    });
    if let Some(list) = Block::remarks(left_out) {
        page.add("Left out", vec![list]);
    }
    if let Some(list) = Block::warnings(found.warnings.iter().cloned()) {
        page.add("Warnings", vec![list]);
    }
    page.add("The search", vec![Block::Terms(terms(found))]);
    page
}

fn unfinished(found: &SearchFindings) -> Option<Block<'static>> {
    let text = match found.ended.as_str() {
        "finished" => return None,
        "interrupted" => "The search was interrupted; this is what it had seen so far.".to_owned(),
        other => format!("The search ended early, {other}; nothing here is judged."),
    };
    Block::warnings([text])
}

fn header(found: &SearchFindings, each: &str) -> Vec<(String, Align)> {
    let several = found.objectives.len() > 1;
    let of = |objective: &Objective| if several { format!("{}, {each}", objective.name()) } else { each.to_owned() };
    found.objectives.iter().map(|objective| (of(objective), Align::Right)).collect()
}

fn table(first: &str, columns: &[Vec<(String, Align)>]) -> Table {
    let columns: Vec<&(String, Align)> = columns.iter().flatten().collect();
    let first = std::iter::once((first, Align::Left));
    Table::new(&first.chain(columns.iter().map(|(name, align)| (name.as_str(), *align))).collect::<Vec<_>>())
}

/// An effect; only the point estimate if there is no interval.
fn shown(of: &Seen, unit: &str) -> String {
    of.effect().map_or_else(|| effect(&of.point(), unit).value, |of| effect_text(&of, unit))
}

fn of_fresh(found: &SearchFindings, point: &SearchedPoint) -> Vec<Cell> {
    let cell = |(objective, of): (&Objective, &Option<Effect>)| {
        of.map_or(crate::number::NONE.into(), |of| effect_text(&of, &objective.unit)).into()
    };
    found.objectives.iter().zip(&point.fresh).map(cell).collect()
}

fn as_seen(found: &SearchFindings, point: &SearchedPoint) -> Vec<Cell> {
    found.objectives.iter().zip(&point.search).map(|(objective, of)| shown(of, &objective.unit).into()).collect()
}

fn confirmed(found: &SearchFindings) -> Vec<Block<'static>> {
    let mut table = table("point", &[header(found, "fresh"), header(found, "as the search saw it")]);
    for point in &found.confirmed {
        let name = std::iter::once(Cell::from(point.name.as_str()));
        table.push(name.chain(of_fresh(found, point)).chain(as_seen(found, point)).collect());
    }
    let of_control = found
        .objectives
        .iter()
        .map(|objective| format!("{} {}", objective.name(), quantity(objective.control, &objective.unit)));
    let key = format!(
        "Against the default ({}) in the same blocks; fresh: {} intervals, of trials that no choice rests on. The first was chosen \
         before they were run.",
        Vec::from_iter(of_control).join(", "),
        given(found.level),
    );
    vec![Block::Table(table), Block::Aside(key)]
}

fn front(found: &SearchFindings) -> Vec<Block<'static>> {
    let points: Vec<&SearchedPoint> = found.front.iter().filter_map(|&i| found.measured.get(i)).collect();
    let mut blocks = match points.is_empty() {
        true => vec![Block::Text("Only the default: every point is worse than it in all objectives.".into())],
        false => vec![
            Block::Table(seen(found, points.into_iter())),
            Block::Aside(
                "By what the search saw; the default, at 0, is among those that none beats unless a point is better in all."
                    .into(),
            ),
        ],
    };
    let whole = found.clone();
    blocks.push(Block::Pictures(Box::new(move || crate::pictures::searched(&whole).into_iter().collect())));
    blocks
}

fn seen<'p>(found: &SearchFindings, points: impl Iterator<Item = &'p SearchedPoint>) -> Table {
    let blocks = vec![("blocks".to_owned(), Align::Right)];
    let mut table = table("point", &[header(found, "gain seen"), blocks]);
    for point in points {
        let units = Cell::from(point.units.to_string());
        let name = std::iter::once(Cell::from(point.name.as_str()));
        table.push(name.chain(as_seen(found, point)).chain([units]).collect());
    }
    table
}

fn measured(found: &SearchFindings) -> Vec<Block<'static>> {
    if found.measured.is_empty() {
        return vec![Block::Text("Nothing.".into())];
    }
    let count = found.measured.len();
    let mut blocks = vec![Block::Table(seen(found, found.measured.iter().take(IN_PRINT)))];
    if count > IN_PRINT {
        let rest = found.measured[IN_PRINT..].to_vec();
        let whole = found.clone();
        blocks.push(Block::Aside(format!("The best {IN_PRINT} of {count}; all are in search.json.")));
        blocks.push(Block::More(
            format!("The other {}", count - IN_PRINT),
            Box::new(move || vec![Block::Table(seen(&whole, rest.iter()))]),
        ));
    }
    let of = match found.strategy.as_str() {
        "surrogate" => "Of the surface through all that was seen",
        _ => "Means",
    };
    let level = given(found.level);
    blocks.push(Block::Aside(format!(
        "{of}, with {level} intervals where there are at least two blocks. The best of them are too good (selected for it)."
    )));
    blocks
}

fn terms(found: &SearchFindings) -> Vec<(String, String)> {
    let term = |name: &str, text: String| (name.to_owned(), text);
    let mut terms = vec![
        term("workload", found.workload.clone()),
        term("default", if found.control.is_empty() { "the default settings".into() } else { found.control.clone() }),
        term("strategy", format!("{}, seed {}", found.strategy, found.seed)),
        term("points", format!("{} of {} measured", found.measured.len(), found.points)),
        term(
            "spent",
            format!(
                "{} in {}, {:.0} s",
                counted(found.trials as usize, "trials"),
                counted(found.rounds, "rounds"),
                found.seconds
            ),
        ),
        term("ended", found.stopped.clone()),
        term("too small to matter", given(found.sesoi)),
    ];
    terms.extend(
        found.knobs.iter().map(|knob| (knob.name.clone(), format!("{} ({})", knob.values.join(", "), knob.scale))),
    );
    terms
}
