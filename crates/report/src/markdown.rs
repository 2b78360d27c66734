//! The report for a mailing list: Markdown that reads as plain text, tables within 78 columns.

mod designs;

use crate::escape::markdown as escape;
use crate::table::{Align, Table, width, wrap};
use crate::{Input, tables, words};
use schedlab_analyze::{Findings, Role, WorkloadFindings};
use schedlab_run::CheckState;
use std::io::{self, Write};

/// Columns of a mail.
const WIDTH: usize = 78;

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

fn item(text: &str, out: &mut dyn Write) -> io::Result<()> {
    for (i, line) in wrap(&escape(text), WIDTH - 2).iter().enumerate() {
        writeln!(out, "{}{line}", if i == 0 { "- " } else { "  " })?;
    }
    Ok(())
}

fn opening(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let mut claims = findings.claims.iter();
    match claims.next() {
        Some(first) => paragraph(&format!("**{}.**", first.sentence), out)?,
        None => paragraph("**No claim: there is nothing to compare.**", out)?,
    }
    if let Some(why) = &findings.void {
        paragraph(&format!("**Void:** {why}"), out)?;
    }
    for claim in claims {
        item(&claim.sentence, out)?;
    }
    if findings.claims.len() > 1 {
        writeln!(out)?;
    }
    if let schedlab_analyze::Source::TwoRuns { a, b, refused } = &findings.source {
        paragraph(&format!("Two runs that were not interleaved: A is {a}, B is {b}."), out)?;
        if let Some(why) = refused {
            paragraph(&format!("Not compared: {why}"), out)?;
        }
    }
    for (i, arm) in findings.arms.iter().enumerate() {
        let spec = if arm.spec.is_empty() { "the host's default".to_owned() } else { format!("`{}`", arm.spec) };
        let what = match (i, arm.is_aa) {
            (0, _) => " (control)",
            (_, true) => " (A/A control)",
            _ => "",
        };
        item(&format!("{}{what}: {spec}", arm.name), out)?;
    }
    writeln!(out)
}

fn of_workload(findings: &Findings, workload: &WorkloadFindings, out: &mut dyn Write) -> io::Result<()> {
    let load = if workload.load.is_empty() { String::new() } else { format!(" beside {}", workload.load.join(", ")) };
    writeln!(out, "## {}{}\n", escape(&words::workload_label(findings, workload)), escape(&load))?;
    paragraph(&workload.spec, out)?;
    paragraph(&format!("{}: {}.", workload.id, words::counts(workload)), out)?;
    designs::main_effects(findings, workload, out)?;
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        paragraph(&format!("`{}` ({}), change against the control:", metric.name, words::metric_aside(metric)), out)?;
        let mut table = tables::metric_table(findings, metric);
        shorten_verdicts(&mut table);
        print(table, out)?;
        for contrast in &metric.contrasts {
            if let Some(reason) = words::reason(&contrast.verdict) {
                item(&format!("{}: no verdict: {reason}", words::arm_name(findings, contrast.arm)), out)?;
            }
        }
        if metric.contrasts.iter().any(|c| words::reason(&c.verdict).is_some()) {
            writeln!(out)?;
        }
    }
    let arms: Vec<u32> = (0..findings.arms.len() as u32).collect();
    // Bars between columns take a character more than blanks.
    let limit = |columns: usize| WIDTH - 2 - columns;
    let group = limit(arms.len() + 2);
    let others = tables::others_tables(findings, workload, group);
    if !others.is_empty() {
        paragraph(&format!("Exploratory metrics ({}):", tables::OTHERS_KEY), out)?;
    }
    for table in others {
        print(table, out)?;
    }
    for table in tables::in_groups(&arms, group, |group| tables::per_operation_table(findings, workload, group)) {
        print(table, out)?;
    }
    let tiers = tables::tiers_table(findings, workload);
    if !tiers.rows.is_empty() {
        print(tiers, out)?;
    }
    let remarks = tables::remarks(findings, workload);
    for remark in &remarks {
        item(remark, out)?;
    }
    for missing in tables::not_counted(workload) {
        item(&format!("not counted: {missing}"), out)?;
    }
    writeln!(out)
}

/// Interval beside the change and the verdict as a word, so that the row fits a mail; reasons stand below the table.
fn shorten_verdicts(table: &mut Table) {
    for row in &mut table.rows {
        if row.len() == 6 {
            let interval = std::mem::take(&mut row[3].text);
            row[2].text = format!("{} {interval}", row[2].text).trim().to_owned();
            row.remove(3);
            let word = row[4].text.split([',', ':', '(']).next().unwrap_or_default().trim().to_owned();
            row[4].text = word;
        }
    }
    let interval = table.header.remove(3);
    table.header[2] = format!("change [{}]", interval.trim_end_matches(" interval"));
    table.align.remove(3);
}

/// A pipe table no wider than a mail: the first column gives way.
fn print(mut table: Table, out: &mut dyn Write) -> io::Result<()> {
    table.header.iter_mut().for_each(|h| *h = escape(h));
    table.rows.iter_mut().flatten().for_each(|c| c.text = escape(&c.text));
    let columns = table.align.len();
    let mut widths: Vec<usize> = table.header.iter().map(|h| width(h).max(3)).collect();
    for row in &table.rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(&cell.text));
        }
    }
    let total: usize = widths.iter().sum::<usize>() + 3 * columns + 1;
    let first = widths[0].saturating_sub(total.saturating_sub(WIDTH)).max(8);
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
    for (name, value) in
        environment.facts.iter().filter(|(n, _)| matches!(n.as_str(), "host" | "kernel" | "CPU" | "online CPUs"))
    {
        item(&format!("{name}: {value}"), out)?;
    }
    for problem in findings.problems.iter().chain(&environment.warnings) {
        item(problem, out)?;
    }
    for check in environment.checks.iter().filter(|c| c.state == CheckState::Warning) {
        item(&format!("warning: {}: {}: {}", check.title, check.value, check.effect), out)?;
    }
    for change in &environment.changes {
        item(&format!("{} changed: {} → {}", change.what, change.before, change.after), out)?;
    }
    let rules = &findings.rules;
    let sesoi = crate::number::given(rules.sesoi);
    item(
        &format!(
            "{}; smallest effect of interest {sesoi}; stamping: {}; seed {}",
            rules.design, rules.stamping, rules.seed
        ),
        out,
    )?;
    for method in &rules.methods {
        item(method, out)?;
    }
    if !findings.ended.is_empty() {
        item(&format!("the run ended: {}", findings.ended), out)?;
    }
    // Indented code: a fence could be closed from inside, and the line is there to be copied whole.
    writeln!(out, "\nschedlab {}:\n", input.manifest.schedlab_version)?;
    writeln!(out, "    {}", words::shell(&findings.command).replace('\n', " "))
}
