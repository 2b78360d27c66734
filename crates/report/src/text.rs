//! The report on a terminal: claims and what weakens them first, then for each workload the verdicts, the exploratory
//! metrics that differ, what the scheduler did, and remarks; the environment's warnings and the command last.

mod designs;

pub use designs::scaling_text;

use crate::escape::terminal;
use crate::table::{Align, Table, paint, wrap};
use crate::{Input, remarks, tables, words};
use schedlab_analyze::{Findings, MetricFindings, Role, WorkloadFindings};
use std::io::{self, Write};

/// Longest name of an arm in a table, characters.
const NAME: usize = 20;

/// A page of a given width.
struct Page<'w> {
    out: &'w mut dyn Write,
    width: usize,
    colour: bool,
}

impl Page<'_> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        let code = if self.colour { Some("1") } else { None };
        for line in wrap(&terminal(text), self.width) {
            self.line(&paint(&line, code))?;
        }
        Ok(())
    }

    /// A paragraph with `lead` before its first line and blanks before the others.
    fn item(&mut self, lead: &str, text: &str, code: Option<&str>) -> io::Result<()> {
        let indent = crate::table::width(lead);
        for (i, line) in wrap(&terminal(text), self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let line = paint(line, code.filter(|_| self.colour));
            self.line(&format!("{lead}{line}"))?;
        }
        Ok(())
    }

    fn items(&mut self, items: &[String]) -> io::Result<()> {
        items.iter().try_for_each(|text| self.item("  - ", text, None))
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let mut table = table.clone();
        table.rows.iter_mut().flatten().for_each(|c| c.text = terminal(&c.text));
        table.header.iter_mut().for_each(|h| *h = terminal(h));
        for line in table.lines(self.width.saturating_sub(2), self.colour) {
            self.line(&format!("  {line}"))?;
        }
        Ok(())
    }

    /// Tables below each other, a blank line before each.
    fn tables(&mut self, tables: &[Table]) -> io::Result<()> {
        for table in tables.iter().filter(|t| !t.rows.is_empty()) {
            self.line("")?;
            self.table(table)?;
        }
        Ok(())
    }
}

/// The findings for a terminal `width` columns wide, with ANSI colours or without.
pub fn text(input: &Input<'_>, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { out, width: width.clamp(40, 240), colour };
    claims(&mut page, input.findings)?;
    designs::scalings(&mut page, input.findings)?;
    for workload in &input.findings.workloads {
        of_workload(&mut page, input.findings, workload)?;
    }
    closing(&mut page, input.findings)
}

fn claims(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    if let Some(why) = &findings.void {
        page.item("", &format!("VOID: {why}"), Some("1;31"))?;
    }
    if findings.claims.is_empty() {
        page.item("", "No claim: there is nothing to compare.", None)?;
    }
    let (head, more) = remarks::claims(findings);
    for claim in head {
        page.item("• ", &claim.sentence, tables::colour(&claim.verdict))?;
    }
    if !more.is_empty() {
        page.item("  ", &format!("{}; see the tables.", remarks::more_claims(more.len())), None)?;
    }
    if let schedlab_analyze::Source::TwoRuns { a, b, refused } = &findings.source {
        page.item("  ", &format!("Two runs that were not interleaved: A is {a}, B is {b}."), None)?;
        if let Some(why) = refused {
            page.item("  ", &format!("Not compared: {why}"), Some("33"))?;
        }
    }
    let problems = remarks::problems(findings);
    if !problems.is_empty() {
        page.heading("Before you read on")?;
        problems.iter().try_for_each(|text| page.item("  - ", text, Some("33")))?;
    }
    if findings.arms.is_empty() {
        return Ok(());
    }
    page.heading("Arms")?;
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    for (arm, name) in words::cut(words::arms(findings), page.width / 2) {
        let spec = findings.arms.get(arm as usize).map_or("", |a| a.spec.as_str());
        let what = format!("{}{}", words::spec(findings, spec), words::arm_role(findings, arm));
        table.push(vec![name.into(), what.into()]);
    }
    page.table(&table)
}

fn of_workload(page: &mut Page<'_>, findings: &Findings, workload: &WorkloadFindings) -> io::Result<()> {
    page.heading(&words::workload_heading(findings, workload))?;
    page.item("  ", &workload.spec, Some("2"))?;
    page.item("  ", &format!("{}: {}.", workload.id, words::counts(workload)), Some("2"))?;
    designs::main_effects(page, findings, workload)?;
    let names = words::cut(words::arms(findings), NAME);
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        of_metric(page, metric, &names)?;
    }
    let limit = page.width.saturating_sub(2);
    let others = tables::others_tables(workload, &names, limit);
    if !others.is_empty() {
        page.line("")?;
        page.item("  ", tables::OTHERS, Some("2"))?;
    }
    page.tables(&others)?;
    let untold = tables::others_untold(workload);
    if !untold.is_empty() {
        page.line("")?;
    }
    untold.iter().try_for_each(|text| page.item("  ", text, None))?;
    let arms = words::cut(words::fact_arms(findings, workload), NAME);
    page.tables(&tables::in_groups(&arms, limit, |group| tables::per_operation_table(workload, group)))?;
    page.tables(&[tables::tiers_table(workload, &arms)])?;
    let not_counted = tables::not_counted(workload).into_iter().map(|m| format!("Not counted: {m}."));
    let remarks: Vec<String> = remarks::of_workload(findings, workload).into_iter().chain(not_counted).collect();
    if !remarks.is_empty() {
        page.line("")?;
    }
    page.items(&remarks)
}

fn of_metric(page: &mut Page<'_>, metric: &MetricFindings, names: &tables::Names) -> io::Result<()> {
    page.line("")?;
    page.item("  ", &format!("{} ({})", metric.name, words::metric_aside(metric)), None)?;
    page.table(&tables::metric_table(metric, names))?;
    for contrast in &metric.contrasts {
        if let Some(reason) = words::reason(&contrast.verdict) {
            let arm = names.iter().find(|(arm, _)| *arm == contrast.arm).map_or("?", |(_, name)| name);
            page.item("  ", &format!("{arm}: no verdict: {}", words::full_stop(reason)), None)?;
        }
    }
    Ok(())
}

fn closing(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let mut machine = remarks::warnings(findings);
    let change = |c: &schedlab_analyze::Change| format!("{} changed: {} → {}.", c.what, c.before, c.after);
    machine.extend(findings.environment.changes.iter().map(change));
    if !machine.is_empty() {
        page.heading("Machine")?;
        page.items(&machine)?;
    }
    page.heading("Run")?;
    page.items(&remarks::rules(findings))?;
    // The command is not wrapped: it is there to be copied.
    page.line(&format!("  {}", terminal(&words::shell(&findings.command))))
}
