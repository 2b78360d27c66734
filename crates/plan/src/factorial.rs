//! Two-level factorials: from factors to arms. Full if the arms allow it, else the regular fraction of minimum
//! aberration (Box, Hunter & Hunter 2005, table 6.22; Montgomery, Design and Analysis of Experiments, table 8.14), in
//! the version in which all factors are low in the first arm.

use crate::manifest::{Factor, Factorial};
use crate::setting::{Arm, Setting};
use serde::{Deserialize, Serialize};

/// Most factors of a design: the table of fractions ends here, and no machine has time for more.
pub const MAX_FACTORS: usize = 8;

/// A factor of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFactor {
    /// Its name.
    pub name: String,
    /// The settings of its low level, `` for the host's default.
    pub low: Arm,
    /// The settings of its high level.
    pub high: Arm,
}

/// What can be switched on a kernel, each from its present value (low) to its other value (high).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toggles {
    /// What can be switched.
    pub factors: Vec<PlannedFactor>,
    /// What the kernel has but cannot be switched, and why; one line each.
    pub left_out: Vec<String>,
}

/// Generators of the fractions: (factors, generators). Each generator gives a further factor as a product of the first
/// ones.
const FRACTIONS: &[(usize, &[&str])] = &[
    (3, &["AB"]),
    (4, &["ABC"]),
    (5, &["ABCD"]),
    (5, &["AB", "AC"]),
    (6, &["ABCDE"]),
    (6, &["ABC", "BCD"]),
    (6, &["AB", "AC", "BC"]),
    (7, &["ABCDEF"]),
    (7, &["ABCD", "ABDE"]),
    (7, &["ABC", "BCD", "ACD"]),
    (7, &["AB", "AC", "BC", "ABC"]),
    (8, &["ABCDEFG"]),
    (8, &["ABCD", "ABEF"]),
    (8, &["ABC", "ABD", "BCDE"]),
    (8, &["BCD", "ACD", "ABC", "ABD"]),
];

/// For each arm and each factor, whether it is high; `None` if no design of the table has so few arms.
pub fn levels(factors: usize, max_arms: usize) -> Option<Vec<Vec<bool>>> {
    let full: &[&str] = &[];
    let fractions = FRACTIONS.iter().filter(|(n, _)| *n == factors).map(|(_, generators)| *generators);
    let designs = std::iter::once(full).chain(fractions);
    let generators = designs.into_iter().find(|generators| 1 << (factors - generators.len()) <= max_arms)?;
    let free = factors - generators.len();
    let arm = |number: usize| {
        let mut levels: Vec<bool> = (0..free).map(|factor| number >> factor & 1 == 1).collect();
        // A product of signs is the sum of their bits without carry.
        let product = |word: &&str| word.bytes().fold(false, |sum, letter| sum ^ levels[usize::from(letter - b'A')]);
        let generated: Vec<bool> = generators.iter().map(product).collect();
        levels.extend(generated);
        levels
    };
    Some((0..1 << free).map(arm).collect())
}

/// The arms of a design over the factors that can be set here; `refused` gives for each factor the reason why it
/// cannot.
pub fn arms(
    factors: &[PlannedFactor],
    refused: &[Option<String>],
    max_arms: usize,
) -> Result<(Vec<Arm>, Factorial), String> {
    let why = |factor: usize| refused.get(factor).cloned().flatten();
    let usable: Vec<usize> = (0..factors.len()).filter(|&factor| why(factor).is_none()).collect();
    if usable.is_empty() {
        let reasons: Vec<String> = refused.iter().flatten().cloned().collect();
        return Err(format!("none of the factors can be set here: {}", reasons.join("; ")));
    }
    let Some(designed) = levels(usable.len(), max_arms) else {
        return Err(format!(
            "max_arms = {max_arms} is too few for {} factors; give 16, or fewer factors",
            usable.len()
        ));
    };
    // Factors that are left out are listed as low and are never changed.
    let widened: Vec<Vec<bool>> = designed
        .iter()
        .map(|of_arm| {
            (0..factors.len()).map(|f| usable.iter().position(|&u| u == f).is_some_and(|at| of_arm[at])).collect()
        })
        .collect();
    let arm = |levels: &Vec<bool>| {
        let highs: Vec<&str> = usable.iter().filter(|&&f| levels[f]).map(|&f| factors[f].name.as_str()).collect();
        let name = if highs.is_empty() { "all low".to_owned() } else { highs.join(" + ") };
        let level = |f: &usize| if levels[*f] { &factors[*f].high } else { &factors[*f].low };
        let settings: Vec<Setting> = usable.iter().flat_map(|f| level(f).settings.iter().cloned()).collect();
        Arm { name, settings }
    };
    let arms = widened.iter().map(arm).collect();
    let factor = |(index, factor): (usize, &PlannedFactor)| Factor {
        name: factor.name.clone(),
        low: factor.low.spec(),
        high: factor.high.spec(),
        not_applied: why(index),
    };
    Ok((arms, Factorial { factors: factors.iter().enumerate().map(factor).collect(), levels: widened }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str) -> PlannedFactor {
        PlannedFactor {
            name: name.into(),
            low: Arm::parse("low", "").unwrap(),
            high: Arm::parse("high", &format!("sysctl:kernel.{name}=1")).unwrap(),
        }
    }

    /// The smallest number of factors whose product is the same in every arm.
    fn resolution(levels: &[Vec<bool>]) -> Option<usize> {
        let factors = levels[0].len();
        let constant = |word: &usize| {
            let sum = |arm: &Vec<bool>| (0..factors).filter(|f| word >> f & 1 == 1 && arm[*f]).count() % 2;
            levels.iter().all(|arm| sum(arm) == sum(&levels[0]))
        };
        (1usize..1 << factors).filter(constant).map(|word| word.count_ones() as usize).min()
    }

    #[test]
    fn every_design_is_balanced_and_as_good_as_its_table_says() {
        for (factors, max_arms, arms, expected) in [
            (2, 16, 4, None),
            (4, 16, 16, None),
            (3, 4, 4, Some(3)),
            (4, 8, 8, Some(4)),
            (5, 16, 16, Some(5)),
            (5, 8, 8, Some(3)),
            (6, 32, 32, Some(6)),
            (6, 16, 16, Some(4)),
            (6, 8, 8, Some(3)),
            (7, 64, 64, Some(7)),
            (7, 32, 32, Some(4)),
            (7, 16, 16, Some(4)),
            (7, 8, 8, Some(3)),
            (8, 128, 128, Some(8)),
            (8, 64, 64, Some(5)),
            (8, 32, 32, Some(4)),
            (8, 16, 16, Some(4)),
        ] {
            let designed = levels(factors, max_arms).unwrap();
            assert_eq!((designed.len(), resolution(&designed)), (arms, expected), "{factors} factors, {max_arms} arms");
            assert!(designed[0].iter().all(|high| !high), "the control is low in all");
            for f in 0..factors {
                assert_eq!(designed.iter().filter(|arm| arm[f]).count(), arms / 2);
            }
        }
        assert_eq!((levels(8, 8), levels(4, 3)), (None, None));
    }

    #[test]
    fn a_factor_that_cannot_be_set_is_left_out_of_every_arm() {
        let factors = ["a", "b", "c"].map(factor);
        let refused = [None, Some("no such file".to_owned()), None];
        let (arms, factorial) = arms(&factors, &refused, 16).unwrap();
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["all low", "a", "c", "a + c"]);
        assert_eq!(arms[3].spec(), "sysctl:kernel.a=1;sysctl:kernel.c=1");
        assert_eq!(factorial.levels[3], [true, false, true]);
        assert_eq!(factorial.factors[1].not_applied.as_deref(), Some("no such file"));
        let all = vec![Some("no".to_owned()); 3];
        assert!(super::arms(&factors, &all, 16).unwrap_err().contains("none of the factors"));
        assert!(super::arms(&factors, &[], 3).unwrap_err().contains("too few"));
    }
}
