//! How a check is written: id and title, then its outcome, why that matters, where it was read, what to do.

use schedlab_plan::{Check, CheckState};

/// A check being written.
pub(crate) struct Draft(Check);

/// Starts a check.
pub(crate) fn check(id: &str, title: &str) -> Draft {
    Draft(Check {
        id: id.to_owned(),
        title: title.to_owned(),
        state: CheckState::Info,
        value: String::new(),
        effect: String::new(),
        evidence: String::new(),
        fix: String::new(),
    })
}

impl Draft {
    fn state(mut self, state: CheckState, value: impl Into<String>, effect: &str) -> Self {
        self.0.state = state;
        self.0.value = value.into();
        self.0.effect = effect.to_owned();
        self
    }

    /// As it should be.
    pub(crate) fn good(self, value: impl Into<String>, effect: &str) -> Self {
        self.state(CheckState::Good, value, effect)
    }

    /// A fact worth knowing.
    pub(crate) fn info(self, value: impl Into<String>, effect: &str) -> Self {
        self.state(CheckState::Info, value, effect)
    }

    /// It distorts or widens results.
    pub(crate) fn warning(self, value: impl Into<String>, effect: &str) -> Self {
        self.state(CheckState::Warning, value, effect)
    }

    /// Something cannot be measured or known on this machine.
    pub(crate) fn unavailable(self, value: impl Into<String>, effect: &str) -> Self {
        self.state(CheckState::Unavailable, value, effect)
    }

    /// What to do about it.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.0.fix = fix.into();
        self
    }

    /// Where it was read; completes the check.
    pub(crate) fn evidence(mut self, evidence: impl Into<String>) -> Check {
        self.0.evidence = evidence.into();
        self.0
    }
}
