//! What a lane means for a guest. [`crate::qemu`] determines how QEMU is started; this module determines what a seed of
//! the virtual lane does, and with which shift a guest starts.

use crate::job::Perturbation;
use crate::qemu_version;
pub use schedlab_plan::lane::{Accelerator, Lane, NoKvm, Provenance, Virtual, WantedAccelerator};

/// The shift with which a guest with that many CPUs starts in reasonable time. A tick must be many instructions long;
/// otherwise the guest only handles ticks, and CPUs that are brought up wait for one another in loops of a fixed count.
pub fn usual_shift(qemu_version: &str, cpus: u32) -> u8 {
    if cpus == 1 || qemu_version::shares_turns(qemu_version) { 3 } else { 7 }
}

/// A warning for a user whose guest with several CPUs would be very slow.
pub fn advice(lane: Lane, qemu_version: &str, cpus: u32) -> Option<String> {
    if !matches!(lane, Lane::Virtual(_)) || cpus == 1 || qemu_version::shares_turns(qemu_version) {
        return None;
    }
    let fix = qemu_version::FIX;
    Some(format!(
        "with QEMU {qemu_version} a virtual guest of {cpus} CPUs may never end, since one of them starves the others; {fix}, \
         or one CPU"
    ))
}

/// Switches off what a kernel does against vulnerabilities of Intel's CPUs but not of AMD's, if a translated CPU is an
/// Intel model only because it has threads: two guests that differ in their threads must not differ in this.
/// (Mitigations for both remain.)
pub const AS_ON_AMD: &[&str] = &["nopti", "mds=off", "l1tf=off", "indirect_target_selection=off"];

/// The most CPU time that each task uses before its workload starts, by default. It is twice the difference in CPU time
/// that CFS keeps between two tasks on a machine with two CPUs (half its latency of 12 ms), so that both extremes are
/// reached.
pub const USUAL_DITHER_US: u32 = 12_000;

/// Upper bounds of these harmless differences.
const MAX_PADDING: u64 = 64;
const MAX_FORKS: u64 = 32;
const TICK_MILLIONTHS: u64 = 1_000_000;

/// What the lane's seed changes in the guest before the command starts.
pub fn perturbation(lane: Lane) -> Perturbation {
    let Some([_, forks, spin]) = draws(lane) else { return Perturbation::default() };
    Perturbation { forks: (forks % MAX_FORKS) as u32, spin_tick_millionths: (spin % TICK_MILLIONTHS) as u32 }
}

/// What the seed adds to the command line: it moves memory and instruction counts a little.
pub fn padding(lane: Lane) -> Option<String> {
    let [length, ..] = draws(lane)?;
    Some(format!("schedlab.padding={}", "x".repeat((length % MAX_PADDING) as usize)))
}

/// `None` for the real lane, and for seed 0.
fn draws(lane: Lane) -> Option<[u64; 3]> {
    let Lane::Virtual(parameters) = lane else { return None };
    let [first, second, third] = [1, 2, 3].map(|place| parameters.draw(place));
    Some([first?, second?, third?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_what_each_qemu_starts_with() {
        assert_eq!((usual_shift("7.2.22", 1), usual_shift("7.2.22", 2)), (3, 7));
        assert_eq!((usual_shift("10.0.2", 64), usual_shift("unknown", 4)), (3, 7));
    }

    #[test]
    fn several_virtual_cpus_want_a_newer_qemu_and_one_sentence_says_so() {
        let lane = Lane::Virtual(Virtual { shift: 7, seed: 0, quantum_us: None, dither_us: 0 });
        let said = advice(lane, "7.2.22", 2).unwrap();
        assert!(said.contains("QEMU 7.2.22") && said.contains("QEMU 10 or newer") && !said.contains('\n'), "{said}");
        assert!(advice(lane, "unknown", 4).is_some());
        let real = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };
        for (lane, version, cpus) in
            [(lane, "7.2.22", 1), (lane, "10.0.2", 4), (lane, "11.0.0", 64), (real, "7.2.22", 2)]
        {
            assert_eq!(advice(lane, version, cpus), None);
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let of = |seed| {
            let lane = Lane::Virtual(Virtual { shift: 7, seed, quantum_us: None, dither_us: 0 });
            (perturbation(lane), padding(lane))
        };
        assert_eq!(of(0), (Perturbation::default(), None));
        assert_eq!(of(5), of(5));
        let all: Vec<_> = (1..=20).map(of).collect();
        assert!(all.iter().enumerate().all(|(i, one)| !all[..i].contains(one)), "{all:?}");
        let small = |(p, _): &(Perturbation, _)| p.forks < 32 && p.spin_tick_millionths < 1_000_000;
        assert!(all.iter().all(small));
        let real = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };
        assert_eq!((perturbation(real), padding(real)), (Perturbation::default(), None));
    }
}
