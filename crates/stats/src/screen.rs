//! Which of many two-level factors change a value: a screen in stages, each on fresh data, as a state machine that
//! requests rows of levels and receives what was measured for them.
//!
//! 1. *Groups* (more than eight factors): each factor, or each line of a grid of many factors, is switched alone; in
//!    the mirror image of that row (fold-over) all others are switched. A factor is kept if two of its three lines
//!    respond; two factors that cancel in one line respond in the others, and if no such factor explains a line's
//!    response, the whole line is kept.
//! 2. *Fraction* (five to eight): a fraction in which main effects and interactions of two are clear of each other.
//! 3. *Full* (what is left): all combinations, or that fraction again, and Holm's method over its contrasts.
//!
//! Only the last stage names factors. Its data are fresh, so however the earlier ones chose, the chance of naming any
//! factor on which the value does not depend is at most `alpha` (Holm 1979; Box, Hunter & Hunter 2005, chapter 6, for
//! the fractions; Dorfman 1943 and Phatarfod & Sudbury 1994 for pooling by rows and columns).

mod groups;
mod outcome;
mod table;
#[cfg(test)]
mod tests;

use crate::distribution::normal_quantile;
use crate::mean::Estimate;
use crate::multiple::holm;
use groups::Groups;
pub use outcome::{Cell, Contrast, Outcome, Request, Stage, Step};
pub use table::TableError;
use table::{Table, words};

/// Most factors of a fraction in which two-factor interactions are clear.
const MAX_IN_FRACTION: usize = 8;
/// Most factors of which all combinations are run.
const MAX_IN_FULL: usize = 4;
/// Minimum number of blocks, below which no spread can be estimated, and maximum.
const BLOCKS: (usize, usize) = (2, 60);
/// Probability with which each stage keeps, or names, a factor of the size that is looked for.
const POWER: f64 = 0.99;

/// Rows of a two-level design. For a number of factors, and at most this many rows: for each row and factor, whether it
/// is switched. The first row switches none.
pub type Fraction = fn(usize, usize) -> Option<Vec<Vec<bool>>>;

/// What a screen should find.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// How many factors there are.
    pub factors: usize,
    /// Smallest change of the value that must not be missed.
    pub size: f64,
    /// Standard deviation of one block's value in one row, as far as known.
    pub sd: f64,
    /// Probability of naming any factor wrongly.
    pub alpha: f64,
    /// Seed of the arrangement in groups.
    pub seed: u64,
    /// Source of the fractions.
    pub fraction: Fraction,
}

#[derive(Clone, Debug)]
enum State {
    Groups(Groups),
    Fraction(Vec<usize>),
    Full(Vec<usize>),
    Done(Outcome),
}

/// A screen in progress.
#[derive(Clone, Debug)]
pub struct Screen {
    sought: Sought,
    state: State,
    steps: Vec<Step>,
}

impl Screen {
    /// If the size or spread is not a positive number, the screen uses the fewest blocks.
    pub fn new(sought: Sought) -> Self {
        let mut screen = Self { sought, state: State::Done(Outcome::default()), steps: Vec::new() };
        screen.state = screen.stage_for((0..sought.factors).collect());
        screen
    }

    /// What to measure next; `None` at the end of the screen.
    pub fn ask(&self) -> Option<Request> {
        let (stage, rows) = match &self.state {
            State::Groups(groups) => (Stage::Groups, groups.rows(self.sought.factors)),
            State::Fraction(members) => (Stage::Fraction, self.widened(members)),
            State::Full(members) => (Stage::Full, self.widened(members)),
            State::Done(_) => return None,
        };
        let blocks = self.blocks(stage, rows.len());
        Some(Request { stage, rows, blocks })
    }

    /// Adds the result: for each row, the value of each block.
    pub fn tell(&mut self, values: &[Vec<f64>]) -> Result<(), TableError> {
        let Some(request) = self.ask() else { return Ok(()) };
        let table = Table::new(values, request.rows.len())?;
        // For the following stages, the measured spread is the better guess.
        self.sought.sd = table.sd();
        let stage = request.stage;
        let (members, kept, next) = match self.state.clone() {
            State::Groups(groups) => {
                let (kept, scores) = groups.kept(&table, self.sought.size / 2.0);
                let next = self.after_groups(&groups, &kept, &scores);
                (groups.members().to_vec(), kept, next)
            }
            State::Fraction(members) => {
                let kept = self.kept_of_fraction(&table, &members);
                let next = if kept.is_empty() { State::Done(Outcome::default()) } else { State::Full(kept.clone()) };
                (members, kept, next)
            }
            State::Full(members) => {
                let outcome = self.outcome(&table, &members);
                (members, outcome.named.clone(), State::Done(outcome))
            }
            State::Done(outcome) => (Vec::new(), Vec::new(), State::Done(outcome)),
        };
        self.steps.push(Step { stage, members, measured: (request.rows.len(), table.blocks()), sd: table.sd(), kept });
        self.state = next;
        Ok(())
    }

    /// The stages from here on, as far as they can be foreseen: rows (for later stages the most possible), and blocks.
    pub fn forecast(&self) -> Vec<(Stage, usize, usize)> {
        let Some(next) = self.ask() else { return Vec::new() };
        let later = match next.stage {
            Stage::Groups => vec![(Stage::Fraction, 64), (Stage::Full, 1 << MAX_IN_FULL)],
            Stage::Fraction => vec![(Stage::Full, 1 << MAX_IN_FULL)],
            Stage::Full => Vec::new(),
        };
        let later = later.into_iter().map(|(stage, rows)| (stage, rows, self.blocks(stage, rows)));
        std::iter::once((next.stage, next.rows.len(), next.blocks)).chain(later).collect()
    }

    /// Stages that are done, in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The result, once the screen has ended.
    pub fn outcome_at_end(&self) -> Option<&Outcome> {
        match &self.state {
            State::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// The stage that this many factors need.
    fn stage_for(&self, members: Vec<usize>) -> State {
        match members.len() {
            0 => State::Done(Outcome::default()),
            1..=MAX_IN_FULL => State::Full(members),
            n if n <= MAX_IN_FRACTION => State::Fraction(members),
            _ => State::Groups(Groups::new(members, self.sought.seed)),
        }
    }

    /// If there are too many factors for a fraction, they are separated one by one; if still too many remain, the
    /// strongest are kept.
    fn after_groups(&self, groups: &Groups, kept: &[usize], scores: &[(usize, f64)]) -> State {
        match (kept.len() > MAX_IN_FRACTION, groups.are_single()) {
            (true, true) => self.stage_for(strongest(scores, kept)),
            (true, false) => State::Groups(Groups::single(kept.to_vec())),
            _ => self.stage_for(kept.to_vec()),
        }
    }

    /// Rows of a design of `members`, extended to all factors of the screen.
    fn widened(&self, members: &[usize]) -> Vec<Vec<bool>> {
        let most = match members.len() {
            n @ 0..=MAX_IN_FULL => 1 << n,
            5 => 16,
            6 => 32,
            _ => 64,
        };
        let widen = |row: &Vec<bool>| {
            let mut wide = vec![false; self.sought.factors];
            members.iter().zip(row).for_each(|(&member, &level)| wide[member] = level);
            wide
        };
        (self.sought.fraction)(members.len(), most).unwrap_or_default().iter().map(widen).collect()
    }

    /// Blocks with which a stage keeps a factor of the size sought with probability [`POWER`]: (z / distance to the
    /// cut)² · variance.
    fn blocks(&self, stage: Stage, rows: usize) -> usize {
        let z = normal_quantile(POWER);
        // An interaction that needs two switches has half of its size in each contrast of a design.
        let (variance, distance) = match stage {
            // A group's row against two rows of its background; the cut is at half the size.
            Stage::Groups => (1.5, 0.5),
            Stage::Fraction => (4.0 / rows as f64, 0.25),
            Stage::Full if rows == 2 => (2.0, 1.0),
            Stage::Full => (4.0 / rows as f64, 0.5),
        };
        let needed = match stage {
            Stage::Full => z - normal_quantile(self.sought.alpha / 2.0 / tests(rows) as f64),
            _ => z,
        };
        let blocks = variance * (needed * self.sought.sd / (distance * self.sought.size)).powi(2);
        if blocks.is_finite() { (blocks.ceil() as usize).clamp(BLOCKS.0, BLOCKS.1) } else { BLOCKS.0 }
    }

    /// Factors whose main effects or two-factor interactions exceed a quarter of the size.
    fn kept_of_fraction(&self, table: &Table, members: &[usize]) -> Vec<usize> {
        let rows = self.widened(members);
        let large = |word: &Vec<usize>| table.contrast(&rows, word, 0.95).mean.abs() > self.sought.size / 4.0;
        let mut kept: Vec<usize> = words(members, 2).into_iter().filter(large).flatten().collect();
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    fn outcome(&self, table: &Table, members: &[usize]) -> Outcome {
        let rows = self.widened(members);
        let level = 1.0 - self.sought.alpha;
        let order = if members.len() <= MAX_IN_FULL { members.len() } else { 2 };
        let words = words(members, order);
        let estimates: Vec<Estimate> = words.iter().map(|word| table.contrast(&rows, word, level)).collect();
        let adjusted = holm(&estimates.iter().map(|e| e.p_value).collect::<Vec<_>>());
        let all = words.into_iter().zip(estimates).zip(adjusted);
        let mut contrasts: Vec<Contrast> =
            all.map(|((factors, estimate), adjusted_p)| Contrast { factors, estimate, adjusted_p }).collect();
        contrasts.sort_by(|a, b| a.adjusted_p.total_cmp(&b.adjusted_p));
        let naming = contrasts.iter().filter(|c| c.adjusted_p <= self.sought.alpha);
        let mut named: Vec<usize> = naming.flat_map(|c| c.factors.clone()).collect();
        named.sort_unstable();
        named.dedup();
        let cell = |(at, row): (usize, &Vec<bool>)| Cell {
            switched: members.iter().copied().filter(|&member| row[member]).collect(),
            mean: table.mean(at),
            change: (at > 0).then(|| table.against(at, &[0], level)),
        };
        let cells = rows.iter().enumerate().map(cell).collect();
        Outcome { named, contrasts, cells }
    }
}

/// Number of contrasts of a last stage with this many rows: all of them if the rows are all combinations, otherwise the
/// most possible.
fn tests(rows: usize) -> usize {
    if rows <= 1 << MAX_IN_FULL { rows.saturating_sub(1).max(1) } else { 36 }
}

/// Those of `kept` with the largest scores, as many as a fraction takes.
fn strongest(scores: &[(usize, f64)], kept: &[usize]) -> Vec<usize> {
    let mut of_kept: Vec<(usize, f64)> = scores.iter().filter(|(factor, _)| kept.contains(factor)).copied().collect();
    of_kept.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut strongest: Vec<usize> = of_kept.into_iter().take(MAX_IN_FRACTION).map(|(factor, _)| factor).collect();
    strongest.sort_unstable();
    strongest
}
