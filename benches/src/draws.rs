//! Errors for simulations, other than normal ones.

use schedlab_stats::Random;

/// Student's t with three degrees of freedom, of standard deviation 1: one in fifty is an outlier.
pub fn t3(random: &mut Random) -> f64 {
    random.normal() / (0..3).map(|_| random.normal().powi(2)).sum::<f64>().sqrt()
}
