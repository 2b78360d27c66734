//! The report on a terminal: claims first, then for each workload the verdicts, the exploratory metrics, what the
//! scheduler did, and remarks; the environment's warnings and the command last.

mod designs;

pub use designs::scaling_text;

use crate::escape::terminal;
use crate::table::{Table, paint, wrap};
use crate::{Input, tables, words};
use schedlab_analyze::{Findings, Role, WorkloadFindings};
use schedlab_run::CheckState;
use std::io::{self, Write};

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

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let mut table = table.clone();
        table.rows.iter_mut().flatten().for_each(|c| c.text = terminal(&c.text));
        table.header.iter_mut().for_each(|h| *h = terminal(h));
        for line in table.lines(self.width.saturating_sub(2), self.colour) {
            self.line(&format!("  {line}"))?;
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
    for claim in &findings.claims {
        page.item("• ", &claim.sentence, tables::colour(&claim.verdict))?;
    }
    if let schedlab_analyze::Source::TwoRuns { a, b, refused } = &findings.source {
        page.item("  ", &format!("Two runs that were not interleaved: A is {a}, B is {b}."), None)?;
        if let Some(why) = refused {
            page.item("  ", &format!("Not compared: {why}"), Some("33"))?;
        }
    }
    Ok(())
}

fn of_workload(page: &mut Page<'_>, findings: &Findings, workload: &WorkloadFindings) -> io::Result<()> {
    let load = if workload.load.is_empty() { String::new() } else { format!(" beside {}", workload.load.join(", ")) };
    page.heading(&format!("{}{load}", words::workload_label(findings, workload)))?;
    page.item("  ", &workload.spec, Some("2"))?;
    page.item("  ", &format!("{}: {}.", workload.id, words::counts(workload)), Some("2"))?;
    designs::main_effects(page, findings, workload)?;
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        page.line("")?;
        page.line(&format!("  {} ({})", terminal(&metric.name), words::metric_aside(metric)))?;
        page.table(&tables::metric_table(findings, metric))?;
    }
    let arms: Vec<u32> = (0..findings.arms.len() as u32).collect();
    let limit = page.width.saturating_sub(2);
    let others = tables::others_tables(findings, workload, limit);
    if !others.is_empty() {
        page.line("")?;
        page.item(
            "  ",
            &format!("exploratory metrics, change against the control ({})", tables::OTHERS_KEY),
            Some("2"),
        )?;
    }
    for table in &others {
        page.table(table)?;
    }
    for table in tables::in_groups(&arms, limit, |group| tables::per_operation_table(findings, workload, group)) {
        page.line("")?;
        page.table(&table)?;
    }
    let tiers = tables::tiers_table(findings, workload);
    if !tiers.rows.is_empty() {
        page.line("")?;
        page.table(&tiers)?;
    }
    let remarks = tables::remarks(findings, workload);
    if !remarks.is_empty() {
        page.line("")?;
    }
    for remark in &remarks {
        page.item("  - ", remark, None)?;
    }
    for missing in tables::not_counted(workload) {
        page.item("  - ", &format!("not counted: {missing}"), None)?;
    }
    Ok(())
}

fn closing(page: &mut Page<'_>, findings: &Findings) -> io::Result<()> {
    let environment = &findings.environment;
    let warnings: Vec<_> = environment.checks.iter().filter(|c| c.state == CheckState::Warning).collect();
    if !(warnings.is_empty() && environment.warnings.is_empty() && findings.problems.is_empty()) {
        page.heading("Mind")?;
    }
    for problem in findings.problems.iter().chain(&environment.warnings) {
        page.item("  - ", problem, Some("33"))?;
    }
    for check in warnings {
        let mend = if check.mend.is_empty() { String::new() } else { format!(" {}", check.mend) };
        page.item(
            "  - ",
            &format!("{}: {}: {}.{mend}", check.title, check.value, check.effect.trim_end_matches('.')),
            None,
        )?;
    }
    for change in &environment.changes {
        page.item("  - ", &format!("{} changed: {} → {}", change.what, change.before, change.after), None)?;
    }
    page.heading("Run")?;
    let rules = &findings.rules;
    let sesoi = crate::number::given(rules.sesoi);
    page.item(
        "  ",
        &format!("{}; effects below {sesoi} do not matter; stamping: {}.", rules.design, rules.stamping),
        None,
    )?;
    if !findings.ended.is_empty() {
        page.item("  ", &format!("It ended: {}.", findings.ended), None)?;
    }
    // The command is not wrapped: it is there to be copied.
    page.line(&format!("  {}", terminal(&words::shell(&findings.command))))
}
