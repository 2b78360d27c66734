//! What is further on in a recording, and is read before the events in between: its snapshots, and rare events.

use super::chunk::{Found, HEAD_BYTES, Parts, Tag};
use super::columns::{Columns, Entry};
use super::reader::{RecordingReader, Snapshot};
use crate::event::Event;
use crate::fields::Dictionary;
use crate::kind::{Kind, Kinds};

impl RecordingReader {
    /// Goes over the recording once more: its snapshots (that of the start may come after blocks, if the machine was
    /// busy; that of the end is missing where it was killed), and `each` for every event where one of `kinds` was
    /// recorded (else the blocks are passed over), in the order of a CPU and not of time; names in them mean nothing.
    /// `None` of a pipe, which is read once. What is damaged is left out here, and reported by the main reader.
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
