//! The table of events: a row contains an event's kernel name, its fields, and how each format names or numbers them.
//! The kinds and the event model itself are generated from it, and the code that reads or writes text, binary records,
//! recordings, tables and Perfetto's packets uses its rows. Switches, wakeups and system calls have rows without
//! fields: switches and wakeups are most of all events and have their own code in each format, and system calls contain
//! an array.

use crate::event::{Cpu, Prio, Tid, Wide};
use crate::names::Name;
use schedlab_plan::EventGroup;
use std::ops::Range;

/// The kernel's description of an event, and its place in each format.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) system: &'static str,
    pub(crate) name: &'static str,
    /// The event group of a selection that records it.
    pub(crate) group: Option<EventGroup>,
    /// Its number in recordings, FORMAT.md.
    pub(crate) op: u8,
    /// Its field in `FtraceEvent` of Perfetto's schema; 0 if there is none.
    pub(crate) perfetto: u32,
    /// The text after its name: the first is written, all are read. `{field}` is a field, `{number:0}` a number that
    /// the model does not have, written as 0; `comm`, `text` and `word` work alike. A thread that a text does not name
    /// is the one that traced the event. Texts about work items are parsed by hand, because their wording varies.
    pub(crate) texts: &'static [&'static str],
    pub(crate) fields: &'static [Field],
}

/// A field of an event.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) holds: Holds,
    /// Its names in the kernel's formats; the first that a format contains is used.
    pub(crate) kernel: &'static [&'static str],
    /// Its numbers in Perfetto's message: the first is written, and the first that exists is read. Empty: the tracing
    /// thread.
    pub(crate) perfetto: &'static [u8],
    /// Its place in a row of the table of events; [`NO_COLUMN`](crate::tables::NO_COLUMN) if it has none.
    pub(crate) column: usize,
}

/// What a field contains, which determines how each format stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A [`Tid`].
    Thread,
    /// A [`Tid`]; if a format lacks it, that of the idle thread, which means nobody.
    ThreadIfSaid,
    /// The [`Name`] of the thread before it.
    Comm,
    /// Another [`Name`].
    Text,
    /// The [`Name`] of a function, which binary records contain as an address, if at all.
    Function,
    /// A [`Prio`], unknown if a format lacks it. After a name, it is that thread's.
    Prio,
    /// A [`Cpu`].
    Cpu,
    /// A [`Cpu`]; an invalid number, such as 0x2000 (`WORK_CPU_UNBOUND`), means any.
    Pool,
    /// A `u32`.
    Number,
    /// A [`Wide`].
    Long,
    /// A [`Wide`] that is close to the previous one.
    Address,
}

/// Fields of a row at most.
pub(crate) const MAX_FIELDS: usize = 5;

/// The fields of an event, in the order of its row, each as bits.
pub(crate) type Values = [u64; MAX_FIELDS];

/// A field as bits and back.
pub(crate) trait Bits {
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
}

macro_rules! bits {
    ($($type:ty: $self:ident => $bits:expr, $of:ident => $back:expr;)*) => {$(
        impl Bits for $type {
            #[inline]
            fn bits($self) -> u64 {
                $bits
            }
            #[inline]
            fn of($of: u64) -> Self {
                $back
            }
        }
    )*};
}

bits! {
    Tid: self => self.0.into(), bits => Self(bits as u32);
    Cpu: self => self.0.into(), bits => Self(bits as u16);
    Prio: self => self.byte().into(), bits => Self::from_byte(bits as u8);
    Name: self => self.index() as u64, bits => Self::numbered(bits as u32);
    u32: self => self.into(), bits => bits as u32;
    Wide: self => self.get(), bits => bits.into();
}

/// `[a, b]` with zeros after.
#[inline]
fn values<const N: usize>(fields: [u64; N]) -> Values {
    std::array::from_fn(|at| fields.get(at).copied().unwrap_or(0))
}

macro_rules! events {
    (
        by_hand: { $($hand_kind:ident $hand_system:literal $hand_name:literal, $hand_group:ident, op $hand_op:literal,
            perfetto $hand_perfetto:literal;)* }
        variants: { $($variants:tt)* }
        rows: { $($(#[$doc:meta])* $variant:ident: $kind:ident $system:literal $name:literal, $group:expr, op $op:literal,
            perfetto $perfetto:literal, $texts:expr => {
                $($(#[$field_doc:meta])* $field:ident: $type:ty = $holds:ident $kernel:expr, $numbers:expr, $column:literal;)*
            })* }
        also: { $($also:ident as $of:ident: $also_system:literal $also_name:literal, $also_group:expr, op $also_op:literal,
            perfetto $also_perfetto:literal, $also_texts:expr => {
                $($also_field:ident = $also_holds:ident $also_kernel:expr, $also_numbers:expr;)*
            })* }
    ) => {
        /// A kernel event that the model knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)] // Each is the kernel's event of that name.
        pub enum Kind { $($hand_kind,)* $($kind,)* $($also,)* }

        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum What {
            $($variants)*
            $($(#[$doc])* $variant { $($(#[$field_doc])* $field: $type,)* },)*
        }

        /// The rows, in the order of their kinds.
        pub(crate) static ROWS: [Row; [$(Kind::$hand_kind,)* $(Kind::$kind,)* $(Kind::$also,)*].len()] = [
            $(Row { kind: Kind::$hand_kind, system: $hand_system, name: $hand_name, group: Some(EventGroup::$hand_group),
                op: $hand_op, perfetto: $hand_perfetto, texts: &[], fields: &[] },)*
            $(Row { kind: Kind::$kind, system: $system, name: $name, group: $group, op: $op, perfetto: $perfetto,
                texts: &$texts, fields: &[$(Field { name: stringify!($field), holds: Holds::$holds, kernel: &$kernel,
                    perfetto: &$numbers, column: column($column) },)*] },)*
            $(Row { kind: Kind::$also, system: $also_system, name: $also_name, group: $also_group, op: $also_op,
                perfetto: $also_perfetto, texts: &$also_texts, fields: &[$(Field { name: stringify!($also_field),
                    holds: Holds::$also_holds, kernel: &$also_kernel, perfetto: &$also_numbers, column: NO_COLUMN },)*] },)*
        ];

        impl What {
            /// Its row and fields; `None` for events with their own code, and for marks.
            pub(crate) fn fields(&self) -> Option<(&'static Row, Values)> {
                match *self {
                    $(Self::$variant { $($field),* } => Some((Kind::$kind.row(), values([$($field.bits()),*]))),)*
                    _ => None,
                }
            }

            /// The event of a kind with its fields; `None` for kinds with their own code.
            pub(crate) fn of(kind: Kind, fields: Values) -> Option<Self> {
                match kind {
                    $(Kind::$kind => {
                        let [$($field,)* ..] = fields;
                        Some(Self::$variant { $($field: Bits::of($field)),* })
                    })*
                    $(Kind::$also => {
                        let [$($also_field,)* ..] = fields;
                        Some(Self::$of { $($also_field: Bits::of($also_field)),* })
                    })*
                    _ => None,
                }
            }
        }
    };
}

mod table;

pub(crate) use table::ROWS;
pub use table::{Kind, What};

impl Kind {
    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl Row {
    /// The fields that describe one thread: id, name, and its priority if that follows. Empty if there is no name.
    #[inline]
    pub(crate) fn thread(&self) -> Range<usize> {
        let Some(comm) = self.fields.iter().position(|field| field.holds == Holds::Comm) else { return 0..0 };
        let has_prio = self.fields.get(comm + 1).is_some_and(|field| field.holds == Holds::Prio);
        comm.saturating_sub(1)..comm + 1 + usize::from(has_prio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_stand_in_the_order_of_their_kinds_and_say_nothing_twice() {
        let (mut ops, mut messages, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.kind as usize, at);
            assert!(ops.insert(row.op) || row.kind == Kind::TaskNewtask, "{}: op {} is taken", row.name, row.op);
            assert!(row.perfetto == 0 || messages.insert(row.perfetto), "{}: {}", row.name, row.perfetto);
            assert!(names.insert(row.name), "{} is there twice", row.name);
        }
    }

    #[test]
    fn what_a_row_says_of_its_fields_can_be_followed() {
        for row in ROWS.iter().filter(|row| !row.fields.is_empty()) {
            for (at, field) in row.fields.iter().enumerate() {
                let before = at.checked_sub(1).map(|before| row.fields[before].holds);
                assert!(
                    field.holds != Holds::Comm || matches!(before, Some(Holds::Thread | Holds::ThreadIfSaid)),
                    "{}: whose name?",
                    row.name
                );
                let tracer = field.perfetto.is_empty() && row.perfetto > 0;
                assert!(!tracer || field.holds == Holds::Thread, "{}: {}", row.name, field.name);
            }
            let bits: Values = std::array::from_fn(|at| if at < row.fields.len() { at as u64 + 1 } else { 0 });
            let what = What::of(row.kind, bits).unwrap();
            let (back, same) = what.fields().unwrap();
            assert!(back.op == row.op && same == bits, "{}: {what:?}", row.name);
        }
    }
}
