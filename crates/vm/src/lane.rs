//! The two lanes. In the **real** lane time passes as on the host; in the **virtual** lane it is counted in instructions,
//! so a run repeats to the bit and tells nothing of caches or of CPUs that truly run at once. They are never compared.
//!
//! A lane writes what it is on the guest's command line, so that it is in every manifest.

use crate::job::Perturbation;

/// What runs the guest's instructions in the real lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The host's CPUs, by /dev/kvm.
    Kvm,
    /// Translation, a host thread for each CPU.
    Tcg,
}

/// How time passes in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Wall clock.
    Real {
        /// By what.
        accelerator: Accelerator,
        /// More CPUs than the host has: nothing of it can be compared.
        oversubscribed: bool,
    },
    /// Instructions counted, one CPU after the other.
    Virtual(Virtual),
}

/// The virtual lane's parameters, all part of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Virtual {
    /// An instruction takes 2^shift ns.
    pub shift: u8,
    /// Which of the harmless differences this boot has; 0: none.
    pub seed: u64,
    /// A CPU's turn ends after at most this, µs; without it, at the next timer.
    pub quantum_us: Option<u32>,
}

/// The smallest shift with which a guest of that many CPUs starts in reasonable time. Before QEMU 8 a CPU keeps its turn
/// until the next timer, and CPUs that are brought up wait for one another for too few of their own instructions.
pub fn usual_shift(qemu_version: &str, cpus: u32) -> u8 {
    let major = qemu_version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0u32);
    match (major, cpus) {
        (_, 1) => 3,
        (10.., _) => 1,
        _ => 7,
    }
}

/// Most of each harmless difference.
const MOST_PADDING: u64 = 64;
const MOST_FORKS: u64 = 32;

impl Virtual {
    /// What the seed does in the guest before the command starts.
    pub fn perturbation(&self) -> Perturbation {
        let [_, forks, spin] = self.draws();
        if self.seed == 0 {
            return Perturbation::default();
        }
        Perturbation { forks: (forks % MOST_FORKS) as u32, spin_tick_millionths: (spin % 1_000_000) as u32 }
    }

    /// What the seed adds to the command line: it moves memory and instruction counts a little.
    fn padding(&self) -> String {
        let [padding, ..] = self.draws();
        let length = if self.seed == 0 { 0 } else { (padding % MOST_PADDING) as usize };
        "x".repeat(length)
    }

    /// splitmix64 of the seed.
    fn draws(&self) -> [u64; 3] {
        let mut state = self.seed;
        std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }
}

impl Lane {
    /// `real` or `virtual`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Real { .. } => "real",
            Self::Virtual(_) => "virtual",
        }
    }

    /// Words for the kernel's command line, which takes what has a dot in it for a parameter of a module that is not
    /// there: what made this result, and what a seed adds.
    pub fn provenance(&self, qemu_version: &str) -> Vec<String> {
        let mut words = vec![format!("schedlab.lane={}", self.name()), format!("schedlab.qemu={qemu_version}")];
        match self {
            Self::Real { accelerator, oversubscribed } => {
                let by = if *accelerator == Accelerator::Kvm { "kvm" } else { "tcg" };
                words.push(format!("schedlab.accelerator={by}"));
                words.extend(oversubscribed.then(|| "schedlab.oversubscribed=1".to_owned()));
            }
            Self::Virtual(parameters) => {
                words.push(format!("schedlab.shift={}", parameters.shift));
                words.push(format!("schedlab.seed={}", parameters.seed));
                words.extend(parameters.quantum_us.map(|us| format!("schedlab.quantum={us}us")));
                let padding = parameters.padding();
                words.extend((!padding.is_empty()).then(|| format!("schedlab.padding={padding}")));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_says_what_it_is() {
        let real = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: true };
        let expected = "schedlab.lane=real schedlab.qemu=7.2.22 schedlab.accelerator=tcg schedlab.oversubscribed=1";
        assert_eq!(real.provenance("7.2.22").join(" "), expected);
        let still = Lane::Virtual(Virtual { shift: 7, seed: 0, quantum_us: Some(50) });
        let expected = "schedlab.lane=virtual schedlab.qemu=7.2.22 schedlab.shift=7 schedlab.seed=0 schedlab.quantum=50us";
        assert_eq!(still.provenance("7.2.22").join(" "), expected);
    }

    #[test]
    fn the_shift_is_what_each_qemu_starts_with() {
        assert_eq!((usual_shift("7.2.22", 1), usual_shift("7.2.22", 2)), (3, 7));
        assert_eq!((usual_shift("10.0.2", 64), usual_shift("unknown", 4)), (1, 7));
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let of = |seed| {
            let lane = Virtual { shift: 7, seed, quantum_us: None };
            (lane.perturbation(), lane.padding())
        };
        assert_eq!(of(0), (Perturbation::default(), String::new()));
        assert_eq!(of(5), of(5));
        let all: Vec<_> = (1..=20).map(of).collect();
        let different = all.iter().enumerate().all(|(i, one)| !all[..i].contains(one));
        assert!(different, "{all:?}");
        assert!(all.iter().all(|(p, pad)| {
            p.forks < 32 && p.spin_tick_millionths < 1_000_000 && (pad.len() as u64) < MOST_PADDING
        }));
    }
}
