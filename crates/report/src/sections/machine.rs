//! The machine: its description, checks that warn, and changes.

use super::Subject;
use crate::document::{Block, Remark, Section, Tone};
use crate::table::{Align, Cell, Table};
use crate::{labels, remarks};
use schedlab_analyze::{CheckRow, Source};
use schedlab_plan::{InOrder, counted};

/// Facts about a machine that are always printed; a page also has the others.
const FIRST: [&str; 4] = ["host", "kernel", "CPU", "online CPUs"];

pub(super) fn sections<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    let findings = subject.input.findings;
    let environment = &findings.environment;
    let facts = environment.facts.iter().filter(|(_, value)| !value.is_empty()).cloned();
    let (first, rest): (Vec<_>, Vec<_>) = facts.partition(|(name, _)| FIRST.contains(&name.as_str()));
    if first.is_empty() && environment.checks.is_empty() {
        let nothing = "Nothing is known of the machine the rows were measured on.".to_owned();
        return vec![Section::body("machine", "Machine", vec![Block::Text(nothing)])];
    }
    let two_runs = matches!(findings.source, Source::TwoRuns { .. });
    let changes = environment.changes.iter().map(|c| match two_runs {
        true => format!("{} differs: {} in A, {} in B.", c.what, c.before, c.after),
        false => format!("{} changed: {} → {}.", c.what, c.before, c.after),
    });
    let warnings = remarks::warnings(findings).into_iter().map(Remark::warning);
    let mut blocks = vec![Block::Terms(first)];
    blocks.extend(Block::remarks(warnings.chain(changes.map(Remark::note))));
    let what = [(rest.len(), "more facts"), (environment.checks.len(), "checks")];
    let what: Vec<String> = what.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    if !what.is_empty() {
        let all = move || {
            let facts = (!rest.is_empty()).then(|| Block::Terms(rest.clone()));
            facts.into_iter().chain(Block::table(checks(&environment.checks))).collect()
        };
        blocks.push(Block::More(what.join(", "), Box::new(all)));
    }
    vec![Section::body("machine", "Machine", blocks)]
}

fn checks(checks: &[CheckRow]) -> Table {
    let header = ["state", "check", "value", "what it does to results", "what to do", "read at"];
    let mut table = Table::new(&header.map(|name| (name, Align::Left)));
    let mut checks: Vec<&CheckRow> = checks.iter().collect();
    checks.in_order_by_key(|c| labels::check_rank(c.state));
    for c in checks {
        let state = Cell::toned(labels::check_state(c.state), c.state);
        let seen = [&c.title, &c.value, &c.effect, &c.fix].map(|text| Cell::from(text.as_str()));
        table.push([state].into_iter().chain(seen).chain([Cell::toned(&c.evidence, Tone::None)]).collect());
    }
    table
}
