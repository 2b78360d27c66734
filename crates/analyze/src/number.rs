//! Numbers for people: as many digits as the uncertainty allows, and scaled units (ns → µs → ms). A number that is not
//! finite is printed as a dash.

use crate::findings::{Effect, Scale};
use schedlab_plan::SHARE_OF_CYCLES;

/// Printed for a missing number.
pub const NONE: &str = "–";

/// Ratios beyond this (or below its reciprocal) are printed as factors, not as percentages.
pub(crate) const FACTOR_FROM: f64 = 1.5;

/// `x` with `digits` significant digits, never in exponent form between 10⁻⁴ and 10⁷.
pub fn significant(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        return NONE.into();
    }
    if x == 0.0 {
        return "0".into();
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{:.*e}", digits.saturating_sub(1), x);
    }
    let decimals = (digits as f64 - 1.0 - magnitude).max(0.0) as usize;
    let text = format!("{x:.decimals$}");
    // Rounding may carry into a new digit: 9.996 with three digits is 10.0, not 10.00.
    let carried = text.parse::<f64>().is_ok_and(|y| y.abs().log10().floor() > magnitude);
    if carried && decimals > 0 { format!("{x:.*}", decimals - 1) } else { text }
}

/// A value with its unit, scaled: `1.234 µs`, `812.3 k/s`, `4.2 %`, `0.0123 /op`.
pub fn quantity(x: f64, unit: &str) -> String {
    let (scale, shown) = unit_for(x.abs(), unit);
    let number = significant(x / scale, 4);
    match shown.as_str() {
        "" => number,
        shown => format!("{number} {shown}"),
    }
}

/// [`quantity`] of a value that may be missing.
pub fn maybe_quantity(x: Option<f64>, unit: &str) -> String {
    x.filter(|x| x.is_finite()).map_or_else(|| NONE.into(), |x| quantity(x, unit))
}

/// The divisor and the unit for values as large as `size`: the same for a whole axis or column.
pub fn unit_for(size: f64, unit: &str) -> (f64, String) {
    let (base, per) = match unit.split_once('/') {
        Some((base, per)) => (base, format!("/{per}")),
        None => (unit, String::new()),
    };
    let pick = |steps: &[(f64, &'static str)]| {
        let step = steps.iter().rev().find(|(from, _)| size >= *from).unwrap_or(&steps[0]);
        (step.0, step.1)
    };
    let time = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    match base {
        "ns" => {
            let (scale, name) = pick(&time);
            (scale, format!("{name}{per}"))
        }
        "s" => {
            let (scale, name) = if size == 0.0 || !size.is_finite() { (1e9, "s") } else { pick_seconds(size) };
            (scale / 1e9, format!("{name}{per}"))
        }
        "1" if per == "/op" => (1.0, "/op".into()),
        "1" | "B" | "bytes" if !per.is_empty() => {
            let (scale, name) = pick(&[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")]);
            let what = if base == "1" { "" } else { "B" };
            (scale, format!("{name}{what}{per}"))
        }
        "B" | "bytes" => {
            let (scale, name) = pick(&[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")]);
            (scale, name.to_owned())
        }
        "share" | SHARE_OF_CYCLES => (0.01, "%".into()),
        "1" => (1.0, String::new()),
        _ => (1.0, unit.to_owned()),
    }
}

/// For a size in seconds: the unit in ns, and its name.
fn pick_seconds(size: f64) -> (f64, &'static str) {
    match size {
        s if s >= 1.0 => (1e9, "s"),
        s if s >= 1e-3 => (1e6, "ms"),
        s if s >= 1e-6 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// Nanoseconds, three or four digits.
pub fn ns(x: f64) -> String {
    quantity(x, "ns")
}

/// Whole nanoseconds.
pub fn ns_of(ns: u64) -> String {
    quantity(ns as f64, "ns")
}

/// A share of one as a percentage: `2.5 %`.
pub fn percent(share: f64) -> String {
    let x = share * 100.0;
    if !x.is_finite() {
        return NONE.into();
    }
    let text = match x.abs() {
        a if a >= 1e6 => significant(x, 3),
        a if a > 0.0 && a < 1e-3 => return if x > 0.0 { "< 0.001 %".into() } else { "> -0.001 %".into() },
        a if a >= 99.95 || a == 0.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => significant(x, 2),
    };
    format!("{text} %")
}

/// A share as the user wrote it, without added digits: `5 %`, `0.5 %`.
pub fn given(share: f64) -> String {
    let text = percent(share);
    text.replace(".0 %", " %")
}

/// A share as a percentage, with no more digits than its uncertainty allows.
pub(crate) fn percent_within(share: f64, half_width: f64) -> String {
    let digits = match half_width.abs() * 100.0 {
        w if w >= 3.0 => 0,
        w if w >= 0.3 => 1,
        _ => 2,
    };
    let text = format!("{:.digits$}", share * 100.0);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    let text = if text == "-0" { "0".to_owned() } else { text };
    format!("{text} %")
}

/// A factor, with no more digits than an interval of this half-width allows.
pub(crate) fn factor_within(x: f64, half_width: f64) -> String {
    let digits = match half_width.abs() {
        w if w >= 1.0 => 0,
        w if w >= 0.05 => 1,
        _ => 2,
    };
    if x.abs() < 1e7 { format!("{x:.digits$}") } else { significant(x, 3) }
}

/// A p-value: `0.032`, `< 0.0001`.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        Some(p) if !p.is_finite() => NONE.into(),
        Some(p) if p < 1e-4 => "< 0.0001".into(),
        Some(p) if p < 0.1 => significant(p, 2),
        Some(p) => format!("{p:.2}"),
        None => NONE.into(),
    }
}

/// A large count with thin grouping: `12 345 678`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// An effect in print: point and interval, on one scale with the same digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectText {
    /// `-64.2 %`, `0.358 ×`, `+12 ns`.
    pub value: String,
    /// `[-65.9, -62.4]`.
    pub interval: String,
}

/// An effect with its interval in one line, as reports print them: `-8 % [-28, +19]`; a difference in `unit`.
pub fn effect_text(e: &Effect, unit: &str) -> String {
    let EffectText { value, interval } = effect(e, unit);
    format!("{value} {interval}").trim_end().to_owned()
}

/// Percentages near one, factors far from it, signed quantities for differences.
pub fn effect(e: &Effect, unit: &str) -> EffectText {
    if ![e.value, e.lo, e.hi].iter().all(|x| x.is_finite()) {
        return EffectText { value: NONE.into(), interval: String::new() };
    }
    match e.scale {
        Scale::Difference => {
            let (scale, shown) = unit_for([e.value, e.lo, e.hi].iter().fold(0.0, |m: f64, x| m.max(x.abs())), unit);
            let [value, lo, hi] = [e.value, e.lo, e.hi].map(|x| x / scale);
            // So small that a fixed number of digits would show 0: 12 migrations in a million operations are not zero.
            let tiny = value.abs().max(lo.abs()).max(hi.abs()) < 5e-4 && hi > lo;
            let digits = decimals((hi - lo) / 2.0, value);
            let print = |x: f64| if tiny && x != 0.0 { format!("{x:+.1e}") } else { signed(x, digits) };
            let value = format!("{} {shown}", print(value)).trim_end().to_owned();
            EffectText { value, interval: format!("[{}, {}]", print(lo), print(hi)) }
        }
        Scale::Ratio if is_factor(e.value) => {
            // The lower side of a factor's interval is the shorter one; its digits keep `[0.5, 29.0]` from being
            // printed as `[0, 29]`.
            let digits = decimals(((e.hi - e.lo) / 2.0).min(e.value - e.lo), e.value);
            let [value, lo, hi] = [e.value, e.lo, e.hi].map(|x| fixed(x, digits));
            EffectText { value: format!("{value} ×"), interval: format!("[{lo}, {hi}]") }
        }
        Scale::Ratio => {
            let [value, lo, hi] = [e.value, e.lo, e.hi].map(|x| (x - 1.0) * 100.0);
            let digits = decimals((hi - lo) / 2.0, value);
            let value = format!("{} %", signed(value, digits));
            EffectText { value, interval: format!("[{}, {}]", signed(lo, digits), signed(hi, digits)) }
        }
    }
}

/// Whether a ratio is printed as a factor.
pub fn is_factor(ratio: f64) -> bool {
    ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM
}

/// Decimals that show two digits of the half-width, or three digits of the value if there is none.
fn decimals(half_width: f64, value: f64) -> usize {
    if half_width <= 0.0 && value.abs() < 1e-9 {
        return 0;
    }
    let (size, digits) = if half_width > 0.0 { (half_width, 1.0) } else { (value.abs().max(1e-9), 2.0) };
    (digits - size.log10().floor()).clamp(0.0, 4.0) as usize
}

/// With this many decimals, or without any if the number is too large for them.
fn fixed(x: f64, digits: usize) -> String {
    if x.is_finite() && x.abs() < 1e7 { format!("{x:.digits$}") } else { significant(x, 3) }
}

fn signed(x: f64, digits: usize) -> String {
    let text = fixed(x, digits);
    let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match zero {
        true => text.trim_start_matches('-').to_owned(),
        false if x > 0.0 && x.is_finite() => format!("+{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_pick_their_unit() {
        let shown = |x, unit| quantity(x, unit);
        assert_eq!(shown(2_716.0, "ns"), "2.716 µs");
        assert_eq!(shown(0.123_45, "s"), "123.5 ms");
        assert_eq!(shown(1_234_567.0, "1/s"), "1.235 M/s");
        assert_eq!(shown(0.042, "share"), "4.200 %");
        assert_eq!(shown(0.5, "1/op"), "0.5000 /op");
        assert_eq!(
            (percent(4.7e-11), percent(0.0), percent(0.0052)),
            ("< 0.001 %".into(), "0 %".into(), "0.52 %".into())
        );
        assert_eq!(shown(640.0, "ns/op"), "640.0 ns/op");
        assert_eq!(shown(17.0, "points"), "17.00 points");
        assert_eq!(maybe_quantity(Some(f64::NAN), "s"), NONE);
        assert_eq!(significant(9.996, 3), "10.0");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }

    #[test]
    fn effects_carry_the_digits_of_their_interval() {
        let of = |value, lo, hi| effect(&Effect { scale: Scale::Ratio, value, lo, hi, level: 0.95 }, "s");
        assert_eq!(of(1.012, 0.996, 1.028), EffectText { value: "+1.2 %".into(), interval: "[-0.4, +2.8]".into() });
        assert_eq!(of(0.358, 0.341, 0.376), EffectText { value: "0.358 ×".into(), interval: "[0.341, 0.376]".into() });
        assert_eq!(of(4.0, 0.47, 29.0), EffectText { value: "4.0 ×".into(), interval: "[0.5, 29.0]".into() });
        let difference = Effect { scale: Scale::Difference, value: 1500.0, lo: -200.0, hi: 3200.0, level: 0.95 };
        assert_eq!(effect(&difference, "ns").value, "+1.5 µs");
        let rare = Effect { scale: Scale::Difference, value: 8.3e-6, lo: -1.2e-5, hi: 2.9e-5, level: 0.95 };
        let rare = effect(&rare, "1/op");
        assert_eq!((rare.value.as_str(), rare.interval.as_str()), ("+8.3e-6 /op", "[-1.2e-5, +2.9e-5]"));
        assert_eq!(of(f64::NAN, 1.0, 2.0).value, NONE);
        assert_eq!(of(1.0, 0.99999, 1.00001).value, "0.0000 %");
    }
}
