//! Content from further on in a recording that is read before the events in between: its snapshots, and rare events.

use super::chunk::{Found, HEAD_BYTES, Parts, Tag};
use super::columns::{Columns, Entry};
use super::reader::{RecordingReader, Snapshot};
use crate::event::Event;
use crate::kind::{Kind, Kinds};
use crate::record_decoder::Dictionary;

impl RecordingReader {
    /// Reads the recording an additional time: returns its snapshots (the one from the start may come after blocks if
    /// the machine was busy; the one from the end is missing if the recorder was killed), and calls `each` for every
    /// event if one of `kinds` was recorded (otherwise blocks are skipped). Events come in the order of each CPU, not
    /// of time, and names in them are meaningless. `None` for a pipe, which can be read only once. Damage is skipped
    /// here; the main reader reports it.
    pub fn ahead(&self, kinds: Kinds, each: &mut dyn FnMut(&Event)) -> Option<Vec<Snapshot>> {
        self.input.size()?;
        let recorded = self.about().get("events").split(',').filter_map(Kind::of_name).any(|kind| kinds.has(kind));
        let (mut parts, mut dictionary) = (Parts::new(HEAD_BYTES), Dictionary::default());
        let wanted = |tag| tag == Tag::Threads || recorded && tag == Tag::Events;
        let mut snapshots = Vec::new();
        loop {
            match parts.next_of(&self.input, &wanted).ok()? {
                Found::Part(Tag::Threads) => {
                    if let Ok(snapshot) = Snapshot::decode(parts.content(), &snapshots) {
                        snapshot.add_to(&mut snapshots);
                    }
                }
                Found::Part(Tag::Events) => {
                    let Ok(mut columns) = Columns::new(parts.content(), &mut dictionary) else { continue };
                    while let Ok(Some(entry)) = columns.next() {
                        if let Entry::Event(_, event) = entry {
                            each(&event);
                        }
                    }
                }
                Found::Part(_) | Found::Damaged(..) => {}
                Found::Nothing | Found::Cut(_) | Found::Unframed(..) => return Some(snapshots),
            }
        }
    }
}
