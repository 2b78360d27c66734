//! The numbers of a trial without their names, which it shares with other trials. A report of a hundred thousand trials
//! keeps all of them, and the same thirty names in each took up most of the memory. The functions here let
//! [`TrialOutcome`]'s readers use both forms.

use crate::histogram::Histogram;
use crate::outcome::{Direction, Tier, TrialOutcome};
use std::borrow::Cow;
use std::sync::Arc;

/// What many trials of a workload share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    /// Name, unit and direction of each metric.
    pub metrics: Vec<(String, String, Direction)>,
    /// Name and scope of each counter, and why it was not counted.
    pub counters: Vec<(String, String, Option<String>)>,
    /// Name and tier of each distribution.
    pub histograms: Vec<(String, Option<Tier>)>,
    /// Notes.
    pub notes: Vec<String>,
}

/// The numbers, in the order of the names.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// The names.
    pub names: Arc<Names>,
    /// A value for each metric.
    pub metrics: Box<[f64]>,
    /// A value for each counter, 0 for those not counted.
    pub counters: Box<[u64]>,
    /// A distribution for each of the names.
    pub histograms: Box<[PackedHistogram]>,
}

/// A distribution in some three bytes per cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedHistogram {
    /// For each cell its distance from the one before and its count, as numbers with seven bits per byte, lowest first.
    cells: Box<[u8]>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl PackedHistogram {
    /// The same distribution in the small form.
    pub fn new(histogram: &Histogram) -> Self {
        let (mut cells, mut before) = (Vec::new(), 0);
        for &(cell, count) in &histogram.cells {
            push(u64::from(cell.wrapping_sub(before)), &mut cells);
            push(count, &mut cells);
            before = cell;
        }
        let Histogram { sum_ns, min_ns, max_ns, .. } = *histogram;
        Self { cells: cells.into(), sum_ns, min_ns, max_ns }
    }

    /// The distribution in its original form.
    pub fn unpacked(&self) -> Histogram {
        let (mut rest, mut cells, mut before) = (&self.cells[..], Vec::new(), 0u32);
        while let (Some(step), Some(count)) = (pop(&mut rest), pop(&mut rest)) {
            before = before.wrapping_add(step as u32);
            cells.push((before, count));
        }
        Histogram { cells, sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns }
    }
}

fn push(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn pop(rest: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(number);
        }
    }
}

/// A metric of a trial, in either form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated<'o> {
    /// Such as `msgs_per_s`.
    pub name: &'o str,
    /// The value in `unit`.
    pub value: f64,
    /// Such as `1/s`.
    pub unit: &'o str,
    /// Which way is good.
    pub direction: Direction,
}

/// A counter of a trial, in either form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterValue<'o> {
    /// Such as `voluntary_switches`.
    pub name: &'o str,
    /// Where it was counted.
    pub scope: &'o str,
    /// The count, or why there is none.
    pub value: Result<u64, &'o str>,
}

impl TrialOutcome {
    /// The metrics, in the workload's order.
    pub fn stated(&self) -> impl Iterator<Item = Stated<'_>> {
        let whole = self.metrics.iter().map(|m| Stated {
            name: &m.name,
            value: m.value,
            unit: &m.unit,
            direction: m.direction,
        });
        let packed = self.packed.iter().flat_map(|packed| packed.names.metrics.iter().zip(&packed.metrics));
        whole.chain(packed.map(|((name, unit, direction), &value)| Stated { name, value, unit, direction: *direction }))
    }

    /// The counters.
    pub fn counted(&self) -> impl Iterator<Item = CounterValue<'_>> {
        let whole = self.counters.iter().map(|c| CounterValue {
            name: &c.name,
            scope: &c.scope,
            value: c.count.value().ok_or_else(|| c.count.why_not().unwrap_or_default()),
        });
        let packed = self.packed.iter().flat_map(|packed| packed.names.counters.iter().zip(&packed.counters));
        whole.chain(packed.map(|((name, scope, why), &value)| CounterValue {
            name,
            scope,
            value: why.as_deref().map_or(Ok(value), Err),
        }))
    }

    /// Name and tier (`None`: all operations) of each distribution, and the distribution.
    pub fn distributions(&self) -> impl Iterator<Item = (&str, Option<Tier>, Cow<'_, Histogram>)> {
        let whole = self.histograms.iter().map(|h| (&*h.name, h.tier, Cow::Borrowed(&h.histogram)));
        let packed = self.packed.iter().flat_map(|packed| packed.names.histograms.iter().zip(&packed.histograms));
        whole.chain(packed.map(|((name, tier), packed)| (&**name, *tier, Cow::Owned(packed.unpacked()))))
    }

    /// Whether it has a distribution of all operations with this name.
    pub fn has_distribution(&self, name: &str) -> bool {
        let packed = self.packed.iter().flat_map(|packed| &packed.names.histograms);
        let whole = self.histograms.iter().map(|h| (&h.name, h.tier));
        whole.chain(packed.map(|(name, tier)| (name, *tier))).any(|(n, tier)| n == name && tier.is_none())
    }

    /// The distribution of all operations with this name.
    pub fn distribution(&self, name: &str) -> Option<Cow<'_, Histogram>> {
        if let Some(whole) = self.histograms.iter().find(|h| h.name == name && h.tier.is_none()) {
            return Some(Cow::Borrowed(&whole.histogram));
        }
        let packed = self.packed.as_ref()?;
        let at = packed.names.histograms.iter().position(|(n, tier)| n == name && tier.is_none())?;
        Some(Cow::Owned(packed.histograms.get(at)?.unpacked()))
    }

    /// What a reader should know about it.
    pub fn remarks(&self) -> impl Iterator<Item = &str> {
        let packed = self.packed.iter().flat_map(|packed| &packed.names.notes);
        self.notes.iter().chain(packed).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::BUCKETS;

    #[test]
    fn a_packed_histogram_is_the_same() {
        let last = BUCKETS as u32 - 1;
        let cells = vec![(0, 1), (1, u64::MAX), (127, 127), (128, 128), (300, 1 << 35), (last, 7)];
        let histogram = Histogram { cells, sum_ns: u64::MAX, min_ns: 0, max_ns: 9 };
        let packed = PackedHistogram::new(&histogram);
        assert_eq!(packed.unpacked(), histogram);
        assert!(packed.cells.len() < 32, "{}", packed.cells.len());
        assert_eq!(PackedHistogram::new(&Histogram::default()).unpacked(), Histogram::default());
    }
}
