//! Chapter 3: interfaces, code, calls, modules, similar features.

use super::chapters::{Page, place};
use super::sentences as s;
use super::{Block, entries, flow, modules};
use schedlab_kernel::dossier::{
    Caller, FileChange, FunctionChange, Interface, InterfaceChange, KeyFunction, Kind, NotAdapted, Similar, SourceLine,
    Status, SubsystemChange,
};
use schedlab_plan::InOrder;
use schedlab_plan::OneByOne;
use std::collections::BTreeMap;

/// Most characters of a definition in a cell; the JSON has all.
const SHOWN: usize = 160;
/// Most callers listed for a function.
const CALLERS: usize = 12;
/// Most commits listed for an interface.
const COMMITS: usize = 3;
/// Most conditions listed inside a function.
const CONDITIONS: usize = 4;
/// Most functions listed that ran.
const RAN: usize = 40;

pub(super) fn chapters(page: &mut Page<'_>) {
    page.heading(2, s::DIFFERENCES);
    interfaces(page);
    code(page);
    flows(page);
    affected(page);
    page.heading(3, s::SIMILAR);
    if !page.subject.similar.is_empty() {
        page.text(s::SIMILAR_HOW);
        let row = |found: &Similar| {
            let [shared, with] = [&found.shared, &found.with].map(|names| page.shortened(names, CALLERS));
            vec![found.function.clone(), place(&found.place), shared, with]
        };
        let rows = page.subject.similar.iter().map(row).collect();
        page.table(&s::SIMILAR_COLUMNS, rows);
    }
    page.slot("similar", 1);
}

fn interfaces(page: &mut Page<'_>) {
    page.heading(3, s::INTERFACES);
    let mut kinds: BTreeMap<Kind, Vec<&InterfaceChange>> = BTreeMap::new();
    page.dossier.interfaces.iter().for_each(|c| kinds.entry(c.kind).or_default().push(c));
    if kinds.is_empty() {
        page.text(s::NONE_DIFFERS);
    }
    for (kind, changes) in kinds {
        let title = page.lang.of(s::KINDS[kind as usize]);
        page.out.push(Block::Heading(4, format!("{title} ({})", changes.len())));
        let side = |i: &Option<Interface>, other: &Option<Interface>| {
            i.as_ref().map_or(String::new(), |i| said(page, i, other.as_ref()))
        };
        let changed = |c: &InterfaceChange| match &c.before {
            Some(old) if old.name != c.name => page.lang.with(s::RENAMED_FROM, &[&old.name]),
            _ => page.change(c.change),
        };
        // With a single commit or patch the column would be redundant.
        let are_many = page.subject.events.len() > 1 && changes.iter().any(|c| !c.commits.is_empty());
        let shown = if are_many { 5 } else { 4 };
        let row = |c: &&InterfaceChange| {
            let by = page.shortened(&c.commits, COMMITS);
            let cells = [c.name.clone(), changed(c), side(&c.before, &c.after), side(&c.after, &c.before), by];
            cells.into_iter().take(shown).collect()
        };
        let rows = changes.iter().map(row).collect();
        page.table(&s::INTERFACE_COLUMNS[..shown], rows);
    }
}

/// The place and text of a definition. If the text is long, it starts where it begins to differ from `other`.
fn said(page: &Page<'_>, i: &Interface, other: Option<&Interface>) -> String {
    let same = other.map_or(0, |other| i.detail.chars().zip(other.detail.chars()).take_while(|(a, b)| a == b).count());
    let from = if i.detail.chars().count() > SHOWN && same > SHOWN / 2 { same - SHOWN / 4 } else { 0 };
    let before = if from > 0 { "…" } else { "" };
    let detail: String = i.detail.chars().skip(from).take(SHOWN).collect();
    let more = if i.detail.chars().count() > from + SHOWN { "…" } else { "" };
    let condition =
        if i.condition.is_empty() { String::new() } else { format!(" {} {}", page.lang.of(s::IF), i.condition) };
    let folder = if i.folder.is_empty() { String::new() } else { page.lang.with(s::IN_FOLDER, &[&i.folder]) + " " };
    format!("{} {folder}{before}{detail}{more}{condition}", place(&i.place))
}

fn code(page: &mut Page<'_>) {
    page.heading(3, s::CODE);
    let signed = |added: usize, removed: usize| [format!("+{added}"), format!("-{removed}")];
    match page.subject.subsystems.is_empty() {
        true if page.dossier.files.is_empty() => page.text(s::NO_FILES),
        true => page.text(s::NO_MAINTAINERS),
        false => {
            let row = |found: &SubsystemChange| {
                let [added, removed] = signed(found.added, found.removed);
                let lists = page.lang.list(&found.lists);
                vec![found.name.clone(), found.status.clone(), lists, found.files.to_string(), added, removed]
            };
            let rows = page.subject.subsystems.iter().map(row).collect();
            page.table(&s::SUBSYSTEM_COLUMNS, rows);
        }
    }
    let row = |f: &FileChange| {
        let [added, removed] = if f.binary { ["Bin".to_owned(), String::new()] } else { signed(f.added, f.removed) };
        let change = f.old_path.as_ref().map_or(page.change(f.status), |old| page.lang.with(s::RENAMED_FROM, &[old]));
        let modes = f.modes.as_ref().map(|[old, new]| page.lang.with(s::MODES, &[old, new])).unwrap_or_default();
        vec![f.path.clone(), change + &modes, added, removed]
    };
    let rows = page.dossier.files.iter().map(row).collect();
    page.table(&s::FILE_COLUMNS, rows);
    page.text(s::FUNCTIONS);
    if page.dossier.functions.is_empty() {
        return page.text(s::NONE_DIFFERS);
    }
    let row = |f: &FunctionChange| {
        let at = |p: &Option<SourceLine>| p.as_ref().map_or(String::new(), place);
        let size = format!("+{} -{}", f.added, f.removed);
        vec![f.name.clone(), status(page, f), size, at(&f.before), at(&f.after), conditions(page, f)]
    };
    let rows = page.dossier.functions.iter().map(row).collect();
    page.table(&s::FUNCTION_COLUMNS, rows);
}

/// The conditions on the whole function, and those on lines of the diff inside it.
fn conditions(page: &Page<'_>, f: &FunctionChange) -> String {
    let inside = page.shortened(&f.inner_conditions, CONDITIONS);
    let inside = if inside.is_empty() { inside } else { page.lang.with(s::INSIDE, &[&inside]) };
    let both = [f.condition.clone(), inside];
    both.into_iter().filter(|held| !held.is_empty()).collect::<Vec<_>>().join("; ")
}

fn status(page: &Page<'_>, f: &FunctionChange) -> String {
    match (&f.status, &f.signatures) {
        (Status::New, _) => page.change("new"),
        (Status::Removed, _) => page.change("removed"),
        (Status::RenamedFrom(old), _) => page.lang.with(s::RENAMED_FROM, &[old]),
        (Status::Changed, Some([old, new])) => page.lang.with(s::SIGNATURE, &[old, new]),
        (Status::Changed, None) => page.change("changed"),
    }
}

fn flows(page: &mut Page<'_>) {
    page.heading(3, s::FLOW);
    if modules::has_picture(page.dossier) {
        page.text(s::HOW_MODULES);
        page.out.push(Block::ModulePicture);
    }
    let entries = entries::entries(page.dossier);
    if !entries.is_empty() {
        page.text(s::HOW_ENTRIES);
        let (drawn, rest) = entries.split_at(entries.len().min(entries::MOST));
        page.out.extend(drawn.iter().enumerate().map(|(number, entry)| Block::EntryPicture { number, entry: *entry }));
        let rest: Vec<String> = rest.iter().map(|entry| page.dossier.key_functions[*entry].name.clone()).collect();
        if !rest.is_empty() {
            let text = page.lang.with(s::MORE_ENTRIES, &[&rest.len().to_string(), &page.lang.list(&rest)]);
            page.out.push(Block::Text(text));
        }
    }
    not_adapted(page);
    let [shown, all] = [page.dossier.key_functions.len(), page.dossier.functions.len()];
    if shown == 0 {
        return page.text(s::NONE_DIFFERS);
    }
    if shown < all {
        page.out.push(Block::Text(page.lang.with(s::FIRST_RANKED, &[&shown.to_string(), &all.to_string()])));
    }
    page.text(s::HOW_RANKED);
    for (number, f) in page.dossier.key_functions.iter().enumerate() {
        page.out.push(Block::Heading(4, format!("{}. {}", number + 1, f.name)));
        let text = of_function(page, f);
        page.out.push(Block::Text(text));
        if flow::has_calls(f) {
            page.out.push(Block::Picture(number));
        }
    }
}

fn not_adapted(page: &mut Page<'_>) {
    if page.dossier.not_adapted.is_empty() {
        return;
    }
    page.text(s::NOT_ADAPTED);
    let lang = page.lang;
    let row = |call: &NotAdapted| {
        let at = place(&call.place);
        let at = if call.is_outside { lang.with(s::OUTSIDE, &[&at]) } else { at };
        let taken = call.taken.map_or(lang.of(s::IS_GONE).to_owned(), |taken| taken.to_string());
        vec![call.function.clone(), call.caller.clone(), at, call.passed.to_string(), taken]
    };
    let rows = page.dossier.not_adapted.iter().map(row).collect();
    page.table(&s::NOT_ADAPTED_COLUMNS, rows);
}

fn of_function(page: &Page<'_>, f: &KeyFunction) -> String {
    let lang = page.lang;
    let callers = |callers: &[Caller]| {
        let named = |c: &Caller| {
            let file = if c.is_outside { lang.with(s::OUTSIDE, &[&c.file]) } else { c.file.clone() };
            format!("{} ({file})", c.function)
        };
        page.shortened(&callers.iter().map(named).collect::<Vec<_>>(), CALLERS)
    };
    let outside = f.callers.iter().filter(|caller| caller.is_outside).count();
    let inside = (f.callers.len() - outside).to_string();
    let mut text = lang.with(s::REASON, &[&place(&f.place), &f.lines.to_string(), &inside]);
    if outside > 0 {
        text += &lang.with(s::REASON_OUTSIDE, &[&outside.to_string()]);
    }
    if !f.registered.is_empty() {
        text += &lang.with(s::REASON_TABLES, &[&f.registered.len().to_string()]);
    }
    if f.is_signature_changed {
        text += lang.of(s::REASON_SIGNATURE);
    }
    text += lang.of(s::STOP);
    if !f.registered.is_empty() {
        text += &lang.with(s::REGISTERED, &[&page.shortened(&f.registered, CALLERS)]);
    }
    for (said, named) in [(s::CALLED_BY, &f.callers), (s::DISPATCHED, &f.dispatched_from)] {
        if !named.is_empty() {
            text += &lang.with(said, &[&callers(named)]);
        }
    }
    if !f.perhaps_dispatched_from.is_empty() {
        let mut named = callers(&f.perhaps_dispatched_from);
        if f.more_perhaps > 0 {
            named += &lang.with(s::AND_MORE, &[&f.more_perhaps.to_string()]);
        }
        text += &lang.with(s::PERHAPS, &[&named]);
    }
    for (said, named) in [(s::CALLS_ADDED, &f.calls_added), (s::CALLS_REMOVED, &f.calls_removed)] {
        if !named.is_empty() {
            text += &lang.with(said, &[&lang.list(named)]);
        }
    }
    text
}

/// Folders whose functions differ, call what changed, or ran.
fn affected(page: &mut Page<'_>) {
    page.heading(3, s::MODULES);
    let (dossier, hits) = (page.dossier, page.subject.hits.as_ref());
    let hit = |f: &FunctionChange| hits.and_then(|hits| hits.counts.get(&f.name)).copied().unwrap_or(0);
    let folder_of =
        |f: &FunctionChange| folder(f.after.as_ref().or(f.before.as_ref()).map_or("", |p| &p.file)).to_owned();
    let mut folders: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for f in &dossier.functions {
        let counts = folders.entry(folder_of(f)).or_default();
        counts[0] += 1;
        counts[2] += hit(f);
    }
    let callers = dossier.key_functions.iter().flat_map(|f| f.callers.iter().chain(&f.dispatched_from));
    let inside = callers.filter(|caller| !caller.is_outside).map(|caller| &caller.file);
    for file in inside.chain(dossier.outside.iter().map(|caller| &caller.place.file)) {
        folders.entry(folder(file).to_owned()).or_default()[1] += 1;
    }
    let shown = if hits.is_some() { 4 } else { 3 };
    let is_outside = |name: &str| dossier.outside.iter().any(|caller| folder(&caller.place.file) == name);
    let row = |(folder, counts): (&String, &[u64; 3])| {
        let name = if is_outside(folder) { page.lang.with(s::OUTSIDE, &[folder]) } else { folder.clone() };
        let cells = [name].into_iter().chain(counts.iter().map(u64::to_string));
        cells.take(shown).collect()
    };
    let rows = folders.iter().map(row).collect();
    page.table(&s::MODULE_COLUMNS[..shown], rows);
    if !dossier.outside.is_empty() {
        page.text(s::OUTSIDE_HOW);
    }
    let Some(hits) = hits else { return };
    let ran: BTreeMap<&str, &FunctionChange> =
        dossier.functions.iter().filter(|f| hit(f) > 0).map(|f| (f.name.as_str(), f)).one_by_one();
    let not = dossier.functions.iter().filter(|f| hit(f) == 0).count();
    let text = page.lang.with(s::HITS, &[&hits.source, &ran.len().to_string(), &not.to_string()]);
    page.out.push(Block::Text(text));
    let mut ran: Vec<&FunctionChange> = ran.into_values().collect();
    ran.in_order_by_key(|f| std::cmp::Reverse(hit(f)));
    let rows = ran.iter().take(RAN).map(|f| vec![f.name.clone(), folder_of(f), hit(f).to_string()]).collect();
    page.table(&s::HIT_COLUMNS, rows);
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::super::{DossierSubject, dossier_markdown};
    use schedlab_kernel::dossier::{File, compare};

    #[test]
    fn a_call_through_what_has_no_known_type_is_a_possible_one() {
        let text = "int my_pick(int n)\n{\n\treturn 0;\n}\nstruct cls fair = { .pick = my_pick };\n\
            void a(struct cls *c)\n{\n\tc->pick(1);\n}\nvoid b(void)\n{\n\tCLS(1)->pick(1);\n}\n";
        let [before, after] = [text.to_owned(), text.replace("return 0", "return 1")]
            .map(|text| vec![File::read("a.c".into(), text.into())]);
        let mut page = Vec::new();
        dossier_markdown(&DossierSubject::default(), &compare(&before, &after), &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let said = "Dispatched from a (a.c). Possibly dispatched from b (a.c): by the member's name alone";
        assert!(page.contains(said), "{page}");
    }
}
