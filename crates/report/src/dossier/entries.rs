//! The call flow from an entry into a change: the functions that differ and their calls, as a tree of names.

use super::flow::{ADDED, KEPT, REMOVED, open};
use super::sentences::{AND_MORE, CALLED_FROM, FLOW_FROM, Lang};
use crate::escape::xml;
use schedlab_kernel::dossier::{Dossier, KeyFunction, Status};
use std::collections::BTreeSet;

/// Most entries with a picture; the others are only named.
pub(super) const MOST: usize = 12;
/// Most rows of a picture, not counting the row with the number of the others.
const ROWS: usize = 60;
/// Most names in a row of calls to functions that do not differ, and in a row of callers.
const NAMES: usize = 4;
const ROW: usize = 20;
const INDENT: usize = 24;
const LEFT: usize = 20;
/// Most characters of a row's text, including its indent.
const CHARS: usize = 108;

/// The key functions that no other key function calls, and the first one of each cycle that is not reached otherwise;
/// only those that call another one.
pub(super) fn entries(dossier: &Dossier) -> Vec<usize> {
    let tree = Tree(&dossier.key_functions);
    let called: BTreeSet<usize> =
        (0..tree.0.len()).flat_map(|at| tree.callees(at).into_iter().filter(move |to| *to != at)).collect();
    let (mut entries, mut reached) = (Vec::new(), BTreeSet::new());
    let (first, rest): (Vec<usize>, Vec<usize>) = (0..tree.0.len()).partition(|at| !called.contains(at));
    for at in first.into_iter().chain(rest) {
        if reached.contains(&at) {
            continue;
        }
        let before = reached.len();
        tree.reach(at, &mut reached);
        if tree.callees(at).iter().any(|to| *to != at) && reached.len() > before {
            entries.push(at);
        }
    }
    entries
}

/// The file of the picture of an entry.
pub(super) fn file(number: usize) -> String {
    format!("entry-{}.svg", number + 1)
}

/// The key functions, and which of them each calls, by name.
struct Tree<'a>(&'a [KeyFunction]);

impl Tree<'_> {
    fn at(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|f| f.name == name)
    }

    fn callees(&self, at: usize) -> Vec<usize> {
        let KeyFunction { calls_kept, calls_added, calls_removed, .. } = &self.0[at];
        calls_kept.iter().chain(calls_added).chain(calls_removed).filter_map(|name| self.at(name)).collect()
    }

    fn reach(&self, at: usize, reached: &mut BTreeSet<usize>) {
        if reached.insert(at) {
            self.callees(at).into_iter().for_each(|to| self.reach(to, reached));
        }
    }
}

struct Row {
    depth: usize,
    text: String,
    colour: &'static str,
    /// Colour of the line that leads to it.
    edge: &'static str,
}

/// The rows of a picture under construction.
struct Rows<'a> {
    tree: Tree<'a>,
    dossier: &'a Dossier,
    lang: Lang,
    drawn: BTreeSet<usize>,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn push(&mut self, depth: usize, text: String, [colour, edge]: [&'static str; 2]) {
        self.rows.push(Row { depth, text, colour, edge });
    }

    fn function(&mut self, at: usize, depth: usize, (sign, edge): (&str, &'static str)) {
        let f = &self.tree.0[at];
        let is_new = self.drawn.insert(at);
        let colour = self.colour(&f.name);
        self.push(depth, format!("{sign}{}{}", f.name, if is_new { "" } else { " ↑" }), [colour, edge]);
        if !is_new {
            return;
        }
        for (names, sign, edge) in
            [(&f.calls_kept, "", KEPT), (&f.calls_added, "+ ", ADDED), (&f.calls_removed, "− ", REMOVED)]
        {
            let (below, others): (Vec<&String>, Vec<&String>) =
                names.iter().partition(|name| self.tree.at(name).is_some_and(|to| to != at));
            for to in below.into_iter().filter_map(|name| self.tree.at(name)).collect::<Vec<_>>() {
                self.function(to, depth + 1, (sign, edge));
            }
            if !sign.is_empty() && !others.is_empty() {
                self.push(depth + 1, format!("{sign}{}", self.some(&others)), [edge, edge]);
            }
        }
    }

    fn colour(&self, name: &str) -> &'static str {
        match self.dossier.functions.iter().find(|f| f.name == name).map(|f| &f.status) {
            Some(Status::New) => ADDED,
            Some(Status::Removed) => REMOVED,
            _ => "#111",
        }
    }

    fn some(&self, names: &[&String]) -> String {
        let more = names.len().saturating_sub(NAMES);
        let shown: Vec<String> = names.iter().take(NAMES).map(|name| (*name).clone()).collect();
        let more = if more > 0 { self.lang.with(AND_MORE, &[&more.to_string()]) } else { String::new() };
        self.lang.list(&shown) + &more
    }
}

pub(super) fn picture(dossier: &Dossier, entry: usize, lang: Lang) -> String {
    let mut of = Rows { tree: Tree(&dossier.key_functions), dossier, lang, drawn: BTreeSet::new(), rows: Vec::new() };
    let f = &dossier.key_functions[entry];
    let callers: Vec<&String> = f.callers.iter().chain(&f.dispatched_from).map(|caller| &caller.function).collect();
    if !callers.is_empty() {
        let from = lang.with(CALLED_FROM, &[&of.some(&callers)]);
        of.push(0, from, [KEPT, KEPT]);
    }
    let depth = of.rows.len();
    of.function(entry, depth, ("", KEPT));
    let more = of.rows.len().saturating_sub(ROWS);
    of.rows.truncate(ROWS);
    if more > 0 {
        of.push(0, format!("…{}", lang.with(AND_MORE, &[&more.to_string()])), [KEPT, KEPT]);
    }
    drawn(&of.rows, &lang.with(FLOW_FROM, &[&f.name]))
}

fn drawn(rows: &[Row], title: &str) -> String {
    let mut out = open(ROW * (rows.len() + 1), title);
    let [x, y] = [|depth: usize| LEFT + INDENT * depth, |row: usize| ROW * row + ROW];
    for (at, row) in rows.iter().enumerate() {
        let parent = rows[..at].iter().rposition(|other| other.depth + 1 == row.depth);
        if let Some(parent) = parent.filter(|_| row.depth > 0) {
            let from = x(row.depth - 1) + 6;
            out += &format!(
                "<path d=\"M{from} {}V{}H{}\" stroke=\"{}\" fill=\"none\"/>\n",
                y(parent) + 6,
                y(at) - 4,
                x(row.depth) - 4,
                row.edge
            );
        }
        let room = CHARS.saturating_sub(3 * row.depth);
        let text: String = match row.text.chars().count() > room {
            true => row.text.chars().take(room).chain(['…']).collect(),
            false => row.text.clone(),
        };
        out += &format!("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", x(row.depth), y(at), row.colour, xml(&text));
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dossier::{DossierSubject, dossier_markdown};
    use schedlab_kernel::dossier::{File, compare};

    fn dossier(before: &str, after: &str) -> Dossier {
        let text = |text: &str| vec![File::read("a.c".into(), text.to_owned().into())];
        compare(&text(before), &text(after))
    }

    fn texts(svg: &str) -> Vec<&str> {
        svg.lines().filter_map(|line| line.strip_prefix("<text")?.split(['>', '<']).nth(1)).collect()
    }

    const BEFORE: &str = "int leaf(int a)\n{\n\treturn a;\n}\nint push(int a)\n{\n\told(a);\n\treturn leaf(a);\n}\n\
        int entry(int a)\n{\n\treturn push(a);\n}\nint outer(int a)\n{\n\treturn entry(a);\n}\n";
    const AFTER: &str = "int leaf(int a)\n{\n\treturn a + 1;\n}\nint should(int a)\n{\n\treturn helper(a);\n}\n\
        int push(int a)\n{\n\tif (should(a))\n\t\treturn 0;\n\treturn leaf(a);\n}\nint entry(int a)\n{\n\tmore(a);\n\treturn push(a);\n}\n\
        int outer(int a)\n{\n\treturn entry(a);\n}\n";

    #[test]
    fn what_differs_is_drawn_below_its_entry() {
        let dossier = dossier(BEFORE, AFTER);
        let entries = entries(&dossier);
        assert_eq!(entries.iter().map(|&at| dossier.key_functions[at].name.as_str()).collect::<Vec<_>>(), ["entry"]);
        let svg = picture(&dossier, entries[0], Lang::En);
        let expected = ["called by outer", "entry", "push", "leaf", "+ should", "+ helper", "− old", "+ more"];
        assert_eq!(texts(&svg), expected);
        assert!(
            svg.contains(&format!("fill=\"{ADDED}\">+ should")) && svg.contains(&format!("fill=\"{REMOVED}\">− old"))
        );
    }

    /// The page names the entries that are not drawn, and their number.
    #[test]
    fn entries_beyond_the_pictures_are_named() {
        let callers = |n: usize| (0..n).map(|at| format!("int e{at:02}(int a)\n{{\n\tnew();\n\treturn leaf(a);\n}}\n"));
        for (n, more) in [(MOST, None), (MOST + 2, Some("2 more entries are not drawn: e12, e13."))] {
            let after: String = callers(n).collect();
            let before = after.replace("\tnew();\n", "");
            let leaf = |value: u32| format!("int leaf(int a)\n{{\n\treturn a + {value};\n}}\n");
            let dossier = self::dossier(&(before + &leaf(1)), &(after + &leaf(2)));
            assert_eq!(entries(&dossier).len(), n);
            let subject = DossierSubject::default();
            let mut page = Vec::new();
            dossier_markdown(&subject, &dossier, &mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            assert_eq!((page.matches("](entry-").count(), page.contains("not drawn")), (MOST, more.is_some()));
            assert!(more.is_none_or(|more| page.contains(more)), "{page}");
        }
    }

    /// The page says how many of the functions are key functions, or that there are none.
    #[test]
    fn functions_that_are_not_shown_are_counted() {
        let page = |[before, after]: [&str; 2]| {
            let mut page = Vec::new();
            dossier_markdown(&DossierSubject::default(), &dossier(before, after), &mut page).unwrap();
            String::from_utf8(page).unwrap()
        };
        let many =
            |x: u32| (0..30).map(|at| format!("int f{at}(int a)\n{{\n\treturn a + {x};\n}}\n")).collect::<String>();
        let counted = page([&many(1), &many(2)]);
        assert!(counted.contains("The 25 with the highest rank of 30 functions that differ."), "{counted}");
        assert!(!page([BEFORE, AFTER]).contains("with the highest rank of"));
        assert_eq!(page(["int a;\n", "int b;\n"]).matches("None differs.").count(), 3);
    }

    #[test]
    fn a_circle_is_drawn_once_and_lone_functions_are_no_entries() {
        let circle =
            |n: u32| format!("void a(void)\n{{\n\tx{n}();\n\tb();\n}}\nvoid b(void)\n{{\n\ty{n}();\n\ta();\n}}\n");
        let dossier = self::dossier(&circle(1), &circle(2));
        let entries = entries(&dossier);
        assert_eq!(entries.len(), 1);
        let svg = picture(&dossier, entries[0], Lang::En);
        assert_eq!(texts(&svg).iter().filter(|text| text.ends_with('↑')).count(), 1, "{svg}");
        assert!(
            self::entries(&self::dossier("void a(void)\n{\n\tb();\n}\n", "void a(void)\n{\n\tc();\n}\n")).is_empty()
        );
    }
}
