//! The toggles that a study varies: those of the arms' kernels that no arm sets and that the user wants.

use super::refused;
use anyhow::{Result, bail};
use schedlab_plan::factorial::Toggles;
use schedlab_plan::{Arm, Plan, Setting};

/// A toggle, and its settings in each arm; empty if the arm's kernel has no toggle of that name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    pub(super) name: String,
    pub(super) in_arms: [Vec<Setting>; 2],
}

/// What is varied, and what is not, with the reason.
pub(super) struct Varied {
    pub(super) factors: Vec<Factor>,
    pub(super) left_out: Vec<String>,
}

/// If `only` is not empty, only the toggles in it; none in `without`.
pub(super) fn varied(plan: &Plan, toggles: &[Toggles; 2], only: &[String], without: &[String]) -> Result<Varied> {
    let mut left_out: Vec<String> = Vec::new();
    for line in toggles.iter().flat_map(|toggles| &toggles.left_out) {
        if !left_out.contains(line) {
            left_out.push(line.clone());
        }
    }
    let mut factors = factors(plan, toggles, &mut left_out);
    let known: Vec<&str> = factors.iter().map(|f| f.name.as_str()).collect();
    for name in only.iter().chain(without) {
        if !known.contains(&name.as_str()) {
            let near = schedlab_plan::nearest::nearest(name, known.iter().copied());
            let mut why = format!("`{name}` is not a toggle of this plan's kernels; ");
            why += &match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("these are: {}", known.join(", ")),
            };
            if near.is_none() && !left_out.is_empty() {
                why += &format!("; not to be switched: {}", left_out.join("; "));
            }
            return refused(why);
        }
    }
    let wanted = |name: &String| (only.is_empty() || only.contains(name)) && !without.contains(name);
    let there_were = factors.len();
    factors.retain(|factor| wanted(&factor.name));
    if factors.is_empty() && there_were > 0 {
        return refused("--without leaves none of the toggles: name fewer, or others with --only".into());
    }
    if factors.is_empty() {
        let why = left_out.first().map_or("no toggle is left", String::as_str);
        bail!(
            "nothing can be switched here: {why}; a guest's kernel can: give the plan a `[guest]` table with \
             `kernel = \"debian:6.12\"` (docs/vm.md)"
        );
    }
    Ok(Varied { factors, left_out })
}

/// The toggles that the kernel of some arm has and no arm sets; those that are set are added to `left_out`.
fn factors(plan: &Plan, toggles: &[Toggles; 2], left_out: &mut Vec<String>) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for (arm, of_arm) in toggles.iter().enumerate() {
        for toggle in &of_arm.factors {
            let keys: Vec<String> = toggle.high.settings.iter().map(|setting| setting.key()).collect();
            let is_set = |arm: &Arm| arm.settings.iter().any(|setting| keys.contains(&setting.key()));
            if let Some(by) = plan.arms.iter().find(|arm| is_set(arm)) {
                let line = format!("{}: arm `{}` sets it", toggle.name, by.name);
                if !left_out.contains(&line) {
                    left_out.push(line);
                }
                continue;
            }
            let known = factors.iter().position(|factor| factor.name == toggle.name);
            let at = known.unwrap_or_else(|| {
                factors.push(Factor { name: toggle.name.clone(), in_arms: Default::default() });
                factors.len() - 1
            });
            factors[at].in_arms[arm].clone_from(&toggle.high.settings);
        }
    }
    factors
}
