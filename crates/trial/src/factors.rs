//! Which factors of a factorial can be set on this host, found out before the run begins. If a factor is left out at
//! the start, the design of the others is balanced; if one fails later, it is not.

use anyhow::{Context, Result};
use schedlab_plan::factorial::PlannedFactor;
use schedlab_plan::{Applied, Plan, Setting};
use schedlab_tune::Roots;

/// For each factor why it cannot be set here, or `None` if it can. Each level is applied to the host by `apply`, read
/// back and undone. Whether the kernel honours a per-task setting is known only from a trial.
pub fn refused(
    plan: &Plan,
    roots: &Roots,
    apply: &mut dyn FnMut(&[Setting]) -> Result<Vec<Applied>>,
) -> Result<Vec<Option<String>>> {
    let mut refused = Vec::new();
    for factor in &plan.factors {
        let mut why = lacks(roots, factor, |setting| !setting.is_host_wide());
        for level in [&factor.low, &factor.high] {
            let on_host: Vec<Setting> = level.settings.iter().filter(|s| s.is_host_wide()).cloned().collect();
            if why.is_none() && !on_host.is_empty() {
                let applied = apply(&on_host).with_context(|| format!("factor `{}`", factor.name))?;
                why = applied.into_iter().find_map(|a| a.not_applied.map(|why| format!("{}: {why}", a.setting)));
            }
        }
        refused.push(why);
    }
    apply(&[]).context("the host's settings could not be restored")?;
    Ok(refused)
}

/// The same, as far as rights and files show it, for a dry run: nothing is tried.
pub fn lacking(plan: &Plan, roots: &Roots) -> Vec<Option<String>> {
    plan.factors.iter().map(|factor| lacks(roots, factor, |_| true)).collect()
}

/// What a setting of the factor needs and this process does not have.
fn lacks(roots: &Roots, factor: &PlannedFactor, of: impl Fn(&Setting) -> bool) -> Option<String> {
    let settings: Vec<Setting> =
        factor.low.settings.iter().chain(&factor.high.settings).filter(|s| of(s)).cloned().collect();
    let missing = schedlab_tune::needs(roots, &settings).into_iter().find(|need| need.met == Some(false))?;
    Some(format!("{} needs {}", missing.setting, missing.what.unwrap_or_default()))
}
