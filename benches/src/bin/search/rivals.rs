//! Other methods with the same number of trials.

use crate::lab::Lab;
use crate::surface::Surface;
use crate::{GRID_BLOCKS, Named};
use schedlab_stats::Random;
use schedlab_tune::search::Options;

/// Points and blocks of a round, as in the searches.
const POINTS: usize = 8;
const BLOCKS: u32 = 2;

fn best_of(means: impl Iterator<Item = (usize, f64)>) -> usize {
    means.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(point, _)| point)
}

fn mean(gains: &[f64]) -> f64 {
    gains.iter().sum::<f64>() / gains.len() as f64
}

/// Random points, each measured with the default as in the searches; the best mean wins. There is no confirmation.
pub(crate) fn random(surface: &Surface, budget: u64, seed: u64) -> Named {
    let (mut lab, mut draw) = (Lab::new(surface, seed), Random::new(seed));
    let mut points: Vec<usize> = (0..surface.len()).collect();
    draw.shuffle(&mut points);
    let (mut seen, mut trials) = (Vec::new(), 0);
    for round in points.chunks(POINTS) {
        let cost = Options::trials_of(round.len(), BLOCKS);
        if trials + cost > budget {
            break;
        }
        trials += cost;
        seen.extend(round.iter().copied().zip(lab.gains(round, BLOCKS).iter().map(|gains| mean(gains))));
    }
    Named { point: best_of(seen.into_iter()), trials, held: None }
}

/// A hill climber that trusts each single trial: it steps from the best point so far, and every fourth time jumps
/// anywhere.
pub(crate) fn single_samples(surface: &Surface, budget: u64, seed: u64) -> Named {
    let (mut lab, mut draw) = (Lab::new(surface, seed), Random::new(seed));
    let space = surface.space();
    let (mut best, mut height) = (draw.below(surface.len()), f64::MIN);
    for trial in 0..budget {
        let point = if trial % 4 == 0 {
            draw.below(surface.len())
        } else {
            let mut point = space.point(best);
            let knob = draw.below(point.len());
            let levels = surface.knobs[knob].1.len();
            point[knob] = match draw.below(2) {
                0 => point[knob].saturating_sub(1),
                _ => (point[knob] + 1).min(levels - 1),
            };
            surface.number(&point)
        };
        let sample = lab.sample(point);
        if sample > height {
            (best, height) = (point, sample);
        }
    }
    Named { point: best, trials: budget, held: None }
}

/// Every point in six blocks.
pub(crate) fn grid(surface: &Surface, seed: u64) -> Named {
    let points: Vec<usize> = (0..surface.len()).collect();
    let gains = Lab::new(surface, seed).gains(&points, GRID_BLOCKS);
    let means = gains.iter().map(|gains| mean(gains));
    let trials = Options::trials_of(points.len(), GRID_BLOCKS);
    Named { point: best_of(points.iter().copied().zip(means)), trials, held: None }
}
