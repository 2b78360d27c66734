//! The meaning of a state's letters. Those that the kernel itself prints are taken as they are. libtraceevent's plugin,
//! whose wording `trace-cmd report` and `perf script` print, used the letters `SDTtZXxW` for the eight lowest bits of
//! every kernel until 2023, and it has no `+`.

use crate::prev_state::StateId;
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::Dictionary;

/// What is known about the letters of a text.
#[derive(Debug, Default)]
pub(super) struct Letters {
    /// Whether the kernel has the bits of 4.14; `None` as long as no state shows it. Only for the plugin's wording.
    is_since_4_14: Option<bool>,
    /// States that are bare numbers, whose letters were guessed.
    guessed: u64,
    /// Number of states that the plugin's letter leaves open.
    unknown: u64,
    /// Whether a thread left its CPU as `R` in wording that has no `+`.
    pub(super) hides_preemption: bool,
}

impl Letters {
    /// A state from letters, or from a bare number in a trace without formats.
    pub(super) fn state(&mut self, text: &str, dictionary: &mut Dictionary) -> StateId {
        let raw = text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
        let Some(raw) = raw else { return dictionary.states.of_letters(text) };
        // Up to 8 (traced), numbers mean the same in all kernels.
        self.guessed += u64::from(raw > 8);
        dictionary.states.of_raw(raw).unwrap_or(StateId::UNKNOWN)
    }

    /// The plugin's letters.
    pub(super) fn of_plugin(&mut self, text: &str, is_idle: bool, dictionary: &mut Dictionary) -> StateId {
        self.hides_preemption |= text == "R" && !is_idle;
        let meant = match (text, self.is_since_4_14) {
            // 0x80 alone. Older kernels have it only together with other bits, as `D|W`.
            ("W", _) => "I",
            // 0x40: a dead thread before 4.14, a parked one since.
            ("x", Some(true)) => "P",
            ("x", None) => {
                self.unknown += 1;
                return StateId::UNKNOWN;
            }
            _ => text,
        };
        match text {
            // Before 4.14 no thread leaves its CPU for good with 0x10 or 0x20.
            "W" | "I" | "X" | "Z" => self.is_since_4_14 = Some(true),
            // Since 4.14 there is only one bit.
            _ if text.contains('|') => self.is_since_4_14 = Some(false),
            _ => {}
        }
        dictionary.states.of_letters(meant)
    }

    /// Reports which states are not certain.
    pub(super) fn report(&self, problems: &mut Problems) {
        if self.guessed > 0 {
            problems.add_many(ProblemKind::GuessedStates, self.guessed, || {
                "prev_state is a bare number whose letters differ between kernels; they are guessed".into()
            });
        }
        if self.unknown > 0 {
            problems.add_many(ProblemKind::GuessedStates, self.unknown, || {
                "prev_state `x` of trace-cmd's plugin is a dead thread before Linux 4.14 and a parked one since, and the text \
                 does not show the kernel; taken as unknown"
                    .into()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StateClass;

    /// The class of each state of a text in the plugin's wording.
    fn classes(letters: &[&str]) -> (Vec<StateClass>, Letters) {
        let (mut known, mut dictionary) = (Letters::default(), Dictionary::default());
        let states = letters.iter().map(|text| {
            let state = known.of_plugin(text, false, &mut dictionary);
            dictionary.states.class(state)
        });
        (states.collect(), known)
    }

    #[test]
    fn the_plugins_letters_mean_what_the_kernel_did() {
        use StateClass::{Dead, Idle, Interruptible, Runnable, Stopped, Uninterruptible, Unknown};
        // Since 4.14: idle kthreads are `W`, a parked one is `x`, a zombie `X`.
        assert_eq!(classes(&["S", "W", "x", "X"]).0, [Interruptible, Idle, Stopped, Dead]);
        assert_eq!(classes(&["Z", "x"]).0, [Dead, Stopped]);
        // Before 4.14: `D|W` is a killable sleep, and `x` is dead.
        assert_eq!(classes(&["D|W", "x"]).0, [Uninterruptible, Dead]);
        // So far nothing shows which kernel it is.
        let (states, known) = classes(&["R", "x", "I", "x"]);
        assert_eq!(states, [Runnable, Unknown, Idle, Stopped]);
        let mut problems = Problems::default();
        known.report(&mut problems);
        assert_eq!((problems.count(ProblemKind::GuessedStates), known.hides_preemption), (1, true));
    }
}
