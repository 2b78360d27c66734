//! A summary of a comparison on less than a screen: the claim, each question with its interval drawn, the most
//! important warnings with their fixes, and where to find the rest.

mod rows;

use crate::document::Tone;
use crate::interval_text::Axis;
use crate::labels::capital;
use crate::number::{effect, maybe_quantity};
use crate::page::Page;
use crate::sections::{ANSWERS, headline};
use crate::table::{Align, Cell, Table, middle_cut, wrap};
use crate::{Input, labels, remarks};
use rows::{Group, Row, groups};
use schedlab_analyze::{Change, Contrast, Findings, Scale, Source, Verdict, metric_name};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Most lines of a whole summary.
const LINES: usize = 25;

/// Most lines of its claim.
const CLAIM: usize = 4;

/// Fewest and most lines of a warning with its fix.
const WARNING: std::ops::RangeInclusive<usize> = 2..=3;

/// Most statements listed for one answer.
const STATEMENTS: usize = 2;

/// Most knobs named that two runs do not have in common.
const KNOBS: usize = 3;

/// Most warnings shown.
const WARNINGS: usize = 3;

/// Width of an arm's name with its spec, characters: the least if there is no room, and the most.
const NAMES: std::ops::RangeInclusive<usize> = 8..=26;

/// Where to find what a summary leaves out.
#[derive(Debug, Clone, Default)]
pub struct More {
    /// Path of the HTML page; empty if there is none.
    pub page: String,
    /// The command that prints everything.
    pub command: String,
}

/// Prints the findings on at most 25 lines, `width` columns wide, with or without ANSI colours. (A terminal narrower
/// than 60 columns may need a few more lines.)
pub fn summary(input: &Input<'_>, more: &More, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let findings = input.findings;
    let lines = |write: &dyn Fn(&mut Page<'_>) -> io::Result<()>| -> io::Result<Vec<String>> {
        let mut bytes = Vec::new();
        write(&mut Page::new(&mut bytes, width, colour))?;
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    };
    let head = lines(&|page| claim(page, findings))?;
    let foot = lines(&|page| footer(page, more))?;
    // Three blank lines.
    let left = LINES.saturating_sub(head.len() + foot.len() + 3);
    let all = lines(&|page| questions(page, findings, usize::MAX))?.len();
    // Warnings are shortened before questions are left out.
    let each = WARNING.rev().find(|each| all + WARNINGS * each < left).unwrap_or(*WARNING.start());
    let warnings = lines(&|page| warnings(page, findings, each))?;
    let said = lines(&|page| {
        statements(page, findings)?;
        knobs(page, findings)
    })?;
    let room = left.saturating_sub(warnings.len() + said.len() + usize::from(!said.is_empty()));
    let questions = lines(&|page| questions(page, findings, room))?;
    for part in [head, questions, said, warnings, foot].iter().filter(|part| !part.is_empty()).enumerate() {
        if part.0 > 0 {
            writeln!(out)?;
        }
        part.1.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn claim(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let (text, tone) = headline(findings);
    clipped(page, "", &text, CLAIM, Some(tone.ansi()))
}

/// A paragraph of at most `limit` lines.
fn clipped(page: &mut Page<'_>, lead: &str, text: &str, limit: usize, code: Option<&str>) -> io::Result<()> {
    let columns = page.width - crate::table::width(lead);
    let mut lines = wrap(text, columns);
    if lines.len() > limit {
        lines.truncate(limit);
        if let Some(last) = lines.last_mut() {
            let room: String = last.chars().take(columns - 2).collect();
            // Cut at the end of a word, if the last one does not fit.
            let whole =
                if room.len() < last.len() { room.rsplit_once(' ').map_or(&*room, |(whole, _)| whole) } else { &room };
            *last = format!("{} …", whole.trim_end());
        }
    }
    page.item(lead, &lines.join(" "), code)
}

fn footer(page: &mut Page<'_>, more: &More) -> io::Result<()> {
    if !more.page.is_empty() {
        page.line(&format!("Report: {}", more.page))?;
    }
    // Not wrapped, so that it can be copied.
    page.line(&format!("All of it: {}", crate::escape::terminal(&more.command)))
}

/// Warnings of `each` lines at most.
fn warnings(page: &mut Page<'_>, findings: &Findings, each: usize) -> io::Result<()> {
    let mut all = remarks::weighed(findings);
    // Warnings that the claim contains are not repeated.
    let claim = findings.claims.first().map_or("", |claim| claim.sentence.as_str());
    all.retain(|(text, _)| {
        !claim.contains(text.as_str()) && findings.void.as_ref().is_none_or(|why| !text.contains(why))
    });
    for (text, fix) in all.iter().take(WARNINGS) {
        let fix = if fix.is_empty() { String::new() } else { format!("Fix: {}", labels::full_stop(fix)) };
        let whole = format!("{} {fix}", labels::full_stop(text));
        if wrap(&whole, page.width - 2).len() <= each {
            page.item("! ", &whole, Some("33"))?;
        } else {
            let of_fix = wrap(&fix, page.width - 2).len().min(each - 1);
            clipped(page, "! ", &labels::full_stop(text), each - of_fix, Some("33"))?;
            clipped(page, "  ", &fix, of_fix, Some("33"))?;
        }
    }
    match all.len().saturating_sub(WARNINGS) {
        0 => Ok(()),
        more => page.item("  ", &format!("{more} more: --full"), Some("2")),
    }
}

/// The knobs in which two runs differ, on one line.
fn knobs(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let changes = &findings.environment.changes;
    let differ: Vec<&str> = changes.iter().filter_map(Change::knob).collect();
    if differ.is_empty() || !matches!(findings.source, Source::TwoRuns { .. }) {
        return Ok(());
    }
    let more = if differ.len() > KNOBS { ", …" } else { "" };
    let named = differ.iter().take(KNOBS).copied().collect::<Vec<_>>().join(", ");
    clipped(page, "  ", &format!("Knobs that differ ({}): {named}{more}", differ.len()), 1, None)
}

/// The run's answers to the plan's statements, by answer.
fn statements(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let several = findings.workloads.len() > 1;
    for (answer, word) in ANSWERS {
        let said = findings.workloads.iter().flat_map(|workload| {
            let on =
                if several { format!(" on {}", labels::workload_label(findings, workload)) } else { String::new() };
            let of_answer = workload.statements.iter().filter(move |said| said.answer == answer);
            of_answer.map(move |said| format!("{}{on}", said.says.trim_end_matches('.')))
        });
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            clipped(page, "  ", &format!("{} ({}): {}", capital(word), said.len(), said.join("; ")), STATEMENTS, None)?;
        }
    }
    Ok(())
}

/// The table within `limit` lines: decided questions have rows, the others are listed on one line per verdict.
fn questions(page: &mut Page<'_>, findings: &Findings, limit: usize) -> io::Result<()> {
    let all = groups(findings);
    let contrasts = || all.iter().flat_map(|group| &group.rows).filter_map(|row| row.contrast);
    let open = contrasts().filter(|c| c.verdict.is_open()).count();
    // If nothing is decided, the open questions get the rows.
    let folds_open = open < contrasts().count();
    // The header, the meaning of a change, and a line for each verdict that is folded.
    let meaning = all.iter().find_map(|group| labels::meaning_of_change(findings, group.metric));
    let of_meaning = meaning.as_ref().map_or(0, |meaning| wrap(meaning, page.width - 2).len());
    let kinds = FOLDED.iter().filter(|(_, is)| contrasts().any(is)).count();
    let mut left = limit.saturating_sub(1 + of_meaning + kinds);
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for group in &all {
        let mut arms = BTreeSet::new();
        for row in &group.rows {
            let Some(contrast) = row.contrast else { continue };
            // A row needs a line for itself, and for its control and the title if these are not there yet.
            let control = row.control.filter(|control| !arms.contains(control));
            let lines = 1 + usize::from(control.is_some()) + usize::from(arms.is_empty());
            if (folds_open && contrast.verdict.is_open()) || lines > left {
                hidden.push((group, row));
            } else {
                left -= lines;
                arms.extend([Some(row.index), control].into_iter().flatten());
            }
        }
        let rows = Vec::from_iter(group.rows.iter().filter(|row| arms.contains(&row.index)));
        if !rows.is_empty() {
            shown.push((group, rows));
        }
    }
    if !shown.is_empty() {
        table(page, findings, &shown)?;
        meaning.iter().try_for_each(|meaning| page.item("  ", meaning, Some("2")))?;
    }
    let several = all.len() > 1;
    for (word, is) in FOLDED {
        let rows: Vec<String> = hidden
            .iter()
            .filter(|(_, row)| row.contrast.is_some_and(is))
            .map(|(group, row)| {
                let mut on = if several { format!(" on {}", group.label) } else { String::new() };
                if all.iter().filter(|other| other.label == group.label).count() > 1 {
                    on += &format!(", {}", metric_name(&group.metric.name));
                }
                let change = row.contrast.and_then(|c| c.effect).map(|e| effect(&e, &group.metric.unit));
                let change = change.map(|t| format!(" {} {}", t.value, t.interval)).unwrap_or_default();
                format!("{}{on}{change}", row.name)
            })
            .collect();
        if !rows.is_empty() {
            clipped(page, "  ", &format!("{word} ({}): {}", rows.len(), rows.join("; ")), 1, None)?;
        }
    }
    Ok(())
}

type Is = fn(&Contrast) -> bool;

/// Verdicts that are folded into one line each.
const FOLDED: [(&str, Is); 3] = [
    ("Inconclusive", |c| c.verdict == Verdict::Inconclusive),
    ("No verdict", |c| matches!(c.verdict, Verdict::NoVerdict { .. })),
    ("Also decided", |c| !c.verdict.is_open()),
];

fn table(page: &mut Page<'_>, findings: &Findings, shown: &[(&Group<'_>, Vec<&Row<'_>>)]) -> io::Result<()> {
    let room = page.room();
    // If values and their units are very long, medians are left out in favour of more important columns.
    let medians = room.holds(&of_rows(shown, *NAMES.start(), true, None));
    let bare = |name: usize| of_rows(shown, name, medians, None);
    let name = NAMES.rev().find(|name| room.holds(&bare(*name))).unwrap_or(*NAMES.start());
    // The plot gets the width that names do not need.
    let plotted = |name: usize| {
        let width = room.line.checked_sub(bare(name).natural_widths().iter().map(|w| w + 2).sum())?;
        let ratios = shown.iter().flat_map(|(_, rows)| rows).filter_map(|row| drawable(row.contrast?));
        let axis = Axis::new(ratios, findings.rules.sesoi, width)?;
        Some(of_rows(shown, name, medians, Some(&axis)))
    };
    let table = (*NAMES.start()..=name).rev().find_map(plotted).unwrap_or_else(|| bare(name));
    let mut lines = table.lines(room.line, page.colour).into_iter();
    let titles_fit = lines.len() == table.rows.len() + 1;
    let mut header = lines.next();
    for (group, rows) in shown {
        if titles_fit {
            let title = format!("{}: {}", group.label, labels::metric_title(group.metric));
            clipped(page, "  ", &title, 1, Some("1"))?;
        }
        let of_group = lines.by_ref().take(if titles_fit { rows.len() } else { usize::MAX });
        for line in header.take().into_iter().chain(of_group) {
            page.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

fn drawable(contrast: &Contrast) -> Option<(f64, f64, f64)> {
    let e = contrast.effect.filter(|e| e.scale == Scale::Ratio)?;
    Some((e.value, e.lo, e.hi)).filter(|e| e.1 > 0.0 && e.0.is_finite() && e.2.is_finite())
}

/// The rows, with names of at most `name` characters.
fn of_rows(shown: &[(&Group<'_>, Vec<&Row<'_>>)], name: usize, medians: bool, axis: Option<&Axis>) -> Table {
    let level = shown.iter().flat_map(|(_, rows)| rows).find_map(|row| row.contrast?.effect).map_or(0.95, |e| e.level);
    let (change, scale) = (format!("change [{:.0} %]", level * 100.0), axis.map(Axis::header).unwrap_or_default());
    let has_medians = medians && shown.iter().flat_map(|(_, rows)| rows).any(|row| row.median.is_some());
    let mut header = vec![("", Align::Left)];
    header.extend(has_medians.then_some(("median", Align::Right)));
    header.push((&change, Align::Right));
    header.extend(axis.map(|_| (scale.as_str(), Align::Left)));
    header.push(("", Align::Left));
    let mut table = Table::new(&header);
    for (group, row) in shown.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (group, row))) {
        let unit = &group.metric.unit;
        let verdict = match row.contrast {
            None => "control".into(),
            Some(c) => Cell::toned(labels::verdict(&c.verdict), &c.verdict),
        };
        let change = row.contrast.and_then(|c| c.effect).map(|e| effect(&e, unit));
        let mut cells: Vec<Cell> = vec![crate::escape::terminal(&middle_cut(&row.name, name)).into()];
        cells.extend(has_medians.then(|| Cell::from(maybe_quantity(row.median, unit))));
        cells.push(change.map_or_else(String::new, |t| format!("{} {}", t.value, t.interval)).into());
        cells.extend(axis.map(|axis| {
            let drawn =
                row.contrast.map_or_else(|| axis.empty(), |c| drawable(c).map_or_else(String::new, |e| axis.row(e)));
            Cell { tone: row.contrast.map(|c| Tone::from(&c.verdict)), ..Cell::from(drawn) }
        }));
        cells.push(verdict);
        table.push(cells);
    }
    table
}
