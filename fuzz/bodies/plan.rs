//! What must hold for any text given as a PLAN.toml; shared by the fuzz target and the replay of its corpus.

use schedlab_plan::Plan;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Plan::parse(text) {
        Ok(plan) => assert_eq!(Plan::parse(&plan.to_toml()), Ok(plan)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
