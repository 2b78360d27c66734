//! What a screen asks for and what it says.

use crate::mean::Estimate;

/// A stage of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Lines of a grid, alone and all but them.
    Groups,
    /// A fraction over what the groups left.
    Fraction,
    /// The confirmed few.
    Full,
}

/// Rows to measure, each in every block.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// For what.
    pub stage: Stage,
    /// For each row, for each factor of the screen, whether it is switched; the first row switches none. A row may come
    /// twice: it is then measured twice in each block.
    pub rows: Vec<Vec<bool>>,
    /// How many blocks.
    pub blocks: usize,
}

/// What a stage came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which.
    pub stage: Stage,
    /// Factors that were varied.
    pub members: Vec<usize>,
    /// Rows and blocks that were measured.
    pub measured: (usize, usize),
    /// Standard deviation of a block's value in a row, as found.
    pub sd: f64,
    /// Factors that were kept; in the last stage those that are named.
    pub kept: Vec<usize>,
}

/// A main effect (one factor) or an interaction (several): mean of the rows where an even number of its factors is at the
/// first level minus that of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// Its factors, rising.
    pub factors: Vec<usize>,
    /// The estimate; its interval is for itself alone.
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
    /// Its difference to the row in which none is; `None` for that row itself.
    pub change: Option<Estimate>,
}

/// What a finished screen says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Factors on which the value depends, rising.
    pub named: Vec<usize>,
    /// All contrasts of the last stage, those that name first.
    pub contrasts: Vec<Contrast>,
    /// Its rows.
    pub cells: Vec<Cell>,
}
