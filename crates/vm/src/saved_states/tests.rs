//! A state is used if it is complete and has the same origin, and all together stay below their limit.

use super::*;
use std::time::Duration;

struct Made {
    states: SavedStates,
    cache: Cache,
    notes: Vec<String>,
    count: usize,
    _directory: tempfile::TempDir,
}

impl Made {
    fn new(most_bytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path());
        let states = SavedStates { most_bytes, ..SavedStates::of(&cache) };
        Self { states, cache, notes: Vec::new(), count: 0, _directory: directory }
    }

    /// Each state that is made is different.
    fn get(&mut self, made_from: &str) -> SavedState {
        let Self { states, cache, notes, count, .. } = self;
        let mut make = |path: &Path| {
            *count += 1;
            fs::write(path, format!("{:100}", count)).map_err(VmError::file("writing", path))
        };
        states.get(cache, made_from, &mut |note| notes.push(note.to_owned()), &mut make).unwrap()
    }
}

#[test]
fn a_state_is_made_once_for_what_it_is_made_from() {
    let mut made = Made::new(1 << 20);
    let first = made.get("QEMU 10.0.2");
    assert_eq!(made.get("QEMU 10.0.2"), first);
    assert_eq!(checksum(&first.path).unwrap(), (100, first.crc32));
    let other = made.get("QEMU 10.0.3");
    assert!(made.count == 2 && other != first && made.notes.is_empty(), "{:?}", made.notes);
    assert_eq!(made.states.summary().map(|(_, count, bytes)| (count, bytes)), Some((2, 200)));
    // As if both had the same checksum: the description decides.
    let (path, description) = made.states.files("QEMU 10.0.2");
    let (foreign, foreign_description) = made.states.files("QEMU 10.0.3");
    fs::copy(foreign, path).unwrap();
    fs::copy(foreign_description, description).unwrap();
    let anew = made.get("QEMU 10.0.2");
    assert!(made.count == 3 && anew != other, "another's state is not used");
}

#[test]
fn a_state_that_is_not_whole_is_made_anew_and_one_sentence_says_so() {
    for damage in [
        |state: &Path, _: &Path| fs::write(state, "short").unwrap(),
        |state: &Path, _: &Path| {
            let mut bytes = fs::read(state).unwrap();
            bytes[50] ^= 1;
            fs::write(state, bytes).unwrap();
        },
        |state: &Path, _: &Path| fs::remove_file(state).unwrap(),
        |_: &Path, description: &Path| {
            let text = fs::read_to_string(description).unwrap();
            fs::write(description, text.replace("100 bytes", "101 bytes")).unwrap();
        },
    ] {
        let mut made = Made::new(1 << 20);
        let first = made.get("a");
        let (state, description) = made.states.files("a");
        damage(&state, &description);
        let second = made.get("a");
        assert!(made.count == 2 && second.crc32 != first.crc32);
        let [said] = &made.notes[..] else { panic!("{:?}", made.notes) };
        assert!(said.ends_with("creating it again") && said.contains("states"), "{said}");
        assert_eq!(made.get("a"), second);
    }
}

#[test]
fn the_longest_unused_goes_when_all_take_too_much_and_so_does_what_a_killed_maker_left() {
    let mut made = Made::new(250);
    made.get("a");
    let orphan = made.states.root.join(format!("{PART}1"));
    fs::write(&orphan, "x").unwrap();
    made.get("b");
    assert!(!orphan.exists());
    let aged = |made: &Made, of: &str, seconds| {
        let description = File::options().append(true).open(made.states.files(of).1).unwrap();
        description.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    aged(&made, "a", 90);
    aged(&made, "b", 60);
    made.get("a");
    made.get("c");
    assert_eq!(made.count, 3);
    let there = ["a", "b", "c"].map(|of| made.states.files(of).0.exists());
    assert_eq!(there, [true, false, true], "what was used last stays");
    made.get("b");
    assert_eq!(made.count, 4);
}

#[test]
fn what_could_not_be_made_leaves_nothing() {
    let made = Made::new(250);
    let mut make = |path: &Path| {
        fs::write(path, "half").unwrap();
        Err(VmError::SavedState("the disk is full".into()))
    };
    let refused = made.states.get(&made.cache, "a", &mut |_| {}, &mut make).unwrap_err();
    assert!(refused.to_string().contains("the disk is full"));
    assert!(made.states.summary().is_none() && made.states.names(PART).is_empty());
}

#[test]
fn two_processes_make_different_states_at_once_and_one_state_once() {
    let made = Made::new(1 << 20);
    let states = &made.states;
    let write = |path: &Path| fs::write(path, "whole").map_err(VmError::file("writing", path));
    let count = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        let mut outer = |path: &Path| {
            // While `a` is made, another process makes `b`: it does not wait, and does not touch what has been written
            // of `a`.
            let mut notes = Vec::new();
            let other = states.get(&made.cache, "b", &mut |note| notes.push(note.to_owned()), &mut |path| write(path));
            assert!(other.is_ok() && notes.is_empty(), "{notes:?}");
            assert!(path.exists());
            // Another one that wants `a` waits for it, and makes none.
            let (begins, begun) = std::sync::mpsc::channel();
            let count = &count;
            let states = &made.states;
            let cache = &made.cache;
            scope.spawn(move || {
                begins.send(()).unwrap();
                let mut make = |path: &Path| {
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    write(path)
                };
                states.get(cache, "a", &mut |_| {}, &mut make).unwrap();
            });
            begun.recv().unwrap();
            write(path)
        };
        states.get(&made.cache, "a", &mut |_| {}, &mut outer).unwrap();
    });
    assert_eq!(count.into_inner(), 0);
    assert_eq!(states.summary().map(|(_, count, _)| count), Some(2));
    assert!(states.names(PART).is_empty(), "{:?}", states.names(PART));
}
