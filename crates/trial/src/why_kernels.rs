//! `schedlab why --kernels`: a plan of two arms, run on one kernel after the other, as a study in rounds.

use crate::rounds::{Round, Study};
use crate::why::{blocks_of, check};
use anyhow::{Context, Result};
use schedlab_analyze::{Difference, WhyKernelsFindings};
use schedlab_plan::plan::Plan;

/// The study.
pub struct WhyKernels {
    plan: Plan,
    kernels: Vec<String>,
    /// Results of the kernels measured so far, in the order of the list; or why a kernel has no difference to compare.
    measured: Vec<(String, Result<Difference, String>)>,
}

impl WhyKernels {
    /// For a plan with guests whose arms name no kernel.
    pub fn new(plan: &Plan, kernels: &[String]) -> Result<Self> {
        check(plan)?;
        Ok(Self { plan: plan.clone(), kernels: kernels.to_vec(), measured: Vec::new() })
    }

    /// Number of blocks on each kernel.
    pub fn blocks(&self) -> u32 {
        blocks_of(&self.plan)
    }

    /// The kernel of the run that was asked for last.
    pub fn asked(&self) -> Option<&str> {
        self.kernels.get(self.measured.len()).map(String::as_str)
    }

    /// The findings so far.
    pub fn findings(&self) -> WhyKernelsFindings {
        WhyKernelsFindings::new(&self.plan.title, self.plan.alpha, &self.measured, &self.kernels)
    }
}

impl Study for WhyKernels {
    fn ask(&mut self) -> Result<Option<Plan>> {
        let at = self.measured.len();
        let Some(kernel) = self.kernels.get(at) else { return Ok(None) };
        let seed = self.plan.seed.unwrap_or(1).wrapping_add(at as u64);
        let mut plan = self.plan.round(at as u32 + 1, self.plan.arms.clone(), self.blocks(), seed);
        plan.guest.as_mut().context("the plan has no [guest] table")?.kernel = Some(kernel.clone());
        Ok(Some(plan))
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        self.add(Difference::of(&round.manifest, &round.trials));
        Ok(())
    }

    fn not_begun(&mut self, why: anyhow::Error) -> Result<()> {
        self.add(Err(format!("{why:#}")));
        Ok(())
    }
}

impl WhyKernels {
    fn add(&mut self, difference: Result<Difference, String>) {
        let kernel = self.kernels[self.measured.len()].clone();
        self.measured.push((kernel, difference));
    }
}
