//! Which of many two-level factors change a value: a screen in stages, each on fresh data, as a state machine that asks for
//! rows of levels and is given what was measured there.
//!
//! 1. *Groups* (more than eight factors): each factor, or each line of a grid of many factors, is switched alone, and all
//!    but it, so each row has its mirror image (fold-over). A factor stays where two of its three lines answer; two that
//!    cancel in one line answer in the others, and an answer that no such factor explains keeps its whole line.
//! 2. *Fraction* (five to eight): a fraction in which main effects and interactions of two are clear of each other.
//! 3. *Full* (what is left): all combinations, or that fraction again, and Holm's method over its contrasts.
//!
//! Only the last stage names factors. Its data are fresh, so however the earlier ones chose, the chance of naming any factor
//! on which the value does not depend is at most `alpha` (Holm 1979; Box, Hunter & Hunter 2005, chapter 6, for the
//! fractions; Dorfman 1943 and Phatarfod & Sudbury 1994 for pooling by rows and columns).

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

/// Most factors of a fraction in which interactions of two are clear.
const MOST_IN_FRACTION: usize = 8;
/// Most factors of which all combinations are run.
const MOST_IN_FULL: usize = 4;
/// Blocks below which no spread can be estimated, and above which a row is not repeated.
const BLOCKS: (usize, usize) = (2, 60);
/// Chance for which each stage is sized to keep, or to name, a factor of the size looked for.
const POWER: f64 = 0.99;

/// Rows of a two-level design: for a number of factors with at most this many rows, for each row and factor whether it
/// is switched; the first row switches none.
pub type Fraction = fn(usize, usize) -> Option<Vec<Vec<bool>>>;

/// What a screen is to find.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// How many factors there are.
    pub factors: usize,
    /// Smallest change of the value that must not be missed.
    pub size: f64,
    /// Standard deviation of one block's value in one row, as far as it is known.
    pub sd: f64,
    /// Chance of naming any factor wrongly.
    pub alpha: f64,
    /// Seed of the arrangement in groups.
    pub seed: u64,
    /// Where the fractions come from.
    pub fraction: Fraction,
}

#[derive(Clone, Debug)]
enum State {
    Groups(Groups),
    Fraction(Vec<usize>),
    Full(Vec<usize>),
    Done(Outcome),
}

/// A screen under way.
#[derive(Clone, Debug)]
pub struct Screen {
    sought: Sought,
    state: State,
    steps: Vec<Step>,
}

impl Screen {
    /// Begins one. A size or spread that is not a positive number gives the fewest blocks.
    pub fn new(sought: Sought) -> Self {
        let mut screen = Self { sought, state: State::Done(Outcome::default()), steps: Vec::new() };
        screen.state = screen.stage_for((0..sought.factors).collect());
        screen
    }

    /// What to measure next; `None` when the screen is at its end.
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

    /// The result: for each row, the value of each block.
    pub fn tell(&mut self, values: &[Vec<f64>]) -> Result<(), TableError> {
        let Some(request) = self.ask() else { return Ok(()) };
        let table = Table::new(values, request.rows.len())?;
        // The spread that was found is the better guess for what follows.
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

    /// The stages from here on as far as they can be foreseen: rows, the most there may be in the later ones, and blocks.
    pub fn forecast(&self) -> Vec<(Stage, usize, usize)> {
        let Some(next) = self.ask() else { return Vec::new() };
        let later = match next.stage {
            Stage::Groups => vec![(Stage::Fraction, 64), (Stage::Full, 1 << MOST_IN_FULL)],
            Stage::Fraction => vec![(Stage::Full, 1 << MOST_IN_FULL)],
            Stage::Full => Vec::new(),
        };
        let later = later.into_iter().map(|(stage, rows)| (stage, rows, self.blocks(stage, rows)));
        std::iter::once((next.stage, next.rows.len(), next.blocks)).chain(later).collect()
    }

    /// Stages that are done, in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What the screen says, at its end.
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
            1..=MOST_IN_FULL => State::Full(members),
            n if n <= MOST_IN_FRACTION => State::Fraction(members),
            _ => State::Groups(Groups::new(members, self.sought.seed)),
        }
    }

    /// Too many for a fraction are separated one by one; if they are still too many, the strongest are kept.
    fn after_groups(&self, groups: &Groups, kept: &[usize], scores: &[(usize, f64)]) -> State {
        match (kept.len() > MOST_IN_FRACTION, groups.are_single()) {
            (true, true) => self.stage_for(strongest(scores, kept)),
            (true, false) => State::Groups(Groups::single(kept.to_vec())),
            _ => self.stage_for(kept.to_vec()),
        }
    }

    /// Rows of a design of `members`, for all factors of the screen.
    fn widened(&self, members: &[usize]) -> Vec<Vec<bool>> {
        let most = match members.len() {
            n @ 0..=MOST_IN_FULL => 1 << n,
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

    /// Blocks so that a stage keeps a factor of the size sought with [`POWER`]: (z / distance to the cut)² · variance.
    fn blocks(&self, stage: Stage, rows: usize) -> usize {
        let z = normal_quantile(POWER);
        // An interaction that needs two switches has half its size in each contrast of a design.
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

    /// Factors of the main effects and interactions of two beyond a quarter of the size.
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
        let order = if members.len() <= MOST_IN_FULL { members.len() } else { 2 };
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

/// Contrasts of a last stage with this many rows: all if the rows are all combinations, otherwise the most there can
/// be.
fn tests(rows: usize) -> usize {
    if rows <= 1 << MOST_IN_FULL { rows.saturating_sub(1).max(1) } else { 36 }
}

/// Those of `kept` with the largest scores, as many as a fraction takes.
fn strongest(scores: &[(usize, f64)], kept: &[usize]) -> Vec<usize> {
    let mut of_kept: Vec<(usize, f64)> = scores.iter().filter(|(factor, _)| kept.contains(factor)).copied().collect();
    of_kept.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut strongest: Vec<usize> = of_kept.into_iter().take(MOST_IN_FRACTION).map(|(factor, _)| factor).collect();
    strongest.sort_unstable();
    strongest
}
