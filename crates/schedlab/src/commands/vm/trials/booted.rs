//! The kernels of a plan's guests, for the manifest.

use super::Guests;
use anyhow::Result;
use schedlab_plan::{Arm, BootedKernel};
use schedlab_trial::guest::booted_with;

impl Guests {
    /// Each kernel once, with the arms that boot it.
    pub(super) fn booted_kernels(&self, arms: &[Arm]) -> Result<Vec<BootedKernel>> {
        let mut kernels: Vec<BootedKernel> = Vec::new();
        for (arm, number) in arms.iter().zip(0..) {
            let name = self.of_arm(&booted_with(&arm.settings))?.0;
            if let Some(known) = kernels.iter_mut().find(|kernel| kernel.name == name) {
                known.arms.push(number);
                continue;
            }
            let kernel = self.kernel(&name)?;
            let (release, crc32) = (kernel.image.release, format!("{:08x}", kernel.crc32));
            kernels.push(BootedKernel { arms: vec![number], name, release, crc32, source: kernel.source });
        }
        Ok(kernels)
    }
}
