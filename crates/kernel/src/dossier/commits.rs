//! Which commits or patches an interface's change came with.

use super::{Event, InterfaceChange, Kind};
use crate::names::words;
use crate::series::{FilePatch, Line};
use schedlab_plan::InOrder;

/// Names in each interface the commits, or the subjects of patches, that change a line with its name in its file, in the
/// order of `events`. `changes` is what each of these does.
pub fn name_commits(interfaces: &mut [InterfaceChange], events: &[Event], changes: &[Vec<FilePatch>]) {
    // A word and an interface that it is the name of.
    let mut wanted: Vec<(Vec<u8>, usize)> = Vec::new();
    for (at, change) in interfaces.iter().enumerate() {
        let sides = [&change.before, &change.after].into_iter().flatten();
        let mut names: Vec<&[u8]> = sides.filter_map(|i| word(i.kind, &i.name)).collect();
        names.dedup();
        wanted.extend(names.into_iter().map(|name| (name.to_vec(), at)));
    }
    wanted.in_order_by(|a, b| a.0.cmp(&b.0));
    for (event, files) in events.iter().zip(changes) {
        let label = if event.commit.is_empty() { &event.subject } else { &event.commit };
        for file in files {
            let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| !matches!(line, Line::Context(_)));
            for word in lines.flat_map(|line| words(line.text())) {
                let first = wanted.partition_point(|(name, _)| &name[..] < word);
                for at in wanted[first..].iter().take_while(|(name, _)| name == word).map(|one| one.1) {
                    came_with(&mut interfaces[at], file, label);
                }
            }
        }
    }
}

fn came_with(change: &mut InterfaceChange, file: &FilePatch, label: &str) {
    let places = [&change.before, &change.after].into_iter().flatten().map(|i| &i.place.file);
    let is_there =
        places.into_iter().any(|place| [&file.old, &file.new].into_iter().flatten().any(|name| name == place));
    if is_there && change.commits.last().is_none_or(|last| last != label) {
        change.commits.push(label.to_owned());
    }
}

/// The word of its name that its definition has: `se` of `struct task_struct.se`.
fn word(kind: Kind, name: &str) -> Option<&[u8]> {
    let own = match kind {
        Kind::Member | Kind::Operation => name.rsplit('.').next()?,
        Kind::SyscallNumber => name.split(' ').next()?,
        Kind::Type => name.rsplit(' ').next()?,
        _ => name,
    };
    words(own.as_bytes()).max_by_key(|word| word.len())
}
