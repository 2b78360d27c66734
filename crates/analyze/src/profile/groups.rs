//! The parts of the kernel that functions belong to (`groups.txt`, by name), and the share of each part in a profile or
//! in the difference between two.

use super::tally::plain;
use schedlab_plan::InOrder;
use serde::Serialize;
use std::collections::BTreeMap;

/// The groups and their functions.
const TABLE: &str = include_str!("groups.txt");
/// Functions that match no row, and code without a name.
const OTHER: &str = "other";
/// Code that is not in the kernel.
const PROGRAMS: &str = "programs";
/// If the sum of all changes is a smaller share of their absolute sum than this, it is too small to be divided into
/// shares.
const MIN_LEFT: f64 = 0.05;

/// A function's name (`None` outside the kernel), with its weight per operation.
pub type Weight<'f> = (Option<&'f str>, f64);

/// What each part of the kernel has of a profile, or of the difference between two.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupFindings {
    /// The unit of the shares: `instructions`, `ns` or `cycles`.
    pub unit: String,
    /// What it is per: `message`.
    pub operation: String,
    /// Per operation in the reference profile; `None` without one.
    pub against: Option<f64>,
    /// Per operation in the other, or only, profile.
    pub this: f64,
    /// By group, largest difference (or share) first; the groups add up to the whole.
    pub groups: Vec<GroupShare>,
}

/// A part of the kernel; `programs` is what is outside of it, `other` are functions of which no part is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupShare {
    /// Its name: `scheduler`.
    pub group: String,
    /// Per operation in the reference profile; `None` without one.
    pub against: Option<f64>,
    /// Per operation in the other, or only, profile.
    pub this: f64,
    /// Share of the difference, negative if it goes the other way; with one profile, share of the whole. `None` if the
    /// groups cancel each other.
    pub share: Option<f64>,
}

impl GroupFindings {
    /// The groups of one profile.
    pub fn of<'f>(unit: &str, operation: &str, rows: impl IntoIterator<Item = Weight<'f>>) -> Self {
        let table = table();
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, weight) in rows {
            *sums.entry(name.map_or(PROGRAMS, |name| group_in(&table, name))).or_default() += weight;
        }
        let alone = |(group, this): (&str, f64)| (group.to_owned(), (None, this));
        Self::shared_out(unit, operation, sums.into_iter().map(alone).collect())
    }

    /// The difference from a profile with the same operation.
    pub fn against(&self, before: &Self) -> Self {
        let mut sums: BTreeMap<String, (Option<f64>, f64)> = BTreeMap::new();
        for group in &before.groups {
            sums.insert(group.group.clone(), (Some(group.this), 0.0));
        }
        for group in &self.groups {
            sums.entry(group.group.clone()).or_insert((Some(0.0), 0.0)).1 = group.this;
        }
        Self::shared_out(&self.unit, &self.operation, sums)
    }

    fn shared_out(unit: &str, operation: &str, sums: BTreeMap<String, (Option<f64>, f64)>) -> Self {
        let group = |(group, (against, this))| GroupShare { group, against, this, share: None };
        let mut groups: Vec<GroupShare> = sums.into_iter().map(group).collect();
        let all: f64 = groups.iter().map(GroupShare::difference).sum();
        let up_and_down: f64 = groups.iter().map(|group| group.difference().abs()).sum();
        if all.abs() > MIN_LEFT * up_and_down {
            groups.iter_mut().for_each(|group| group.share = Some(group.difference() / all));
        }
        groups.in_order_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        let this = groups.iter().map(|group| group.this).sum();
        let against = groups.iter().map(|group| group.against).sum::<Option<f64>>().filter(|_| !groups.is_empty());
        Self { unit: unit.into(), operation: operation.into(), against, this, groups }
    }
}

impl GroupShare {
    /// The difference per operation from the reference profile, or from 0 if there is none.
    pub fn difference(&self) -> f64 {
        self.this - self.against.unwrap_or(0.0)
    }
}

/// The part of the kernel that a function belongs to, by its name.
pub fn group_of(function: &str) -> &'static str {
    group_in(&table(), function)
}

/// The part of the kernel that a source file belongs to, by its path in the tree.
pub fn group_of_source(path: &str) -> &'static str {
    let heads = TABLE.lines().filter(|line| !line.starts_with(['#', ' '])).filter_map(|line| line.split_once(':'));
    let places = heads.flat_map(|(group, places)| places.split_whitespace().map(move |place| (place, group)));
    let fitting = places.filter(|(place, _)| path.starts_with(place));
    fitting.max_by_key(|(place, _)| place.len()).map_or(OTHER, |(_, group)| group)
}

/// Each name of the table with its group.
fn table() -> Vec<(&'static str, &'static str)> {
    let (mut table, mut group) = (Vec::new(), OTHER);
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(':') {
            Some((name, _)) => group = name,
            None => table.extend(line.split_whitespace().map(|name| (name, group))),
        }
    }
    table
}

fn group_in(table: &[(&'static str, &'static str)], function: &str) -> &'static str {
    let name = plain(function).trim_start_matches('_');
    let mut best = (0, OTHER);
    for (pattern, group) in table {
        let letters = pattern.trim_matches('*');
        if letters.len() > best.0 && fits(pattern, letters, name) {
            best = (letters.len(), group);
        }
    }
    best.1
}

fn fits(pattern: &str, letters: &str, name: &str) -> bool {
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (false, false) => name == letters,
        (false, true) => name.starts_with(letters),
        (true, false) => name.ends_with(letters),
        (true, true) => name.contains(letters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_stats::random::Random;

    #[test]
    fn functions_are_of_the_part_whose_sources_they_are_in() {
        for (function, group) in [
            ("__schedule", "scheduler"),
            ("finish_task_switch.isra.0", "scheduler"),
            ("pick_next_task_fair", "scheduler"),
            ("schedule_timeout", "interrupts and entry"),
            ("queued_spin_lock_slowpath", "locking"),
            ("__rcu_read_lock", "locking"),
            ("copy_user_enhanced_fast_string", "memory"),
            ("get_page_from_freelist", "memory"),
            ("mem_cgroup_charge_skmem", "memory"),
            ("slob_page_alloc", "memory"),
            ("pipe_write", "file system"),
            ("anon_pipe_write", "file system"),
            ("vfs_read", "file system"),
            ("unix_stream_sendmsg", "network"),
            ("__alloc_skb", "network"),
            ("tcp_ack", "network"),
            ("entry_SYSCALL_64_after_hwframe", "interrupts and entry"),
            ("do_exit", "tasks and signals"),
            ("apparmor_file_permission", "security"),
            ("perf_event_task_tick", "cgroups and tracing"),
            ("_find_next_bit", "library"),
            ("binder_ioctl", "binder"),
            ("drm_ioctl", OTHER),
            ("(no function)", OTHER),
            ("", OTHER),
        ] {
            assert_eq!(group_of(function), group, "{function}");
        }
    }

    #[test]
    fn the_longest_place_of_a_source_file_counts() {
        for (path, group) in [
            ("kernel/sched/fair.c", "scheduler"),
            ("kernel/fork.c", "tasks and signals"),
            ("lib/iov_iter.c", "memory"),
            ("lib/rbtree.c", "library"),
            ("drivers/gpu/drm/drm_drv.c", OTHER),
        ] {
            assert_eq!(group_of_source(path), group, "{path}");
        }
    }

    #[test]
    fn no_name_is_in_two_rows() {
        let mut names: Vec<&str> = table().into_iter().map(|(name, _)| name).collect();
        let letters = |name: &str| name.trim_matches('*').to_owned();
        assert!(
            names.iter().all(|name| !letters(name).contains('*') && !name.starts_with('_') && letters(name).len() > 1)
        );
        names.sort_unstable();
        let twice: Vec<&[&str]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn a_group_that_became_cheaper_has_a_share_of_the_other_sign() {
        let before = [(Some("__schedule"), 100.0), (Some("pipe_write"), 50.0), (None, 10.0)];
        let after = [(Some("__schedule"), 190.0), (Some("pipe_write"), 20.0), (None, 10.0), (Some("drm_ioctl"), 20.0)];
        let of = |rows: &[Weight<'static>]| GroupFindings::of("instructions", "message", rows.iter().copied());
        let found = of(&after).against(&of(&before));
        assert_eq!((found.against, found.this), (Some(160.0), 240.0));
        let shares: Vec<(&str, f64, Option<f64>)> =
            found.groups.iter().map(|group| (group.group.as_str(), group.difference(), group.share)).collect();
        let expected = [
            ("scheduler", 90.0, Some(1.125)),
            ("file system", -30.0, Some(-0.375)),
            (OTHER, 20.0, Some(0.25)),
            (PROGRAMS, 0.0, Some(0.0)),
        ];
        assert_eq!(shares, expected);
        let same = of(&before).against(&of(&before));
        assert!(same.groups.iter().all(|group| group.share.is_none()), "nothing is shared out: {same:?}");
        let alone = of(&before);
        assert_eq!((alone.against, alone.groups[0].share), (None, Some(100.0 / 160.0)));
    }

    #[test]
    fn shares_are_the_whole_difference() {
        let names = [Some("schedule"), Some("vfs_read"), Some("kfree"), Some("tcp_ack"), Some("x"), None];
        let mut random = Random::new(19);
        for _ in 0..2000 {
            let mut side = || {
                let rows =
                    (0..=random.below(12)).map(|_| (names[random.below(names.len())], random.below(1000) as f64));
                GroupFindings::of("instructions", "message", rows.collect::<Vec<Weight<'_>>>())
            };
            let found = side().against(&side());
            let all = found.this - found.against.unwrap();
            let shares: Option<Vec<f64>> = found.groups.iter().map(|group| group.share).collect();
            for (group, share) in found.groups.iter().zip(shares.iter().flatten()) {
                assert!((share * all - group.difference()).abs() < 1e-6, "{found:?}");
            }
            let sum = shares.map_or(1.0, |shares| shares.iter().sum());
            assert!((sum - 1.0).abs() < 1e-9, "{found:?}");
            let differences: f64 = found.groups.iter().map(GroupShare::difference).sum();
            assert!((differences - all).abs() < 1e-6, "{found:?}");
        }
    }
}
