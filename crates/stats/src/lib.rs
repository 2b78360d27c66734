//! Statistics for A/B comparisons: numbers in, numbers out, no domain words.
//!
//! The crate takes observations (usually natural logs of rates or durations, or per-block log-ratios of arm B to arm A)
//! and returns estimates with intervals. Nothing here reads a file, a clock or a global random generator: anything
//! random takes a seed, so every result can be recomputed from the recorded data. A question the data cannot answer
//! (too few observations, a value that is not finite) is `None`, never a number that looks like an answer.
#![forbid(unsafe_code)]

pub mod best;
pub mod bisect;
pub mod bootstrap;
pub mod carryover;
mod cholesky;
pub mod confidence_sequence;
pub mod covariate;
pub mod decomposition;
pub mod dispersion;
mod distribution;
pub mod gaussian_process;
pub mod max_t;
pub mod mean;
pub mod modes;
pub mod multiple;
pub mod nonparametric;
mod ols;
mod pairs;
pub mod pareto;
pub mod power;
pub mod quantile;
pub mod random;
pub mod rate;
pub mod regions;
pub mod replication;
pub mod screen;
pub mod spending;
pub mod switchback;
pub mod variance;
pub mod verdict;
pub mod warmup;

pub use best::{Best, undecided_from_best};
pub use bisect::{BisectAnswer, BisectRules, BisectStep, Bisection, Stretch};
pub use bootstrap::bootstrap_interval;
pub use carryover::{carry_over_term, carry_over_test};
pub use confidence_sequence::TMixture;
pub use covariate::mean_at_zero;
pub use decomposition::{Decomposition, decompose};
pub use dispersion::{dispersion_ratio, dispersion_ratio_blocked};
pub use gaussian_process::{Axis, GaussianProcess, Smoothness, expected_improvement};
pub use max_t::step_down_max_t;
pub use mean::{Estimate, Interval, ratio_of_means, t_estimate, welch};
pub use modes::{Modes, modes};
pub use multiple::{benjamini_hochberg, holm};
pub use nonparametric::{Shift, hodges_lehmann, hodges_lehmann_shift, mann_whitney, sign_test, wilcoxon_signed_rank};
pub use pareto::front;
pub use power::{
    DecisionTarget, Observations, minimum_detectable, observations_to_decide, power, range_to_decide, sd_interval,
};
pub use quantile::{enough_tail, mad, median, quantile};
pub use random::Random;
pub use rate::{clopper_pearson, wilson};
pub use regions::{Boundary, Cutting, Region, Regions, regions};
pub use replication::{Known, Replication, ReplicationOutcome, equivalence_again, replication};
pub use spending::{GroupSequential, Look, SpendingError, repeated_interval};
pub use switchback::{Window, unit_contrast};
pub use variance::{Components, Explained, components, share_explained};
pub use verdict::{Verdict, decide};
pub use warmup::warmup_cut;
