//! Text searches for what must not be in the source, by crate, outside tests and comments, where the compiler does not
//! check it. They can be fooled on purpose; they are there to catch mistakes.

use super::{array, field, members};
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

const UNSAFE_CRATES: [&str; 2] = ["schedlab-sys", "schedlab-plugin"];

/// Crates after the run directory: numbers in, findings out, bytes into a writer.
const PURE_CRATES: [&str; 5] =
    ["schedlab-plan", "schedlab-stats", "schedlab-analyze", "schedlab-report", "schedlab-import"];

/// A Rust file of one of our packages.
pub(crate) struct Source {
    pub(crate) package: String,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Every .rs file below the packages' own directories, in order.
pub(super) fn read(workspace: &Workspace, metadata: &Value) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for package in members(metadata)? {
        let manifest = Path::new(field(package, "manifest_path")?);
        let mut paths = Vec::new();
        rust_files(manifest.parent().context("a manifest lies in a directory")?, &mut paths)?;
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            let path = path.strip_prefix(&workspace.root).unwrap_or(&path).to_owned();
            sources.push(Source { package: field(package, "name")?.into(), path, text });
        }
    }
    Ok(sources)
}

/// All .rs files below a directory; none if the directory does not exist.
fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("{} cannot be listed", dir.display()))?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != "target" {
            rust_files(&entry.path(), found)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|e| e == "rs") {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Roots of libraries and binaries that do not forbid unsafe code.
pub(super) fn roots_without_forbid(metadata: &Value) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for package in members(metadata)?.into_iter().filter(|p| UNSAFE_CRATES.iter().all(|name| p["name"] != *name)) {
        for target in array(package, "targets")? {
            let is_root = array(target, "kind")?.iter().any(|k| k == "lib" || k == "bin");
            let path = field(target, "src_path")?;
            let text = std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))?;
            if is_root && !text.lines().any(|l| l.trim() == "#![forbid(unsafe_code)]") {
                problems.push(format!("{path} lacks #![forbid(unsafe_code)]"));
            }
        }
    }
    Ok(problems)
}

/// Includes tests, examples and benchmarks, which have crate roots of their own.
pub(super) fn unsafe_outside_sys(sources: &[Source]) -> Vec<String> {
    let forms = ["unsafe {", "unsafe fn ", "unsafe impl ", "unsafe extern ", "unsafe trait ", "#[unsafe("];
    search(sources, |s| !UNSAFE_CRATES.contains(&s.package.as_str()) && s.package != "xtask", Text::Whole, &forms)
}

/// Code must return to `main`, which returns an exit code, because exiting elsewhere skips restoring the host. clap's
/// errors have an `exit()` method of their own.
pub(super) fn exits(sources: &[Source]) -> Vec<String> {
    search(sources, |s| s.package != "xtask", Text::WithoutTests, &["process::exit(", ".exit()", ".get_matches"])
}

pub(super) fn impure(sources: &[Source]) -> Vec<String> {
    let forms = ["std::fs", "std::process", "std::net", "std::env", "Instant::now", "SystemTime", "std::thread"];
    search(sources, |s| PURE_CRATES.contains(&s.package.as_str()) && in_src(&s.path), Text::WithoutTests, &forms)
}

pub(super) fn writes_in_host(sources: &[Source]) -> Vec<String> {
    let forms = ["fs::write", "File::create", "OpenOptions", "fs::remove", "fs::rename", "fs::create_dir", "fs::copy"];
    search(sources, |s| s.package == "schedlab-host" && in_src(&s.path), Text::WithoutTests, &forms)
}

/// Doc comments may contain drawings but no examples: doc tests are not run here, so an example would go stale.
pub(super) fn doc_examples(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources {
        let mut is_open = false;
        for (number, line) in source.text.lines().enumerate() {
            let line = line.trim_start();
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default();
            let Some(language) = doc.trim_start().strip_prefix("```") else { continue };
            if !is_open && language != "text" {
                problems.push(format!("{}:{}: an example that nothing runs", source.path.display(), number + 1));
            }
            is_open = !is_open;
        }
    }
    problems
}

/// Examples and tests of a pure crate may read files and clocks.
fn in_src(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "src")
}

#[derive(Clone, Copy, PartialEq)]
enum Text {
    Whole,
    WithoutTests,
}

fn search(sources: &[Source], of: impl Fn(&Source) -> bool, text: Text, forms: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|s| of(s)) {
        let all = source.text.lines().enumerate();
        let code = all.take_while(|(_, line)| text == Text::Whole || line.trim_end() != "#[cfg(test)]");
        for (number, line) in code.filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(form) = forms.iter().find(|form| line.contains(**form)) {
                problems.push(format!("{}:{}: {}", source.path.display(), number + 1, form.trim_end_matches(" {")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(package: &str, path: &str, text: &str) -> Vec<Source> {
        vec![Source { package: package.into(), path: path.into(), text: text.into() }]
    }

    #[test]
    fn comments_and_tests_are_not_code() {
        let text = "// std::fs is not used\nfn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(impure(&source("schedlab-stats", "crates/stats/src/lib.rs", text)), Vec::<String>::new());
        let text = "use std::fs;\n";
        let found = impure(&source("schedlab-stats", "crates/stats/src/lib.rs", text));
        assert_eq!(found, ["crates/stats/src/lib.rs:1: std::fs"]);
        assert!(impure(&source("schedlab-stats", "crates/stats/examples/coverage.rs", text)).is_empty());
        assert!(impure(&source("schedlab-run", "crates/run/src/lib.rs", text)).is_empty());
    }

    #[test]
    fn unsafe_code_is_seen_everywhere_but_in_sys() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() { unsafe { g() } }\n}\n";
        let found = unsafe_outside_sys(&source("schedlab-bench", "crates/bench/src/lib.rs", text));
        assert_eq!(found, ["crates/bench/src/lib.rs:3: unsafe"]);
        assert!(unsafe_outside_sys(&source("schedlab-sys", "crates/sys/src/fd.rs", text)).is_empty());
    }

    #[test]
    fn examples_in_documentation_are_named_and_drawings_are_not() {
        let of = |text: &str| doc_examples(&source("schedlab-run", "r.rs", text));
        assert_eq!(of("    /// ```text\n    /// 1 - 2\n    /// ```\nfn f() {}\nlet fence = \"```\";\n"), [""; 0]);
        let example = "r.rs:2: an example that nothing runs";
        assert_eq!(of("//! Runs.\n//! ```\n//! run();\n//! ```\n//! ```text\n//! x\n//! ```\n"), [example]);
    }

    #[test]
    fn exits_and_writes_are_named() {
        let found = exits(&source("schedlab-trial", "t.rs", "\nstd::process::exit(1);"));
        assert_eq!(found, ["t.rs:2: process::exit("]);
        assert_eq!(exits(&source("schedlab", "s.rs", "error.exit()")), ["s.rs:1: .exit()"]);
        let found = writes_in_host(&source("schedlab-host", "crates/host/src/a.rs", "fs::write(path, text)?;"));
        assert_eq!(found, ["crates/host/src/a.rs:1: fs::write"]);
    }
}
