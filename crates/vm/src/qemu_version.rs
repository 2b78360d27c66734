//! What a QEMU supports, by the version that it reports: `10.0.2`. If the version cannot be read, it supports the
//! least.

/// Its serial port passes on what the host writes into a file (`input-path`).
const TAKES_ORDERS: (u32, u32) = (8, 1);
/// It divides the instructions until the next timer among the CPUs (8.1, its commit 83ecdb18eb), and loads our plugin
/// (9.1); both were tried with this version. Before, the CPU whose turn it is gets them all, and the CPUs that it waits
/// for have none left.
const SHARES_TURNS: (u32, u32) = (10, 0);

/// It can write a guest's state into a file and read it (`migrate` to `file:`).
const SAVES_STATES: (u32, u32) = (8, 2);

/// How to get a version that supports everything.
pub(crate) const FIX: &str = "use QEMU 10 or newer (Debian 12: apt-get install -t bookworm-backports qemu-system-x86)";

fn at_least(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

/// Whether a guest's command can be asked to end.
pub(crate) fn takes_orders(version: &str) -> bool {
    at_least(version, TAKES_ORDERS)
}

/// Whether several CPUs make progress in the virtual lane.
pub(crate) fn shares_turns(version: &str) -> bool {
    at_least(version, SHARES_TURNS)
}

/// Whether a guest's state can be saved.
pub(crate) fn saves_states(version: &str) -> bool {
    at_least(version, SAVES_STATES)
}

/// Whether it can count instructions with our plugin.
pub(crate) fn loads_plugin(version: &str) -> bool {
    at_least(version, SHARES_TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_says_what_can_be_done() {
        let of = |can: fn(&str) -> bool| ["unknown", "7.2.22", "8.0.5", "8.1.0", "9.2", "10.0.2"].map(can);
        assert_eq!(of(takes_orders), [false, false, false, true, true, true]);
        assert_eq!(of(shares_turns), [false, false, false, false, false, true]);
        assert_eq!(of(saves_states), [false, false, false, false, true, true]);
        assert_eq!(of(loads_plugin), of(shares_turns));
    }
}
