//! Which commits or patches an interface's change came with.

use super::{Event, InterfaceChange, Kind};
use crate::names::words;
use crate::series::{FilePatch, Line};
use std::collections::HashMap;

/// Names in each interface the commits, or the subjects of patches, that change a line with its name in its file, in the
/// order of `events`. `changes` is what each of these does.
pub fn name_commits(interfaces: &mut [InterfaceChange], events: &[Event], changes: &[Vec<FilePatch>]) {
    let mut wanted: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (at, change) in interfaces.iter().enumerate() {
        let sides = [&change.before, &change.after].into_iter().flatten();
        let mut names: Vec<&[u8]> = sides.filter_map(|i| word(i.kind, &i.name)).collect();
        names.dedup();
        names.into_iter().for_each(|name| wanted.entry(name.to_vec()).or_default().push(at));
    }
    for (event, files) in events.iter().zip(changes) {
        let label = if event.commit.is_empty() { &event.subject } else { &event.commit };
        for file in files {
            let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| !matches!(line, Line::Context(_)));
            let named = lines.flat_map(|line| words(line.text())).filter_map(|word| wanted.get(word)).flatten();
            for &at in named {
                let change = &mut interfaces[at];
                let places = [&change.before, &change.after].into_iter().flatten().map(|i| &i.place.file);
                let is_there =
                    places.into_iter().any(|place| [&file.old, &file.new].into_iter().flatten().any(|f| f == place));
                if is_there && change.commits.last() != Some(label) {
                    change.commits.push(label.clone());
                }
            }
        }
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
