//! The exploratory metrics: those that differ in every format, and on a page all of them with each interval drawn.

use super::workload::Of;
use crate::chart::RatioCells;
use crate::document::{Block, Tone};
use crate::number::{effect, given, maybe_quantity, p_value};
use crate::table::{Align, Cell, Drawn, Names, Table};
use crate::{labels, remarks};
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, Scale, Verdict, Withheld, WorkloadFindings};
use std::collections::BTreeSet;
use std::rc::Rc;

fn exploratory(workload: &WorkloadFindings) -> impl Iterator<Item = &MetricFindings> {
    workload.metrics.iter().filter(|m| m.role == Role::Secondary)
}

/// Whether a metric belongs in the short table: it differs in some arm, or has an effect without a verdict, as in a
/// comparison of two runs.
fn is_shown(metric: &MetricFindings) -> bool {
    metric.contrasts.iter().any(|c| match &c.verdict {
        verdict if verdict.is_difference() => true,
        // Reported in a sentence with the reason; in the table it would be mistaken for a change.
        Verdict::NoVerdict { why: Withheld::NotPerOperation, .. } => false,
        Verdict::NoVerdict { .. } => c.effect.is_some(),
        _ => false,
    })
}

/// The text above the short tables.
const OTHERS: &str = "Exploratory metrics, change against the control (* differs after the correction for looking at all of \
                      them, = equivalent, no sign: open, or described only, as counts of the whole machine are):";

/// The metrics that differ, and the names of the others.
pub(super) fn differing(of: Of<'_>) -> Vec<Block<'_>> {
    let tables = tables(of.findings, of.workload, is_shown, &change_with_sign);
    let tables: Vec<Block> = tables.into_iter().filter_map(Block::table).collect();
    let lead = (!tables.is_empty()).then(|| Block::Lead(OTHERS.into()));
    let not_shown = not_shown(of.workload).into_iter().map(Block::Text);
    vec![Block::Brief(lead.into_iter().chain(tables).chain(not_shown).collect())]
}

/// A row for each selected metric with the control's median and a cell for each arm's change; a table for each control
/// (two runs have several).
fn tables(
    findings: &Findings,
    workload: &WorkloadFindings,
    wanted: fn(&MetricFindings) -> bool,
    cell: &dyn Fn(&MetricFindings, &Contrast) -> Cell,
) -> Vec<Table> {
    let contrasts = || exploratory(workload).flat_map(|m| &m.contrasts).filter(|c| c.effect.is_some());
    let controls: BTreeSet<u32> = contrasts().map(|c| c.control).collect();
    let table = |control: u32| {
        let arms: BTreeSet<u32> = contrasts().filter(|c| c.control == control).map(|c| c.arm).collect();
        let mut header = vec![("metric", Align::Left), (labels::arm_name(findings, control), Align::Right)];
        header.extend(arms.iter().map(|arm| (labels::arm_name(findings, *arm), Align::Right)));
        let mut table = Table { names: Some(Names::Header), ..Table::new(&header) };
        for metric in exploratory(workload).filter(|m| wanted(m)) {
            let contrast = |arm: u32| metric.contrasts.iter().find(|c| c.arm == arm && c.control == control);
            if arms.iter().any(|arm| contrast(*arm).is_some_and(|c| c.effect.is_some())) {
                let median = metric.values.iter().find(|v| v.arm == control).and_then(|v| v.median);
                let first = [metric.name.as_str().into(), maybe_quantity(median, &metric.unit).into()];
                let changes = arms.iter().map(|arm| contrast(*arm).map_or_else(Cell::default, |c| cell(metric, c)));
                table.push(first.into_iter().chain(changes).collect());
            }
        }
        table
    };
    controls.into_iter().map(table).collect()
}

fn change_with_sign(metric: &MetricFindings, contrast: &Contrast) -> Cell {
    let Some(e) = contrast.effect else { return Cell::default() };
    let sign = match &contrast.verdict {
        verdict if verdict.is_difference() => " *",
        Verdict::Equivalent => " =",
        _ => "  ",
    };
    Cell::toned(format!("{}{sign}", effect(&e, &metric.unit).value), &contrast.verdict)
}

/// The metrics that are not in the short table, by name: equivalent in all arms, or open; and why others are not
/// judged.
fn not_shown(workload: &WorkloadFindings) -> Vec<String> {
    let measured = |m: &&MetricFindings| m.contrasts.iter().any(|c| c.effect.is_some());
    let not_judged = |m: &MetricFindings| {
        let withheld = m.contrasts.iter().find(|c| {
            matches!(c.verdict, Verdict::NoVerdict { why: Withheld::NotPerOperation, .. }) && c.effect.is_some()
        });
        withheld.and_then(|c| Some(format!("{}: {}.", labels::metric_name(&m.name), labels::reason(&c.verdict)?)))
    };
    let not_shown = exploratory(workload).filter(measured).filter(|m| !is_shown(m) && not_judged(m).is_none());
    let same = |m: &&MetricFindings| {
        m.contrasts.iter().filter(|c| c.effect.is_some()).all(|c| c.verdict == Verdict::Equivalent)
    };
    let (same, open): (Vec<&MetricFindings>, Vec<&MetricFindings>) = not_shown.partition(same);
    let said = |what: &str, metrics: &[&MetricFindings]| {
        let names: Vec<&str> = metrics.iter().map(|m| m.name.as_str()).collect();
        (!names.is_empty())
            .then(|| format!("{what} ({}): {}.", names.len(), labels::joined_quantiles(&names).join(", ")))
    };
    [said("Equivalent in every arm", &same), said("Open, neither different nor equivalent", &open)]
        .into_iter()
        .flatten()
        .chain(exploratory(workload).filter_map(not_judged))
        .collect()
}

/// All exploratory metrics, each change with its interval printed and drawn.
pub(super) fn all(Of { findings, workload, .. }: Of<'_>) -> Vec<Block<'_>> {
    let blocks = move || {
        let intervals = exploratory(workload).flat_map(|m| &m.contrasts).filter_map(drawable).collect::<Vec<_>>();
        let axis = Rc::new(RatioCells::new(&intervals, findings.rules.sesoi));
        let tables = tables(findings, workload, |_| true, &change_with_interval);
        let tables = tables.into_iter().map(|mut table| {
            table.align.iter_mut().skip(2).for_each(|align| *align = Align::Left);
            Block::Table(Table { axis: Some(axis.clone()), ..table })
        });
        let caption = format!(
            "Change against the control, its interval printed and drawn as a ratio; shaded: effects below {}, the smallest \
             of interest. A word: what the metric is judged to be after a correction for looking at all of them, with its \
             p; no word: open.",
            given(findings.rules.sesoi)
        );
        let notes = remarks::contrast_notes(findings, workload, Role::Secondary);
        let notes = unmeasured(workload).into_iter().chain(remarks::rests_on(workload, Role::Secondary)).chain(notes);
        tables.chain([Block::Aside(caption)]).chain(Block::list(notes)).collect()
    };
    let any = exploratory(workload).next().is_some();
    any.then(|| Block::More("All other metrics, exploratory".into(), Box::new(blocks))).into_iter().collect()
}

/// A change with its interval, and the verdict if there is one.
fn change_with_interval(metric: &MetricFindings, c: &Contrast) -> Cell {
    let Some(text) = c.effect.map(|e| effect(&e, &metric.unit)) else { return Cell::default() };
    let said = match &c.verdict {
        Verdict::Inconclusive | Verdict::NoVerdict { .. } => String::new(),
        verdict => {
            let p = c.p_adjusted.filter(|_| *verdict != Verdict::Equivalent);
            format!(
                "{}{}",
                labels::verdict(verdict),
                p.map_or_else(String::new, |p| format!(", p {}", p_value(Some(p))))
            )
        }
    };
    let drawn = Drawn::Interval(drawable(c), Tone::from(&c.verdict), said);
    Cell { drawn: Some(drawn), ..Cell::from(format!("{} {}", text.value, text.interval)) }
}

/// A contrast as a ratio with its interval; `None` if it is a difference or has no interval.
fn drawable(contrast: &Contrast) -> Option<(f64, f64, f64)> {
    let e = contrast.effect.filter(|e| e.scale == Scale::Ratio && e.value > 0.0 && e.lo > 0.0 && e.hi.is_finite())?;
    e.value.is_finite().then_some((e.value, e.lo, e.hi))
}

/// Why metrics have no numbers or no verdict, each reason once.
fn unmeasured(workload: &WorkloadFindings) -> Vec<String> {
    let noted = exploratory(workload).filter_map(|m| Some((m.note.as_deref()?, m.name.as_str())));
    let said = |(note, names): (&str, Vec<&str>)| format!("{}: {}", names.join(", "), labels::full_stop(note));
    labels::grouped(noted).into_iter().map(said).collect()
}
