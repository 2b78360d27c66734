//! Finds callers outside of the paths: searches the whole tree for names.

use crate::commands::kernel::checkout;
use crate::commands::kernel::steps::Steps;
use crate::commands::kernel::trees::Origin;
use anyhow::Result;
use schedlab_kernel::dossier::{File, Files, Wanted, patch_file};
use schedlab_kernel::is_c;
use std::io::Read;
use std::path::Path;

/// User-space programs and texts, which call nothing in the kernel.
const PROGRAMS: [&str; 3] = ["Documentation", "scripts", "tools"];

/// A path, and the text if it was already read.
pub(super) type Unread = (String, Option<Vec<u8>>);

/// Where a state of the source is, and what was already read of it.
pub(super) struct Rest<'a> {
    pub(super) origins: &'a [Origin; 2],
    /// The changes from the first state to the second, if both are read from one place.
    pub(super) steps: &'a Steps,
    pub(super) paths: &'a [String],
}

impl Rest<'_> {
    /// The files of each state, outside of the paths, in which one of its names is followed by a parenthesis.
    pub(super) fn with(&self, wanted: &[Wanted; 2]) -> Result<[Vec<File>; 2]> {
        let mut out = [Vec::new(), Vec::new()];
        for (side, files) in out.iter_mut().enumerate() {
            let wanted = &wanted[side];
            if wanted.names().is_empty() || self.paths.is_empty() {
                continue;
            }
            let mut left = match &self.origins[side] {
                Origin::Tree(tree) => self.list(tree).into_iter().map(|path| (path, None)).collect(),
                Origin::Commit(tree, commit) => self.of_commit(tree, commit, wanted)?,
            };
            if side == 1 {
                self.patch(&mut left)?;
            }
            *files = self.read(left, wanted, &self.origins[side]);
        }
        Ok(out)
    }

    fn is_outside(&self, path: &str) -> bool {
        let is_in =
            |folder: &str| path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        !self.paths.iter().any(|folder| is_in(folder)) && !PROGRAMS.iter().any(|folder| is_in(folder))
    }

    /// Applies the patches, which may also change files outside of the paths.
    fn patch(&self, files: &mut Vec<Unread>) -> Result<()> {
        let changed = || self.steps.all.iter().filter(|_| self.steps.checkout.is_none()).flat_map(|step| &step.files);
        let mut names: Vec<String> = changed().flat_map(|file| [&file.old, &file.new]).flatten().cloned().collect();
        names.retain(|path| is_c(path) && self.is_outside(path));
        let mut now: Files = self.origins[1].there(&names)?.into_iter().collect();
        for file in changed().filter(|file| names.iter().any(|path| path == file.path())) {
            patch_file(&mut now, file);
        }
        files.retain(|(path, _)| !names.contains(path));
        files.extend(now.into_iter().filter(|(path, _)| self.is_outside(path)).map(|(path, text)| (path, Some(text))));
        Ok(())
    }

    /// Parses the files that contain a name, on all CPUs.
    fn read(&self, files: Vec<Unread>, wanted: &Wanted, origin: &Origin) -> Vec<File> {
        super::side_by_side_sorted(files, &|(path, text)| {
            let text = match (text, origin) {
                (Some(text), _) => text,
                // A file that cannot be read is skipped, because the user did not name it.
                (None, Origin::Tree(tree)) => bytes(&tree.join(&path))?,
                (None, Origin::Commit(..)) => return None,
            };
            wanted.is_in(&text).then(|| File::outside(path, text))
        })
    }

    /// The C files, without those of [`PROGRAMS`] and those already read; links are not followed.
    fn list(&self, tree: &Path) -> Vec<String> {
        let (mut open, mut out) = (vec![String::new()], Vec::new());
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten() {
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
                if !(kind.is_dir() || kind.is_file() && is_c(&name)) {
                    continue;
                }
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if self.is_outside(&path) {
                    (if kind.is_dir() { &mut open } else { &mut out }).push(path);
                }
            }
        }
        out
    }

    fn of_commit(&self, tree: &Path, commit: &str, wanted: &Wanted) -> Result<Vec<Unread>> {
        let mut named = checkout::with_words(tree, commit, wanted.names())?;
        named.retain(|path| is_c(path) && self.is_outside(path));
        let names: Vec<String> = named.iter().map(|path| format!("{commit}:{path}")).collect();
        let texts = checkout::texts(tree, names.iter().map(String::as_str))?;
        Ok(named.into_iter().zip(texts).filter(|(_, text)| text.is_some()).collect())
    }
}

/// A file of some kB, read at once; `None` if it cannot be read.
fn bytes(file: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 64 << 20;
    let open = std::fs::File::open(file).ok()?;
    let mut bytes = Vec::with_capacity(open.metadata().ok()?.len().min(MOST) as usize + 1);
    open.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
