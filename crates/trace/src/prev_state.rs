//! Why a thread left its CPU, in the source's own letters. The bits of `prev_state` changed with 4.8 and 4.14, so they
//! are taken from the print format of the trace's `sched_switch`, never from a fixed table. Only for text traces that
//! print a bare number do we have to guess, and these states are marked as guesses.

use crate::expression;

/// A state's number in its trace's [`PrevStates`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateId(u8);

impl StateId {
    /// The source does not contain it.
    pub const UNKNOWN: Self = Self(0);
}

/// What a state means to an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateClass {
    /// The source does not contain it.
    Unknown,
    /// `R`: `schedule()` while runnable: preempted on the way to user mode, or a yield.
    Runnable,
    /// `R+`: preempted inside the kernel, in whatever state it was.
    Preempted,
    /// `S`.
    Interruptible,
    /// `D`.
    Uninterruptible,
    /// `I`: a kernel thread that waits without counting towards the load.
    Idle,
    /// `T`, `t`, `P`: stopped, traced, parked.
    Stopped,
    /// `Z`, `X`: will not run again.
    Dead,
    /// A state letter that is not interpreted.
    Other,
}

impl StateClass {
    /// The thread still wants the CPU: the kernel counts an involuntary switch.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable | Self::Preempted)
    }

    /// The kernel's letter for a sleep, `?` for other states.
    pub fn sleep_letter(self) -> &'static str {
        match self {
            Self::Interruptible => "S",
            Self::Uninterruptible => "D",
            Self::Idle => "I",
            Self::Stopped => "T",
            _ => "?",
        }
    }

    fn of(letters: &str) -> Self {
        let has = |wanted: &str| letters.split(['|', '+']).any(|letter| wanted.split(' ').any(|w| w == letter));
        match letters {
            "?" => Self::Unknown,
            _ if letters.ends_with('+') => Self::Preempted,
            "R" => Self::Runnable,
            _ if has("X x Z") => Self::Dead,
            // 4.8 … 4.13 print TASK_IDLE as D|N: uninterruptible, no load.
            _ if letters == "I" || has("D") && has("N n") => Self::Idle,
            _ if has("D") => Self::Uninterruptible,
            _ if has("S") => Self::Interruptible,
            _ if has("T t P") => Self::Stopped,
            _ => Self::Other,
        }
    }
}

const SINCE_4_14: [(u64, &str); 8] =
    [(1, "S"), (2, "D"), (4, "T"), (8, "t"), (0x10, "X"), (0x20, "Z"), (0x40, "P"), (0x80, "I")];

const PREEMPTED_SINCE_4_14: u64 = 0x100;

/// The bits of `prev_state` in one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateBits {
    flags: Vec<(u64, String)>,
    preempted: Option<u64>,
    /// The kernel writes at most one of these bits (since 4.14, whose letters lack the K of older ones): anything else
    /// is damage. Source: `__trace_sched_switch_state` in include/trace/events/sched.h.
    is_one: bool,
}

impl StateBits {
    /// From the print format of `sched_switch`; `None` if it contains no flags.
    pub fn parse(print_fmt: &str) -> Option<Self> {
        let of = print_fmt.find("__print_flags(REC->prev_state")?;
        let mut rest = &print_fmt[of..];
        let mut flags = Vec::new();
        // The list ends when a parenthesis comes before the next brace.
        while let Some(open) = rest.find('{') {
            let close = open + rest[open..].find('}')?;
            let (number, letter) = rest[open + 1..close].split_once(',')?;
            let bit = expression::evaluate(number)?;
            let letter: String = letter.trim().trim_matches('"').chars().filter(|c| !c.is_control()).collect();
            // This is how the kernel prints a bit without a name.
            flags.push((bit, if letter.is_empty() { format!("{bit:#x}") } else { letter }));
            rest = &rest[close + 1..];
            if flags.len() > 64 || rest.trim_start().starts_with(')') {
                break;
            }
        }
        let preempted = preempted_bit(print_fmt);
        let is_one = preempted.is_some() && flags.iter().all(|(_, letter)| "SDTtXZPI".contains(letter.as_str()));
        Some(Self { flags, preempted, is_one }).filter(|bits| !bits.flags.is_empty())
    }

    /// What a number may mean if no format is available: the letters that 0, 1, 2, 4 and 8 had at all times, and a `+`
    /// for the bit that meant it in 4.14 and newer, in 4.8 … 4.13, or before.
    pub fn guess() -> Self {
        let flags = [(1, "S"), (2, "D"), (4, "T"), (8, "t"), (0x10, "Z"), (0x20, "Z"), (0x40, "X"), (0x80, "I")];
        let flags = flags.into_iter().map(|(bit, letter)| (bit, letter.to_owned())).collect();
        Self { flags, preempted: Some(0x100 | 0x800 | 0x1000), is_one: false }
    }

    /// The bits of 4.14 and newer, for traces that contain the kernel's numbers without its formats.
    pub fn since_4_14() -> Self {
        let flags = SINCE_4_14.map(|(bit, letter)| (bit, letter.to_owned())).into();
        // A trace that we convert from an older kernel may contain its `S+`.
        Self { flags, preempted: Some(PREEMPTED_SINCE_4_14), is_one: false }
    }

    /// The number of a state in 4.14 and newer, from its letters; `None` if these kernels do not have it.
    pub(crate) fn number_since_4_14(letters: &str) -> Option<u64> {
        let (letters, plus) = letters.strip_suffix('+').map_or((letters, 0), |rest| (rest, PREEMPTED_SINCE_4_14));
        if letters == "R" {
            return Some(plus);
        }
        // 4.8 … 4.13 had no separate letter for this one.
        if matches!(letters, "D|N" | "D|n") {
            return Some(0x80 | plus);
        }
        // Older kernels distinguished a dead thread from one about to die, and marked that a signal may end an
        // uninterruptible sleep.
        let letters = if letters == "x" { "X" } else { letters.strip_suffix("|K").unwrap_or(letters) };
        let bit = |letter: &str| SINCE_4_14.into_iter().find(|(_, l)| *l == letter).map(|(bit, _)| bit);
        letters.split('|').map(bit).try_fold(plus, |sum, bit| Some(sum | bit?))
    }

    /// Whether a kernel with these bits writes this value.
    fn has(&self, raw: u64) -> bool {
        !self.is_one || raw == 0 || self.preempted == Some(raw) || self.flags.iter().any(|(bit, _)| *bit == raw)
    }

    fn letters(&self, raw: u64) -> String {
        let set: Vec<&str> = self.flags.iter().filter(|(bit, _)| raw & bit != 0).map(|(_, l)| l.as_str()).collect();
        let plus = if self.preempted.is_some_and(|bit| raw & bit != 0) { "+" } else { "" };
        if set.is_empty() { format!("R{plus}") } else { format!("{}{plus}", set.join("|")) }
    }
}

/// The bit that prints as `+`.
fn preempted_bit(print_fmt: &str) -> Option<u64> {
    let before = &print_fmt[..print_fmt.find("? \"+\"")?];
    const OF: &str = "REC->prev_state &";
    let from = before.rfind(OF)? + OF.len();
    expression::evaluate(&before[from..])
}

/// Raw values below this are looked up in an array. Kernels use up to 0x1fff.
const DIRECT: usize = 8192;

/// The states of a trace.
#[derive(Debug)]
pub struct PrevStates {
    bits: StateBits,
    states: Vec<(String, StateClass)>,
    direct: Box<[StateId; DIRECT]>,
}

impl Default for PrevStates {
    fn default() -> Self {
        let direct = Box::new([StateId::UNKNOWN; DIRECT]);
        Self { bits: StateBits::guess(), states: vec![("?".into(), StateClass::Unknown)], direct }
    }
}

impl PrevStates {
    /// For a kernel with known bits.
    pub fn new(bits: StateBits) -> Self {
        Self { bits, ..Self::default() }
    }

    /// The state's letters, such as `S`, `R+` or `D|K`; `?` if unknown.
    pub fn letters(&self, id: StateId) -> &str {
        self.states.get(usize::from(id.0)).map_or("?", |s| &s.0)
    }

    /// What it means.
    #[inline]
    pub fn class(&self, id: StateId) -> StateClass {
        self.states.get(usize::from(id.0)).map_or(StateClass::Unknown, |s| s.1)
    }

    /// The classes by number of the state, for loops that look them up in their own array.
    pub fn classes(&self) -> Vec<StateClass> {
        self.states.iter().map(|s| s.1).collect()
    }

    /// The state for a raw `prev_state`; `None` if the kernel does not write it.
    #[inline]
    pub(crate) fn of_raw(&mut self, raw: u64) -> Option<StateId> {
        match self.direct.get(raw as usize) {
            Some(id) if *id != StateId::UNKNOWN => Some(*id),
            _ => self.of_new_raw(raw),
        }
    }

    #[cold]
    fn of_new_raw(&mut self, raw: u64) -> Option<StateId> {
        if !self.bits.has(raw) {
            return None;
        }
        let raw = raw & (DIRECT as u64 - 1);
        let letters = self.bits.letters(raw);
        let id = self.of_letters(&letters);
        self.direct[raw as usize] = id;
        Some(id)
    }

    /// The state for letters as text traces print them. Beyond 255 states, a new one becomes unknown.
    pub fn of_letters(&mut self, letters: &str) -> StateId {
        if let Some(at) = self.states.iter().position(|s| s.0 == letters) {
            return StateId(at as u8);
        }
        let Ok(id) = u8::try_from(self.states.len()) else { return StateId::UNKNOWN };
        self.states.push((letters.chars().take(32).collect(), StateClass::of(letters)));
        StateId(id)
    }
}

impl StateId {
    /// The number as an index into [`PrevStates::classes`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
mod tests;
