//! CSV, parsed by hand. It contains only numbers and names, so a separator (`,`, `;` or tab, as in the header),
//! optional double quotes and `#` comments are all that is supported. Two layouts, distinguished by the header:
//! - `before,after` (any two names): a row is a pair, and the two numbers share a block;

use crate::error::shown;
use crate::table::{Measured, Row, Table, named};
use crate::{ImportError, Options, Source};
use schedlab_plan::counted;

/// Enough for any study, and few enough to notice a column of numbers that is taken for arm names.
const MAX_ARMS: usize = 64;

/// The arms and numbers of a CSV.
pub(crate) fn read(source: &Source, options: &Options) -> Result<Table, ImportError> {
    let mut lines = content_lines(&source.text);
    let (line, header) = lines.next().ok_or_else(|| ImportError::Empty(source.file.clone()))?;
    let wrong = |line: usize, why: String| ImportError::Line { source_name: source.file.clone(), line, why };
    let not_a_header = |why: &str| {
        wrong(
            line,
            format!("`{}` {why}; the header is `before,after` for pairs or `arm,value` for rows", shown(header)),
        )
    };
    let separator = separator(header).ok_or_else(|| not_a_header("is not a CSV header"))?;
    let names = cells(header, separator);
    let [first, second] = names.as_slice() else {
        return Err(not_a_header(&format!("has {}, not two", counted(names.len(), "columns"))));
    };
    if names.iter().any(|n| n.is_empty()) {
        return Err(not_a_header("has a column without a name"));
    }
    if names.iter().all(|n| n.parse::<f64>().is_ok()) {
        return Err(not_a_header("holds numbers where a header should be"));
    }
    let is_long = first.eq_ignore_ascii_case("arm");
    if !is_long && first == second {
        return Err(not_a_header("names both arms alike"));
    }
    let metric = options.metric.as_deref().unwrap_or("value");
    let mut table = Table::new(source.name.clone());
    let workload = table.workload(named(&source.name), metric);
    if !is_long {
        table.arms.clone_from(&names);
    }
    let row = |arm: u32, block: u32, value: f64| {
        let mut measured = Measured::default();
        measured.metric(metric, value, options.unit.as_deref().unwrap_or_default(), options.direction);
        Row { workload, arm, block, result: Ok(measured) }
    };
    for (line, text) in lines {
        let cells = cells(text, separator);
        let [left, right] = cells.as_slice() else {
            return Err(wrong(
                line,
                format!("`{}` has {} where the header has two", shown(text), counted(cells.len(), "columns")),
            ));
        };
        let number = |cell: &str| number(cell).ok_or_else(|| wrong(line, format!("`{}` is not a number", shown(cell))));
        let block = table.next_block();
        if is_long {
            let arm = arm(&mut table.arms, left).map_err(|why| wrong(line, why))?;
            table.rows.push(row(arm, block, number(right)?));
        } else {
            table.rows.push(row(0, block, number(left)?));
            table.rows.push(row(1, block, number(right)?));
        }
    }
    match table.arms.as_slice() {
        _ if table.rows.is_empty() => Err(wrong(line, "a header and no rows; there is nothing to compare".into())),
        [arm] => Err(ImportError::OneArm { source_name: source.file.clone(), arm: arm.clone() }),
        _ => Ok(table),
    }
}

/// Lines that are neither blank nor comments, numbered from 1. A byte-order mark in front is dropped.
pub(crate) fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    numbered.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

/// The separator of a header: the first of tab, `;` and `,` that is in it.
pub(crate) fn separator(header: &str) -> Option<char> {
    ['\t', ';', ','].into_iter().find(|&c| header.contains(c))
}

/// Cells without their quotes and surrounding blanks; a separator inside double quotes belongs to the cell.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            c => cell.push(c),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

/// A finite number; `inf` and `nan`, which Rust would read, are not results.
fn number(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|x| x.is_finite())
}

/// The index of a label; new ones are appended. The control is the arm of the first row.
fn arm(arms: &mut Vec<String>, label: &str) -> Result<u32, String> {
    if label.is_empty() {
        return Err("the arm has no name".into());
    }
    let index = match arms.iter().position(|a| a == label) {
        Some(index) => index,
        None if arms.len() == MAX_ARMS => {
            return Err(format!("`{}` is arm number {}; is the first column the arm?", shown(label), MAX_ARMS + 1));
        }
        None => {
            arms.push(label.to_owned());
            arms.len() - 1
        }
    };
    Ok(index as u32)
}
