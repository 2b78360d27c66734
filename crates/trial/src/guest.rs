//! Trials that run in guests: each in one of its own, or those of a block in one that is booted for it, with the kernel and
//! settings of their arms. To the loop they are one more runner; who boots is a closure, so the loop knows no QEMU and its
//! tests boot nothing.

use crate::host::HostSettings;
use crate::runner::{Planned, Runner};
use crate::schedule::Coins;
use anyhow::Result;
use schedlab_run::plan::GuestPer;
use schedlab_run::{
    Applied, GuestAnswer, GuestOrder, GuestResult, GuestTask, Setting, TrialOrder, TrialOutcome, TrialRecord,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// A guest to be booted.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestTrial {
    /// What it does.
    pub task: GuestTask,
    /// Kernel, command line and topology of its arm.
    pub booted_with: Vec<Setting>,
    /// Which sample it is, from 1: in the virtual lane the seed, so that arms are paired by it.
    pub sample: u64,
    /// For all its trials together.
    pub limit: Duration,
}

/// Boots a guest and returns its answer, or one sentence on why there is none.
pub type Boot<'a> = dyn FnMut(&GuestTrial) -> Result<GuestAnswer, String> + 'a;

/// What an arm's guests are and what they have set, each as text: equal for arms that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Kernel, command line and topology.
    pub machine: String,
    /// What is set in the guest.
    pub set: String,
}

/// Settings of the arm whose trial comes next.
type Pending = Rc<RefCell<Vec<Setting>>>;

/// What stands for the host: it keeps an arm's settings until the arm's guest is booted with them.
pub struct GuestSettings(Pending);

/// Runs trials in guests.
pub struct GuestRunner<'a> {
    boot: &'a mut Boot<'a>,
    pending: Pending,
    identities: Vec<Identity>,
    per: GuestPer,
    /// Trials so far, by workload and arm.
    trials: BTreeMap<(u32, u32), u64>,
    /// What comes next.
    next: Next,
    block: Block,
    boot_id: Option<String>,
}

#[derive(Debug, Default)]
struct Next {
    arm: u32,
    position: u32,
    sample: u64,
}

/// The block under way, where one guest runs all trials of an arm's machine.
#[derive(Debug, Default)]
struct Block {
    number: u64,
    trials: Vec<Planned>,
    /// What came of trials, by position, with the boot they ran in.
    done: BTreeMap<u32, (Result<TrialOutcome, String>, Option<String>)>,
}

/// The two sides of a run in guests. `identities` are those of the arms. `trials` are those of an interrupted run: samples are
/// counted on from them.
pub fn guests<'a>(
    boot: &'a mut Boot<'a>,
    per: GuestPer,
    identities: Vec<Identity>,
    trials: &[TrialRecord],
) -> (GuestRunner<'a>, GuestSettings) {
    let pending = Pending::default();
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry((trial.workload, trial.arm.unwrap_or(0))).or_insert(0) += 1;
    }
    let runner = GuestRunner {
        boot,
        pending: Rc::clone(&pending),
        identities,
        per,
        trials: counts,
        next: Next::default(),
        block: Block::default(),
        boot_id: None,
    };
    (runner, GuestSettings(pending))
}

/// An arm that is what an earlier one is has samples of its own, or an A/A comparison in the virtual lane would
/// compare each boot with itself; and so has an arm's second trial in one guest.
const SAMPLES_APART: u64 = 1_000_000;

/// The order's seed of a sample: as many digits in each, so that the guest's task has one length.
fn seed_of(sample: u64) -> u64 {
    const DIGITS_19: u64 = 1_000_000_000_000_000_000;
    DIGITS_19 + Coins::new(sample, &[]).next() % (9 * DIGITS_19)
}

/// What the order draws must be the sample's, or arms of one sample would differ in more than their settings.
fn in_guest(order: &TrialOrder, sample: u64, settings: &[Setting]) -> GuestOrder {
    let order = TrialOrder { seed: seed_of(sample), ..order.clone() };
    GuestOrder { order, settings: settings.iter().filter(|s| !s.is_of_guest()).cloned().collect() }
}

fn booted_with(settings: &[Setting]) -> Vec<Setting> {
    settings.iter().filter(|setting| setting.is_of_guest()).cloned().collect()
}

impl GuestRunner<'_> {
    /// Boots a guest for trials, each with the settings of its arm; what came of each, in their order.
    fn ran(&mut self, trial: &GuestTrial, settings: &[&[Setting]]) -> Vec<Result<TrialOutcome, String>> {
        // A boot that fails has no id, and not that of the one before it.
        self.boot_id = None;
        let answer = match (self.boot)(trial) {
            Ok(answer) => answer,
            Err(why) => return vec![Err(why); settings.len()],
        };
        self.boot_id = Some(answer.environment.boot_id.clone());
        let mut outcomes = match &answer.result {
            GuestResult::Measured(outcomes) => outcomes.clone(),
            GuestResult::Failed(why) => vec![Err(why.clone()); settings.len()],
            GuestResult::Prepared(_) => vec![Err("the guest answered another question".into()); settings.len()],
        };
        outcomes.resize(settings.len(), Err("the guest did not answer".into()));
        for (outcome, settings) in outcomes.iter_mut().zip(settings) {
            if let Ok(outcome) = outcome {
                outcome.applied.extend(booted_with(settings).iter().map(|s| in_force(s, &answer)));
            }
        }
        outcomes
    }

    /// Boots the guest of the next trial with all trials of the block that are its machine's.
    fn run_block(&mut self) {
        let machine = |arm: u32| self.identities.get(arm as usize).map(|identity| &identity.machine);
        let own = machine(self.next.arm);
        let (positions, planned): (Vec<u32>, Vec<Planned>) =
            (0..).zip(self.block.trials.iter().cloned()).filter(|(_, trial)| machine(trial.arm) == own).unzip();
        let sample = self.block.number + 1;
        let mut earlier: BTreeMap<u32, u64> = BTreeMap::new();
        let ordered = planned.iter().map(|trial| {
            let earlier = earlier.entry(trial.arm).or_default();
            *earlier += 1;
            in_guest(&trial.order, sample + (*earlier - 1) * SAMPLES_APART, &trial.settings)
        });
        let trial = GuestTrial {
            task: GuestTask::Trials(ordered.collect()),
            booted_with: booted_with(&self.pending.borrow()),
            sample,
            limit: planned.iter().map(|trial| trial.timeout).sum(),
        };
        let settings: Vec<&[Setting]> = planned.iter().map(|trial| trial.settings.as_slice()).collect();
        let outcomes = self.ran(&trial, &settings);
        let boot_id = self.boot_id.clone();
        self.block.done.extend(positions.into_iter().zip(outcomes.into_iter().map(|one| (one, boot_id.clone()))));
    }
}

impl Runner for GuestRunner<'_> {
    fn wants_blocks(&self) -> bool {
        self.per == GuestPer::Block
    }

    fn block(&mut self, number: u64, trials: Vec<Planned>) {
        self.block = Block { number, trials, done: BTreeMap::new() };
    }

    fn has_run(&self, position: u32) -> bool {
        self.block.done.contains_key(&position)
    }

    fn begin(&mut self, workload: u32, arm: Option<u32>, position: u32) {
        let arm = arm.unwrap_or(0);
        let count = self.trials.entry((workload, arm)).or_insert(0);
        *count += 1;
        let own = self.identities.get(arm as usize);
        let twins = self.identities.iter().take(arm as usize).filter(|other| Some(*other) == own).count() as u64;
        self.next = Next { arm, position, sample: *count + twins * SAMPLES_APART };
    }

    fn run(&mut self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        if self.per == GuestPer::Trial {
            let (settings, sample) = (self.pending.borrow().clone(), self.next.sample);
            let task = GuestTask::Trials(vec![in_guest(order, sample, &settings)]);
            let trial = GuestTrial { task, booted_with: booted_with(&settings), sample, limit: timeout };
            return self.ran(&trial, &[&settings]).remove(0);
        }
        if !self.has_run(self.next.position) {
            self.run_block();
        }
        let done = self.block.done.get_mut(&self.next.position).ok_or("the block has no such trial")?;
        self.boot_id = done.1.clone();
        std::mem::replace(&mut done.0, Err("the trial has been asked for twice".into()))
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
            let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
            let [GuestOrder { order, settings }] = ordered.as_slice() else { panic!("{trial:?}") };
            seen.push((key(&trial.booted_with), key(settings), trial.sample));
            seeds.push(order.seed);
            let environment = Environment { boot_id: format!("boot {}", seen.len()), ..Environment::default() };
            Ok(GuestAnswer { environment, ..answer() })
        };
        // The second arm's guests are those of the third, which says so in other words.
        let identities = ["6.1", "6.12", "6.12"].map(|machine| identity(machine, "")).into();
        let (mut runner, mut host) = guests(&mut boot, GuestPer::Trial, identities, &[]);
        for (number, arm) in [0u32, 1, 2, 2, 1, 0].into_iter().enumerate() {
            host.apply(&arms[arm as usize].settings).unwrap();
            runner.begin(0, Some(arm), number as u32);
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

    fn identity(machine: &str, set: &str) -> Identity {
        Identity { machine: machine.into(), set: set.into() }
    }

    fn outcome(workload: &str) -> TrialOutcome {
        TrialOutcome { workload: workload.into(), ..TrialOutcome::default() }
    }

    #[test]
    fn a_guest_of_a_block_runs_the_trials_of_its_machine_in_their_order() {
        let specs = ["kernel:a;nice=1", "kernel:a", "kernel:b"];
        let arms = specs.map(|spec| Arm::parse(spec, spec).unwrap());
        let mut boots = Vec::new();
        let mut boot = |trial: &GuestTrial| {
            let GuestTask::Trials(ordered) = &trial.task else { panic!("{trial:?}") };
            boots.push((ordered.clone(), trial.sample, trial.limit));
            let mut outcomes: Vec<_> = ordered.iter().map(|one| Ok(outcome(&one.order.workload.to_string()))).collect();
            // The second guest ends before its second trial.
            outcomes.truncate(if boots.len() == 2 { 1 } else { 9 });
            let environment = Environment { boot_id: format!("boot {}", boots.len()), ..Environment::default() };
            Ok(GuestAnswer { environment, result: GuestResult::Measured(outcomes), ..answer() })
        };
        let identities = ["a", "a", "b"].map(|machine| identity(machine, "")).into();
        let (mut runner, mut host) = guests(&mut boot, GuestPer::Block, identities, &[]);
        assert!(runner.wants_blocks() && !runner.has_run(0));
        let block = [1u32, 2, 0, 0, 2, 1];
        let planned = |arm: u32| Planned {
            arm,
            order: TrialOrder { workload: format!("pipe:pin=same,bytes={}", arm + 1).parse().unwrap(), ..order() },
            settings: arms[arm as usize].settings.clone(),
            timeout: Duration::from_secs(10),
        };
        runner.block(4, block.map(planned).into());
        let mut answers = Vec::new();
        for (position, arm) in (0..).zip(block) {
            host.apply(&arms[arm as usize].settings).unwrap();
            runner.begin(0, Some(arm), position);
            let ran = runner.run(&planned(arm).order, Duration::from_secs(1));
            answers.push((ran.map(|outcome| outcome.workload), runner.boot_id().unwrap()));
            assert!(position > 1 || !runner.has_run(4) || arm == 2, "of one machine at a time");
        }
        let ok = |arm: u32, boot: &str| (Ok(format!("pipe:bytes={},pin=same", arm + 1)), boot.to_owned());
        let (first, second) = ("boot 1", "boot 2");
        let failed = (Err("the guest did not answer".to_owned()), second.to_owned());
        assert_eq!(answers, [ok(1, first), ok(2, second), ok(0, first), ok(0, first), failed, ok(1, first)]);
        assert_eq!(boots.len(), 2);
        let (ordered, sample, limit) = &boots[0];
        assert_eq!((ordered.len(), *sample, *limit), (4, 5, Duration::from_secs(40)));
        let seeds: Vec<u64> = ordered.iter().map(|one| one.order.seed).collect();
        assert!(seeds[0] == seeds[1] && seeds[2] == seeds[3] && seeds[0] != seeds[2], "{seeds:?}");
        let set: Vec<usize> = ordered.iter().map(|one| one.settings.len()).collect();
        assert_eq!(set, [0, 1, 1, 0], "the kernel is booted, not set");
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
