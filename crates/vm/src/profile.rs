//! A profile in instructions: the plugin's counts at each address of a guest's kernel, summed by function; and two
//! kernels compared function by function. Pure. Counts are exact: every instruction is counted when it is executed,
//! even with interrupts off; one that faults and is executed again counts twice.

mod document;
mod legs;
mod tables;

pub use document::{Instructions, Leg, ProfileFile, Profiled, SCHEMA, legs};
pub use legs::{LEGS, Landmark, LegCounts, landmarks};
pub use tables::{alone, compared};

use crate::error::VmError;
use crate::kernel::image::Architecture;
use crate::packed::unpack;
use crate::qemu_version;
use schedlab_plan::InOrder;
use std::collections::BTreeMap;

/// The plugin, compressed; empty in a build that cannot have one.
const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so.packed"));

/// The plugin's file, for the QEMU of this binary's architecture; empty in a build that cannot have one.
pub(crate) fn plugin() -> Vec<u8> {
    unpack(PLUGIN).unwrap_or_default()
}

/// Refuses a QEMU that cannot load the plugin, and a guest whose programs have no marks.
pub fn check(qemu_version: &str, architecture: Architecture) -> Result<(), VmError> {
    if PLUGIN.is_empty() {
        let why = "this build of schedlab carries no plugin for QEMU: profile with the one for x86-64 and glibc";
        return Err(VmError::Refused(why.into()));
    }
    if architecture != Architecture::X86_64 {
        let why = format!("instructions of {architecture} guests are not counted: profile an x86-64 kernel");
        return Err(VmError::Refused(why));
    }
    if qemu_version::loads_plugin(qemu_version) {
        return Ok(());
    }
    let fix = qemu_version::FIX;
    Err(VmError::Refused(format!("QEMU {qemu_version} cannot load the plugin that counts instructions; {fix}")))
}

/// Instructions executed in the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions of all user space together.
    pub programs: u64,
    /// By address in the kernel.
    pub kernel: Vec<(u64, u64)>,
}

impl Counts {
    /// By function, with the names that `name_of` returns.
    pub fn by_function<'s>(&self, name_of: impl Fn(u64) -> Option<&'s str>) -> Profile {
        let mut profile = Profile { programs: self.programs, ..Profile::default() };
        for &(address, count) in &self.kernel {
            match name_of(address) {
                Some(name) => *profile.functions.entry(name.to_owned()).or_default() += count,
                None => profile.unknown += count,
            }
        }
        profile
    }
}

/// The row for addresses at which the kernel names no function: code that it generated itself.
const NO_FUNCTION: &str = "(no function)";

/// Instructions by function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Instructions of all user space together.
    pub programs: u64,
    /// Instructions of the kernel outside any function.
    pub unknown: u64,
    /// By name; static functions with the same name are merged.
    pub functions: BTreeMap<String, u64>,
}

impl Profile {
    /// Instructions of the kernel.
    pub fn kernel(&self) -> u64 {
        self.unknown + self.functions.values().sum::<u64>()
    }

    /// Names and instructions; the rows add up to the kernel's total.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u64)> {
        let functions = self.functions.iter().map(|(name, count)| (name.as_str(), *count));
        functions.chain((self.unknown > 0).then_some((NO_FUNCTION, self.unknown)))
    }

    /// Names and instructions per operation, the largest first.
    pub fn per_operation(&self, operations: u64) -> Vec<(&str, f64)> {
        let mut rows: Vec<(&str, f64)> =
            self.rows().map(|(name, count)| (name, count as f64 / operations as f64)).collect();
        rows.in_order_by(|a, b| b.1.total_cmp(&a.1));
        rows
    }
}

/// A function in two kernels, instructions per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference<'p> {
    /// Its name.
    pub name: &'p str,
    /// In the first.
    pub a: f64,
    /// In the second.
    pub b: f64,
}

/// All functions of two profiles, the largest difference first. Each profile comes with its number of operations.
pub fn differences<'p>(a: (&'p Profile, u64), b: (&'p Profile, u64)) -> Vec<Difference<'p>> {
    let mut rows: BTreeMap<&str, Difference<'p>> = BTreeMap::new();
    for (name, count) in a.0.per_operation(a.1) {
        rows.insert(name, Difference { name, a: count, b: 0.0 });
    }
    for (name, count) in b.0.per_operation(b.1) {
        rows.entry(name).or_insert(Difference { name, a: 0.0, b: 0.0 }).b = count;
    }
    let mut rows: Vec<Difference<'p>> = rows.into_values().collect();
    rows.in_order_by(|x, y| (y.b - y.a).abs().total_cmp(&(x.b - x.a).abs()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(address: u64) -> Option<&'static str> {
        match address {
            0xffff_ffff_8100_0000..0xffff_ffff_8100_0010 => Some("schedule"),
            0xffff_ffff_8100_0010..0xffff_ffff_8100_0020 => Some("pick"),
            _ => None,
        }
    }

    const TEXT: &str = "0 50\nffffffff81000000 7\nffffffff81000004 7\nffffffff81000010 2\nffffffffc0000000 4\nend\n";

    #[test]
    fn addresses_become_functions_and_nothing_is_lost() {
        let profile = LegCounts::parse(TEXT).unwrap().whole().by_function(name_of);
        assert_eq!((profile.programs, profile.unknown, profile.kernel()), (50, 4, 20));
        assert_eq!(profile.per_operation(2), [("schedule", 7.0), ("(no function)", 2.0), ("pick", 1.0)]);
    }

    #[test]
    fn two_kernels_differ_by_function_per_operation() {
        let a = LegCounts::parse(TEXT).unwrap().whole().by_function(name_of);
        let b =
            LegCounts::parse("ffffffff81000000 40\nffffffff81000001 4\nend\n").unwrap().whole().by_function(name_of);
        let rows = differences((&a, 2), (&b, 4));
        let row = |name, a, b| Difference { name, a, b };
        let expected = [row("schedule", 7.0, 11.0), row("(no function)", 2.0, 0.0), row("pick", 1.0, 0.0)];
        assert_eq!(rows, expected);
    }

    #[test]
    fn an_older_qemu_is_told_which_one_is_wanted() {
        if !PLUGIN.is_empty() {
            let refused = |version, architecture| check(version, architecture).unwrap_err().to_string();
            assert!(check("10.0.2", Architecture::X86_64).is_ok());
            assert!(refused("7.2.22", Architecture::X86_64).contains("QEMU 10 or newer"));
            assert!(refused("10.0.2", Architecture::Aarch64).contains("profile an x86-64 kernel"));
            let plugin = plugin();
            assert!(plugin.starts_with(b"\x7fELF") && PLUGIN.len() <= 15_000, "{}", PLUGIN.len());
        }
    }
}
