//! Trials that run in guests: each has one of its own, booted for it with its arm's kernel and settings. To the loop
//! they are one more runner; who boots is a closure, so the loop knows no QEMU and its tests boot nothing.

use crate::host::HostSettings;
use crate::runner::Runner;
use crate::schedule::Coins;
use anyhow::Result;
use schedlab_run::{Applied, GuestAnswer, GuestResult, GuestTask, Setting, TrialOrder, TrialOutcome, TrialRecord};
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
    /// What each arm's guests are and have set, as text: equal arms have equal ones.
    identities: Vec<String>,
    /// Trials so far, by workload and arm.
    trials: BTreeMap<(u32, u32), u64>,
    sample: u64,
    boot_id: Option<String>,
}

/// The two sides of a run in guests. `identities` say of each arm what its guests are and have set: arms that are alike have
/// equal ones. `trials` are those of an interrupted run: samples are counted on from them.
pub fn guests<'a>(
    boot: &'a mut Boot<'a>,
    identities: Vec<String>,
    trials: &[TrialRecord],
) -> (GuestRunner<'a>, GuestSettings) {
    let pending = Pending::default();
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry((trial.workload, trial.arm.unwrap_or(0))).or_insert(0) += 1;
    }
    let own = Rc::clone(&pending);
    let runner = GuestRunner { boot, pending: own, identities, trials: counts, sample: 0, boot_id: None };
    (runner, GuestSettings(pending))
}

/// An arm that is what an earlier one is has samples of its own, or an A/A comparison in the virtual lane would
/// compare each boot with itself.
const SAMPLES_OF_A_TWIN: u64 = 1_000_000;

/// The order's seed of a sample: as many digits in each, so that the guest's task has one length.
fn seed_of(sample: u64) -> u64 {
    const DIGITS_19: u64 = 1_000_000_000_000_000_000;
    DIGITS_19 + Coins::new(sample, &[]).next() % (9 * DIGITS_19)
}

impl Runner for GuestRunner<'_> {
    fn begin(&mut self, workload: u32, arm: Option<u32>) {
        let arm = arm.unwrap_or(0);
        let count = self.trials.entry((workload, arm)).or_insert(0);
        *count += 1;
        let own = self.identities.get(arm as usize);
        let twins = self.identities.iter().take(arm as usize).filter(|other| Some(*other) == own).count() as u64;
        self.sample = *count + twins * SAMPLES_OF_A_TWIN;
    }

    fn run(&mut self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        let (settings, sample) = (self.pending.borrow().clone(), self.sample);
        let (booted_with, settings): (Vec<_>, Vec<_>) = settings.into_iter().partition(Setting::is_of_guest);
        // What the order draws must be the sample's, or arms of one sample would differ in more than their settings.
        let order = Box::new(TrialOrder { seed: seed_of(sample), ..order.clone() });
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
            } else if answer.words_without_effect.contains(word) {
                not_applied = Some("the guest's kernel does not know it, or does not take its value".to_owned());
            }
            guest.cmdline.clone()
        }
        Setting::Topology(_) => {
            not_applied = answer.other_machine.clone();
            let check = guest.checks.iter().find(|check| check.id == "topology");
            check.map_or_else(|| guest.online_cpus.clone(), |check| check.value.clone())
        }
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
    use schedlab_run::{Arm, Environment};

    fn order() -> TrialOrder {
        serde_json::from_value(serde_json::json!({
            "workload": "pipe", "settings": [], "stamping": "off", "counters": "basic", "load": [],
            "load_group": "same", "net_namespace": false, "cgroup_procs": [], "workload_cgroups": [],
            "switchback": null, "seed": 1
        }))
        .unwrap()
    }

    fn answer() -> GuestAnswer {
        GuestAnswer {
            result: GuestResult::Failed("no clock".into()),
            environment: Environment::default(),
            words_without_effect: Vec::new(),
            other_machine: None,
        }
    }

    #[test]
    fn each_trial_boots_its_arms_guest_and_samples_pair_the_arms() {
        let specs = ["kernel:debian:6.1;feature:NO_WA_IDLE", "kernel:debian:6.12", "kernel:./copy"];
        let arms = specs.map(|spec| Arm::parse(spec, spec).unwrap());
        let key = |settings: &[Setting]| settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";");
        let (mut seen, mut seeds) = (Vec::new(), Vec::new());
        let mut boot = |trial: &GuestTrial| {
            let GuestTask::Trial { settings, order } = &trial.task else { panic!("{trial:?}") };
            seen.push((key(&trial.booted_with), key(settings), trial.sample));
            seeds.push(order.seed);
            let environment = Environment { boot_id: format!("boot {}", seen.len()), ..Environment::default() };
            Ok(GuestAnswer { environment, ..answer() })
        };
        // The second arm's guests are those of the third, which says so in other words.
        let (mut runner, mut host) = guests(&mut boot, ["6.1", "6.12", "6.12"].map(str::to_owned).into(), &[]);
        for (number, arm) in [0u32, 1, 2, 2, 1, 0].into_iter().enumerate() {
            host.apply(&arms[arm as usize].settings).unwrap();
            runner.begin(0, Some(arm));
            assert_eq!(runner.run(&order(), Duration::from_secs(1)), Err("no clock".into()));
            assert_eq!(runner.boot_id(), Some(format!("boot {}", number + 1)));
        }
        let expected = [
            ("kernel:debian:6.1", "feature:NO_WA_IDLE", 1),
            ("kernel:debian:6.12", "", 1),
            ("kernel:./copy", "", 1_000_001),
            ("kernel:./copy", "", 1_000_002),
            ("kernel:debian:6.12", "", 2),
            ("kernel:debian:6.1", "feature:NO_WA_IDLE", 2),
        ];
        assert_eq!(seen, expected.map(|(kernel, set, n)| (kernel.to_owned(), set.to_owned(), n)));
        assert!(seeds[0] == seeds[1] && seeds[4] == seeds[5], "equal samples draw alike: {seeds:?}");
        assert!(seeds[0] != seeds[2] && seeds[0] != seeds[4] && seeds[2] != seeds[3], "others do not: {seeds:?}");
        assert!(seeds.iter().all(|seed| seed.to_string().len() == 19));
    }

    #[test]
    fn a_word_that_is_not_on_the_command_line_or_that_its_kernel_does_not_know_is_not_applied() {
        let answer = GuestAnswer {
            environment: Environment { cmdline: "quiet preempt=full nosuch".into(), ..Environment::default() },
            words_without_effect: vec!["nosuch".into()],
            other_machine: Some("1 node of 2".into()),
            ..answer()
        };
        let of = |text: &str| in_force(&text.parse().unwrap(), &answer).not_applied.is_none();
        assert!(of("boot:preempt=full") && of("kernel:debian:6.1"));
        assert!(!of("boot:preempt=none") && !of("boot:nosuch") && !of("topology:nodes=2"));
    }
}
