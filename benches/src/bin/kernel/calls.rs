//! Compares direct calls with those in the objects.

use super::objects::objects;
use super::sources::{Static, units};
use anyhow::Result;
use schedlab_benches::table;
use schedlab_kernel::source::scan;
use std::path::Path;

/// Calls that are not in the source: inserted by the compiler, by a static call (of a tracepoint) or by inline
/// assembly.
fn is_made(name: &str) -> bool {
    let made = ["__fentry__", "mcount", "memcpy", "memset", "memmove", "memcmp", "strlen", "__stack_chk_fail"];
    made.contains(&name)
        || ["__x86_", "__ubsan", "__asan", "__kasan", "__sanitizer", "__SCT__", "__get_user_", "__put_user_"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.starts_with("preempt_schedule") && name.ends_with("_thunk")
}

/// Counts the edges of the objects that the scanner has as well. `folders` are the folders of the objects.
pub(crate) fn run(tree: &Path, build: &Path, folders: &[String]) -> Result<bool> {
    let mut sources = Static::default();
    let own: Vec<&str> = folders.iter().map(String::as_str).chain(["include", "arch/x86/include"]).collect();
    units(tree, &own)?.iter().for_each(|(path, text)| sources.add((path, &scan(text)), &|_| true));
    let objects = objects(build, folders)?;
    let (mut all, mut found, mut made, mut unknown) = (0, 0, 0, 0);
    let mut missed = Vec::new();
    for (name, code) in &objects {
        for to in code.calls.iter().filter(|to| *to != name) {
            if is_made(to) {
                made += 1;
            } else if !sources.functions.contains_key(name) {
                unknown += 1;
            } else {
                all += 1;
                if sources.leads(name, to, code) { found += 1 } else { missed.push(format!("{name} → {to}")) }
            }
        }
    }
    let percent = 100.0 * f64::from(found) / f64::from(all.max(1));
    let is_met = percent >= 98.0;
    let row = |what: &str, value: String, bar: &str, met: String| vec![what.to_owned(), value, bar.into(), met];
    let rows = [
        row("direct calls in the objects", all.to_string(), "", String::new()),
        row("found in the source", format!("{found} ({percent:.2} %)"), "≥ 98 %", table::met(is_met)),
        row("inserted by the compiler, a static call or inline assembly", made.to_string(), "", String::new()),
        row("in functions that are in none of the C files read", unknown.to_string(), "", String::new()),
    ];
    table::print("Calls in the objects", &["of the functions built", "found", "bar", "met"], &rows);
    missed.sort();
    missed.iter().for_each(|edge| println!("missed: {edge}"));
    Ok(is_met)
}
