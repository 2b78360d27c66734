//! `schedlab explain-json SCHEMA`: documents the members of an output, from the page generated from the printed types.

use crate::exit::{self, usage};
use crate::output::{fitted, terminal_width, to_stdout};
use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::io::Read;

/// The page, compressed by the build script; `tests/json` generates it, and checks it against what the commands print.
const PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/json.md.gz"));

/// A table of the page.
struct Shape<'a> {
    /// For a schema the command and the schema, otherwise the name of a type.
    title: &'a str,
    lines: Vec<&'a str>,
}

pub(super) fn run(schema: Option<&str>) -> Result<u8> {
    let mut page = String::new();
    GzDecoder::new(PAGE).read_to_string(&mut page).context("the page of this program")?;
    let shapes = shapes(&page);
    let schemas = || shapes.iter().filter_map(|shape| Some((schema_of(shape.title)?, shape)));
    let Some(wanted) = schema else {
        to_stdout(|out| {
            schemas().try_for_each(|(schema, shape)| writeln!(out, "{schema:36} {}", command_of(shape.title)))
        })?;
        return Ok(exit::DONE);
    };
    let is_wanted = |schema: &str| schema == wanted || schema.strip_prefix("schedlab/") == Some(wanted);
    let Some((_, shape)) = schemas().find(|(schema, _)| is_wanted(schema)) else {
        let near = schedlab_plan::nearest::nearest(wanted, schemas().map(|(schema, _)| schema));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        usage!("no answer of schedlab has the schema `{wanted}`{near} (`schedlab explain-json` lists all)");
    };
    let all = with_those_in_it(shape, &shapes);
    let columns = terminal_width();
    to_stdout(|out| all.iter().try_for_each(|shape| write_shape(shape, columns, out)))?;
    Ok(exit::DONE)
}

fn shapes(page: &str) -> Vec<Shape<'_>> {
    let mut shapes: Vec<Shape<'_>> = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")) {
            shapes.push(Shape { title, lines: Vec::new() });
        } else if let (Some(shape), true) = (shapes.last_mut(), !line.is_empty()) {
            shape.lines.push(line);
        }
    }
    shapes
}

/// `` `trace latency`: `schedlab/trace-latency/1` `` contains both.
fn schema_of(title: &str) -> Option<&str> {
    title.split('`').find(|part| part.starts_with("schedlab/"))
}

fn command_of(title: &str) -> &str {
    title.split('`').nth(1).unwrap_or_default()
}

/// The shape and the shapes of its fields, without duplicates.
fn with_those_in_it<'a>(shape: &'a Shape<'a>, shapes: &'a [Shape<'a>]) -> Vec<&'a Shape<'a>> {
    let (mut all, mut met) = (vec![shape], BTreeSet::new());
    let mut at = 0;
    while let Some(shape) = all.get(at) {
        let links =
            shape.lines.iter().flat_map(|line| line.split("](#").skip(1)).filter_map(|rest| rest.split(')').next());
        let new: Vec<&str> = links.filter(|link| met.insert(*link)).collect();
        all.extend(new.iter().filter_map(|link| shapes.iter().find(|shape| shape.title.to_lowercase() == **link)));
        at += 1;
    }
    all
}

fn write_shape(shape: &Shape<'_>, columns: usize, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    writeln!(out, "{}", shape.title.replace('`', ""))?;
    for line in shape.lines.iter().filter(|line| !line.starts_with("|---") && !line.starts_with("| field")) {
        let cells: Vec<String> = line.split(" | ").map(unlinked).collect();
        match &cells[..] {
            [name, of, means] => {
                let of = schedlab_report::wrap(&format!("({of})"), columns.saturating_sub(name.len() + 4));
                let begin = |number: usize| if number == 0 { format!("  {name}  ") } else { " ".repeat(4) };
                of.iter().enumerate().try_for_each(|(at, line)| writeln!(out, "{}{line}", begin(at)))?;
                let means = schedlab_report::wrap(means, columns.saturating_sub(6));
                means.iter().try_for_each(|line| writeln!(out, "      {line}"))?;
            }
            _ => writeln!(out, "{}", fitted(&format!("  {}", unlinked(line)), columns))?,
        }
    }
    writeln!(out)
}

/// A cell as plain text: `[Name](#name)` is `Name`.
fn unlinked(cell: &str) -> String {
    let mut text = cell.trim_matches([' ', '|']).replace('`', "").replace("\\|", "|");
    while let (Some(open), Some(link)) = (text.find('['), text.find("](#")) {
        let end = text[link..].find(')').map_or(text.len(), |end| link + end + 1);
        let open = text[..link].rfind('[').unwrap_or(open);
        text = format!("{}{}{}", &text[..open], &text[open + 1..link], &text[end..]);
    }
    text
}
