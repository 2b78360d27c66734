//! Checks the needs that `kernel port` reports against independent answers: a hunk that the maintainers took unchanged
//! needs nothing that the tree has (except what they added to a header), and a word in added code that is nowhere in
//! the tree and once in the series is missing.

use crate::pairs::{self, Pair};
use anyhow::{Context, Result};
use schedlab_benches::{program, table};
use schedlab_kernel::{Line, Placement, Source, Verdict, apply, parse, rehearse};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the backports that applied at their original lines, this many are the cleanest: those whose files differ least.
const CLEANEST: usize = 30;

/// Prints the table, and the misses after it; false if a bar is missed.
pub(crate) fn run(trees: &[PathBuf; 4], pairs: &[Pair], scratch: &Path, misses: &mut String) -> Result<bool> {
    let files: BTreeSet<&str> = pairs.iter().map(|pair| &*pair.file).collect();
    let series = scratch.join("newer.diff");
    let mut text = Vec::new();
    for file in &files {
        text.extend(diff(trees, file)?);
    }
    std::fs::write(&series, &text)?;
    let found = port(&series, &trees[2], None, scratch)?;
    let here = words_of_tree(&trees[2])?;
    let same: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_same).collect();
    let brought = brought(trees)?;
    let mut alarms = 0;
    for pair in &same {
        let mut wrong = needs(&found, pair, false);
        wrong.retain(|name| is_there(name, &here, &trees[2]) && !brought.contains(name.as_bytes()));
        alarms += usize::from(!wrong.is_empty());
        if !wrong.is_empty() {
            *misses += &format!("===== {} said to lack {}\n{}", pair.file, wrong.join(", "), shown(pair));
        }
    }
    let (said, all) = missing(&text, &found, &here, misses);
    let [clean, cleanest] = states(trees, &same, scratch, misses)?;
    let rows = [
        row("same changes said to need what the tree has", alarms, same.len(), "0", alarms == 0),
        row(
            "words of added code that are nowhere in the tree, once in the series: said to be missing",
            said,
            all,
            "",
            true,
        ),
        row("the cleanest back-ports said to need a state", cleanest.0, cleanest.1, "0", cleanest.0 == 0),
        row("all clean back-ports said to need a state", clean.0, clean.1, "", true),
    ];
    table::print("What hunks need", &["of the pairs", "found", "bar", "met"], &rows);
    Ok(alarms == 0 && cleanest.0 == 0)
}

fn row(what: &str, hits: usize, all: usize, bar: &str, is_met: bool) -> Vec<String> {
    let share = format!("{hits} of {all} ({:.1} %)", 100.0 * hits as f64 / all.max(1) as f64);
    vec![what.into(), share, bar.into(), if bar.is_empty() { String::new() } else { table::met(is_met) }]
}

fn shown(pair: &Pair) -> String {
    String::from_utf8_lossy(&pair.hunk.to_bytes()).into_owned()
}

/// The diff of a file in the newer series.
fn diff(trees: &[PathBuf; 4], file: &str) -> Result<Vec<u8>> {
    let labels = [format!("a/{file}"), format!("b/{file}")];
    let mut diff = Command::new("diff");
    diff.args(["-U3", "-p", "--label", &labels[0], "--label", &labels[1]]);
    Ok(diff.args([trees[0].join(file), trees[1].join(file)]).output().context("the program diff")?.stdout)
}

/// What the program reports, by file and number of the hunk in it.
type Found = BTreeMap<(String, usize), Value>;

fn port(series: &Path, onto: &Path, from: Option<&Path>, scratch: &Path) -> Result<Found> {
    let out = scratch.join("found.jsonl");
    let mut command = Command::new(program::schedlab()?);
    command.args(["kernel", "port"]).arg(series).arg("--onto").arg(onto).arg("--json").arg(&out);
    if let Some(from) = from {
        command.arg("--from").arg(from);
    }
    program::output(command)?;
    let (mut found, mut numbers) = (Found::new(), HashMap::<String, usize>::new());
    for line in std::fs::read_to_string(&out)?.lines() {
        let value: Value = serde_json::from_str(line)?;
        let Some(file) = value["file"].as_str() else { continue };
        let number = numbers.entry(file.to_owned()).or_default();
        found.insert((file.to_owned(), *number), value.clone());
        *number += 1;
    }
    Ok(found)
}

/// The names that a pair's hunk is reported to need: states, or everything else.
fn needs(found: &Found, pair: &Pair, is_state: bool) -> Vec<String> {
    let needs = found.get(&(pair.file.clone(), pair.number)).and_then(|value| value["needs"].as_array());
    let needs = needs.into_iter().flatten().filter(|need| (need["kind"] == "state") == is_state);
    needs.filter_map(|need| need["name"].as_str().map(str::to_owned)).collect()
}

/// All words in the C files of a tree.
fn words_of_tree(tree: &Path) -> Result<HashSet<Vec<u8>>> {
    let (mut open, mut out) = (vec![tree.to_owned()], HashSet::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                open.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) && path.extension().is_some_and(|e| e == "c" || e == "h") {
                let text = std::fs::read(&path)?;
                for word in words(&text) {
                    if !out.contains(word) {
                        out.insert(word.to_vec());
                    }
                }
            }
        }
    }
    Ok(out)
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.split(move |byte| !is_word(byte)).filter(|word| word.first().is_some_and(|first| !first.is_ascii_digit()))
}

/// Words that the maintainers added to headers of the older series.
fn brought(trees: &[PathBuf; 4]) -> Result<HashSet<Vec<u8>>> {
    let mut out = HashSet::new();
    for file in pairs::differing(&trees[2], &trees[3])?.iter().filter(|file| file.ends_with(".h")) {
        let diff = Command::new("diff")
            .args([trees[2].join(file), trees[3].join(file)])
            .output()
            .context("the program diff")?;
        let added = diff.stdout.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b">"));
        out.extend(added.flat_map(words).map(<[u8]>::to_vec));
    }
    Ok(out)
}

/// A header is looked up by its path, everything else as a word.
fn is_there(name: &str, here: &HashSet<Vec<u8>>, tree: &Path) -> bool {
    if name.ends_with(".h") || name.contains('/') {
        return ["include", "include/uapi", "."].iter().any(|folder| tree.join(folder).join(name).is_file());
    }
    here.contains(name.as_bytes())
}

/// How many of the words that must be missing are reported. Definitions are in headers, or follow a type.
fn missing(series: &[u8], found: &Found, here: &HashSet<Vec<u8>>, misses: &mut String) -> (usize, usize) {
    let mut places: BTreeMap<String, Vec<(String, usize, bool)>> = BTreeMap::new();
    for file in parse(series).iter().flat_map(|patch| &patch.files) {
        for (number, hunk) in file.hunks.iter().enumerate() {
            let is_comment = |text: &[u8]| {
                text.trim_ascii_start().starts_with(b"*") || text.windows(2).any(|w| w == b"/*" || w == b"//")
            };
            let added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(text) if !is_comment(text)));
            // Text in quotes is not code.
            for code in added.flat_map(|line| line.text().split(|&byte| byte == b'"').step_by(2)) {
                for word in words(code).filter(|word| !here.contains(*word)) {
                    let before = code[..word.as_ptr() as usize - code.as_ptr() as usize].trim_ascii_end();
                    let is_used = before.last().is_some_and(|byte| b"=(,&|!<>+-/?:".contains(byte))
                        && file.path().ends_with(".c");
                    let word = String::from_utf8_lossy(word).into_owned();
                    places.entry(word).or_default().push((file.path().to_owned(), number, is_used));
                }
            }
        }
    }
    let (mut said, mut all) = (0, 0);
    let is_use = |places: &[(String, usize, bool)]| matches!(places, [(.., true)]);
    for (word, place) in places.iter().filter(|(word, places)| is_use(places) && !word.starts_with("CONFIG_")) {
        let needs = found.get(&(place[0].0.clone(), place[0].1)).and_then(|value| value["needs"].as_array());
        let is_said =
            needs.into_iter().flatten().any(|need| need["name"].as_str().is_some_and(|name| name.contains(&**word)));
        (said, all) = (said + usize::from(is_said), all + 1);
        if !is_said {
            *misses += &format!("===== {}: {word} is not said to be missing\n", place[0].0);
        }
    }
    (said, all)
}

/// Of the backports that patch applies at their exact lines and that are the maintainers': how many are reported to
/// need a state, of how many; and the same for the cleanest ones.
fn states(trees: &[PathBuf; 4], same: &[&Pair], scratch: &Path, misses: &mut String) -> Result<[(usize, usize); 2]> {
    let mut clean: Vec<(usize, &Pair)> = Vec::new();
    for pair in same {
        let source = Source::new(&pair.old);
        let hunks = std::slice::from_ref(&pair.hunk);
        let Some(ours) = rehearse(hunks, &source).pop() else { continue };
        let is_exact =
            matches!(ours.patch, Placement::At { offset: 0, .. }) && ours.patch.verdict() == Verdict::Applies;
        if is_exact && apply(hunks, &[ours.patch], source.lines()) == pair.right {
            clean.push((pairs::difference(trees, &pair.file)?, pair));
        }
    }
    clean.sort_by(|a, b| (a.0, &a.1.file, a.1.number).cmp(&(b.0, &b.1.file, b.1.number)));
    let mut in_order: Vec<&Pair> = clean.iter().map(|(_, pair)| *pair).collect();
    in_order.sort_by_key(|pair| (&pair.file, pair.number));
    let mut text = Vec::new();
    for of_file in in_order.chunk_by(|a, b| a.file == b.file) {
        text.extend(format!("--- a/{0}\n+++ b/{0}\n", of_file[0].file).bytes());
        of_file.iter().for_each(|pair| text.extend(pair.hunk.to_bytes()));
    }
    let series = scratch.join("clean.diff");
    std::fs::write(&series, text)?;
    let found: Vec<Value> = port(&series, &trees[2], Some(&trees[0]), scratch)?.into_values().collect();
    anyhow::ensure!(found.len() == in_order.len(), "{} hunks were answered of {}", found.len(), in_order.len());
    let answers: HashMap<(&str, usize), &Value> =
        in_order.iter().zip(&found).map(|(pair, value)| ((&*pair.file, pair.number), value)).collect();
    let mut is_said = Vec::new();
    for (_, pair) in &clean {
        let value = answers[&(&*pair.file, pair.number)];
        let named = value["needs"].as_array().into_iter().flatten().filter(|need| need["kind"] == "state");
        let named: Vec<String> = named.map(Value::to_string).collect();
        is_said.push(!named.is_empty());
        if !named.is_empty() {
            *misses += &format!("===== {} said to need a state\n{}\n{}", pair.file, named.join("\n"), shown(pair));
        }
    }
    let count = |said: &[bool]| (said.iter().filter(|said| **said).count(), said.len());
    Ok([count(&is_said), count(&is_said[..CLEANEST.min(is_said.len())])])
}
