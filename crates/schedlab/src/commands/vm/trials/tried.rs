//! Boots the first guest of each kind of a plan's arms before anything is measured. All use the same accelerator, which
//! is then settled for the trials.

use super::Guests;
use crate::output::say;
use anyhow::{Context, Result};
use schedlab_plan::Manifest;
use schedlab_trial::guest::GuestTrial;
use schedlab_vm::VmError;
use schedlab_vm::host::accelerate::Choice;
use schedlab_vm::host::restore;

impl Guests {
    /// The manifest of each kind of guest. If KVM does not run one of them, all are emulated, because the trials of a
    /// comparison must be in the same lane.
    pub(super) fn tried(&self, kinds: &[(String, GuestTrial)]) -> Result<Vec<Manifest>> {
        self.settle(kinds)?;
        self.settle_states(kinds)?;
        let mut tried = Vec::new();
        while let Some((arms, trial)) = kinds.get(tried.len()) {
            say(format_args!("schedlab: trying the guest of {arms}"));
            let (prepared, fell_back) = match self.prepared(trial) {
                Err(error) if self.boot_of(trial).is_some() && cannot_be_saved(&error) => {
                    self.boot_each(format!("{arms}: {error:#}"));
                    tried.clear();
                    continue;
                }
                prepared => prepared.with_context(|| arms.clone())?,
            };
            tried.push(prepared);
            let Some(why) = fell_back else { continue };
            self.capabilities.settle(Choice::translated(why));
            if tried.len() > 1 {
                say("schedlab: KVM and TCG cannot be compared, so all guests of the plan run under TCG; the first \
                     ones are tried again");
                tried.clear();
            }
        }
        self.capabilities.keep_to_it();
        Ok(tried)
    }

    /// Decides whether states are saved, if the plan wants that: for all kinds of guests, or for none.
    pub(super) fn settle_states(&self, kinds: &[(String, GuestTrial)]) -> Result<()> {
        for (arms, trial) in kinds.iter().filter(|(_, trial)| self.boot_of(trial).is_some()) {
            if let Some(why) = restore::refusal(&self.guest(trial, Vec::new()).with_context(|| arms.clone())?) {
                self.boot_each(why);
            }
        }
        Ok(())
    }

    fn boot_each(&self, why: String) {
        say(format_args!("schedlab: no guest's state is saved, each trial or block boots: {why}"));
        let _ = self.unsaved.set(why);
    }

    /// Uses KVM for all guests, if it is wanted and not known to fail for any kind of them.
    pub(super) fn settle(&self, kinds: &[(String, GuestTrial)]) -> Result<()> {
        for (arms, trial) in kinds.iter().filter(|_| !self.are_virtual()) {
            let kernel = self.kernel(&self.of_arm(&trial.booted_with)?.0);
            let choice = kernel.and_then(|kernel| self.capabilities.choice(&kernel, self.plan.accelerator));
            let choice = choice.with_context(|| arms.clone())?;
            if choice.no_kvm.is_some() {
                self.capabilities.settle(choice);
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether the saved state may be the only problem; then the guest is booted.
fn cannot_be_saved(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(VmError::SavedState(_) | VmError::Guest(_) | VmError::QemuDied { .. }))
}
