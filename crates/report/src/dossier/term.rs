//! Additional content of the template for a term: data structures with their users, and functions line by line.

use super::chapters::{Page, place};
use super::sentences as s;
use super::{Block, Term};
use schedlab_kernel::dossier::{Body, BodyLine, MemberUse};
use schedlab_plan::OneByOne;
use std::collections::BTreeSet;

/// Column of the sign in a line of a body: it follows two numbers of six digits and two blanks.
pub(super) const SIGN: usize = 14;
/// Most functions named as users of a member.
const USERS: usize = 8;

pub(super) fn chapters(page: &mut Page<'_>, term: &Term) {
    let lang = page.lang;
    page.heading(3, s::STRUCTURES);
    page.text(s::STRUCTURES_HOW);
    for structure in &term.structures {
        page.out.push(Block::Heading(4, structure.name.clone()));
        let [before, after] = structure.places.each_ref().map(|p| p.as_ref().map(place));
        let places = match (before, after) {
            (Some(a), Some(b)) if a != b => format!("{a} → {b}"),
            (a, b) => b.or(a).unwrap_or_default(),
        };
        page.out.push(Block::Text(lang.with(s::KEPT, &[&places, &structure.kept.to_string()])));
        let row = |member: &MemberUse| {
            let name = match member.namesakes {
                0 | 1 => member.name.clone(),
                n => lang.with(s::NAMESAKES, &[&member.name, &n.to_string()]),
            };
            let [before, after] = member.declared.each_ref().map(|text| text.clone().unwrap_or_default());
            vec![name, before, after, users(page, &member.writers), users(page, &member.readers)]
        };
        let rows = structure.members.iter().map(row).collect();
        page.table(&s::MEMBER_COLUMNS, rows);
        page.slot(&format!("data {}", structure.name), 4);
    }
    page.heading(3, s::BODIES);
    page.text(s::BODIES_HOW);
    for body in &term.bodies {
        page.out.push(Block::Heading(4, body.function.clone()));
        page.out.push(Block::Lines(lines(body)));
        page.slot(&format!("function {}", body.function), 4);
    }
}

/// The users in both versions; a `+` or `-` marks those that only one version has.
fn users(page: &Page<'_>, [before, after]: &[BTreeSet<String>; 2]) -> String {
    let all: BTreeSet<&String> = before.union(after).one_by_one();
    let signed = |name: &String| match (before.contains(name), after.contains(name)) {
        (true, false) => format!("-{name}"),
        (false, true) if !before.is_empty() => format!("+{name}"),
        _ => name.clone(),
    };
    page.shortened(&all.into_iter().map(signed).collect::<Vec<_>>(), USERS)
}

fn lines(body: &Body) -> Vec<String> {
    let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
    let line = |line: &BodyLine| {
        let sign = match line.numbers {
            [Some(_), None] => '-',
            [None, Some(_)] => '+',
            _ => ' ',
        };
        let [a, b] = line.numbers.map(number);
        format!("{a:>6} {b:>6} {sign}{}", line.text)
    };
    body.lines.iter().map(line).collect()
}
