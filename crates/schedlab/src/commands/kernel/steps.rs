//! Which commit or patch changed each interface.

use super::checkout;
use super::dossier::{Raw, read};
use anyhow::Result;
use schedlab_kernel::FilePatch;
use schedlab_kernel::dossier::{File, FileChange, Files, InterfaceChange, came_with, patch_file};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The commits or patches between two states, the oldest first.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// Where the files of each commit can be read. If `None`, the steps are applied one after the other.
    pub(super) checkout: Option<PathBuf>,
}

/// One commit or patch.
pub(super) struct Step {
    /// Its name on the page; empty for a patch without a subject.
    pub(super) label: String,
    /// The full commit id.
    pub(super) id: String,
    pub(super) files: Vec<FilePatch>,
}

impl Steps {
    /// Adds their names to the interfaces that they changed.
    pub(super) fn name(&self, interfaces: &mut [InterfaceChange], before: &[File]) -> Result<()> {
        let sides = interfaces.iter().flat_map(|c| [&c.before, &c.after]).flatten();
        let wanted: BTreeSet<String> = sides.map(|i| i.place.file.clone()).collect();
        let mut now: Files = match self.checkout {
            Some(_) => Files::new(),
            None => before.iter().map(|file| (file.path.clone(), file.text.clone())).collect(),
        };
        for step in &self.all {
            let names = step.files.iter().flat_map(|file| [&file.old, &file.new]).flatten();
            let paths: BTreeSet<&String> = names.filter(|name| wanted.contains(*name)).collect();
            let old = self.texts(&now, &paths, &format!("{}^", step.id))?;
            if self.checkout.is_none() {
                step.files.iter().for_each(|file| drop(patch_file(&mut now, file)));
            }
            let new = self.texts(&now, &paths, &step.id)?;
            if !step.label.is_empty() && !paths.is_empty() {
                came_with(interfaces, &step.label, &read(old), &read(new));
            }
        }
        Ok(())
    }

    /// Adds the mode changes of the patches to the files.
    pub(super) fn modes(&self, files: &mut Vec<FileChange>, paths: &[String]) {
        for file in self.all.iter().flat_map(|step| &step.files) {
            let (Some((old, new)), Some(path)) = (file.modes(), &file.new) else { continue };
            let is_in =
                |p: &String| path.strip_prefix(&**p).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if !paths.iter().any(is_in) {
                continue;
            }
            let at = files.iter().position(|change| change.path == *path).unwrap_or_else(|| {
                let at = files.partition_point(|change| change.path < *path);
                files.insert(at, FileChange { path: path.clone(), status: "changed", ..FileChange::default() });
                at
            });
            let first = files[at].modes.take().map_or(format!("{old:o}"), |[first, _]| first);
            files[at].modes = Some([first, format!("{new:o}")]);
        }
    }

    fn texts(&self, now: &Files, paths: &BTreeSet<&String>, commit: &str) -> Result<Vec<Raw>> {
        let texts = match &self.checkout {
            None => paths.iter().map(|path| now.get(*path).cloned()).collect(),
            Some(_) if paths.is_empty() => Vec::new(),
            Some(tree) => {
                let names: Vec<String> = paths.iter().map(|path| format!("{commit}:{path}")).collect();
                checkout::texts(tree, names.iter().map(String::as_str))?
            }
        };
        Ok(paths.iter().zip(texts).filter_map(|(path, text)| Some(((*path).clone(), text?))).collect())
    }
}
