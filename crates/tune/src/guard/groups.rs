//! Our cgroups: the one of an arm with a weight or quota, created once per run, and those over which a workload spreads
//! its tasks, created for each trial. Both are journalled, so that they are removed even if we are killed.

use super::{HostGuard, all_back};
use crate::cgroup::{self, Hierarchy, Version};
use crate::error::TuneError;
use crate::knob::{ABSENT, Knob, MADE};
use crate::reason;
use crate::restore::put_back;
use crate::sysctl::not_applied;
use schedlab_plan::{Applied, Setting};
use std::io;
use std::path::{Path, PathBuf};

impl HostGuard {
    /// The files to which a trial process writes its pid before it forks; empty if no cgroup setting is applied.
    pub fn cgroup_procs(&self) -> Vec<PathBuf> {
        let group = self.group.as_ref().filter(|_| self.group_in_use);
        group.map(|(_, path)| path.join("cgroup.procs")).into_iter().collect()
    }

    /// Creates an empty cgroup with the cpu controller for each name (nested if the name contains `/`) for the tasks of
    /// one trial, and returns their `cgroup.procs` in that order; the inner error says why that is impossible. They are
    /// removed by [`Self::remove_trial_groups`], or like every other change of this guard.
    pub fn make_trial_groups(&mut self, names: &[impl AsRef<str>]) -> Result<Result<Vec<PathBuf>, String>, TuneError> {
        if names.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let (hierarchy, parent) = match self.trial_groups_parent()? {
            Ok(parent) => parent,
            Err(why) => return Ok(Err(why)),
        };
        let mut procs = Vec::with_capacity(names.len());
        for name in names {
            let mut path = parent.clone();
            for (level, part) in name.as_ref().split('/').enumerate() {
                let first = || format!("schedlab-{}-{part}", std::process::id());
                let below = path.join(if level == 0 { first() } else { part.to_owned() });
                if let Err((at, e)) = self.make_trial_group(&hierarchy, &path, &below, level > 0)? {
                    self.remove_trial_groups()?;
                    return Ok(Err(reason::refused(&at, &e, None)));
                }
                path = below;
            }
            procs.push(path.join("cgroup.procs"));
        }
        Ok(Ok(procs))
    }

    /// Creates one of them. If its parent is one of our groups, the cpu controller is first enabled there, and that
    /// change is undone with the group.
    fn make_trial_group(
        &mut self,
        hierarchy: &Hierarchy,
        within: &Path,
        path: &Path,
        is_within_ours: bool,
    ) -> Result<Result<(), (PathBuf, io::Error)>, TuneError> {
        let group = Knob::Group { path: path.to_owned() };
        if self.trial_groups.contains(&group) {
            return Ok(Ok(()));
        }
        let control = within.join("cgroup.subtree_control");
        if is_within_ours
            && hierarchy.version == Version::V2
            && let Err(e) = std::fs::write(&control, "+cpu")
        {
            return Ok(Err((control, e)));
        }
        self.trial_groups.push(group.clone());
        let made = self.write_journalled("cgroup", &group, ABSENT, MADE)?;
        Ok(made.and_then(|()| hierarchy.fill_cpuset(path)).map_err(|e| (path.to_owned(), e)))
    }

    /// Removes what [`Self::make_trial_groups`] created; a task that still runs in a group is moved to its parent.
    pub fn remove_trial_groups(&mut self) -> Result<(), TuneError> {
        let groups = std::mem::take(&mut self.trial_groups);
        match &self.journal {
            Some((journal, _)) => all_back(put_back(&journal.ledger, |e| groups.contains(&e.knob))),
            None => Ok(()),
        }
    }

    pub(super) fn set_groups(&mut self, settings: &[&Setting]) -> Result<Vec<Applied>, TuneError> {
        self.group_in_use = false;
        if settings.is_empty() {
            return Ok(Vec::new());
        }
        let (hierarchy, group) = match self.make_group()? {
            Ok(group) => group,
            Err(why) => return Ok(settings.iter().map(|s| not_applied(s, "", why.clone())).collect()),
        };
        let (applied, shown) = cgroup::set_group(&hierarchy, &group, settings);
        for (path, text) in shown {
            self.hold("cgroup", &Knob::file(path), text);
        }
        self.group_in_use = true;
        Ok(applied)
    }

    /// The group of this guard, created on first use; the inner error says why that is impossible.
    fn make_group(&mut self) -> Result<Result<(Hierarchy, PathBuf), String>, TuneError> {
        if let Some(group) = &self.group {
            return Ok(Ok(group.clone()));
        }
        let (hierarchy, parent) = match self.groups_parent()? {
            Ok(parent) => parent,
            Err(why) => return Ok(Err(why)),
        };
        let group = Knob::Group { path: parent.join(format!("schedlab-{}", std::process::id())) };
        let made = self.write_journalled("cgroup", &group, ABSENT, MADE)?;
        if let Err(e) = made.and_then(|()| hierarchy.fill_cpuset(group.path())) {
            return Ok(Err(reason::refused(group.path(), &e, None)));
        }
        Ok(Ok(self.group.insert((hierarchy, group.path().to_owned())).clone()))
    }

    /// Trial groups are created below the arm's group if there is one, so that its weight and quota apply to the whole
    /// workload.
    fn trial_groups_parent(&mut self) -> Result<Result<(Hierarchy, PathBuf), String>, TuneError> {
        match &self.group {
            Some((hierarchy, _)) if self.group_in_use && hierarchy.version == Version::V2 => {
                Ok(Err(cgroup::V2_GROUPS_OF_BOTH.into()))
            }
            Some(group) if self.group_in_use => Ok(Ok(group.clone())),
            _ => self.groups_parent(),
        }
    }

    /// The parent for our groups, with the cpu controller enabled; the inner error says why there is none.
    fn groups_parent(&mut self) -> Result<Result<(Hierarchy, PathBuf), String>, TuneError> {
        // A user who may not move tasks within the parent cannot create groups in it either. Check that before a
        // journal is written.
        let (hierarchy, place) = match cgroup::usable_place(&self.roots) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(control) = place.enable {
            let control = Knob::CpuController { path: control };
            if let Err(e) = self.write_journalled("cgroup.subtree_control", &control, "-cpu", "+cpu")? {
                return Ok(Err(reason::refused(control.path(), &e, Some("+cpu"))));
            }
        }
        Ok(Ok((hierarchy, place.parent)))
    }
}
