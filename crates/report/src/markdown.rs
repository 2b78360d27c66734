//! The report for a mailing list: Markdown that reads as plain text, tables within 78 columns.

mod designs;

use crate::escape::{markdown as escape, terminal};
use crate::table::{Align, Table, width, wrap};
use crate::{Input, remarks, tables, words};
use schedlab_analyze::{Findings, MetricFindings, Role, WorkloadFindings};
use std::io::{self, Write};

/// Columns of a mail.
const WIDTH: usize = 78;

/// Longest name of an arm in a table, characters.
const NAME: usize = 18;

/// A name cut shorter than this tells nothing.
const SHORTEST: usize = 8;

/// The findings as Markdown.
pub fn markdown(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let findings = input.findings;
    opening(findings, out)?;
    designs::scalings(findings, out)?;
    for workload in &findings.workloads {
        of_workload(findings, workload, out)?;
    }
    closing(input, out)
}

fn paragraph(text: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in wrap(&escape(text), WIDTH) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// A list with a blank line below it, or nothing.
fn list(items: &[String], out: &mut dyn Write) -> io::Result<()> {
    for text in items {
        for (i, line) in wrap(&escape(text), WIDTH - 2).iter().enumerate() {
            writeln!(out, "{}{line}", if i == 0 { "- " } else { "  " })?;
        }
    }
    if items.is_empty() { Ok(()) } else { writeln!(out) }
}

fn opening(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let (head, more) = remarks::claims(findings);
    let mut claims = head.into_iter();
    match claims.next() {
        Some(first) => paragraph(&format!("**{}.**", first.sentence), out)?,
        None => paragraph("**No claim: there is nothing to compare.**", out)?,
    }
    if let Some(why) = &findings.void {
        paragraph(&format!("**Void:** {why}"), out)?;
    }
    list(&claims.map(|c| words::full_stop(&c.sentence)).collect::<Vec<_>>(), out)?;
    if !more.is_empty() {
        paragraph(&format!("{}; see the tables.", remarks::more_claims(more.len())), out)?;
    }
    if let schedlab_analyze::Source::TwoRuns { a, b, refused } = &findings.source {
        paragraph(&format!("Two runs that were not interleaved: A is {a}, B is {b}."), out)?;
        if let Some(why) = refused {
            paragraph(&format!("Not compared: {why}"), out)?;
        }
    }
    let problems = remarks::problems(findings);
    if !problems.is_empty() {
        paragraph("Before you read on:", out)?;
    }
    list(&problems, out)?;
    let arm = |(arm, name): (u32, String)| {
        let spec = findings.arms.get(arm as usize).map_or("", |a| a.spec.as_str());
        let spec = if spec.is_empty() { words::spec(findings, "").to_owned() } else { format!("`{spec}`") };
        format!("{name}{}: {spec}", words::arm_role(findings, arm))
    };
    if !findings.arms.is_empty() {
        paragraph("Arms:", out)?;
    }
    list(&words::arms(findings).into_iter().map(arm).collect::<Vec<_>>(), out)
}

fn of_workload(findings: &Findings, workload: &WorkloadFindings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## {}\n", escape(&words::workload_heading(findings, workload)))?;
    paragraph(&workload.spec, out)?;
    paragraph(&format!("{}: {}.", workload.id, words::counts(workload)), out)?;
    designs::main_effects(findings, workload, out)?;
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        of_metric(findings, metric, out)?;
    }
    let names = words::cut(words::arms(findings), NAME);
    // Bars between columns take a character more than blanks.
    let limit = |arms: usize| WIDTH - 2 - (arms + 2);
    let others = tables::others_tables(workload, &names, limit(names.len()));
    if !others.is_empty() {
        paragraph(tables::OTHERS, out)?;
    }
    others.into_iter().try_for_each(|table| print(table, out))?;
    tables::others_untold(workload).iter().try_for_each(|text| paragraph(text, out))?;
    let arms = words::cut(words::fact_arms(findings, workload), NAME);
    for table in tables::in_groups(&arms, limit(arms.len()), |group| tables::per_operation_table(workload, group)) {
        print(table, out)?;
    }
    let tiers = tables::tiers_table(workload, &arms);
    if !tiers.rows.is_empty() {
        print(tiers, out)?;
    }
    let not_counted = tables::not_counted(workload).into_iter().map(|m| format!("Not counted: {m}."));
    list(&remarks::of_workload(findings, workload).into_iter().chain(not_counted).collect::<Vec<_>>(), out)
}

fn of_metric(findings: &Findings, metric: &MetricFindings, out: &mut dyn Write) -> io::Result<()> {
    paragraph(&format!("`{}` ({}):", metric.name, words::metric_aside(metric)), out)?;
    // Names are cut to the room the numbers leave, in the middle: the end of one is what tells it from another.
    let table = |limit| tables::metric_table(metric, &words::cut(words::arms(findings), limit));
    print((SHORTEST..=NAME).rev().map(table).find(fits).unwrap_or_else(|| table(SHORTEST)), out)?;
    let reason = |c: &schedlab_analyze::Contrast| {
        let reason = words::full_stop(words::reason(&c.verdict)?);
        Some(format!("{}: no verdict: {reason}", words::arm_name(findings, c.arm)))
    };
    list(&metric.contrasts.iter().filter_map(reason).collect::<Vec<_>>(), out)
}

/// Columns of a pipe table.
fn widths(table: &Table) -> Vec<usize> {
    let mut widths: Vec<usize> = table.header.iter().map(|h| width(&escape(h)).max(3)).collect();
    for row in &table.rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(&escape(&cell.text)));
        }
    }
    widths
}

/// How wide columns are with their bars.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 3 * widths.len() + 1
}

fn fits(table: &Table) -> bool {
    total(&widths(table)) <= WIDTH
}

/// A pipe table no wider than a mail: the first column gives way.
fn print(mut table: Table, out: &mut dyn Write) -> io::Result<()> {
    let mut widths = widths(&table);
    table.header.iter_mut().for_each(|h| *h = escape(h));
    table.rows.iter_mut().flatten().for_each(|c| c.text = escape(&c.text));
    let first = widths[0].saturating_sub(total(&widths).saturating_sub(WIDTH)).max(SHORTEST);
    widths[0] = first;
    let line = |cells: Vec<&str>| {
        let mut text = String::from("|");
        for ((cell, w), align) in cells.into_iter().zip(&widths).zip(&table.align) {
            let cell = clip(cell, *w);
            let space = " ".repeat(w.saturating_sub(width(&cell)));
            match align {
                Align::Left => text.push_str(&format!(" {cell}{space} |")),
                Align::Right => text.push_str(&format!(" {space}{cell} |")),
            }
        }
        text
    };
    writeln!(out, "{}", line(table.header.iter().map(String::as_str).collect()))?;
    let rule = widths.iter().zip(&table.align).map(|(w, align)| match align {
        Align::Left => format!(" {} |", "-".repeat(*w)),
        Align::Right => format!(" {}: |", "-".repeat(w - 1)),
    });
    writeln!(out, "|{}", rule.collect::<String>())?;
    for row in &table.rows {
        writeln!(out, "{}", line(row.iter().map(|c| c.text.as_str()).collect()))?;
    }
    writeln!(out)
}

fn clip(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

fn closing(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let findings = input.findings;
    let environment = &findings.environment;
    writeln!(out, "## Machine, rules, command\n")?;
    let told = |name: &str| matches!(name, "host" | "kernel" | "CPU" | "online CPUs");
    let facts = environment.facts.iter().filter(|(name, value)| told(name) && !value.is_empty());
    let mut items: Vec<String> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    items.extend(remarks::warnings(findings).into_iter().map(|w| format!("Warning: {w}")));
    items.extend(environment.changes.iter().map(|c| format!("{} changed: {} → {}.", c.what, c.before, c.after)));
    items.extend(remarks::rules(findings));
    items.extend(findings.rules.methods.iter().cloned());
    list(&items, out)?;
    // Indented code: a fence could be closed from inside, and the line is there to be copied whole.
    writeln!(out, "schedlab {}:\n", escape(&input.manifest.schedlab_version))?;
    writeln!(out, "    {}", terminal(&words::shell(&findings.command)))
}
