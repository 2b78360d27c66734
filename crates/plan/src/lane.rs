//! How time passed where a run was made: on a plain machine, or in one of the two lanes of a guest. In the **real**
//! lane it is the wall clock's. In the **virtual** lane it is counted in instructions, so that a run repeats bit by
//! bit, but shows nothing about caches or truly concurrent CPUs. Numbers of different lanes are never compared.
//!
//! A lane is on the guest's kernel command line, so it is in every manifest that the guest writes.

mod accelerator;

pub use accelerator::{Accelerator, NoKvm, WantedAccelerator};

use crate::manifest::Environment;
use crate::splitmix;
use crate::units::format_ns;
use std::fmt;

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Wall clock.
    Real {
        /// What runs the instructions.
        accelerator: Accelerator,
        /// The guest has more CPUs than the host, so nothing can be compared.
        oversubscribed: bool,
    },
    /// Instructions counted, one CPU after the other.
    Virtual(Virtual),
}

/// The virtual lane's parameters; all of them belong to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Virtual {
    /// An instruction takes 2^shift ns.
    pub shift: u8,
    /// Which harmless differences this boot has; 0: none. One seed is one sample.
    pub seed: u64,
    /// A CPU's turn ends after at most this, µs; without it, at the next timer.
    pub quantum_us: Option<u32>,
    /// Before its workload starts, each task uses up to this much CPU time, µs; the seed decides how much. 0: none.
    pub dither_us: u32,
}

impl Virtual {
    /// The number that a seed gives at a place of its sequence, from 1 (splitmix64); `None` for seed 0, which varies
    /// nothing. The first three are the boot's, the others the tasks' ([`Dither`]).
    pub fn draw(&self, place: u64) -> Option<u64> {
        let state = (self.seed != 0).then(|| self.seed.wrapping_add(place.wrapping_mul(splitmix::STEP)));
        state.map(splitmix::mixed)
    }

    /// What the tasks of a workload do before it starts; nothing with seed 0.
    pub fn dither(self) -> Option<Dither> {
        (self.seed != 0 && self.dither_us != 0).then_some(Dither(self))
    }
}

/// CPU time that each task of a workload uses before it is ready. Which of two tasks has had more CPU time decides for
/// hundreds of milliseconds whether one preempts the other. Without the dither, whatever a kernel does before the start
/// would decide it, differently in each arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dither(Virtual);

impl Dither {
    /// Places of the sequence before the tasks'.
    const OF_THE_BOOT: u64 = 3;

    /// The time of a task, ns, uniform between 0 and the lane's maximum.
    pub fn ns_of(self, task: usize) -> u64 {
        let draw = self.0.draw(Self::OF_THE_BOOT + 1 + task as u64).unwrap_or(0);
        let most_ns = u64::from(self.0.dither_us) * 1000;
        ((u128::from(draw) * u128::from(most_ns)) >> 64) as u64
    }
}

/// What the results of a guest were made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// How time passed.
    pub lane: Lane,
    /// QEMU's version; in the virtual lane it decides how CPUs take turns.
    pub qemu: String,
    /// Real lane: why KVM was not used, if it was not and if the reason was recorded.
    pub no_kvm: Option<NoKvm>,
}

impl Provenance {
    /// Words for the kernel's command line. The kernel takes a word with a dot for a parameter of a module that is not
    /// loaded.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |key: &str, value: &dyn fmt::Display| words.push(format!("schedlab.{key}={value}"));
        match self.lane {
            Lane::Real { accelerator, oversubscribed } => {
                say("lane", &"real");
                say("accelerator", &accelerator);
                if let Some(why) = self.no_kvm {
                    say("kvm", &why.word());
                }
                if oversubscribed {
                    say("oversubscribed", &1);
                }
            }
            Lane::Virtual(Virtual { shift, seed, quantum_us, dither_us }) => {
                say("lane", &"virtual");
                say("shift", &shift);
                say("seed", &seed);
                if dither_us != 0 {
                    say("dither_us", &dither_us);
                }
                if let Some(us) = quantum_us {
                    say("quantum_us", &us);
                }
            }
        }
        say("qemu", &self.qemu);
        words
    }

    /// The lane in those words; `None` for a machine that is not one of our guests.
    pub fn of_command_line(line: &str) -> Option<Self> {
        let word = |key: &str| {
            let words = line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("schedlab."));
            words.filter_map(|word| word.split_once('=')).find(|(k, _)| *k == key).map(|(_, value)| value)
        };
        let lane = match word("lane")? {
            "real" => {
                let accelerator = if word("accelerator") == Some("kvm") { Accelerator::Kvm } else { Accelerator::Tcg };
                Lane::Real { accelerator, oversubscribed: word("oversubscribed").is_some() }
            }
            "virtual" => Lane::Virtual(Virtual {
                shift: word("shift")?.parse().ok()?,
                seed: word("seed")?.parse().ok()?,
                quantum_us: word("quantum_us").and_then(|us| us.parse().ok()),
                // Earlier versions did not write it.
                dither_us: word("dither_us").and_then(|us| us.parse().ok()).unwrap_or(0),
            }),
            _ => return None,
        };
        let no_kvm = word("kvm").and_then(|text| NoKvm::ALL.into_iter().find(|why| why.word() == text));
        Some(Self { lane, qemu: word("qemu").unwrap_or_default().to_owned(), no_kvm })
    }

    /// What two samples of one population share: everything but the seed.
    fn population(self) -> Self {
        match self.lane {
            Lane::Virtual(parameters) => Self { lane: Lane::Virtual(Virtual { seed: 0, ..parameters }), ..self },
            // A newer QEMU is another machine, but not another kind of time; the reason for not using KVM is neither.
            Lane::Real { .. } => Self { qemu: String::new(), no_kvm: None, ..self },
        }
    }
}

impl Provenance {
    /// As text; without the seed if many runs, or the trials of one run, are meant.
    fn say(&self, f: &mut dyn fmt::Write, with_seed: bool) -> fmt::Result {
        match self.lane {
            Lane::Real { accelerator, oversubscribed } => {
                write!(f, "real, {accelerator}{}", if oversubscribed { ", oversubscribed" } else { "" })?;
            }
            Lane::Virtual(Virtual { shift, seed, quantum_us, dither_us }) => {
                write!(f, "virtual, shift {shift}")?;
                if with_seed {
                    write!(f, ", seed {seed}")?;
                }
                if dither_us != 0 {
                    write!(f, ", dither up to {}", format_ns(u64::from(dither_us) * 1000))?;
                }
                if let Some(us) = quantum_us {
                    write!(f, ", turns of at most {}", format_ns(u64::from(us) * 1000))?;
                }
            }
        }
        if self.qemu.is_empty() { Ok(()) } else { write!(f, ", QEMU {}", self.qemu) }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say(f, true)
    }
}

/// A word on the command line of a guest that resumed from a saved state: its seed is the boot's, and an order's seed
/// is the sample's.
pub const KEPT: &str = "schedlab.kept=1";

/// A word for a guest's command line that distinguishes its kernel from another build of the same release. It is only
/// the image's checksum, which has the same length for each kernel, so that two guests of one seed differ in nothing
/// else.
pub fn kernel_word(crc32: u32) -> String {
    format!("schedlab.kernel={crc32:08x}")
}

/// The image's CRC-32 in that word, as text.
pub fn kernel_of(command_line: &str) -> Option<&str> {
    command_line.split_ascii_whitespace().find_map(|word| word.strip_prefix("schedlab.kernel="))
}

/// What the times of a run in a guest mean, and what they cannot show: a sentence for its report. `None` for hardware
/// and for KVM, where the guest's code runs natively.
pub fn caveat(environment: &Environment) -> Option<String> {
    Provenance::of_command_line(&environment.cmdline)?.caveat()
}

impl Provenance {
    /// The same for one result.
    pub fn caveat(&self) -> Option<String> {
        let qemu = &self.qemu;
        let no_kvm = self.no_kvm.map(|no_kvm| format!("; without KVM, since {}", no_kvm.why())).unwrap_or_default();
        match self.lane {
            Lane::Virtual(Virtual { shift, .. }) => Some(format!(
                "Times are virtual (QEMU {qemu}, shift {shift}): each instruction takes {} ns, and CPUs run one after the \
                 other. Switches, wakeups, placement and orders of events are exact and repeat with their seed; no time is a \
                 latency, and caches, memory and what CPUs do at once are not in it.",
                1_u32.checked_shl(shift.into()).unwrap_or_default()
            )),
            Lane::Real { accelerator: Accelerator::Tcg, .. } => Some(format!(
                "Times are those of translated code (QEMU {qemu}{no_kvm}), 10 to 50 times slower than hardware, and not evenly: they \
                 compare with each other, and none is the hardware's."
            )),
            Lane::Real { accelerator: Accelerator::Kvm, .. } => None,
        }
    }
}

/// What to do if equal arms were measured to differ: in the real lane the host may change during the run, in the
/// virtual lane it cannot affect the result.
pub fn apart(environment: &Environment) -> &'static str {
    match Provenance::of_command_line(&environment.cmdline).map(|made_by| made_by.lane) {
        Some(Lane::Virtual(_)) => {
            "run it with another `first_seed`: nothing on the host moves what is counted in instructions"
        }
        Some(Lane::Real { .. }) => {
            "`schedlab doctor` on the guest's host names what moves by itself, such as the frequency"
        }
        None => "`schedlab doctor` names what moves by itself, such as the frequency",
    }
}

/// Why a run gets no verdict at all.
pub fn worthless(environment: &Environment) -> Option<String> {
    let made_by = Provenance::of_command_line(&environment.cmdline)?;
    let reason = "the guest had more CPUs than its host (--oversubscribe): they waited for each other";
    matches!(made_by.lane, Lane::Real { oversubscribed: true, .. }).then(|| reason.to_owned())
}

/// Why the numbers of two machines cannot be compared, if their lanes do not allow it.
pub fn differ(a: &Environment, b: &Environment) -> Option<String> {
    let of = |e: &Environment| Provenance::of_command_line(&e.cmdline).map(Provenance::population);
    let (a, b) = (of(a), of(b));
    if a == b {
        return None;
    }
    let words = |p: Option<Provenance>| match p {
        None => "no guest of schedlab".to_owned(),
        Some(p) => format!("a guest ({})", fmt::from_fn(|f| p.say(f, false))),
    };
    Some(format!("one was made in {}, the other in {}: time means something else there", words(a), words(b)))
}

#[cfg(test)]
mod tests;
