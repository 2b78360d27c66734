//! What a lane means for a guest: how QEMU is started follows in [`crate::qemu`]; here is what a seed of the virtual
//! lane does, and which shift a guest starts with.

use crate::job::Perturbation;
pub use schedlab_run::lane::{Accelerator, Lane, Provenance, Virtual};

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
const TICK_MILLIONTHS: u64 = 1_000_000;

/// What the lane's seed does in the guest before the command starts.
pub fn perturbation(lane: Lane) -> Perturbation {
    let Some([_, forks, spin]) = draws(lane) else { return Perturbation::default() };
    Perturbation { forks: (forks % MOST_FORKS) as u32, spin_tick_millionths: (spin % TICK_MILLIONTHS) as u32 }
}

/// What the seed adds to the command line: it moves memory and instruction counts a little.
pub fn padding(lane: Lane) -> Option<String> {
    let [length, ..] = draws(lane)?;
    Some(format!("schedlab.padding={}", "x".repeat((length % MOST_PADDING) as usize)))
}

/// splitmix64 of a seed; none for the real lane, and for seed 0.
fn draws(lane: Lane) -> Option<[u64; 3]> {
    let Lane::Virtual(Virtual { seed: mut state @ 1.., .. }) = lane else { return None };
    Some(std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_what_each_qemu_starts_with() {
        assert_eq!((usual_shift("7.2.22", 1), usual_shift("7.2.22", 2)), (3, 7));
        assert_eq!((usual_shift("10.0.2", 64), usual_shift("unknown", 4)), (1, 7));
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let of = |seed| {
            let lane = Lane::Virtual(Virtual { shift: 7, seed, quantum_us: None });
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
