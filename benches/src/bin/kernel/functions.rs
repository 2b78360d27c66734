//! Compares the C scanner with universal-ctags: the functions of kernel/sched, kernel/futex and net/ipv4 of each tree,
//! by name, file and line. Each disagreement is printed.

use anyhow::{Context, Result, bail};
use schedlab_benches::table;
use schedlab_kernel::source::scan;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const PLACES: [&str; 3] = ["kernel/sched", "kernel/futex", "net/ipv4"];

pub(crate) fn run(trees: &[PathBuf]) -> Result<bool> {
    let (mut rows, mut is_met, mut differ) = (Vec::new(), true, Vec::new());
    for tree in trees {
        let mut files = Vec::new();
        for place in PLACES {
            collect(&tree.join(place), &mut files)?;
        }
        let began = Instant::now();
        let (mut ours, mut skipped) = (BTreeSet::new(), 0);
        for file in &files {
            let unit = scan(&std::fs::read(file).with_context(|| file.display().to_string())?);
            let name = |f: &schedlab_kernel::source::Function| f.by.clone().unwrap_or_else(|| f.name.clone());
            ours.extend(unit.functions.iter().map(|f| format!("{} {} {}", name(f), f.line, file.display())));
            skipped += unit.skipped.len();
        }
        let took = began.elapsed();
        let theirs = ctags(&files)?;
        let both = ours.intersection(&theirs).count();
        let share = |of: usize| 100.0 * both as f64 / of.max(1) as f64;
        let (recall, precision) = (share(theirs.len()), share(ours.len()));
        let ok = recall >= 99.5 && precision >= 99.5 && both > 0;
        is_met &= ok;
        let cells = [format!("{recall:.2} %"), format!("{precision:.2} %"), skipped.to_string(), format!("{took:.2?}")];
        let head = [tree.display().to_string(), theirs.len().to_string()];
        rows.push(head.into_iter().chain(cells).chain([table::met(ok)]).collect());
        differ.extend(theirs.difference(&ours).map(|line| format!("only ctags: {line}")));
        differ.extend(ours.difference(&theirs).map(|line| format!("only ours:  {line}")));
    }
    let header = ["tree", "functions of ctags", "recall", "precision", "skipped", "time", "met (both ≥ 99.5 %)"];
    table::print("Functions beside universal-ctags", &header, &rows);
    println!("\n{}", differ.join("\n"));
    Ok(is_met)
}

pub(crate) fn collect(dir: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "c" || e == "h") {
            out.push(path);
        }
    }
    Ok(())
}

/// Functions as `name line file`.
fn ctags(files: &[PathBuf]) -> Result<BTreeSet<String>> {
    let options = ["-x", "--language-force=C", "--kinds-C=f", "--_xformat=%N %n %F"];
    let answer = Command::new("ctags").args(options).args(files).output().context("ctags (package universal-ctags)")?;
    if !answer.status.success() {
        bail!("ctags: {}", String::from_utf8_lossy(&answer.stderr));
    }
    Ok(String::from_utf8(answer.stdout)?.lines().map(str::to_owned).collect())
}
