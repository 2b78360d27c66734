//! Sections and blocks on an HTML page.

use super::build::{Page, escape};
use crate::document::{Block, Landmark, Remark, RemarkKind, Section, Tone};
use crate::{labels, tables};

/// Remarks of a callout that are always visible; the others are folded.
const SHOWN: usize = 4;

/// A section in the element for its landmark.
pub(super) fn section(page: &mut Page, section: &Section<'_>) {
    let (id, title) = (&section.id, &section.title);
    let (element, attributes) = match section.landmark {
        Landmark::Head => ("header", String::new()),
        Landmark::Callout => ("aside", format!("class=\"callout\" id=\"{id}\" aria-label=\"{title}\"")),
        Landmark::Legend => ("section", format!("class=\"arms\" id=\"{id}\" aria-label=\"{title}\"")),
        Landmark::Body if id.is_empty() => ("section", String::new()),
        Landmark::Body => ("section", format!("id=\"{id}\"")),
    };
    page.open(element, &attributes);
    if section.landmark == Landmark::Body && !title.is_empty() {
        page.element("h2", "", title);
    }
    match (section.landmark, section.blocks.as_slice()) {
        (Landmark::Callout, [Block::Remarks(remarks)]) => {
            let (first, more) = remarks.split_at(remarks.len().min(SHOWN));
            list(page, first);
            if !more.is_empty() {
                page.open("details", "");
                page.element("summary", "", &format!("{} more", more.len()));
                list(page, more);
                page.close("details");
            }
        }
        (_, all) => blocks(page, title, all),
    }
    page.close(element);
}

fn list(page: &mut Page, remarks: &[Remark]) {
    page.open("ul", "class=\"notes\"");
    for remark in remarks {
        page.element("li", if remark.kind == RemarkKind::Warning { "class=\"warning\"" } else { "" }, &remark.text);
    }
    page.close("ul");
}

/// A sequence of blocks. For screen readers, a table is named after the text that leads to it.
pub(super) fn blocks(page: &mut Page, title: &str, blocks: &[Block<'_>]) {
    let mut name = title;
    for block in blocks {
        if let Block::Lead(text) = block {
            name = text;
        }
        one(page, name, block);
    }
}

fn one(page: &mut Page, name: &str, block: &Block<'_>) {
    match block {
        Block::Headline(text, _) => headline(page, text),
        Block::Claims(claims) => {
            page.open("ul", "class=\"claims\"");
            for (text, verdict) in claims {
                let (tone, word) = (Tone::from(verdict).class(), labels::verdict(verdict));
                page.raw(&format!("<li><b class=\"word {tone}\">{word}</b> "));
                page.say(text);
                page.raw("</li>\n");
            }
            page.close("ul");
        }
        Block::Origin(text) | Block::Text(text) => page.element("p", "class=\"notes\"", text),
        Block::Hanging(lead, text) => page.element("p", "class=\"notes\"", &format!("{} {text}", lead.trim())),
        Block::Aside(text) => page.element("p", "class=\"caption\"", text),
        // It may break after each comma.
        Block::Spec(text) => page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(text).replace(',', ",<wbr>"))),
        Block::Lead(text) => page.element("h3", "", text),
        Block::Remarks(remarks) => list(page, remarks),
        Block::Terms(terms) => page.table(name, &tables::of_terms(terms)),
        Block::Arms(arms) => arms.iter().enumerate().for_each(|(index, arm)| one_arm(page, index as u32, arm)),
        Block::Table(table) => page.table(name, table),
        Block::Pictures(pictures) => {
            let pictures = pictures();
            if !pictures.is_empty() {
                page.open("div", "class=\"figures\"");
                pictures.iter().for_each(|picture| page.figure(picture));
                page.close("div");
            }
        }
        Block::More(summary, all) => {
            page.open("details", "");
            page.element("summary", "", summary);
            blocks(page, summary, &all());
            page.close("details");
        }
        Block::Brief(_) => {}
        // The script fills it when it is opened. Without a script it would be empty, so it is hidden.
        Block::Trials(workload) => {
            page.open("details", &format!("data-trials=\"{workload}\" hidden"));
            page.element("summary", "", "Every trial as a table");
            page.close("details");
        }
        Block::Command(words) => {
            page.open("div", "class=\"command\"");
            page.element("pre", "id=\"command\"", words);
            page.element("button", "type=\"button\" data-copy=\"command\"", "Copy");
            page.close("div");
        }
        Block::Verbatim(text) => page.element("pre", "", text),
    }
}

/// The claim, and its evidence in a lighter font.
fn headline(page: &mut Page, text: &str) {
    let text = escape(text);
    let (claim, evidence) = text.split_once(": ").filter(|(head, _)| *head != "A/A control").unwrap_or((&text, ""));
    page.raw(&format!("<h1>{claim}"));
    if !evidence.is_empty() {
        page.raw(&format!("<span class=\"evidence\">: {evidence}</span>"));
    }
    page.raw("</h1>\n");
}

/// An arm of the legend; a click highlights it in every picture.
fn one_arm(page: &mut Page, index: u32, (name, what): &(String, String)) {
    page.open("button", &format!("type=\"button\" class=\"arm\" data-pick=\"{index}\" aria-pressed=\"false\""));
    page.sign(index);
    page.element("b", "", name);
    page.element("span", "", what);
    page.close("button");
}
