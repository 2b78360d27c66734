//! Switchback designs: one unit alternates between the arms in short windows. The unit stays the observation: its
//! windows give one contrast, and the contrasts of several units go to [`crate::t_estimate`].

/// One window of a unit, its transition already cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Whether arm B was active.
    pub is_b: bool,
    /// Whether arm B was active in the window before; `None` for the first window or after a gap.
    pub previous: Option<bool>,
    /// Natural logarithm of the rate in this window: −∞ when nothing was done, NaN when it is unknown.
    pub log_rate: f64,
}

/// The rates of neighbouring windows with different arms, `(A, B)`. Each window is used at most once, with the earliest
/// partner first, so which arm slow drift favours is decided by a coin. Windows without a rate (NaN) are skipped;
/// neither they nor gaps are bridged: two windows with a lost one between them are not neighbours, because which
/// windows are lost may depend on the arm.
fn paired_rates(windows: &[Window]) -> Vec<(f64, f64)> {
    let mut pairs = Vec::with_capacity(windows.len() / 2);
    let mut i = 0;
    while i + 1 < windows.len() {
        let (first, second) = (windows[i], windows[i + 1]);
        let apart = second.previous.is_none();
        if apart || first.is_b == second.is_b || first.log_rate.is_nan() || second.log_rate.is_nan() {
            i += 1;
            continue;
        }
        let (a, b) = if second.is_b { (first, second) } else { (second, first) };
        pairs.push((a.log_rate.exp(), b.log_rate.exp()));
        i += 2;
    }
    pairs
}

/// The unit's contrast in log units: ln of B's mean rate over its paired windows − ln of A's. It uses the mean of the
/// rates, not of their logarithms: that is the unconditional rate of each arm, and a window that was empty because of a
/// stall counts for the time it took, not with the logarithm of zero. `None` without a pair, or if an arm did nothing
/// at all.
pub fn unit_contrast(windows: &[Window]) -> Option<f64> {
    let pairs = paired_rates(windows);
    let total = |arm: fn(&(f64, f64)) -> f64| pairs.iter().map(arm).sum::<f64>();
    let (a, b) = (total(|p| p.0), total(|p| p.1));
    (a > 0.0 && b > 0.0).then(|| (b / a).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(labels: &str, value: impl Fn(usize, bool) -> f64) -> Vec<Window> {
        let is_b: Vec<bool> = labels.bytes().map(|l| l == b'B').collect();
        let window = |i: usize| Window {
            is_b: is_b[i],
            previous: i.checked_sub(1).map(|j| is_b[j]),
            log_rate: value(i, is_b[i]),
        };
        (0..is_b.len()).map(window).collect()
    }

    #[test]
    fn mirrored_pairs_cancel_a_line() {
        let unit = windows("ABBAABBA", |i, b| (100.0 + i as f64 + if b { 5.0 } else { 0.0 }).ln());
        assert_eq!(paired_rates(&unit).len(), 4);
        let a: f64 = [0.0, 3.0, 4.0, 7.0].iter().map(|i| 100.0 + i).sum();
        assert!((unit_contrast(&unit).unwrap() - ((a + 20.0) / a).ln()).abs() < 1e-12);
    }

    #[test]
    fn a_stalled_window_counts_for_its_time_only() {
        // One of ten windows of B did nothing, which costs a tenth of B's rate, although its logarithm is −∞.
        let labels = "AB".repeat(10);
        let unit = windows(&labels, |i, _| if i == 7 { f64::NEG_INFINITY } else { 0.0 });
        assert!((unit_contrast(&unit).unwrap() - 0.9f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn equal_neighbours_and_gaps_make_no_pair() {
        assert!(paired_rates(&windows("AAAA", |_, _| 1.0)).is_empty());
        assert_eq!(paired_rates(&windows("AABB", |_, _| 0.0)), [(1.0, 1.0)]);
        let mut gap = windows("ABBA", |_, _| 0.0);
        gap[1].previous = None;
        assert_eq!(paired_rates(&gap), [(1.0, 1.0)], "the last two");
        assert_eq!(unit_contrast(&windows("AB", |i, _| if i == 0 { f64::NAN } else { 1.0 })), None);
        assert_eq!(unit_contrast(&windows("AB", |i, _| if i == 0 { f64::NEG_INFINITY } else { 1.0 })), None);
    }
}
