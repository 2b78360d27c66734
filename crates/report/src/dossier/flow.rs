//! One function's calls before and after as a picture: callers on the left, calls on the right.

use super::sentences::{AND_MORE, CALLS_OF, Lang};
use crate::escape::xml;
use schedlab_kernel::dossier::KeyFunction;

/// Most names in a column, unless more of them differ; `… N more` follows.
const ROWS: usize = 16;
const ROW: usize = 20;
const WIDTH: usize = 900;

pub(super) const KEPT: &str = "#555";
pub(super) const ADDED: &str = "#117733";
pub(super) const REMOVED: &str = "#b2182b";

/// Whether there is anything to draw.
pub(super) fn has_calls(f: &KeyFunction) -> bool {
    !(f.callers.is_empty()
        && f.dispatched_from.is_empty()
        && f.calls_kept.is_empty()
        && f.calls_added.is_empty()
        && f.calls_removed.is_empty())
}

/// The beginning of a picture.
pub(super) fn open(height: usize, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"monospace\" font-size=\"13\"><title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        xml(title)
    )
}

pub(super) fn picture(f: &KeyFunction, lang: Lang) -> String {
    let of = |names: &[String], colour: &'static str, sign: &'static str| -> Vec<(String, &'static str)> {
        names.iter().map(|n| (format!("{sign}{n}"), colour)).collect()
    };
    let callers: Vec<String> = f.callers.iter().map(|c| c.function.clone()).collect();
    let dispatched: Vec<String> = f.dispatched_from.iter().map(|c| c.function.clone()).collect();
    let left = shortened(Vec::new(), [of(&callers, KEPT, ""), of(&dispatched, KEPT, "(*) ")].concat(), lang);
    let differ = [of(&f.calls_added, ADDED, "+ "), of(&f.calls_removed, REMOVED, "− ")].concat();
    let right = shortened(differ, of(&f.calls_kept, KEPT, ""), lang);
    let height = ROW * left.len().max(right.len()).max(1) + 2 * ROW;
    let middle = height / 2;
    let mut out = open(height, &lang.with(CALLS_OF, &[&f.name]));
    for (column, x, end, anchor) in [(&left, 280, 310, "end"), (&right, 620, 590, "start")] {
        let top = middle - ROW * column.len() / 2 + ROW / 2;
        for (at, (name, colour)) in column.iter().enumerate() {
            let y = top + at * ROW;
            let name = xml(name);
            out += &format!(
                "<path d=\"M{} {y}L{end} {middle}\" stroke=\"{colour}\" fill=\"none\"/>\n",
                if x < end { x + 5 } else { x - 5 }
            );
            out +=
                &format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{name}</text>\n", y + 4);
        }
    }
    let name = xml(&f.name);
    out += &format!(
        "<rect x=\"310\" y=\"{}\" width=\"280\" height=\"28\" rx=\"4\" fill=\"#eef\" stroke=\"#336\"/>\n",
        middle - 14
    );
    out + &format!(
        "<text x=\"450\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{name}</text>\n</svg>",
        middle + 4
    )
}

/// All names that differ, and as many of the others as there is room for.
fn shortened(
    mut names: Vec<(String, &'static str)>,
    kept: Vec<(String, &'static str)>,
    lang: Lang,
) -> Vec<(String, &'static str)> {
    let room = ROWS.saturating_sub(names.len()).min(kept.len());
    let more = kept.len() - room;
    names.extend(kept.into_iter().take(room));
    if more > 0 {
        names.push((format!("…{}", lang.with(AND_MORE, &[&more.to_string()])), KEPT));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_kernel::dossier::{File, compare};

    #[test]
    fn a_call_that_differs_is_always_drawn() {
        let calls = |name: &str, n: usize| (0..n).map(|at| format!("\t{name}{at}();\n")).collect::<String>();
        let of = |added: usize, removed: usize| {
            let text = |body: String| vec![File::read("a.c".into(), format!("void f(void)\n{{\n{body}}}\n").into())];
            let sides = [calls("gone", removed), calls("come", added)].map(|own| text(own + &calls("kept", 20)));
            picture(&compare(&sides[0], &sides[1]).key_functions[0], Lang::En)
        };
        let count = |svg: &str, what: &str| svg.matches(what).count();
        let all = of(23, 12);
        assert_eq!([">+ come", ">− gone", ">kept"].map(|what| count(&all, what)), [23, 12, 0]);
        assert!(all.contains("… and 20 more"), "{all}");
        let few = of(2, 1);
        assert_eq!([">+ come", ">− gone", ">kept"].map(|what| count(&few, what)), [2, 1, 13]);
        assert!(few.contains("… and 7 more"), "{few}");
    }
}
