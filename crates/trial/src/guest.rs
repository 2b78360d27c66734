//! Trials that run in guests: each has one of its own, booted for it with its arm's kernel and settings. To the loop
//! they are one more runner; who boots is a closure, so the loop knows no QEMU and its tests boot nothing.

use crate::host::HostSettings;
use crate::runner::Runner;
use anyhow::Result;
use schedlab_run::{Applied, Arm, GuestAnswer, GuestResult, GuestTask, Setting, TrialOrder, TrialOutcome, TrialRecord};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// A guest to be booted for a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestTrial {
    /// What it does.
    pub task: GuestTask,
    /// Kernel, command line and topology of its arm.
    pub booted_with: Vec<Setting>,
    /// Which sample of its arm it is, from 1: in the virtual lane the seed, so that arms are paired by it.
    pub sample: u64,
    /// For the trial itself.
    pub limit: Duration,
}

/// Boots a guest and returns its answer, or one sentence on why there is none.
pub type Boot<'a> = dyn FnMut(&GuestTrial) -> Result<GuestAnswer, String> + 'a;

/// Settings of the arm whose trial comes next.
type Pending = Rc<RefCell<Vec<Setting>>>;

/// What stands for the host: it keeps an arm's settings until the arm's guest is booted with them.
pub struct GuestSettings(Pending);

/// Runs each trial in a guest.
pub struct GuestRunner<'a> {
    boot: &'a mut Boot<'a>,
    pending: Pending,
    arms: Vec<Arm>,
    /// Trials so far, by workload and arm.
    trials: BTreeMap<(u32, u32), u64>,
    sample: u64,
    boot_id: Option<String>,
}

/// The two sides of a run in guests. `trials` are those of an interrupted run: samples are counted on from them.
pub fn guests<'a>(boot: &'a mut Boot<'a>, arms: &[Arm], trials: &[TrialRecord]) -> (GuestRunner<'a>, GuestSettings) {
    let pending = Pending::default();
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry((trial.workload, trial.arm.unwrap_or(0))).or_insert(0) += 1;
    }
    let own = Rc::clone(&pending);
    let runner = GuestRunner { boot, pending: own, arms: arms.to_vec(), trials: counts, sample: 0, boot_id: None };
    (runner, GuestSettings(pending))
}

/// An arm with the settings of an earlier one has samples of its own, or an A/A comparison in the virtual lane would
/// compare each boot with itself.
const SAMPLES_OF_A_TWIN: u64 = 1_000_000;

impl Runner for GuestRunner<'_> {
    fn begin(&mut self, workload: u32, arm: Option<u32>) {
        let arm = arm.unwrap_or(0);
        let count = self.trials.entry((workload, arm)).or_insert(0);
        *count += 1;
        let same = |other: &Arm| self.arms.get(arm as usize).is_some_and(|own| own.settings == other.settings);
        let twins = self.arms.iter().take(arm as usize).filter(|other| same(other)).count() as u64;
        self.sample = *count + twins * SAMPLES_OF_A_TWIN;
    }

    fn run(&mut self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        let (settings, sample) = (self.pending.borrow().clone(), self.sample);
        let (booted_with, settings): (Vec<_>, Vec<_>) = settings.into_iter().partition(Setting::is_of_guest);
        let order = Box::new(order.clone());
        let trial = GuestTrial { task: GuestTask::Trial { order, settings }, booted_with, sample, limit: timeout };
        // A boot that fails has no id, and not that of the one before it.
        self.boot_id = None;
        let answer = (self.boot)(&trial)?;
        self.boot_id = Some(answer.environment.boot_id.clone());
        let applied: Vec<Applied> = trial.booted_with.iter().map(|s| in_force(s, &answer)).collect();
        match answer.result {
            GuestResult::Measured(mut outcome) => {
                outcome.applied.extend(applied);
                Ok(*outcome)
            }
            GuestResult::Failed(why) => Err(why),
            GuestResult::Prepared(_) => Err("the guest answered another question".into()),
        }
    }

    fn boot_id(&self) -> Option<String> {
        self.boot_id.clone()
    }
}

/// As the guest's kernel shows it. A word that it does not know stands on its command line all the same.
fn in_force(setting: &Setting, answer: &GuestAnswer) -> Applied {
    let guest = &answer.environment;
    let mut not_applied = None;
    let effective = match setting {
        Setting::BootArgument(word) => {
            if !guest.cmdline.split_ascii_whitespace().any(|one| one == word) {
                not_applied = Some("it is not on the guest's command line".to_owned());
            } else if answer.unknown_words.contains(word) {
                not_applied = Some("the guest's kernel does not know it".to_owned());
            }
            guest.cmdline.clone()
        }
        Setting::Topology(_) => guest.online_cpus.clone(),
        _ => guest.kernel_release.clone(),
    };
    Applied { setting: setting.clone(), effective, not_applied }
}

impl HostSettings for GuestSettings {
    fn cover(&mut self, _settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }
    fn apply(&mut self, settings: &[Setting]) -> Result<Vec<Applied>> {
        *self.0.borrow_mut() = settings.to_vec();
        Ok(Vec::new())
    }
    fn cgroup_procs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// The guest makes its own.
    fn make_trial_cgroups(&mut self, _names: &[&str]) -> Result<Result<Vec<PathBuf>, String>> {
        Ok(Ok(Vec::new()))
    }
    fn remove_trial_cgroups(&mut self) -> Result<()> {
        Ok(())
    }
    fn foreign_changes(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_run::Environment;

    fn order() -> TrialOrder {
        serde_json::from_value(serde_json::json!({
            "workload": "pipe", "settings": [], "stamping": "off", "counters": "basic", "load": [],
            "load_group": "same", "net_namespace": false, "cgroup_procs": [], "workload_cgroups": [],
            "switchback": null, "seed": 1
        }))
        .unwrap()
    }

    #[test]
    fn each_trial_boots_its_arms_guest_and_samples_pair_the_arms() {
        let specs = ["kernel:debian:6.1;feature:NO_WA_IDLE", "kernel:debian:6.12", "kernel:debian:6.12"];
        let arms = specs.map(|spec| Arm::parse(spec, spec).unwrap());
        let key = |settings: &[Setting]| settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";");
        let mut seen = Vec::new();
        let mut boot = |trial: &GuestTrial| {
            let GuestTask::Trial { settings, .. } = &trial.task else { panic!("{trial:?}") };
            seen.push((key(&trial.booted_with), key(settings), trial.sample));
            let environment = Environment { boot_id: format!("boot {}", seen.len()), ..Environment::default() };
            Ok(GuestAnswer { result: GuestResult::Failed("no clock".into()), environment, unknown_words: Vec::new() })
        };
        let (mut runner, mut host) = guests(&mut boot, &arms, &[]);
        for (number, arm) in [0u32, 1, 2, 2, 1, 0].into_iter().enumerate() {
            host.apply(&arms[arm as usize].settings).unwrap();
            runner.begin(0, Some(arm));
            assert_eq!(runner.run(&order(), Duration::from_secs(1)), Err("no clock".into()));
            assert_eq!(runner.boot_id(), Some(format!("boot {}", number + 1)));
        }
        let expected = [
            ("kernel:debian:6.1", "feature:NO_WA_IDLE", 1),
            ("kernel:debian:6.12", "", 1),
            ("kernel:debian:6.12", "", 1_000_001),
            ("kernel:debian:6.12", "", 1_000_002),
            ("kernel:debian:6.12", "", 2),
            ("kernel:debian:6.1", "feature:NO_WA_IDLE", 2),
        ];
        assert_eq!(seen, expected.map(|(kernel, set, n)| (kernel.to_owned(), set.to_owned(), n)));
    }

    #[test]
    fn a_word_that_is_not_on_the_command_line_or_that_its_kernel_does_not_know_is_not_applied() {
        let answer = GuestAnswer {
            result: GuestResult::Failed("no clock".into()),
            environment: Environment { cmdline: "quiet preempt=full nosuch".into(), ..Environment::default() },
            unknown_words: vec!["nosuch".into()],
        };
        let of = |text: &str| in_force(&text.parse().unwrap(), &answer).not_applied.is_none();
        assert!(of("boot:preempt=full") && of("kernel:debian:6.1"));
        assert!(!of("boot:preempt=none") && !of("boot:nosuch"));
    }
}
