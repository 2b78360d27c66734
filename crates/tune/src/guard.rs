//! Guards all host-wide changes: switches the host from one arm's settings to another's, and leaves it as it was found.
//!
//! Nothing is opened before the first value has to change: a run without host-wide settings needs no privileges, no
//! lock and no journal. A value that stays the same is not written; one that alternates is journalled only the first
//! time.

mod files;
mod groups;

use crate::cgroup::Hierarchy;
use crate::error::TuneError;
use crate::journal::Journal;
use crate::knob::Knob;
use crate::owner::Owner;
use crate::resolve::{Resolved, resolve};
use crate::restore::{Leftovers, put_back, restore_locked};
use crate::restored::{RestoreOutcome, Restored};
use crate::roots::Roots;
use crate::state::StateLock;
use crate::task::online_cpus;
use files::refuse_same_knob;
use schedlab_plan::units::CpuList;
use schedlab_plan::{Applied, InOrder, Setting};
use std::io;
use std::path::{Path, PathBuf};

/// A knob that we have set, and the values that it may show now.
#[derive(Debug)]
struct AppliedKnob {
    name: String,
    knob: Knob,
    /// What the kernel showed after each of our writes.
    may_show: Vec<String>,
}

/// Host-wide settings that are applied: sysctls (but not `net.*`), autogroup, files and choices in debugfs and sysfs,
/// scheduler features, audit rules, cgroup weight and quota. Dropping it restores the host; after a SIGKILL
/// [`restore_leftovers`](crate::restore_leftovers) does.
#[derive(Debug)]
pub struct HostGuard {
    roots: Roots,
    state_dir: PathBuf,
    journal: Option<(Journal, StateLock)>,
    held: Vec<AppliedKnob>,
    covered: Vec<AppliedKnob>,
    /// Knobs that the current arm does not set. A write by others to them changes the measurement too.
    idle: Vec<AppliedKnob>,
    group: Option<(Hierarchy, PathBuf)>,
    group_in_use: bool,
    /// Groups of the running trial's workload.
    trial_groups: Vec<Knob>,
    /// Whether `net.*` sysctls are written too, in the network namespace of the caller.
    own_network: bool,
    /// CPUs that were online at the first write: if they change, the kernel has recomputed the slices.
    online: Option<CpuList>,
}

/// A setting, resolved on this machine as far as possible.
struct Wanted<'a> {
    setting: &'a Setting,
    found: Result<Resolved, String>,
}

impl HostGuard {
    /// Opens a guard that changes nothing yet; journals will be kept in `state_dir`.
    pub fn open(roots: Roots, state_dir: &Path) -> Result<Self, TuneError> {
        Ok(Self {
            roots,
            state_dir: state_dir.to_owned(),
            journal: None,
            held: Vec::new(),
            covered: Vec::new(),
            idle: Vec::new(),
            group: None,
            group_in_use: false,
            trial_groups: Vec::new(),
            own_network: false,
            online: None,
        })
    }

    /// Also writes `net.*` sysctls, in the caller's network namespace: for settings of a user, not of a trial.
    pub fn with_own_network(mut self) -> Self {
        self.own_network = true;
        self
    }

    /// Keeps the settings after the end of this process, until they are restored ([`Leftovers::AlsoSet`]).
    pub fn keep(mut self) -> Result<(), TuneError> {
        if let Some((journal, _)) = &mut self.journal {
            journal.keep()?;
        }
        self.journal = None;
        Ok(())
    }

    /// Switches to these settings: what differs is set and read back, what is no longer named is restored. Per-task
    /// settings are skipped, because the trial sets them. An error means that the journal cannot be written or a value
    /// not be restored; a setting that is not applied is an [`Applied`] with the reason.
    pub fn apply(&mut self, settings: &[Setting]) -> Result<Vec<Applied>, TuneError> {
        let (groups, files): (Vec<&Setting>, Vec<&Setting>) = settings
            .iter()
            .filter(is_hosts)
            .partition(|s| matches!(s, Setting::CpuWeight(_) | Setting::CpuQuota { .. }));
        let wanted: Vec<Wanted<'_>> = files.into_iter().map(|setting| self.look_up(setting)).collect();
        refuse_same_knob(&wanted)?;
        self.go_back(&wanted)?;
        let mut applied = self.set_files(&wanted)?;
        applied.extend(self.set_groups(&groups)?);
        // In the order of the request.
        applied.in_order_by_key(|a| settings.iter().position(|s| *s == a.setting));
        Ok(applied)
    }

    /// Applies these settings one after the other, with read-back, then restores the originals. From then on a child of
    /// ours may switch between these values ([`write_sysctl`](crate::write_sysctl)), and the journal covers it.
    pub fn cover(&mut self, settings: &[Setting]) -> Result<Vec<Applied>, TuneError> {
        let mut applied = Vec::new();
        for setting in settings.iter().filter(is_hosts) {
            let wanted = self.look_up(setting);
            applied.extend(self.set_files(std::slice::from_ref(&wanted))?);
            for held in std::mem::take(&mut self.held) {
                self.remember_covered(held);
            }
        }
        self.go_back(&[])?;
        Ok(applied)
    }

    /// The knobs that we have set whose value differs from the original, by name, each with the original.
    pub fn originals(&self) -> Vec<(&str, String)> {
        let held = self.held.iter().filter_map(|held| Some((held.name.as_str(), self.ledger_original(&held.knob)?)));
        held.collect()
    }

    /// Knobs of ours that another process has written since; each one invalidates the run.
    pub fn foreign_changes(&self) -> Vec<String> {
        let changed = |held: &AppliedKnob| {
            let present = held.knob.read().unwrap_or_else(|e| format!("unreadable: {e}"));
            let ours = held.may_show.contains(&present);
            let expected = held.may_show.last().map(String::as_str).unwrap_or_default();
            let hot_plug = self.online.is_some() && self.online != online_cpus(&self.roots.sys);
            let who = if hot_plug { ": CPUs went on- or offline since, and the kernel computed it anew" } else { "" };
            (!ours).then(|| format!("{}: `{present}` now, `{expected}` when we wrote it{who}", held.name))
        };
        self.held.iter().chain(&self.covered).chain(&self.idle).filter_map(changed).collect()
    }

    /// Restores and reads back all values, and removes the journal. The list includes values that could not be restored
    /// ([`Restored::is_done`]); their journal is kept.
    pub fn restore(&mut self) -> Result<Vec<Restored>, TuneError> {
        self.held.clear();
        self.covered.clear();
        self.idle.clear();
        self.group = None;
        self.group_in_use = false;
        self.trial_groups.clear();
        let Some((journal, _lock)) = self.journal.take() else { return Ok(Vec::new()) };
        let restored = put_back(&journal.ledger, |_| true);
        if restored.iter().all(Restored::is_done) {
            journal.close()?;
        }
        Ok(restored)
    }

    fn look_up<'a>(&self, setting: &'a Setting) -> Wanted<'a> {
        let found = match setting {
            _ if setting.is_of_guest() => {
                Err("it takes effect at boot: use a plan with a [guest] table, or `schedlab vm run`".into())
            }
            _ if setting.is_net_sysctl() && !self.own_network => {
                Err("net.* sysctls belong to the trial's own network namespace and are \
                 never written on the host; this is a defect of schedlab"
                    .into())
            }
            _ => resolve(&self.roots, setting),
        };
        Wanted { setting, found }
    }

    fn journal(&mut self) -> Result<&mut Journal, TuneError> {
        if self.journal.is_none() {
            let lock = StateLock::take(&self.state_dir)?;
            // Original values must be read after the leftovers of killed runs are restored.
            all_back(restore_locked(Leftovers::Killed, &self.roots, &self.state_dir, &lock)?)?;
            let state = |source| TuneError::State { path: self.roots.proc.join("self/stat"), source };
            self.online = online_cpus(&self.roots.sys);
            let owner = Owner::this(&self.roots.proc).map_err(state)?;
            self.journal = Some((Journal::create(&self.state_dir, owner)?, lock));
        }
        Ok(&mut self.journal.as_mut().expect("created above").0)
    }

    fn remember_covered(&mut self, held: AppliedKnob) {
        match self.covered.iter_mut().find(|c| c.knob == held.knob) {
            Some(covered) => covered.may_show.extend(held.may_show),
            None => {
                // Without a journal entry the value was already set, and is the original.
                let original = self.ledger_original(&held.knob);
                let may_show = original.into_iter().chain(held.may_show).collect();
                self.covered.push(AppliedKnob { may_show, ..held });
            }
        }
    }

    fn ledger_original(&self, knob: &Knob) -> Option<String> {
        let (journal, _) = self.journal.as_ref()?;
        journal.ledger.entry(knob).map(|e| e.original.clone())
    }

    /// Journals the old value, then writes. The outer error is of the journal, the inner one of the knob.
    fn write_journalled(&mut self, name: &str, knob: &Knob, old: &str, new: &str) -> Result<io::Result<()>, TuneError> {
        // Bytes and ratio are one value in the kernel: writing one resets the other.
        let partner = knob.partner().and_then(|p| p.read().ok().map(|value| (p, value)));
        let journal = self.journal()?;
        let known = journal.ledger.entry(knob).is_some_and(|e| {
            let ours = |value: &str| e.ours.iter().any(|v| v == value);
            e.pending.is_none() && ours(new) && (ours(old) || e.original == old)
        });
        if known {
            return Ok(knob.write(new));
        }
        let partner = match &partner {
            Some((other, value)) => {
                let name = format!("{name} (with {})", other.path().display());
                Some((other, value, journal.intend(&name, other, value, value)?))
            }
            None => None,
        };
        let seq = journal.intend(name, knob, old, new)?;
        let written = knob.write(new);
        journal.done(seq, &knob.read().unwrap_or_else(|_| old.to_owned()))?;
        if let Some((other, before, seq)) = partner {
            journal.done(seq, &other.read().unwrap_or_else(|_| before.clone()))?;
        }
        Ok(written)
    }

    fn hold(&mut self, name: &str, knob: &Knob, shows: String) {
        self.held.retain(|h| h.knob != *knob);
        // Bytes and ratio are one value in the kernel: setting one changes the other.
        self.idle.retain(|h| h.knob != *knob && knob.partner().as_ref() != Some(&h.knob));
        self.held.push(AppliedKnob { name: name.to_owned(), knob: knob.clone(), may_show: vec![shows] });
    }
}

impl Drop for HostGuard {
    /// Last resort: what fails here stays in the journal for the next start.
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

/// All other settings belong to the trial.
fn is_hosts(setting: &&Setting) -> bool {
    !setting.is_per_task() && !setting.is_workload_option() && !setting.is_trace()
}

fn all_back(restored: Vec<Restored>) -> Result<(), TuneError> {
    for one in restored {
        match one.outcome {
            RestoreOutcome::Failed(why) => {
                return Err(TuneError::NotRestored { knob: one.knob, original: one.original, why });
            }
            RestoreOutcome::Unreadable(why) => return Err(TuneError::Unreadable { path: one.path, why }),
            _ => {}
        }
    }
    Ok(())
}
