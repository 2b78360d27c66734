//! The range of values in a statement's arms.

use crate::nearest::hint;
use crate::setting::Arm;
use crate::units::parse_number;
use std::collections::BTreeSet;

/// A range of values of a setting, `w=4ms..17ms`, `w=17ms..`, `w=4ms`; both ends are included.
pub(super) struct Span<'t> {
    text: &'t str,
    pub(super) axis: &'t str,
    ends: [&'t str; 2],
    lo: f64,
    hi: f64,
}

impl<'t> Span<'t> {
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let (axis, span) = text.split_once('=').filter(|(_, span)| !span.is_empty())?;
        let (lo, hi) = span.split_once("..").unwrap_or((span, span));
        let end = |text: &str, open: f64| if text.is_empty() { Some(open) } else { parse_number(text) };
        Some(Self { text, axis, ends: [lo, hi], lo: end(lo, f64::NEG_INFINITY)?, hi: end(hi, f64::INFINITY)? })
    }

    /// The setting's value in the name of an arm.
    pub(super) fn value<'a>(&self, arm: &'a Arm) -> Option<&'a str> {
        let mut pairs = arm.name.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.find(|(axis, _)| *axis == self.axis).map(|(_, value)| value)
    }

    /// A number may be written in several ways: 0.1 ms and 100 us are the same.
    pub(super) fn holds(&self, value: &str) -> bool {
        parse_number(value).is_some_and(|value| (self.lo..=self.hi).contains(&value))
    }

    /// The reason why it cannot select any arms, if there is one.
    pub(super) fn fits(&self, arms: &[Arm]) -> Result<(), String> {
        let Self { text, axis, ends: [lo, hi], .. } = self;
        let mut values: Vec<&str> = Vec::new();
        for value in arms.iter().filter_map(|arm| self.value(arm)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        // A time or a plain number; 0 is both.
        let is_time = |text: &&str| match text.parse::<f64>() {
            Ok(number) => (number != 0.0).then_some(false),
            Err(_) => parse_number(text).map(|_| true),
        };
        if values.is_empty() {
            let words = arms.iter().flat_map(|arm| arm.name.split_whitespace());
            let axes: BTreeSet<&str> = words.filter_map(|word| Some(word.split_once('=')?.0)).collect();
            return Err(format!("`{text}`: no arm has a setting `{axis}`{}", hint(axis, axes)));
        }
        if self.lo > self.hi {
            return Err(format!("`{text}` runs backwards; write `{axis}={hi}..{lo}`"));
        }
        let all = values.join(", ");
        let kinds: Vec<bool> = values.iter().filter_map(is_time).collect();
        if [lo, hi].into_iter().filter_map(is_time).any(|end| kinds.iter().any(|value| *value != end)) {
            return Err(format!("`{text}` is in another unit than the values of `{axis}`, {all}"));
        }
        match values.iter().any(|value| self.holds(value)) {
            true => Ok(()),
            false => Err(format!("no arm lies in `{text}`; the values of `{axis}` are {all}")),
        }
    }
}
