//! Paths of wakeups by name: a tree for each origin, with the chains that ended at each node; and pairs of waker and
//! wakee.

use crate::trace::quick::{QuickMap, pair};
use schedlab_trace::{Cells, Name};
use std::collections::HashMap;

/// Most nodes; further paths are counted together.
const MAX_NODES: usize = 1 << 16;

/// Most pairs; further pairs are counted together.
const MAX_PAIRS: usize = 1 << 13;

/// A waker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Waker {
    /// Any waker beyond the limit.
    Others,
    /// A thread.
    Task(Name),
    /// The idle thread of some CPU, outside interrupts.
    Idle,
    /// A hard interrupt by line and handler.
    Irq(u32, Name),
    /// A soft interrupt by vector.
    Softirq(u32),
    /// A hard interrupt without a recorded name: a timer, an IPI.
    Hard,
    /// A soft interrupt without a recorded vector.
    Soft,
}

/// A node's number.
pub(super) type NodeId = u32;

/// A path: that of its parent, extended by one name.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) parent: Option<NodeId>,
    pub(super) who: Waker,
    /// Chains that ended here.
    pub(super) chains: u64,
    /// Sum of the delays of these chains, ns.
    pub(super) delay_ns: u64,
    /// The part of these delays that no other chain has counted, ns.
    pub(super) new_ns: u64,
    pub(super) longest_ns: u64,
    /// Sum of the times from the first waking to the last switch-in, ns.
    pub(super) elapsed_ns: u64,
}

/// All wakeups of one name by another.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) waker: Waker,
    pub(super) wakee: Waker,
    pub(super) waits: Cells,
    /// How often the wakee ran on another CPU than its waker.
    pub(super) other_cpu: u64,
    /// The largest delay of a chain up to this wakeup, ns.
    pub(super) chain_longest_ns: u64,
}

/// All paths and pairs so far.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) nodes: Vec<Node>,
    roots: HashMap<Waker, NodeId>,
    task_roots: Vec<NodeId>,
    children: QuickMap<NodeId>,
    pub(super) pairs: Vec<Pair>,
    by_pair: QuickMap<u32>,
}

/// The node for paths beyond the limit.
const OTHERS: NodeId = 0;

impl Default for Paths {
    fn default() -> Self {
        let others = Node::new(None, Waker::Others);
        Self {
            nodes: vec![others],
            roots: HashMap::new(),
            task_roots: Vec::new(),
            children: QuickMap::default(),
            pairs: Vec::new(),
            by_pair: QuickMap::default(),
        }
    }
}

impl Node {
    fn new(parent: Option<NodeId>, who: Waker) -> Self {
        Self { parent, who, chains: 0, delay_ns: 0, new_ns: 0, longest_ns: 0, elapsed_ns: 0 }
    }
}

impl Paths {
    /// The path that starts with this waker.
    #[inline]
    pub(super) fn root(&mut self, who: Waker) -> NodeId {
        if let Waker::Task(comm) = who {
            if let Some(id) = self.task_roots.get(comm.index()).filter(|id| **id != OTHERS) {
                return *id;
            }
        } else if let Some(id) = self.roots.get(&who) {
            return *id;
        }
        self.new_root(who)
    }

    #[cold]
    fn new_root(&mut self, who: Waker) -> NodeId {
        let id = self.add(None, who);
        match who {
            Waker::Task(comm) => {
                if comm.index() >= self.task_roots.len() {
                    self.task_roots.resize(comm.index() + 1, OTHERS);
                }
                self.task_roots[comm.index()] = id;
            }
            _ => drop(self.roots.insert(who, id)),
        }
        id
    }

    /// The path that continues with a name.
    #[inline]
    pub(super) fn child(&mut self, parent: NodeId, comm: Name) -> NodeId {
        let key = pair(parent, comm.index() as u32);
        if let Some(id) = self.children.get(&key) {
            return *id;
        }
        if parent == OTHERS {
            return OTHERS;
        }
        let id = self.add(Some(parent), Waker::Task(comm));
        if id != OTHERS {
            self.children.insert(key, id);
        }
        id
    }

    fn add(&mut self, parent: Option<NodeId>, who: Waker) -> NodeId {
        if self.nodes.len() >= MAX_NODES {
            return OTHERS;
        }
        self.nodes.push(Node::new(parent, who));
        self.nodes.len() as NodeId - 1
    }

    /// The wakeups of threads with this name by a waker.
    #[inline]
    pub(super) fn pair(&mut self, waker: Waker, wakee: Name) -> &mut Pair {
        let root = self.root(waker);
        let key = pair(root, wakee.index() as u32);
        if let Some(at) = self.by_pair.get(&key) {
            return &mut self.pairs[*at as usize];
        }
        let full = self.pairs.len() >= MAX_PAIRS;
        let (waker, wakee) = if full { (Waker::Others, Waker::Others) } else { (waker, Waker::Task(wakee)) };
        let key = if full { u64::MAX } else { key };
        let next = self.pairs.len() as u32;
        let at = *self.by_pair.entry(key).or_insert(next);
        if at == next {
            self.pairs.push(Pair { waker, wakee, waits: Cells::default(), other_cpu: 0, chain_longest_ns: 0 });
        }
        &mut self.pairs[at as usize]
    }

    /// The names of a path, from its origin.
    pub(super) fn names(&self, node: NodeId) -> Vec<Waker> {
        let parent = |node: &&Node| node.parent.map(|id| &self.nodes[id as usize]);
        let mut names: Vec<Waker> =
            std::iter::successors(self.nodes.get(node as usize), |node| parent(node)).map(|node| node.who).collect();
        names.reverse();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again_and_a_full_tree_takes_no_more() {
        let mut paths = Paths::default();
        let root = paths.root(Waker::Hard);
        let child = paths.child(root, Name::UNKNOWN);
        assert_eq!((paths.root(Waker::Hard), paths.child(root, Name::UNKNOWN)), (root, child));
        assert_eq!(paths.names(child), [Waker::Hard, Waker::Task(Name::UNKNOWN)]);
        let mut last = child;
        for _ in 0..2 * MAX_NODES {
            last = paths.child(last, Name::UNKNOWN);
        }
        assert_eq!((paths.nodes.len(), paths.names(last)), (MAX_NODES, vec![Waker::Others]));
    }
}
