//! Functions whose text differs according to other programs: ctags finds them, gcc removes the comments.

use super::changed::Said;
use anyhow::{Context, Result, bail};
use schedlab_benches::table;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The texts of all functions of one name.
type Texts = BTreeMap<String, Vec<Vec<u8>>>;

/// `files` are the files that differ, for each tree.
pub(crate) fn compare(trees: [&Path; 2], files: [Vec<String>; 2], said: &Said) -> Result<()> {
    let [before, after] = [texts(trees[0], &files[0])?, texts(trees[1], &files[1])?];
    let mut differ = BTreeSet::new();
    for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let [old, new] = [before.get(name), after.get(name)];
        if old != new && bare(old.unwrap_or(&Vec::new()))? != bare(new.unwrap_or(&Vec::new()))? {
            differ.insert(name.as_str());
        }
    }
    let said: BTreeSet<&str> = said.iter().map(String::as_str).collect();
    let both = differ.intersection(&said).count();
    let row = |what: &str, count: usize| vec![what.to_owned(), count.to_string()];
    let rows = [
        row("by ctags and gcc, changed, new or gone", differ.len()),
        row("the dossier says so, too", both),
        row("the dossier alone says so", said.len() - both),
    ];
    table::print("Changed functions, beside their text", &["functions", "count"], &rows);
    differ.difference(&said).for_each(|name| println!("not in the dossier: {name}"));
    said.difference(&differ).for_each(|name| println!("the dossier alone: {name}"));
    Ok(())
}

fn texts(tree: &Path, files: &[String]) -> Result<Texts> {
    let options = ["-x", "--language-force=C", "--kinds-C=f", "--_xformat=%N %n %e %F"];
    let answer = Command::new("ctags").args(options).args(files).current_dir(tree).output();
    let answer = answer.context("ctags (package universal-ctags)")?;
    if !answer.status.success() {
        bail!("ctags: {}", String::from_utf8_lossy(&answer.stderr));
    }
    let mut lines: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut out = Texts::new();
    for found in String::from_utf8(answer.stdout)?.lines() {
        let [name, first, last, file] = found.split(' ').collect::<Vec<_>>()[..] else { bail!("ctags says {found}") };
        if !lines.contains_key(file) {
            let text = std::fs::read(tree.join(file)).with_context(|| file.to_owned())?;
            lines.insert(file.to_owned(), text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect());
        }
        let (first, last): (usize, usize) = (first.parse()?, last.parse()?);
        let text = lines[file].get(first - 1..last).unwrap_or_default().join(&b'\n');
        out.entry(named(name, &text)).or_default().push(text);
    }
    out.values_mut().for_each(|texts| texts.sort());
    Ok(out)
}

/// For `SYSCALL_DEFINE3(name, …)` and the like, ctags gives the name of the macro.
fn named(name: &str, text: &[u8]) -> String {
    if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return name.to_owned();
    }
    let text = String::from_utf8_lossy(text);
    let first = text.split_once('(').and_then(|(_, rest)| rest.split([',', ')']).next()).unwrap_or(name).trim();
    match name.split_once("SYSCALL_DEFINE") {
        Some(("COMPAT_", _)) => format!("compat_sys_{first}"),
        Some(_) => format!("sys_{first}"),
        None => first.to_owned(),
    }
}

/// Without comments and white space.
fn bare(texts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let mut out = texts.iter().map(|text| without_comments(text)).collect::<Result<Vec<_>>>()?;
    out.iter_mut().for_each(|text| text.retain(|byte| !byte.is_ascii_whitespace()));
    out.sort();
    Ok(out)
}

fn without_comments(text: &[u8]) -> Result<Vec<u8>> {
    let mut gcc = Command::new("gcc")
        .args(["-fpreprocessed", "-dD", "-E", "-P", "-w", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("gcc")?;
    gcc.stdin.take().context("gcc takes no text")?.write_all(text)?;
    Ok(gcc.wait_with_output()?.stdout)
}
