//! The back-port rehearsal against real back-ports with a known answer: hunks that the stable maintainers put into two
//! series of kernels. For each, GNU patch's verdict and bytes (the program `patch` is asked), the right place, and what
//! is proposed where patch fails or errs, against the maintainers' own text.
//! `cargo xtask bench kernel -- NEWER_OLD NEWER_NEW TARGET_OLD TARGET_NEW [--misses FILE]`: four kernel trees, two
//! releases of a newer series and two of an older one, such as 6.12.107, 6.12.117, 6.1.176 and 6.1.192 unpacked from
//! Debian's packages linux-source-*. About 1 minute.
//! `cargo xtask bench kernel -- --functions TREE …` checks the scanner of C against universal-ctags instead, and what
//! macros define against a search by line;
//! `… -- --calls TREE OBJECTS FOLDER …` the calls in these folders against the objects that were built of them
//! (`builds/…/objects` of the cache of `vm build`); `… -- --changed TREE OBJECTS TREE OBJECTS FOLDER …` the functions
//! that differ between two trees against the code of two builds; `… -- --guest KERNEL TREE` the interfaces that a booted
//! guest shows against its source (such as debian:6.1 and the tree of that very version).
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod alike;
mod calls;
mod changed;
mod configured;
mod functions;
mod guest;
mod made;
mod needs;
mod objects;
mod pairs;
mod score;
mod sources;
mod texts;

use anyhow::{Context, Result, bail};
use schedlab_benches::table;
use score::Score;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kernel: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let began = Instant::now();
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "--functions") {
        let trees: Vec<PathBuf> = arguments[1..].iter().map(PathBuf::from).collect();
        let is_met = functions::run(&trees)?;
        return Ok(made::run(&trees)? && is_met);
    }
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--calls", tree, build, ..] => return calls::run(tree.as_ref(), build.as_ref(), &arguments[3..]),
        ["--changed", a, built_a, b, built_b, ..] => {
            let (trees, builds) = ([a.as_ref(), b.as_ref()], [built_a.as_ref(), built_b.as_ref()]);
            return changed::run(trees, builds, &arguments[5..]);
        }
        ["--guest", kernel, tree] => return with_scratch(|scratch| guest::run(kernel, tree.as_ref(), scratch)),
        _ => {}
    }
    let misses = match arguments.iter().position(|a| a == "--misses") {
        Some(at) if at + 1 < arguments.len() => arguments.drain(at..at + 2).next_back(),
        _ => None,
    };
    let trees: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let Ok(trees) = <[PathBuf; 4]>::try_from(trees) else {
        bail!("name four trees: NEWER_OLD NEWER_NEW TARGET_OLD TARGET_NEW");
    };
    if let Some(missing) = trees.iter().find(|tree| !tree.is_dir()) {
        bail!("{} is not a directory", missing.display());
    }
    let mut score = Score::default();
    let done = with_scratch(|scratch| measured(&trees, scratch, &mut score));
    if let Some(path) = misses {
        std::fs::write(&path, &score.misses).with_context(|| path.clone())?;
    }
    table::closing("kernel", began.elapsed());
    done
}

/// Runs `work` in a directory that is removed afterwards.
fn with_scratch(work: impl FnOnce(&Path) -> Result<bool>) -> Result<bool> {
    let scratch = std::env::temp_dir().join(format!("schedlab-bench-kernel-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).context("no place for scratch files")?;
    let done = work(&scratch);
    std::fs::remove_dir_all(&scratch).context("scratch files")?;
    done
}

fn measured(trees: &[PathBuf; 4], scratch: &Path, score: &mut Score) -> Result<bool> {
    let mut all = Vec::new();
    for file in pairs::files(trees)? {
        let pairs = pairs::of_file(trees, &file)?;
        pairs.iter().try_for_each(|pair| score.add(pair, scratch))?;
        all.extend(pairs);
    }
    let is_met = score.print();
    Ok(needs::run(trees, &all, scratch, &mut score.misses)? && is_met)
}
