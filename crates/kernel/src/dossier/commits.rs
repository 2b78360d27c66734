//! Which commits or patches changed an interface.

use super::delta::changes;
use super::{File, InterfaceChange};

/// Adds `label`, a commit or a patch, to the interfaces that its own change, from `before` to `after`, changes too.
/// Both are the files that it touches, sorted by path.
pub fn came_with(interfaces: &mut [InterfaceChange], label: &str, before: &[File], after: &[File]) {
    for found in changes(before, after) {
        let first = interfaces.partition_point(|c| (c.kind, &c.name) < (found.kind, &found.name));
        let same = interfaces[first..].iter_mut().take_while(|c| (c.kind, &c.name) == (found.kind, &found.name));
        same.for_each(|c| add(c, &found, label));
        // The commit may have changed the interface under its old or its new name.
        let is_renamed =
            |c: &&mut InterfaceChange| c.kind == found.kind && c.change == "renamed" && c.name != found.name;
        let renamed = interfaces.iter_mut().filter(is_renamed);
        renamed.filter(|c| c.before.as_ref().is_some_and(|i| i.name == found.name)).for_each(|c| add(c, &found, label));
    }
}

fn add(change: &mut InterfaceChange, found: &InterfaceChange, label: &str) {
    let files = |c: &'_ InterfaceChange| [&c.before, &c.after].map(|i| i.as_ref().map(|i| i.place.file.clone()));
    let [ours, theirs] = [files(change), files(found)];
    let is_there = ours.iter().flatten().any(|file| theirs.iter().flatten().any(|other| other == file));
    if is_there && change.commits.last().is_none_or(|last| last != label) {
        change.commits.push(label.to_owned());
    }
}
