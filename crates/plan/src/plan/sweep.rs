//! Strategies that choose all points before anything is measured: `[[knob]]` then makes the arms of one ordinary run,
//! with the default as the control in every block.

use super::search::PlannedKnob;
use super::{PlanError, inconsistent};
use crate::setting::Arm;
use crate::splitmix;

/// Nobody waits for a larger run.
const MAX_ARMS: usize = 256;
/// Number of points of a hypercube for each knob, by default (Loeppky, Sacks & Welch 2009).
const POINTS_OF_A_KNOB: usize = 10;
/// Most knobs whose values are an arm's name: more would fill a page.
const MAX_NAMED: usize = 3;
/// Number of hypercubes from which the best is taken.
const DRAWN: usize = 100;
/// Swaps that are tried for each of its points.
const SWAPS: usize = 30;

/// Which points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    /// Each value of each knob alone, the other knobs at their default.
    OneAtATime,
    /// This many points, in which each knob's values occur as evenly as possible.
    LatinHypercube,
}

impl Sweep {
    /// Both, with their words.
    pub(super) const ALL: [(&str, Self); 2] =
        [("one-at-a-time", Self::OneAtATime), ("latin-hypercube", Self::LatinHypercube)];

    pub(super) fn of(strategy: &str) -> Option<Self> {
        Self::ALL.iter().find(|(word, _)| *word == strategy).map(|(_, sweep)| *sweep)
    }

    /// The arms besides the control, whose settings all of them start from; `points` is the requested number.
    pub(super) fn arms(
        self,
        knobs: &[PlannedKnob],
        points: Option<usize>,
        control: &Arm,
    ) -> Result<Vec<Arm>, PlanError> {
        let arms: Vec<Arm> = match self {
            Self::OneAtATime if points.is_some() => {
                return inconsistent("`points` is of a latin-hypercube; one-at-a-time has a point for each value");
            }
            Self::OneAtATime => {
                let of =
                    |knob: &PlannedKnob| (0..knob.values.len()).map(|at| merged(control, &[knob.arm(at)?])).collect();
                knobs.iter().map(of).collect::<Result<Vec<Vec<Arm>>, PlanError>>()?.concat()
            }
            Self::LatinHypercube => {
                let levels: Vec<usize> = knobs.iter().map(|knob| knob.values.len()).collect();
                let all = levels.iter().copied().fold(1, usize::saturating_mul);
                let count = points.unwrap_or((POINTS_OF_A_KNOB * knobs.len()).min(all));
                if !(2..=all.min(MAX_ARMS)).contains(&count) {
                    return inconsistent(format!(
                        "points = {count}: the knobs have {all} points, and a run at most {MAX_ARMS} arms; give 2 to {}",
                        all.min(MAX_ARMS)
                    ));
                }
                let of = |(index, point): (usize, &Vec<usize>)| {
                    let arms =
                        knobs.iter().zip(point).map(|(knob, &at)| knob.arm(at)).collect::<Result<Vec<_>, _>>()?;
                    let mut arm = merged(control, &arms)?;
                    if knobs.len() > MAX_NAMED {
                        arm.name = format!("point {}", index + 1);
                    }
                    Ok(arm)
                };
                hypercube(&levels, count).iter().enumerate().map(of).collect::<Result<_, PlanError>>()?
            }
        };
        if arms.len() > MAX_ARMS {
            return inconsistent(format!("the knobs have {} values, more than {MAX_ARMS}: give fewer", arms.len()));
        }
        // A value that the control already has would give the control again.
        Ok(arms.into_iter().filter(|arm| !arm.sets_as(control)).collect())
    }
}

/// Combines arms of single knobs into one, on top of the control's settings.
pub(super) fn merged(control: &Arm, arms: &[Arm]) -> Result<Arm, PlanError> {
    let mut settings = control.settings.clone();
    for setting in arms.iter().flat_map(|arm| &arm.settings) {
        settings.retain(|other| other.key() != setting.key());
        settings.push(setting.clone());
    }
    Ok(Arm { name: Vec::from_iter(arms.iter().map(|arm| arm.name.as_str())).join(" "), settings })
}

/// `count` points over these numbers of levels: of a hundred Latin hypercubes (McKay, Beckman & Conover 1979) the one
/// with the most different points, and among those with the least correlated knobs (Owen 1994). The random sequence is
/// always the same, because a plan has its arms before it has a seed.
fn hypercube(levels: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut state = 0;
    let drawn: Vec<Vec<Vec<usize>>> = (0..DRAWN).map(|_| one_hypercube(levels, count, &mut state)).collect();
    let better = |a: &Vec<Vec<usize>>, b: &Vec<Vec<usize>>| {
        let of = |points| correlation(points, levels.len());
        twice(b).count().cmp(&twice(a).count()).then_with(|| of(b).total_cmp(&of(a)))
    };
    let mut points = drawn.into_iter().max_by(better).unwrap_or_default();
    take_apart(&mut points, &mut state);
    // If the whole space was requested, a few combinations may be unused.
    let spare: Vec<usize> = twice(&points).collect();
    spare.into_iter().rev().for_each(|at| drop(points.remove(at)));
    points
}

fn one_hypercube(levels: &[usize], count: usize, state: &mut u64) -> Vec<Vec<usize>> {
    let mut column = |levels: &usize| -> Vec<usize> {
        let mut strata: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| strata.swap(last, below(state, last + 1)));
        strata.into_iter().map(|stratum| (2 * stratum + 1) * levels / (2 * count)).collect()
    };
    let columns: Vec<Vec<usize>> = levels.iter().map(&mut column).collect();
    (0..count).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
}

/// The indices of points that equal an earlier one.
fn twice(points: &[Vec<usize>]) -> impl Iterator<Item = usize> {
    (0..points.len()).filter(|&at| points[..at].contains(&points[at]))
}

/// Swaps values of one knob between two points until no point occurs twice; each value occurs as often as before.
fn take_apart(points: &mut [Vec<usize>], state: &mut u64) {
    let mut left = twice(points).count();
    for _ in 0..SWAPS * points.len() {
        let Some(at) = twice(points).next() else { return };
        let (other, knob) = (below(state, points.len()), below(state, points[at].len()));
        let swap = |points: &mut [Vec<usize>]| {
            let values = (points[at][knob], points[other][knob]);
            (points[other][knob], points[at][knob]) = values;
        };
        swap(points);
        match twice(points).count() {
            now if now <= left => left = now,
            _ => swap(points),
        }
    }
}

fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(splitmix::STEP);
    ((u128::from(splitmix::mixed(*state)) * n as u128) >> 64) as usize
}

/// The largest absolute correlation of two knobs: the smaller it is, the better their effects can be separated. A knob
/// with one value has none.
fn correlation(points: &[Vec<usize>], knobs: usize) -> f64 {
    let mean = |knob: usize| points.iter().map(|point| point[knob] as f64).sum::<f64>() / points.len() as f64;
    let product = |a: usize, b: usize| -> f64 {
        let (of_a, of_b) = (mean(a), mean(b));
        points.iter().map(|point| (point[a] as f64 - of_a) * (point[b] as f64 - of_b)).sum()
    };
    let of = |a: usize, b: usize| {
        let width = (product(a, a) * product(b, b)).sqrt();
        if width > 0.0 { (product(a, b) / width).abs() } else { 0.0 }
    };
    (0..knobs).flat_map(|b| (0..b).map(move |a| (a, b))).map(|(a, b)| of(a, b)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    const KNOBS: &str = "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[knob]]\nset = \"nice\"\nrange = [1, 16]\nsteps = 16\nscale = \"linear\"\n\
        [[knob]]\nset = \"slice\"\nrange = [\"1ms\", \"32ms\"]\nsteps = 6\n[[knob]]\nset = \"policy\"\nvalues = [\"other\", \"batch\"]\n";

    fn plan(strategy: &str) -> Plan {
        Plan::parse(&format!("{strategy}\n{KNOBS}")).unwrap()
    }

    fn error(strategy: &str) -> String {
        Plan::parse(&format!("{strategy}\n{KNOBS}")).unwrap_err().to_string()
    }

    #[test]
    fn one_at_a_time_is_every_value_alone_beside_the_default() {
        let one = plan("strategy = \"one-at-a-time\"");
        assert_eq!((one.arms.len(), one.search.is_none()), (1 + 16 + 6 + 2, true));
        assert_eq!((one.arms[0].name.as_str(), one.arms[0].spec().as_str()), ("default", ""));
        assert!(one.arms[1..].iter().all(|arm| arm.settings.len() == 1), "{:?}", one.arms);
        assert_eq!(one.arms[17].name, "slice=1ms");
        assert_eq!(Plan::parse(&one.to_toml()).unwrap(), one, "written out as its arms");
        // On top of the control's settings, but not with a value that the control already has.
        let text = format!("strategy = \"one-at-a-time\"\n{KNOBS}[[arm]]\nname = \"today\"\nset = \"policy=batch\"\n");
        let today = Plan::parse(&text).unwrap();
        assert_eq!((today.arms.len(), today.arms[0].name.as_str()), (1 + 16 + 6 + 1, "today"));
        assert_eq!(today.arms[1].spec(), "policy=batch;nice=1");
        let both = Plan::parse(&text.replace("set = \"policy=batch\"", "set = \"policy=batch;nice=1\"")).unwrap();
        assert_eq!(both.arms.len(), 1 + 15 + 6 + 1, "the order of its settings tells no arm from the control");
    }

    #[test]
    fn a_hypercube_takes_each_value_as_often_as_every_other() {
        let cube = plan("strategy = \"latin-hypercube\"\npoints = 16");
        assert_eq!(cube.arms.len(), 17);
        let with = |setting: &str| cube.arms.iter().filter(|arm| arm.spec().split(';').any(|s| s == setting)).count();
        assert!((1..=16).all(|nice| with(&format!("nice={nice}")) == 1), "{:?}", cube.arms);
        assert_eq!((with("policy=other"), with("policy=batch")), (8, 8));
        assert!(
            ["1ms", "2ms", "4ms", "8ms", "16ms", "32ms"]
                .iter()
                .all(|slice| (2..=3).contains(&with(&format!("slice={slice}"))))
        );
        assert_eq!(plan("strategy = \"latin-hypercube\"\npoints = 16"), cube, "nothing is drawn");
        assert_eq!(plan("strategy = \"latin-hypercube\"").arms.len(), 31, "ten for each knob");
    }

    #[test]
    fn points_of_many_knobs_are_numbered() {
        let knobs = format!("{KNOBS}[[knob]]\nset = \"sysctl:vm.swappiness\"\nrange = [1, 60]\n");
        let plan = Plan::parse(&format!("strategy = \"latin-hypercube\"\npoints = 4\n{knobs}")).unwrap();
        let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["default", "point 1", "point 2", "point 3", "point 4"]);
        assert!(
            plan.arms[1].settings.len() == 4
                && self::plan("strategy = \"latin-hypercube\"").arms[1].name.contains("nice=")
        );
    }

    /// No two knobs change together, so the effect of one cannot be taken for that of the other.
    #[test]
    fn columns_of_a_hypercube_are_different() {
        for count in 4..40 {
            let points = hypercube(&[count, count, count], count);
            assert_eq!(points.len(), count);
            for knob in 0..3 {
                let mut values: Vec<usize> = points.iter().map(|point| point[knob]).collect();
                values.sort_unstable();
                assert_eq!(values, (0..count).collect::<Vec<_>>(), "{count}: each value once");
            }
            let most = correlation(&points, 3);
            assert!(most < if count < 8 { 0.7 } else { 0.3 }, "{count}: {most}");
        }
    }

    #[test]
    fn a_hypercube_has_as_many_points_as_are_asked_for() {
        let levels = [5, 2, 3];
        for count in 2..=30 {
            let points = hypercube(&levels, count);
            assert_eq!((points.len(), twice(&points).count()), (count, 0));
            for (knob, levels) in levels.into_iter().enumerate() {
                let often = |value: usize| points.iter().filter(|point| point[knob] == value).count();
                let all: Vec<usize> = (0..levels).map(often).collect();
                let spread = all.iter().max().unwrap() - all.iter().min().unwrap();
                assert!(spread <= 1, "{count}: {all:?}");
            }
        }
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        assert!(error("strategy = \"one-at-a-tim\"").contains("did you mean `one-at-a-time`"));
        assert!(error("strategy = \"one-at-a-time\"\npoints = 3").contains("is of a latin-hypercube"));
        assert!(error("strategy = \"latin-hypercube\"\npoints = 1000").contains("give 2 to 192"));
        assert!(error("strategy = \"halving\"\npoints = 9").contains("`points`"));
        let objective = error("strategy = \"latin-hypercube\"\nobjective = [\"a\"]");
        assert!(objective.contains("measures all points") && !objective.contains("has no `[[knob]]`"), "{objective}");
    }
}
