//! Screens of simulated values with known active factors.

use super::*;
use crate::Random;

/// All combinations; for five or more factors, the half in which the product of all levels is even: its effects are as
/// clear as those of the tabulated fractions, with more rows.
fn half(factors: usize, _most: usize) -> Option<Vec<Vec<bool>>> {
    let free = factors - usize::from(factors > MAX_IN_FULL);
    let row = |number: usize| {
        let mut row: Vec<bool> = (0..free).map(|factor| number >> factor & 1 == 1).collect();
        let product = row.iter().fold(false, |sum, level| sum ^ level);
        row.extend((free < factors).then_some(product));
        row
    };
    Some((0..1 << free).map(row).collect())
}

fn sought(factors: usize, seed: u64) -> Sought {
    Sought { factors, size: 0.1, sd: 0.05, alpha: 0.05, seed, fraction: half }
}

/// Runs a screen on values with noise: the screen at its end, and how many values it asked for.
fn screened(sought: Sought, value: impl Fn(&[bool]) -> f64) -> (Screen, usize) {
    let (mut screen, mut random, mut asked) = (Screen::new(sought), Random::new(sought.seed ^ 0xf00d), 0);
    while let Some(Request { rows, blocks, .. }) = screen.ask() {
        asked += rows.len() * blocks;
        let shared: Vec<f64> = (0..blocks).map(|_| 0.2 * random.normal()).collect();
        let mut of_row = |row: &Vec<bool>| shared.iter().map(|s| value(row) + s + 0.05 * random.normal()).collect();
        let values: Vec<Vec<f64>> = rows.iter().map(&mut of_row).collect();
        screen.tell(&values).unwrap();
    }
    (screen, asked)
}

fn named(screen: &Screen) -> Vec<usize> {
    screen.outcome_at_end().unwrap().named.clone()
}

#[test]
fn what_changes_the_value_is_named_and_shown_in_its_cells() {
    // Two factors that hide each other: each alone speeds the pipe up, both together do not.
    let value = |row: &[bool]| match (row[3], row[17]) {
        (true, false) => 0.34,
        (false, true) => 0.32,
        (true, true) => -0.06,
        _ => 0.0,
    };
    let (screen, asked) = screened(sought(30, 5), value);
    let outcome = screen.outcome_at_end().unwrap();
    assert_eq!(outcome.named, [3, 17]);
    assert_eq!(outcome.contrasts[0].factors, [3, 17], "the interaction is what is surest");
    let alone = outcome.cells.iter().find(|cell| cell.switched == [3]).unwrap();
    assert!((alone.change.unwrap().mean - 0.34).abs() < 0.08);
    assert!(asked < 800, "{asked}");
    assert_eq!(screen.steps().first().map(|step| (step.stage, step.members.len())), Some((Stage::Groups, 30)));
    assert_eq!(screen.ask(), None);
}

/// Four null factors go directly to the last stage, the only one that can name factors: its error rate is as stated.
#[test]
fn false_names_stay_at_the_stated_rate() {
    let runs = 1000;
    let wrong = (0..runs).filter(|&seed| !named(&screened(sought(4, seed), |_| 0.0).0).is_empty()).count();
    // 5 % and three standard errors of 1000 runs.
    assert!(wrong <= 71, "{wrong} of {runs}");
    assert!(wrong >= 10, "no error at all is a test without power: {wrong} of {runs}");
}

#[test]
fn one_active_among_nulls_brings_no_company() {
    let value = |row: &[bool]| if row[2] { -0.2 } else { 0.0 };
    let runs = 200;
    let all: Vec<Vec<usize>> = (0..runs).map(|seed| named(&screened(sought(12, seed), value).0)).collect();
    let found = all.iter().filter(|named| named.contains(&2)).count();
    let wrong = all.iter().filter(|named| named.iter().any(|&factor| factor != 2)).count();
    assert!(found >= 190 && wrong <= 17, "{found} found, {wrong} with a false name");
}

#[test]
fn a_screen_of_nothing_asks_for_nothing_and_a_wrong_answer_is_refused() {
    assert_eq!(Screen::new(sought(0, 1)).ask(), None);
    let mut screen = Screen::new(sought(2, 1));
    assert_eq!(screen.tell(&vec![vec![0.0; 3]; 3]), Err(TableError::Rows { found: 3, wanted: 4 }));
    assert!(screen.steps().is_empty());
    // A size of zero must not lead to endless blocks.
    let blocks = Screen::new(Sought { size: 0.0, ..sought(12, 1) }).ask().unwrap().blocks;
    assert_eq!(blocks, BLOCKS.0);
}

#[test]
fn the_same_answers_lead_to_the_same_questions() {
    let value = |row: &[bool]| if row[2] != row[8] { -0.2 } else { 0.0 };
    let (one, other) = (screened(sought(20, 9), value), screened(sought(20, 9), value));
    assert_eq!(one.0.steps(), other.0.steps());
}
