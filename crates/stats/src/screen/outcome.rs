//! The requests and results of a screen.

use crate::mean::Estimate;

/// A stage of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Lines of a grid: each alone, and everything except each.
    Groups,
    /// A fraction over what the groups left.
    Fraction,
    /// The final stage over the few that are left.
    Full,
}

/// Rows to measure, each in every block.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The stage they are for.
    pub stage: Stage,
    /// For each row and each factor of the screen, whether it is switched; the first row switches none. A row may occur
    /// twice: it is then measured twice in each block.
    pub rows: Vec<Vec<bool>>,
    /// How many blocks.
    pub blocks: usize,
}

/// The result of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The stage.
    pub stage: Stage,
    /// Factors that were varied.
    pub members: Vec<usize>,
    /// Rows and blocks that were measured.
    pub measured: (usize, usize),
    /// Measured standard deviation of a block's value in a row.
    pub sd: f64,
    /// Factors that were kept; in the last stage those that are named.
    pub kept: Vec<usize>,
}

/// A main effect (one factor) or an interaction (several): mean of the rows in which an even number of its factors is
/// at the first level, minus the mean of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// Its factors, rising.
    pub factors: Vec<usize>,
    /// The estimate; its interval is not corrected for the other contrasts.
    pub estimate: Estimate,
    /// Holm's adjusted p over all contrasts of the stage.
    pub adjusted_p: f64,
}

/// A row of the last stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Factors that are switched, rising.
    pub switched: Vec<usize>,
    /// Mean of the value there.
    pub mean: f64,
    /// Its difference from the row in which no factor is switched; `None` for that row itself.
    pub change: Option<Estimate>,
}

/// The result of a finished screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Factors on which the value depends, rising.
    pub named: Vec<usize>,
    /// All contrasts of the last stage, those that name factors first.
    pub contrasts: Vec<Contrast>,
    /// The rows of the last stage.
    pub cells: Vec<Cell>,
}
