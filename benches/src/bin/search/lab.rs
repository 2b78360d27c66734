//! A surface as trials measure it: each trial has an error of its own, and there is no drift, which paired contrasts
//! would cancel and single samples would not.

use crate::surface::Surface;
use schedlab_stats::Random;
use schedlab_tune::search::{Ask, Point, PointResult};

pub(crate) struct Lab<'a> {
    surface: &'a Surface,
    random: Random,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(surface: &'a Surface, seed: u64) -> Self {
        // A different stream from that of the search.
        Self { surface, random: Random::new(seed ^ 0x5EA4_C400_0000_0000) }
    }

    /// Gains of the points in this many blocks: half of a block's variance is that of the control, which all points
    /// share.
    pub(crate) fn gains(&mut self, points: &[usize], blocks: u32) -> Vec<Vec<f64>> {
        let mut of_block = || {
            let control = self.random.normal();
            let error = |&point: &usize| {
                let sd = self.surface.sds[point] / 2f64.sqrt();
                self.surface.gains[point] + sd * (self.random.normal() - control)
            };
            points.iter().map(error).collect::<Vec<f64>>()
        };
        let blocks: Vec<Vec<f64>> = (0..blocks).map(|_| of_block()).collect();
        (0..points.len()).map(|point| blocks.iter().map(|block| block[point]).collect()).collect()
    }

    /// One trial without a control. A block's gain has two trials on each side, so its variance is that of one trial.
    pub(crate) fn sample(&mut self, point: usize) -> f64 {
        self.surface.gains[point] + self.surface.sds[point] * self.random.normal()
    }

    pub(crate) fn answer(&mut self, ask: &Ask) -> Vec<PointResult> {
        let points: Vec<usize> = ask.points.iter().map(|point: &Point| self.surface.number(point)).collect();
        self.gains(&points, ask.blocks).into_iter().map(|gains| PointResult::Gains(vec![gains])).collect()
    }
}
