//! Restoring the journals of dead processes.

use super::preview::{Preview, preview};
use super::*;
use crate::journal::Journal;
use crate::knob::Knob;
use std::path::PathBuf;

struct Tree {
    root: tempfile::TempDir,
    roots: Roots,
    state: PathBuf,
}

fn tree() -> Tree {
    let root = tempfile::tempdir().unwrap();
    let proc = root.path().join("proc");
    std::fs::create_dir_all(proc.join("sys/kernel/random")).unwrap();
    std::fs::write(proc.join("sys/kernel/random/boot_id"), "this-boot\n").unwrap();
    let roots = Roots { proc, ..Roots::default() };
    let state = root.path().join("state");
    std::fs::create_dir(&state).unwrap();
    Tree { root, roots, state }
}

/// The owner of a journal, a process that does not exist in the tree's /proc.
fn dead(boot_id: &str) -> Owner {
    Owner { pid: 4242, start_ticks: 1, boot_id: boot_id.into(), began_ns: 0, network: None }
}

impl Tree {
    fn knob(&self, name: &str, value: &str) -> Knob {
        let path = self.root.path().join(name);
        std::fs::write(&path, value).unwrap();
        Knob::file(path)
    }
    fn change(&self, journal: &mut Journal, knob: &Knob, new: &str) {
        let seq = journal.intend("k", knob, &knob.read().unwrap(), new).unwrap();
        knob.write(new).unwrap();
        journal.done(seq, new).unwrap();
    }
    fn restore(&self) -> Vec<RestoreOutcome> {
        let restored = restore_leftovers(Leftovers::Killed, &self.roots, &self.state).unwrap();
        restored.into_iter().map(|r| r.outcome).collect()
    }
    /// Restores everything, and checks that the preview said so.
    fn restore_all(&self) -> Vec<RestoreOutcome> {
        let Preview { back, others } = preview(&self.roots, &self.state).unwrap();
        let all = restore_leftovers(Leftovers::AlsoSet, &self.roots, &self.state).unwrap();
        let (restored, others_now): (Vec<_>, Vec<_>) =
            all.iter().cloned().partition(|one| one.outcome == RestoreOutcome::Restored);
        let of = |knob: &str, original: &str| (knob.to_owned(), original.to_owned());
        let back: Vec<_> = back.iter().map(|one| of(&one.knob, &one.original)).collect();
        assert_eq!(back, restored.iter().map(|one| of(&one.knob, &one.original)).collect::<Vec<_>>());
        assert_eq!(others, others_now);
        all.into_iter().map(|one| one.outcome).collect()
    }
    fn journals_left(&self) -> usize {
        journals(&self.state).unwrap().len()
    }
}

#[test]
fn values_of_a_dead_process_come_back_once() {
    let tree = tree();
    let (a, b) = (tree.knob("a", "1"), tree.knob("b", "10"));
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &a, "2");
    tree.change(&mut journal, &b, "20");
    tree.change(&mut journal, &a, "3");
    assert_eq!(preview(&tree.roots, &tree.state).unwrap().back.len(), 2);
    assert_eq!(tree.restore(), [RestoreOutcome::Restored, RestoreOutcome::Restored]);
    assert_eq!((a.read().unwrap(), b.read().unwrap()), ("1".into(), "10".into()));
    assert_eq!((tree.journals_left(), tree.restore()), (0, vec![]));
}

#[test]
fn a_foreign_value_is_left_and_named() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    knob.write("77").unwrap();
    assert_eq!(tree.restore_all(), [RestoreOutcome::LeftForeign("77".into())]);
    assert_eq!((knob.read().unwrap(), tree.journals_left()), ("77".into(), 0));
}

/// mm/page-writeback.c: a write to one makes the other 0, and the 0 itself is refused.
#[test]
fn bytes_and_ratio_come_back_as_one_value_and_another_process_keeps_its_own() {
    for (bytes, ratio, ours, foreign, expected) in [
        ("0", "20", "dirty_bytes=8", "", ["0", "20"]),
        ("8", "0", "dirty_ratio=30", "", ["8", "0"]),
        ("0", "20", "dirty_bytes=8", "dirty_bytes=16", ["16", "0"]),
        ("0", "20", "dirty_bytes=8", "dirty_ratio=40", ["0", "40"]),
        ("8", "0", "dirty_ratio=30", "dirty_bytes=16", ["16", "0"]),
        ("8", "0", "dirty_ratio=30", "dirty_ratio=40", ["0", "40"]),
    ] {
        let tree = tree();
        let pair = [tree.knob("dirty_bytes", bytes), tree.knob("dirty_ratio", ratio)];
        let other = |path: &std::path::Path| pair.iter().find(|knob| knob.path() != path).unwrap().path().to_owned();
        let [first, second] = pair.clone();
        crate::knob::KERNEL.set(Some(Box::new(move |path, before| {
            let other = [&first, &second].into_iter().find(|knob| knob.path() != path).unwrap().path();
            match std::fs::read_to_string(path).unwrap().trim() {
                "0" if path.ends_with("dirty_bytes") => std::fs::write(path, before).unwrap(),
                _ => std::fs::write(other, "0\n").unwrap(),
            }
        })));
        let of = |text: &str| {
            let (name, value) = text.split_once('=').unwrap();
            (tree.root.path().join(name), value.to_owned())
        };
        let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
        let (path, value) = of(ours);
        let with = Knob::file(other(&path));
        let before = with.read().unwrap();
        let seq = journal.intend("with", &with, &before, &before).unwrap();
        tree.change(&mut journal, &Knob::file(path), &value);
        journal.done(seq, "0").unwrap();
        if !foreign.is_empty() {
            let (path, value) = of(foreign);
            Knob::file(path).write(&value).unwrap();
        }
        let restored = restore_leftovers(Leftovers::Killed, &tree.roots, &tree.state).unwrap();
        assert_eq!(pair.clone().map(|knob| knob.read().unwrap()), expected, "{bytes} {ratio} {ours} {foreign}");
        let told: Vec<String> = restored.iter().map(ToString::to_string).collect();
        let zero_is_written = told.iter().any(|line| line.contains("echo '0'"));
        assert!(!zero_is_written && told.iter().any(|line| line.contains("echo '")) != foreign.is_empty(), "{told:?}");
        crate::knob::KERNEL.set(None);
    }
}

#[test]
fn a_rounded_value_whose_done_was_lost_is_taken_for_ours() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    journal.intend("k", &knob, "1", "1003").unwrap();
    knob.write("1000").unwrap();
    assert_eq!(tree.restore(), [RestoreOutcome::Restored]);
    assert_eq!(knob.read().unwrap(), "1");
}

#[test]
fn what_was_set_to_stay_comes_back_when_it_is_asked_back_the_last_first() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    for (start_ticks, new) in [(1, "2"), (2, "3")] {
        let owner = Owner { start_ticks, ..dead("this-boot") };
        let mut journal = Journal::create(&tree.state, owner).unwrap();
        tree.change(&mut journal, &knob, new);
        journal.keep().unwrap();
    }
    assert_eq!((tree.restore(), tree.journals_left()), (vec![], 2), "no start takes it back");
    assert!(preview(&tree.roots, &tree.state).unwrap().back.iter().all(|left| left.kept));
    let mut killed = Journal::create(&tree.state, Owner { start_ticks: 3, ..dead("this-boot") }).unwrap();
    tree.change(&mut killed, &knob, "9");
    assert_eq!(tree.restore(), [RestoreOutcome::Restored], "what a killed run made of it does");
    assert_eq!(knob.read().unwrap(), "3");
    assert_eq!((tree.restore_all().len(), knob.read().unwrap(), tree.journals_left()), (2, "1".into(), 0));
}

/// The process that began first may have written last.
#[test]
fn journals_are_undone_in_the_order_of_their_writes() {
    let tree = tree();
    let knob = tree.knob("a", "100");
    for (start_ticks, began_ns, new) in [(9, 1, "40"), (2, 2, "50")] {
        let owner = Owner { start_ticks, began_ns, ..dead("this-boot") };
        let mut journal = Journal::create(&tree.state, owner).unwrap();
        tree.change(&mut journal, &knob, new);
        journal.keep().unwrap();
    }
    tree.restore_all();
    assert_eq!(knob.read().unwrap(), "100");
}

#[test]
fn knobs_of_another_network_namespace_wait_for_it() {
    let tree = tree();
    let ns = |process: &str| {
        let ns = tree.roots.proc.join(process).join("ns");
        std::fs::create_dir_all(&ns).unwrap();
        std::fs::write(ns.join("net"), "").unwrap();
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(ns.join("net")).unwrap())
    };
    let (here, other) = (ns("self"), ns("77"));
    std::fs::create_dir_all(tree.roots.proc.join("sys/net/core")).unwrap();
    let (net, plain) = (tree.knob("proc/sys/net/core/somaxconn", "4096"), tree.knob("a", "1"));
    let set = |network| {
        let owner = Owner { network: Some(network), ..dead("this-boot") };
        let mut journal = Journal::create(&tree.state, owner).unwrap();
        tree.change(&mut journal, &net, "500");
        tree.change(&mut journal, &plain, "2");
    };
    set(other);
    assert_eq!((tree.restore(), tree.journals_left()), (vec![RestoreOutcome::Restored], 1), "the start of a run");
    assert_eq!((net.read().unwrap(), plain.read().unwrap()), ("500".into(), "1".into()));
    assert_eq!(tree.restore_all(), [RestoreOutcome::OtherNetwork(other)]);
    std::fs::remove_dir_all(tree.roots.proc.join("77")).unwrap();
    assert_eq!((tree.restore_all(), tree.journals_left()), (vec![RestoreOutcome::Gone], 0));
    net.write("4096").unwrap();
    set(here);
    assert_eq!(tree.restore(), [RestoreOutcome::Restored, RestoreOutcome::Restored]);
    assert_eq!(net.read().unwrap(), "4096");
}

#[test]
fn what_was_set_to_stay_in_an_earlier_boot_is_gone_at_the_next_start() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("an-earlier-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    journal.keep().unwrap();
    assert_eq!((tree.restore_all(), tree.journals_left()), (vec![RestoreOutcome::Rebooted], 0));
    assert_eq!(knob.read().unwrap(), "2", "nothing is written");
}

/// Whatever is left of the journal of a killed process, the host is restored or the journal is reported.
#[test]
fn a_journal_torn_at_every_byte_is_recovered_or_reported() {
    let tree = tree();
    let knobs = [tree.knob("a", "1"), tree.knob("b", "10")];
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    // The length of the journal and the knobs after each step; nothing is written before its intent is on disk.
    let mut states = vec![(0, ["1", "10"])];
    for (knob, new, shows) in [(0, "2", ["2", "10"]), (1, "20", ["2", "20"]), (0, "3", ["3", "20"])] {
        let old = knobs[knob].read().unwrap();
        let seq = journal.intend("k", &knobs[knob], &old, new).unwrap();
        states.push((std::fs::metadata(journal.path()).unwrap().len() as usize, shows));
        knobs[knob].write(new).unwrap();
        journal.done(seq, new).unwrap();
    }
    let bytes = std::fs::read(journal.path()).unwrap();
    let header = 1 + bytes.iter().position(|&b| b == b'\n').unwrap();
    // No kill leaves a journal without its whole first line: a disk has lost it, and what was written is not known.
    for cut in 0..header {
        std::fs::write(journal.path(), &bytes[..cut]).unwrap();
        let outcomes = tree.restore();
        assert!(matches!(outcomes[..], [RestoreOutcome::Unreadable(_)]), "cut at {cut}: {outcomes:?}");
        assert_eq!(tree.journals_left(), 1, "cut at {cut}");
    }
    for cut in header..=bytes.len() {
        let (_, shows) = states.iter().rev().find(|(written, _)| *written <= cut).unwrap();
        knobs.iter().zip(shows).for_each(|(knob, value)| knob.write(value).unwrap());
        std::fs::write(journal.path(), &bytes[..cut]).unwrap();
        let outcomes = tree.restore();
        assert!(outcomes.iter().all(|one| *one == RestoreOutcome::Restored), "cut at {cut}: {outcomes:?}");
        let values = knobs.each_ref().map(|knob| knob.read().unwrap());
        assert_eq!((values, tree.journals_left()), (["1".into(), "10".into()], 0), "cut at {cut}");
    }
    // A disk that loses synced data: a byte missing anywhere is reported, or the line can still be read.
    for hole in 0..bytes.len() {
        let mut holed = bytes.clone();
        holed[hole] = 0;
        knobs.iter().zip(["3", "20"]).for_each(|(knob, value)| knob.write(value).unwrap());
        std::fs::write(journal.path(), &holed).unwrap();
        let outcomes = tree.restore();
        let seen = outcomes.iter().any(|one| !matches!(one, RestoreOutcome::Restored));
        let back = knobs.each_ref().map(|knob| knob.read().unwrap()) == ["1", "10"];
        assert!(seen || back, "hole at {hole}: {outcomes:?}");
        let _ = std::fs::remove_file(journal.path());
    }
}

#[test]
fn after_a_reboot_nothing_is_written() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("an-earlier-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    assert_eq!(tree.restore(), [RestoreOutcome::Rebooted]);
    assert_eq!((knob.read().unwrap(), tree.journals_left()), ("2".into(), 0));
}

#[test]
fn an_error_is_reported_the_others_go_on_and_the_journal_stays() {
    let tree = tree();
    let (a, b) = (tree.knob("a", "1"), tree.knob("b", "10"));
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &a, "2");
    tree.change(&mut journal, &b, "20");
    std::fs::remove_file(b.path()).unwrap();
    std::fs::create_dir(b.path()).unwrap(); // reads and writes fail, whoever we are
    let outcomes = tree.restore();
    assert!(matches!(outcomes[..], [RestoreOutcome::Restored, RestoreOutcome::Failed(_)]), "{outcomes:?}");
    assert_eq!((a.read().unwrap(), tree.journals_left()), ("1".into(), 1));
}

#[test]
fn the_journal_of_a_living_process_is_left_alone() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let alive = Owner::this(Path::new("/proc")).unwrap();
    let mut journal = Journal::create(&tree.state, alive).unwrap();
    tree.change(&mut journal, &knob, "2");
    let busy = restore_within(Duration::ZERO, Leftovers::Killed, &Roots::default(), &tree.state).unwrap_err();
    assert!(matches!(&busy, TuneError::Busy { pid } if *pid == std::process::id().to_string()), "{busy}");
    assert_eq!((knob.read().unwrap(), tree.journals_left()), ("2".into(), 1));
}

#[test]
fn a_killed_process_that_still_holds_the_lock_is_waited_for() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    let lock = StateLock::take(&tree.state).unwrap();
    let busy = restore_within(Duration::ZERO, Leftovers::Killed, &tree.roots, &tree.state).unwrap_err();
    assert!(matches!(busy, TuneError::Busy { .. }), "{busy}");
    std::thread::scope(|threads| {
        let waiter =
            threads.spawn(|| restore_within(Duration::from_secs(60), Leftovers::Killed, &tree.roots, &tree.state));
        drop(lock);
        assert_eq!(waiter.join().unwrap().unwrap()[0].outcome, RestoreOutcome::Restored);
    });
    assert_eq!((knob.read().unwrap(), tree.journals_left()), ("1".into(), 0));
}

/// Changes one character of line `line` of the journal.
fn damage(journal: &Journal, line: usize) {
    let text = std::fs::read_to_string(journal.path()).unwrap();
    let lines = text.split_inclusive('\n').enumerate();
    let damaged: String = lines.map(|(i, l)| if i == line { l.replacen('{', "[", 1) } else { l.into() }).collect();
    assert_ne!(damaged, text);
    std::fs::write(journal.path(), damaged).unwrap();
}

#[test]
fn a_journal_with_a_damaged_line_is_restored_as_far_as_it_goes_and_kept() {
    let tree = tree();
    let (a, b) = (tree.knob("a", "1"), tree.knob("b", "10"));
    let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &a, "2");
    tree.change(&mut journal, &b, "20");
    damage(&journal, 1);
    let outcomes = tree.restore();
    assert!(
        matches!(outcomes[..], [RestoreOutcome::Restored, RestoreOutcome::Unreadable(_)]),
        "the intent of `a` is lost: {outcomes:?}"
    );
    assert_eq!((b.read().unwrap(), tree.journals_left()), ("10".into(), 1));
    assert!(matches!(tree.restore()[..], [RestoreOutcome::Unreadable(_)]), "said until the file is gone");
}

#[test]
fn a_journal_of_a_newer_schedlab_is_left_to_it() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create_as(crate::journal::FORMAT + 1, &tree.state, dead("this-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    let outcomes = tree.restore();
    let [RestoreOutcome::Unreadable(why)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(why.contains("newer schedlab"), "{why}");
    assert_eq!((knob.read().unwrap(), tree.journals_left()), ("2".into(), 1));
    let line = preview(&tree.roots, &tree.state).unwrap().others[0].to_string();
    assert!(line.contains("journal-4242-1"), "{line}");
}

#[test]
fn after_a_reboot_a_damaged_journal_has_nothing_to_say() {
    let tree = tree();
    let knob = tree.knob("a", "1");
    let mut journal = Journal::create(&tree.state, dead("an-earlier-boot")).unwrap();
    tree.change(&mut journal, &knob, "2");
    damage(&journal, 2);
    assert_eq!((tree.restore(), tree.journals_left()), (vec![RestoreOutcome::Rebooted], 0));
}
