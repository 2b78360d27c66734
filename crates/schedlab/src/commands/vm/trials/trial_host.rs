//! Guests as the trial host of a plan.

use super::Guests;
use crate::trial_host::{self, TrialHost};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Environment, Manifest, Plan, TrialRecord, counted};
use schedlab_sys::clock;
use schedlab_trial::guest::{GuestTrial, description, guests, other_llc, preparations};
use schedlab_trial::{Runner, Watch, prepare};
use std::path::Path;

impl TrialHost for Guests {
    /// The manifest from the control's guest. One guest of each other kind is booted too, so that a kernel that does
    /// not boot, or cannot run the plan, is reported before anything is measured. There is one warning for each kind of
    /// guest.
    fn prepare(&self, plan: &Plan) -> Result<Manifest> {
        let (mut manifest, mut described): (Option<Manifest>, _) = (None, Vec::new());
        let (in_arms, factorial) = plan.in_arms()?;
        let kinds = preparations(&in_arms);
        for ((arms, trial), prepared) in kinds.iter().zip(self.tried(&kinds)?) {
            let manifest = manifest.get_or_insert_with(|| prepared.clone());
            let guest = &prepared.environment;
            if manifest.workloads != prepared.workloads {
                bail!(
                    "{arms}: that guest has another number of CPUs, and a workload of the plan uses ncpu: write the number"
                );
            }
            if let Some(why) = self.plan.sd_llc_size.and_then(|wanted| other_llc(wanted, guest)) {
                bail!("{arms}: {why}");
            }
            let mitigations = |of: &Environment| of.value("mitigations").unwrap_or("unknown").to_owned();
            let own = mitigations(guest);
            if own != mitigations(&manifest.environment) {
                described.push(format!("{arms}: other CPU mitigations than in the control's guest: {own}"));
            }
            let kernel = self.kernel(&self.of_arm(&trial.booted_with)?.0)?;
            described.push(description(arms, (&kernel.name, kernel.crc32), guest, self.plan.per));
        }
        let identities = self.identities(&in_arms.arms)?;
        for (place, same) in identities.iter().enumerate() {
            if let Some(first) = identities[..place].iter().position(|other| other == same) {
                let [a, b] = [first, place].map(|arm| &in_arms.arms[arm].name);
                described.push(format!(
                    "`{a}` and `{b}` are the same guest with the same settings: any difference is noise"
                ));
            }
        }
        let mut manifest = manifest.context("the plan has no arms")?;
        manifest.kernels = self.booted_kernels(&in_arms.arms)?;
        manifest.factorial = factorial;
        if let Some(boots) = self.plan.boots {
            described.push(match self.unsaved.get() {
                Some(why) => {
                    manifest.boots = None;
                    format!("boots = {boots} is ignored, and every guest boots: {why}")
                }
                None => format!(
                    "samples start from saved states of {}: those of one boot are one unit",
                    counted(boots, "boots")
                ),
            });
        }
        // Each guest has checked only the requirements on its own arms.
        manifest.plan_toml = plan.to_toml();
        described
            .extend(self.extras()?.map(|crc32| format!("what [guest] adds (`add`, `binary`) has CRC-32 {crc32:08x}")));
        // A guest of the virtual lane has the same time at each start.
        manifest.created_unix_s = clock::realtime_ns() / 1_000_000_000;
        manifest.seed = plan.seed.unwrap_or_else(prepare::fresh_seed);
        manifest.command = std::env::args().collect();
        manifest.warnings.extend(described);
        Ok(manifest)
    }

    /// The first guest of each kind as QEMU's command line; reports a missing kernel or an impossible machine. What
    /// only a guest can know is checked when the run begins.
    fn describe(&self, plan: &Plan) -> Result<String> {
        let (in_arms, _) = plan.in_arms()?;
        let kinds = preparations(&in_arms);
        self.settle(&kinds)?;
        self.settle_states(&kinds)?;
        let mut text = format!("{}# trials run in guests that are booted for them; of sample 1:\n", plan.to_toml());
        for (arms, trial) in &kinds {
            let boot = self.guest(trial, Vec::new()).with_context(|| arms.clone())?;
            text += &format!("# {arms}: {}\n", schedlab_vm::host::boot::dry_run(&boot)?);
        }
        Ok(text + &schedlab_trial::describe_guests(&in_arms, &self.plan, kinds.len(), self.at_once()))
    }

    fn again(&self, dir: &Path, begun: &Manifest, plan: &Plan) -> Result<Environment> {
        let now = self.prepare(plan)?;
        if let Some(other) = now.warnings.iter().find(|sentence| !begun.warnings.contains(sentence)) {
            bail!(
                "{} was started with other guests; now {other}; restore that kernel, or start a new run (--out)",
                dir.display()
            );
        }
        // Every trial or block in a guest has its own boot in any case.
        Ok(Environment { boot_id: begun.environment.boot_id.clone(), ..now.environment })
    }

    fn runner<'a>(&'a self, manifest: &Manifest, trials: &[TrialRecord]) -> Result<Box<dyn Runner + 'a>> {
        let shared = manifest.shared_boots();
        let boots = shared.iter().flat_map(|shared| (0..shared.blocks).map(|block| shared.of(block).into())).collect();
        let identities = self.identities(&manifest.arms)?;
        let boot = |trial: &GuestTrial| match self.booted(trial) {
            Ok((answer, _)) => Ok(Ok(answer)),
            // Every following trial would fail too, and the run would end without them.
            Err(error) if trial_host::is_of_machine(&error) => Err(error),
            Err(error) => Ok(Err(format!("{error:#}"))),
        };
        let (first, at_once) = (self.first_seed(), self.at_once());
        Ok(Box::new(guests(boot, self.plan.per, identities, boots, first, at_once, trials)))
    }

    fn watch(&self) -> Option<Watch> {
        (!self.are_virtual()).then(trial_host::watch)
    }
}
