//! The structure of a formula table. A vendor's document becomes groups of events, each counted over one period, and
//! nodes of the tree with a formula each. A formula uses the events of its own group, so that numerator and denominator
//! cover the same period, and shares that were computed before it.

use crate::cpu_identity::CpuIdentity;

/// The formulas for a family of CPUs.
#[derive(Debug)]
pub struct Table {
    /// Such as `intel-icelake`.
    pub id: &'static str,
    /// Which CPUs, in words.
    pub cpus: &'static str,
    /// The document they are from.
    pub source: &'static str,
    /// What is missing on this CPU below the back-end; empty if nothing is.
    pub missing: &'static str,
    pub(crate) slots: Slots,
    pub(crate) matches: fn(&CpuIdentity) -> bool,
    pub(crate) groups: &'static [Group],
}

/// Slots per cycle, `SLOTS` in formulas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Slots {
    Fixed(u32),
    /// `caps/slots` of the PMU in sysfs.
    OfPmu,
}

/// Events that are counted together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) events: &'static [EventDef],
    pub(crate) nodes: &'static [Node],
}

/// An event, and how it is requested from its PMU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventDef {
    pub(crate) name: &'static str,
    pub(crate) is: Ask,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    /// Fields of the PMU: `event=0xa3,umask=0x14`.
    Terms(&'static str),
    /// The kernel's own name for it, with its scale.
    Alias(&'static str),
}

/// A place in the tree, `backend_bound.memory_bound.l1_bound`; one that starts with `_` is only an intermediate value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) path: &'static str,
    pub(crate) formula: &'static str,
    pub(crate) of: Of,
}

/// What a share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// All slots: nodes add up to their parent.
    Slots,
    /// All cycles, because the vendor defines some nodes below a share of slots that way: they add up only among
    /// themselves.
    Cycles,
}

pub(crate) const fn event(name: &'static str, terms: &'static str) -> EventDef {
    EventDef { name, is: Ask::Terms(terms) }
}

pub(crate) const fn alias(name: &'static str, of_kernel: &'static str) -> EventDef {
    EventDef { name, is: Ask::Alias(of_kernel) }
}

pub(crate) const fn slots(path: &'static str, formula: &'static str) -> Node {
    Node { path, formula, of: Of::Slots }
}

pub(crate) const fn cycles(path: &'static str, formula: &'static str) -> Node {
    Node { path, formula, of: Of::Cycles }
}

impl Table {
    /// Paths of the tree, in the order in which they are computed.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.groups.iter().flat_map(|g| g.nodes).map(|n| n.path).filter(|p| !p.starts_with('_'))
    }
}
