//! Which interval a verdict may use, depending on how the run was stopped: a plain t interval for a fixed plan, the
//! repeated interval at the last look of a budgeted plan, a confidence sequence for a run stopped at will.

use schedlab_plan::manifest::{Design, OrderKnown};
use schedlab_plan::{InOrder, Manifest, TrialRecord};
use schedlab_stats::{Estimate, GroupSequential, Look, TMixture, repeated_interval, t_estimate};

/// Width of a t-mixture interval relative to a t interval, for the usual numbers of units.
pub(crate) const SEQUENCE_WIDTH: f64 = 1.6;
/// Width of the last look's repeated interval relative to a t interval.
const REPEATED_WIDTH: f64 = 1.03;

/// The stopping rule of one workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    /// The number of units was planned.
    Fixed,
    /// Rows of unknown order.
    Imported,
    /// A look of a group-sequential plan.
    Repeated(PlacedLook),
    /// Valid whenever the run is stopped.
    Sequence,
    /// A sequential plan before its first look: no error has been spent, and no verdict is allowed.
    BeforeFirstLook,
}

/// A look, with the table that converts its fixed-sample p into one that is valid over all looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedLook {
    look: Look,
    /// Number of the look, from 1.
    number: usize,
    /// (nominal p at this look, overall α), rising.
    overall: Vec<(f64, f64)>,
}

/// An estimate and its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) estimate: Estimate,
    pub(crate) name: String,
}

impl Rule {
    /// The stopping rule that applies to a workload with this many usable units.
    pub(crate) fn of(manifest: &Manifest, trials: &[TrialRecord], workload: u32, units: usize) -> Self {
        if manifest.order == OrderKnown::Unknown {
            return Self::Imported;
        }
        match &manifest.design {
            // A run that is interrupted or killed, or still running, may have been stopped because of the interval that
            // it showed. With fewer blocks than planned, only an estimate that is valid at any stopping time is
            // allowed; with all planned blocks, the plan decided when to stop.
            Design::Fixed { blocks } if manifest.is_cut_off() && units < *blocks as usize => Self::Sequence,
            Design::Fixed { .. } => Self::Fixed,
            Design::OpenEnded { .. } => Self::Sequence,
            Design::Budgeted { budget_ns, .. } => {
                let mut fractions: Vec<f64> = Vec::new();
                let looks: Vec<_> = manifest.looks.iter().filter(|l| l.workload == workload).collect();
                for look in &looks {
                    if fractions.last().is_none_or(|&last| look.fraction > last) {
                        fractions.push(look.fraction.clamp(1e-3, 1.0));
                    }
                }
                // The run was cut off and has blocks after its last look: reading them now is another look.
                let cut_off = manifest.is_cut_off();
                if cut_off && looks.last().is_none_or(|l| (l.blocks as usize) < units) {
                    let spent: u64 = trials.iter().filter(|t| t.workload == workload).map(|t| t.wall_ns).sum();
                    let now = (spent as f64 / (*budget_ns).max(1) as f64).min(1.0);
                    if now > fractions.last().copied().unwrap_or(0.0) + 1e-3 {
                        fractions.push(now);
                    }
                }
                // A run that ended before any look was recorded has spent no error: its end is its only look.
                if fractions.is_empty() && !cut_off {
                    fractions.push(1.0);
                }
                PlacedLook::place(&fractions, manifest.alpha).map_or(Self::BeforeFirstLook, Self::Repeated)
            }
        }
    }

    /// The estimate from unit effects; `None` when there are too few of them for this rule.
    pub(crate) fn estimate(&self, effects: &[f64], alpha: f64, unit: &str) -> Option<Named> {
        let level = 1.0 - alpha;
        match self {
            Self::Fixed => Some(Named { estimate: t_estimate(effects, level)?, name: format!("t interval on {unit}") }),
            Self::Imported => {
                Some(Named { estimate: t_estimate(effects, level)?, name: format!("paired t on {unit}") })
            }
            Self::Repeated(placed) => {
                let mut estimate = repeated_interval(effects, &placed.look)?;
                estimate.p_value = placed.overall_p(estimate.p_value);
                let name = format!("repeated confidence interval on {unit}, look {}", placed.number);
                Some(Named { estimate, name })
            }
            Self::Sequence => Some(Named {
                estimate: TMixture::new(alpha, TMixture::DEFAULT_TUNING).interval(effects)?,
                name: format!("t-mixture confidence sequence on {unit}"),
            }),
            Self::BeforeFirstLook => None,
        }
    }

    /// How far from no effect a mean of these effects must be for a p of `p` or less.
    pub(crate) fn margin(&self, effects: &[f64], p: f64) -> Option<f64> {
        let estimate = match self {
            Self::Fixed | Self::Imported => t_estimate(effects, 1.0 - p)?,
            Self::Repeated(placed) => t_estimate(effects, 1.0 - placed.nominal_p(p))?,
            Self::Sequence => TMixture::new(p, TMixture::DEFAULT_TUNING).interval(effects)?,
            Self::BeforeFirstLook => return None,
        };
        Some(estimate.interval.half_width())
    }

    /// The width of the interval of a run that ends as planned, relative to that of a fixed plan. A forecast needs it
    /// before the run has ended.
    pub(crate) fn planned_width_factor(design: &Design) -> f64 {
        match design {
            Design::OpenEnded { .. } => SEQUENCE_WIDTH,
            Design::Budgeted { .. } => REPEATED_WIDTH,
            Design::Fixed { .. } => 1.0,
        }
    }
}

impl PlacedLook {
    fn place(fractions: &[f64], alpha: f64) -> Option<Self> {
        let look = last_look(fractions, alpha)?;
        // α itself is in the grid, so that p ≤ α exactly when the interval excludes no effect.
        let mut grid: Vec<f64> = (0..=26).map(|i| 1e-6 * 2e5f64.powf(f64::from(i) / 26.0)).collect();
        grid.extend([alpha, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.999]);
        let mut overall: Vec<(f64, f64)> =
            grid.into_iter().filter_map(|a| Some((last_look(fractions, a)?.nominal_p, a))).collect();
        overall.in_order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Some(Self { look, number: fractions.len(), overall })
    }

    /// The overall α at which this look would just have stopped at a fixed-sample p of `p`; interpolated between the
    /// logarithms of the table.
    fn overall_p(&self, p: f64) -> f64 {
        let above = self.overall.partition_point(|&(nominal, _)| nominal < p);
        let Some(&(x1, y1)) = self.overall.get(above) else { return 1.0 };
        let Some(&(x0, y0)) = above.checked_sub(1).and_then(|i| self.overall.get(i)) else { return y1 };
        if x0 <= 0.0 || x1 <= x0 {
            return y1;
        }
        let share = (p.ln() - x0.ln()) / (x1.ln() - x0.ln());
        (y0.ln() + share * (y1.ln() - y0.ln())).exp().clamp(p.min(1.0), 1.0)
    }

    /// The fixed-sample p at this look that corresponds to `p` over all looks: inverts [`Self::overall_p`] by
    /// bisection, because the two must agree.
    fn nominal_p(&self, p: f64) -> f64 {
        let (mut lo, mut hi) = (0.0, 1.0);
        for _ in 0..60 {
            let mid = 0.5 * (lo + hi);
            if self.overall_p(mid) <= p { lo = mid } else { hi = mid }
        }
        lo
    }
}

fn last_look(fractions: &[f64], alpha: f64) -> Option<Look> {
    let mut sequence = GroupSequential::new(alpha).ok()?;
    let mut look = None;
    for &fraction in fractions {
        look = Some(sequence.push_look(fraction).ok()?);
    }
    look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overall_p_agrees_with_the_exact_one_and_with_the_bound() {
        let fractions = [0.4, 0.6, 1.0];
        let placed = PlacedLook::place(&fractions, 0.05).unwrap();
        // The smallest overall α whose last look would have stopped at p, found by bisection.
        let exact = |p: f64| {
            let (mut lo, mut hi) = (p, 1.0 - 1e-9);
            while hi - lo > 1e-6 {
                let mid = 0.5 * (lo + hi);
                if last_look(&fractions, mid).is_some_and(|look| p <= look.nominal_p) { hi = mid } else { lo = mid }
            }
            hi
        };
        for p in [1e-4, 0.003, 0.02, 0.2, 0.7] {
            let (table, slow) = (placed.overall_p(p), exact(p));
            assert!((table / slow - 1.0).abs() < 0.03, "{p}: {table} {slow}");
        }
        let bound = placed.look.nominal_p;
        assert!((placed.overall_p(bound) - 0.05).abs() < 1e-9);
        assert!(placed.overall_p(bound * 1.001) > 0.05 && placed.overall_p(bound * 0.999) < 0.05);
        for p in [0.001, 0.01, 0.05, 0.4] {
            assert!((placed.overall_p(placed.nominal_p(p)) / p - 1.0).abs() < 1e-6, "{p}");
        }
    }
}
