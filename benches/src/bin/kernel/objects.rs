//! What the compiler made of the sources, as `objdump` shows it: a second opinion on calls and on what changed.

use anyhow::{Context, Result, bail};
use schedlab_benches::table;
use schedlab_kernel::dossier::{File, Status, compare};
use schedlab_kernel::source::{Unit, scan};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A function of an object: its code without addresses, and what it calls or jumps to by name.
#[derive(Default, Clone, PartialEq, Eq)]
struct Code {
    lines: Vec<String>,
    calls: BTreeSet<String>,
    /// Those of `calls` of which only a part is called: the rest was inlined.
    parts: BTreeSet<String>,
}

impl Code {
    fn call(&mut self, name: &str) {
        self.calls.insert(plain(name).to_owned());
        if name.contains(".part.") {
            self.parts.insert(plain(name).to_owned());
        }
    }
}

/// The objects of these folders of a build, each function by name; functions of one name in several objects are one.
fn objects(build: &Path, folders: &[String]) -> Result<BTreeMap<String, Code>> {
    let mut out: BTreeMap<String, Code> = BTreeMap::new();
    for folder in folders {
        let folder = build.join(folder);
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "o"));
        files.sort();
        for file in files {
            let run = Command::new("objdump").args(["-dr", "--no-show-raw-insn"]).arg(&file).output();
            let run = run.context("the program objdump (apt-get install binutils)")?;
            if !run.status.success() {
                bail!("objdump {}: {}", file.display(), String::from_utf8_lossy(&run.stderr));
            }
            read(&String::from_utf8_lossy(&run.stdout), &mut out);
        }
    }
    Ok(out)
}

/// `ADDRESS <NAME>:` begins a function; a relocation is below its instruction, and what the instruction itself seems to
/// lead to is nothing then.
fn read(said: &str, out: &mut BTreeMap<String, Code>) {
    let (mut name, mut target): (Option<String>, Option<&str>) = (None, None);
    for line in said.lines() {
        if let Some(begun) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")).map(|(_, name)| name) {
            leads_to(&name, target.take(), out);
            name = Some(plain(begun).to_owned());
            out.entry(plain(begun).to_owned()).or_default();
            continue;
        }
        let Some(code) = name.as_ref().and_then(|name| out.get_mut(name)) else { continue };
        if let Some((_, relocation)) = line.split_once(": R_") {
            target = None;
            let to = relocation.split_whitespace().nth(1).unwrap_or_default();
            if ["PLT32", "CALL26", "JUMP26"].iter().any(|kind| relocation.contains(kind)) {
                code.call(to.split(['+', '-']).next().unwrap_or_default());
            }
            code.lines.push(to.to_owned());
        } else if let Some((_, text)) = line.split_once(":\t") {
            let operation = text.split_whitespace().next().unwrap_or_default();
            let is_jump = operation.starts_with('j') || ["call", "b", "bl"].contains(&operation);
            code.lines.push(if is_jump { operation.to_owned() } else { text.trim().to_owned() });
            leads_to(&name, target.take(), out);
            // The target of a jump within the section is shown by name, and the name only where it is another
            // function's.
            let named = text.split_once('<').and_then(|(_, rest)| rest.split('>').next());
            target = named.filter(|named| is_jump && !named.contains('+'));
        }
    }
    leads_to(&name, target, out);
}

fn leads_to(name: &Option<String>, target: Option<&str>, out: &mut BTreeMap<String, Code>) {
    let code = name.as_ref().and_then(|name| out.get_mut(name));
    if let (Some(code), Some(target)) = (code, target) {
        code.call(target);
    }
}

/// Without what the compiler adds to the name of a copy or of a part.
fn plain(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// All C files of folders of a tree, headers among them.
fn units(tree: &Path, folders: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut out, mut open) = (Vec::new(), folders.iter().map(|folder| tree.join(folder)).collect::<Vec<_>>());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?.flatten() {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_c = path.extension().is_some_and(|end| end == "c" || end == "h");
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && is_c {
                let name = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
                out.push((name, std::fs::read(&path)?));
            }
        }
    }
    Ok(out)
}

/// Names that each function or macro of the sources leads to.
#[derive(Default)]
struct Static {
    functions: HashMap<String, HashSet<String>>,
    macros: HashMap<String, HashSet<String>>,
}

impl Static {
    fn add(&mut self, unit: &Unit) {
        for function in &unit.functions {
            let calls = self.functions.entry(function.name.clone()).or_default();
            calls.extend(function.calls.iter().filter(|call| !call.is_member).map(|call| call.name.clone()));
        }
        for one in &unit.macros {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words = one.text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_owned);
            self.macros.entry(one.name.clone()).or_default().extend(words);
        }
    }

    /// Whether the sources say that `from` calls `to`: itself, through macros, or through functions that its code does
    /// not call, which are those that were inlined into it.
    fn leads(&self, from: &str, to: &str, code: &Code) -> bool {
        let (mut open, mut seen) = (vec![from.to_owned()], HashSet::new());
        while let Some(name) = open.pop() {
            let is_inside = name == from || !code.calls.contains(&name) || code.parts.contains(&name);
            let functions = self.functions.get(&name).filter(|_| is_inside);
            for next in functions.into_iter().chain(self.macros.get(&name)).flatten() {
                if next == to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        false
    }
}

/// Calls that no source says: what the compiler, a static call (of a tracepoint) or inline assembly puts in.
fn is_made(name: &str) -> bool {
    let made = ["__fentry__", "mcount", "memcpy", "memset", "memmove", "memcmp", "strlen", "__stack_chk_fail"];
    made.contains(&name)
        || ["__x86_", "__ubsan", "__asan", "__kasan", "__sanitizer", "__SCT__", "__get_user_", "__put_user_"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Edges of the objects that the scanner has as well. `folders` are those of the objects.
pub(crate) fn calls(tree: &Path, build: &Path, folders: &[String]) -> Result<bool> {
    let mut sources = Static::default();
    let own: Vec<&str> = folders.iter().map(String::as_str).chain(["include", "arch/x86/include"]).collect();
    units(tree, &own)?.iter().for_each(|(_, text)| sources.add(&scan(text)));
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
        row("the sources say so", format!("{found} ({percent:.2} %)"), "≥ 98 %", table::met(is_met)),
        row("put in by the compiler, a static call or inline assembly", made.to_string(), "", String::new()),
        row("of functions that are in no C file read", unknown.to_string(), "", String::new()),
    ];
    table::print("Calls in the objects", &["of the functions built", "found", "bar", "met"], &rows);
    missed.sort();
    missed.iter().for_each(|edge| println!("missed: {edge}"));
    Ok(is_met)
}

/// Functions whose code differs between two builds, and those that the dossier calls changed.
pub(crate) fn changed(trees: [&Path; 2], builds: [&Path; 2], folders: &[String]) -> Result<bool> {
    let own: Vec<&str> = folders.iter().map(String::as_str).collect();
    let files = |tree: &Path| -> Result<Vec<File>> {
        Ok(units(tree, &own)?.into_iter().map(|(path, text)| File::read(path, text)).collect())
    };
    let (old, new) = (files(trees[0])?, files(trees[1])?);
    let said = compare(&old, &new).functions;
    let [before, after] = [objects(builds[0], folders)?, objects(builds[1], folders)?];
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs: BTreeSet<&str> =
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).map(String::as_str).collect();
    let told: BTreeMap<&str, &Status> = said.iter().map(|one| (one.name.as_str(), &one.status)).collect();
    let mut sources = Static::default();
    old.iter().chain(&new).for_each(|file| sources.add(&scan(&file.text)));
    let is_built = |name: &str| before.contains_key(name) || after.contains_key(name);
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in differs.iter().chain(told.keys()).copied().collect::<BTreeSet<&str>>() {
        let class = match (differs.contains(name), told.contains_key(name)) {
            (true, true) => "both say so",
            (false, true) if !is_built(name) => {
                "source alone: no code of its own (inlined, a macro's, or not configured)"
            }
            (false, true) => "source alone: the compiler makes the same of it",
            (true, false) if told.keys().any(|to| reaches(&sources, name, to)) => {
                "object alone: it has inlined one that changed"
            }
            (true, false) => "object alone: a line number, a constant, a layout, or the compiler's choice",
            (false, false) => continue,
        };
        rows.entry(class).or_default().push(name);
    }
    let table_rows: Vec<Vec<String>> =
        rows.iter().map(|(class, names)| vec![(*class).to_owned(), names.len().to_string()]).collect();
    table::print("Changed functions, beside the objects of two builds", &["what", "functions"], &table_rows);
    for (class, names) in rows.iter().filter(|(class, _)| !class.starts_with("both")) {
        println!("{class}: {}", names.join(", "));
    }
    Ok(true)
}

/// Through functions and macros of the sources.
fn reaches(sources: &Static, from: &str, to: &str) -> bool {
    sources.leads(from, to, &Code::default())
}
