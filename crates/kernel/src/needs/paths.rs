//! The names of a tree's files, for headers that are included and files that are not where a patch says.

/// Names relative to the tree, with `/`; no name comes twice.
#[derive(Debug, Default)]
pub struct Paths(pub Vec<String>);

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Paths {
    /// Whether there is a header for `#include <NAME>` or `"NAME"` in the file `from`; else the names that come near.
    pub(super) fn header(&self, name: &str, is_local: bool, from: &str) -> Result<(), Vec<String>> {
        // Made by the build.
        if name.starts_with("generated/") || name.starts_with("asm/") && !is_local && self.is_generic(name) {
            return Ok(());
        }
        let beside = from.rsplit_once('/').and_then(|(folder, _)| joined(folder, name)).filter(|_| is_local);
        let wanted = name.trim_start_matches("../");
        let is_it = |path: &str| path == wanted || path.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'));
        if beside.is_some_and(|path| self.0.contains(&path)) || self.0.iter().any(|path| is_it(path)) {
            return Ok(());
        }
        let lower = wanted.to_ascii_lowercase();
        let near = self.called(last(name)).filter(|path| path.to_ascii_lowercase().ends_with(&lower));
        Err(near.cloned().collect())
    }

    /// Files whose last part is this name, by case or not.
    fn called(&self, name: &str) -> impl Iterator<Item = &String> {
        self.0.iter().filter(move |path| last(path).eq_ignore_ascii_case(name))
    }

    fn is_generic(&self, name: &str) -> bool {
        name.strip_prefix("asm/").is_some_and(|name| {
            ["include/asm-generic/", "include/uapi/asm-generic/"]
                .iter()
                .any(|at| self.0.contains(&format!("{at}{name}")))
        })
    }

    /// Files that could be meant by a name that the tree has not: by case only, else those of the same last part.
    pub(super) fn like(&self, path: &str) -> Vec<String> {
        let candidates = || self.called(last(path));
        let by_case: Vec<String> = candidates().filter(|other| other.eq_ignore_ascii_case(path)).cloned().collect();
        if by_case.is_empty() {
            candidates().filter(|other| last(other) == last(path)).cloned().collect()
        } else {
            by_case
        }
    }
}

/// `folder/../name` made plain; `None`: it leads out of the tree.
fn joined(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match part {
            ".." => {
                parts.pop()?;
            }
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
