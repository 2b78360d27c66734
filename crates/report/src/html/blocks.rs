//! Blocks on the page.

use super::build::{Page, escape};
use super::inside::set;
use crate::document::Block;
use crate::{tables, words};

/// Blocks below each other. A table is named for those who do not see it by what leads to it.
pub(super) fn print(page: &mut Page, blocks: &[Block]) {
    let mut name = "";
    for block in blocks {
        match block {
            Block::Heading(text) | Block::Lead(text) => {
                name = text;
                page.element("h3", "", text);
            }
            Block::Claims(claims) => {
                page.open("ul", "class=\"claims\"");
                for (text, verdict) in claims {
                    let (tone, word) = (words::tone(verdict), words::verdict(verdict));
                    page.raw(&format!("<li><b class=\"word {tone}\">{word}</b> "));
                    page.say(text);
                    page.raw("</li>\n");
                }
                page.close("ul");
            }
            Block::Text(text) => page.element("p", "class=\"notes\"", text),
            Block::Aside(text) => page.element("p", "class=\"caption\"", text),
            // It may break after each comma.
            Block::Spec(text) => page.raw(&format!("<p class=\"spec\">{}</p>\n", escape(text).replace(',', ",<wbr>"))),
            Block::Warnings(texts) => texts.iter().for_each(|text| page.element("p", "class=\"callout\"", text)),
            Block::List(items) => page.list("class=\"notes\"", items),
            Block::Terms(terms) => set(page, name, &tables::of_terms(terms)),
            Block::Table(table) => set(page, name, table),
            Block::Picture(picture) => page.figure(picture),
            Block::Command(words) => page.element("pre", "", words),
        }
    }
}
