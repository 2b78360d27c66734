//! Surfaces whose best point is known: computed by a formula, or the means of a whole grid of real runs, stored as
//! text.

use anyhow::{Context, Result, bail};
use schedlab_tune::search::{Point, Scale, Space};
use std::path::Path;

/// Gains over the default at every point of a grid, and the standard deviation of a block's gain.
pub(crate) struct Surface {
    pub(crate) name: String,
    pub(crate) knobs: Vec<(Scale, Vec<f64>)>,
    pub(crate) gains: Vec<f64>,
    pub(crate) sds: Vec<f64>,
}

impl Surface {
    fn of(name: &str, knobs: Vec<(Scale, Vec<f64>)>, sd: f64, gain: impl Fn(&[usize]) -> f64) -> Self {
        let space = Space::new(&knobs);
        let gains: Vec<f64> = space.points().map(|point| gain(&point)).collect();
        Self { name: name.to_owned(), sds: vec![sd; gains.len()], knobs, gains }
    }

    pub(crate) fn space(&self) -> Space {
        Space::new(&self.knobs)
    }

    pub(crate) fn len(&self) -> usize {
        self.gains.len()
    }

    /// The index of a point in `gains`.
    pub(crate) fn number(&self, point: &Point) -> usize {
        self.knobs.iter().zip(point).fold(0, |number, ((_, values), level)| number * values.len() + level)
    }

    /// The rate of a point relative to the best.
    pub(crate) fn of_best(&self, point: usize) -> f64 {
        (self.gains[point] - self.gains.iter().fold(f64::MIN, |a, &b| a.max(b))).exp()
    }

    pub(crate) fn is_near(&self, point: usize, near: f64) -> bool {
        self.of_best(point) >= near
    }

    /// How many points are this near to the best.
    pub(crate) fn near(&self, near: f64) -> usize {
        (0..self.len()).filter(|&point| self.is_near(point, near)).count()
    }
}

/// Values from 1 upwards in equal ratios.
fn ratios(count: usize) -> (Scale, Vec<f64>) {
    (Scale::Log, (0..count).map(|i| 1.25f64.powi(i as i32)).collect())
}

fn steps(count: usize) -> (Scale, Vec<f64>) {
    (Scale::Linear, (0..count).map(|i| i as f64).collect())
}

fn words(count: usize) -> (Scale, Vec<f64>) {
    (Scale::Words, vec![0.0; count])
}

/// A bell of height one around `centre`, as wide as `width`.
fn bell(x: usize, centre: f64, width: f64) -> f64 {
    (-((x as f64 - centre) / width).powi(2)).exp()
}

/// An error of 5 % per trial, as messaging has in the virtual lane (docs/studies/cfs-granularity.md).
const ERROR: f64 = 0.05;

/// The surfaces computed by a formula.
pub(crate) fn drawn() -> Vec<Surface> {
    let square = || vec![ratios(16), ratios(16)];
    let ridge = |at: &[usize]| {
        let (along, across) = (at[0] as f64 + at[1] as f64, at[0] as f64 - at[1] as f64);
        0.35 * (-((along - 18.0) / 12.0).powi(2) - (across / 3.5).powi(2)).exp() - 0.05
    };
    let step = |at: &[usize]| if at[1] >= 9 { 0.3 } else { 0.0 } + 0.1 * bell(at[0], 10.0, 5.0);
    let mixed = |at: &[usize]| {
        let best = [4.0, 10.0, 7.0][at[1]];
        [0.15, 0.3, 0.2][at[1]] * bell(at[0], best, 4.0) + 0.1 * bell(at[2], 5.0, 4.0)
    };
    let four = |at: &[usize]| {
        0.2 * bell(at[0], 5.0, 3.0) + 0.1 * bell(at[1], 2.0, 4.0) + [0.0, 0.05, -0.05][at[2]] + 0.02 * at[3] as f64
    };
    vec![
        Surface::of("a hill of 30 %", square(), ERROR, |at| 0.4 * bell(at[0], 9.0, 6.0) * bell(at[1], 4.0, 6.0) - 0.1),
        Surface::of("the same, errors of 10 %", square(), 0.1, |at| {
            0.4 * bell(at[0], 9.0, 6.0) * bell(at[1], 4.0, 6.0) - 0.1
        }),
        Surface::of("a step of 35 % in one knob, a gentle hill in the other", square(), ERROR, step),
        Surface::of("a ridge across both knobs", square(), ERROR, ridge),
        Surface::of(
            "three words, each with its best value; a third knob",
            vec![ratios(16), words(3), steps(8)],
            ERROR,
            mixed,
        ),
        Surface::of("four knobs", vec![ratios(8), ratios(5), words(3), steps(3)], ERROR, four),
        Surface::of("nothing matters", square(), ERROR, |_| 0.0),
    ]
}

/// The surfaces in the files next to this program, by name.
pub(crate) fn recorded() -> Result<Vec<Surface>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/search");
    let mut files: Vec<_> = std::fs::read_dir(&dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        parse(&name, &std::fs::read_to_string(path)?).with_context(|| path.display().to_string())
    };
    files.iter().map(read).collect()
}

/// `knob NAME SCALE VALUE…` and `point VALUE… GAIN SD`, the points in the order of their knobs' values.
fn parse(name: &str, text: &str) -> Result<Surface> {
    let (mut knobs, mut gains, mut sds): (Vec<(Scale, Vec<&str>)>, _, _) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["knob", _, scale, ref values @ ..] => {
                let scale = match scale {
                    "log" => Scale::Log,
                    "linear" => Scale::Linear,
                    _ => Scale::Words,
                };
                knobs.push((scale, values.to_vec()));
            }
            ["point", ref at @ .., gain, sd] => {
                let mut number = gains.len();
                for ((_, values), word) in knobs.iter().zip(at).rev() {
                    if values[number % values.len()] != *word {
                        bail!("`{line}` is not where it belongs");
                    }
                    number /= values.len();
                }
                gains.push(gain.parse()?);
                sds.push(sd.parse()?);
            }
            _ => bail!("`{line}`"),
        }
    }
    let number = |(scale, values): (Scale, Vec<&str>)| -> Result<(Scale, Vec<f64>)> {
        let of = |word: &&str| if scale == Scale::Words { Ok(0.0) } else { word.parse() };
        Ok((scale, values.iter().map(of).collect::<Result<_, _>>()?))
    };
    let knobs: Vec<(Scale, Vec<f64>)> = knobs.into_iter().map(number).collect::<Result<_>>()?;
    let surface = Surface { name: name.to_owned(), knobs, gains, sds };
    if surface.len() != surface.space().len() {
        bail!("{} points of {}", surface.len(), surface.space().len());
    }
    Ok(surface)
}
