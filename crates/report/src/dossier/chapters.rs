//! The chapters, as blocks for both Markdown and HTML.

use super::sentences::{self as s, Lang, Said};
use super::{Block, DossierSubject, differences, term};
use schedlab_kernel::dossier::{Dossier, Event, SourceLine, Status, fixed};
use std::collections::BTreeSet;

/// A page under construction.
pub(super) struct Page<'a> {
    pub(super) subject: &'a DossierSubject,
    pub(super) dossier: &'a Dossier,
    pub(super) lang: Lang,
    pub(super) out: Vec<Block>,
    /// Slots that have been placed already.
    placed: BTreeSet<String>,
}

impl Page<'_> {
    pub(super) fn heading(&mut self, level: usize, said: Said) {
        self.out.push(Block::Heading(level, self.lang.of(said).to_owned()));
    }

    pub(super) fn text(&mut self, said: Said) {
        self.out.push(Block::Text(self.lang.of(said).to_owned()));
    }

    /// Adds a table, unless it has no rows.
    pub(super) fn table(&mut self, header: &[Said], rows: Vec<Vec<String>>) {
        if !rows.is_empty() {
            self.out.push(Block::Table(header.iter().map(|said| self.lang.of(*said)).collect(), rows));
        }
    }

    /// Adds a slot with what an engineer has written, or with default text number `empty`.
    pub(super) fn slot(&mut self, name: &str, empty: usize) {
        let text = self.subject.slots.get(name).cloned();
        let text = text.unwrap_or_else(|| self.lang.of(s::TO_WRITE[empty]).to_owned());
        // If two functions have one name, the first gets the slot.
        if self.placed.insert(name.to_owned()) {
            self.out.push(Block::Slot(name.to_owned(), text));
        }
    }

    /// The first of some names, and the number of others.
    pub(super) fn shortened(&self, names: &[String], most: usize) -> String {
        let more = names.len().saturating_sub(most);
        let more = if more > 0 { self.lang.with(s::AND_MORE, &[&more.to_string()]) } else { String::new() };
        self.lang.list(&names[..names.len().min(most)]) + &more
    }

    /// A word such as `added` in the page's language.
    pub(super) fn change(&self, word: &str) -> String {
        let found = s::CHANGES.iter().find(|said| said[0] == word);
        found.map_or(word.to_owned(), |said| self.lang.of(*said).to_owned())
    }
}

pub(super) fn blocks(subject: &DossierSubject, dossier: &Dossier) -> Vec<Block> {
    let title = vec![Block::Heading(1, subject.title.clone())];
    let mut page = Page { subject, dossier, lang: subject.lang, out: title, placed: BTreeSet::new() };
    let lang = page.lang;
    let limited = if subject.paths.is_empty() { lang.of(s::ALL_FILES).to_owned() } else { lang.list(&subject.paths) };
    let [before, after] = &subject.sides;
    let [read_before, read_after] = dossier.files_read.map(|n| n.to_string());
    page.out.push(Block::Text(lang.with(s::SIDES, &[before, &read_before, after, &read_after, &limited])));
    if !subject.problems.is_empty() {
        page.text(s::LEFT_OUT);
        page.out.push(Block::Lines(subject.problems.clone()));
    }
    page.heading(2, s::FEATURE);
    page.slot("principle", 0);
    evolution(&mut page);
    differences::chapters(&mut page);
    if let Some(found) = &subject.term {
        term::chapters(&mut page, found);
    }
    measurement(&mut page);
    page.heading(2, s::SUMMARY);
    let counts = summary(dossier);
    let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
    page.out.push(Block::Text(lang.with(s::COUNTS, &counts)));
    page.slot("summary", 3);
    if !dossier.skipped.is_empty() {
        page.heading(2, s::NOT_READ);
        let row = |found: &schedlab_kernel::dossier::SkippedPlace| {
            vec![lang.of(s::BEFORE_AFTER[found.tree.min(1)]).to_owned(), place(&found.place), what(lang, &found.what)]
        };
        let rows = dossier.skipped.iter().map(row).collect();
        page.table(&s::NOT_READ_COLUMNS, rows);
    }
    let gone: Vec<&String> = subject.slots.keys().filter(|name| !page.placed.contains(*name)).collect();
    if !gone.is_empty() {
        page.heading(2, s::WITHOUT_PLACE);
        for name in gone {
            page.out.push(Block::Text(lang.with(s::NOTE_OF, &[name])));
            page.slot(name, 4);
        }
    }
    page.out
}

/// The reason why something was not read, in the page's language; text from the source is not translated.
fn what(lang: s::Lang, what: &str) -> String {
    let at = schedlab_kernel::source::NOT_READ.iter().position(|reason| *reason == what);
    let chinese = at.map(|at| s::NOT_READ_REASONS[at]).filter(|_| lang == s::Lang::Zh);
    chinese.unwrap_or(what).to_owned()
}

fn evolution(page: &mut Page<'_>) {
    page.heading(2, s::EVOLUTION);
    let (subject, lang) = (page.subject, page.lang);
    let is_history = is_history(subject);
    let is_tagged = subject.events.iter().any(|event| event.release.is_some());
    if subject.events.is_empty() {
        page.text(s::NO_HISTORY);
    } else if is_history && !is_tagged {
        page.text(s::NO_TAGS);
    }
    let row = |event: &Event| {
        let Event { commit, date, author, subject, release, .. } = event;
        let release = release.clone().unwrap_or_else(|| lang.of(s::NOT_RELEASED).to_owned());
        let cells = [commit, date, author, subject, &release].map(String::clone);
        cells.into_iter().take(if is_tagged { 5 } else { 4 }).collect()
    };
    let rows = subject.events.iter().map(row).collect();
    page.table(&s::EVENT_COLUMNS[..if is_tagged { 5 } else { 4 }], rows);
    let mut rows = Vec::new();
    for event in &subject.events {
        let of = if event.commit.is_empty() { &event.subject } else { &event.commit };
        rows.extend(event.references.iter().map(|r| vec![of.clone(), r.kind.to_owned(), r.to.clone()]));
    }
    for found in &subject.mentions {
        let at = place(&found.place);
        let at = if found.files > 1 { lang.with(s::FILES_NAME_IT, &[&at, &found.files.to_string()]) } else { at };
        rows.push(vec![found.name.clone(), lang.of(s::DOCUMENTATION).to_owned(), at]);
    }
    if !rows.is_empty() {
        page.heading(3, s::REFERENCES);
        page.table(&s::REFERENCE_COLUMNS, rows);
    }
}

/// Whether the commits come from a checkout, whose tags and later commits are known. Mails also have commit ids.
fn is_history(subject: &DossierSubject) -> bool {
    subject.is_checkout && !subject.events.is_empty()
}

fn measurement(page: &mut Page<'_>) {
    page.heading(2, s::MEASUREMENT);
    let subject = page.subject;
    if let Some(run) = &subject.measured {
        let place = if run.place.is_empty() { run.name.clone() } else { format!("{} ({})", run.name, run.place) };
        page.out.push(Block::Text(page.lang.with(s::FROM_RUN, &[&place])));
        page.out.extend(run.claims.iter().map(|claim| Block::Text(claim.clone())));
        page.out.extend(run.picture.iter().map(|_| Block::MeasuredPicture));
        let rows = run.calls.iter().map(|(function, arm, n)| vec![function.clone(), arm.clone(), n.clone()]).collect();
        page.table(&s::CALL_COLUMNS, rows);
    }
    page.slot("measurement", if subject.measured.is_some() { 4 } else { 2 });
    if subject.term.is_none() {
        return;
    }
    page.heading(3, s::VERIFICATION);
    page.slot("verification", 5);
    page.heading(3, s::PROBLEMS);
    let named = |event: &Event| format!("{} {}", event.commit, event.subject);
    let later = subject.events.iter().chain(&subject.later);
    let row = |(later, at): (&Event, usize)| {
        vec![named(&subject.events[at]), named(later), later.release.clone().unwrap_or_default()]
    };
    let found = later.flat_map(|event| fixed(event, &subject.events).into_iter().map(move |at| (event, at)));
    let rows: Vec<Vec<String>> = found.map(row).collect();
    if rows.is_empty() && is_history(subject) {
        page.text(s::NO_PROBLEMS);
    }
    page.table(&s::PROBLEM_COLUMNS, rows);
    page.slot("problems", 6);
}

/// The number of files, and of interfaces and functions that were changed, added, removed or renamed.
fn summary(dossier: &Dossier) -> [String; 6] {
    let count = |wanted: fn(&Status) -> bool| dossier.functions.iter().filter(|f| wanted(&f.status)).count();
    [
        dossier.files.len(),
        dossier.interfaces.len(),
        count(|status| *status == Status::Changed),
        count(|status| *status == Status::New),
        count(|status| *status == Status::Removed),
        count(|status| matches!(status, Status::RenamedFrom(_))),
    ]
    .map(|n| n.to_string())
}

pub(super) fn place(place: &SourceLine) -> String {
    format!("{}:{}", place.file, place.line)
}
