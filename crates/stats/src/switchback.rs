//! Switchback designs: one unit alternates between the arms in short windows. The unit stays the observation: its windows give
//! one contrast, and the contrasts of several units go to [`crate::t_estimate`].

/// One window of a unit, its transition already cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Whether arm B was in force.
    pub is_b: bool,
    /// Whether arm B was in force in the window before; `None` for the first window or after a gap.
    pub previous: Option<bool>,
    /// Natural logarithm of the rate (or duration) in this window.
    pub log_rate: f64,
}

/// Contrasts ln B − ln A of neighbouring windows with different arms. Each window is used at most once, the earliest partner first,
/// so slow drift enters every contrast with the sign of a coin and cancels in the mean. Windows that are not finite are skipped
/// and never bridged.
pub fn pair_contrasts(windows: &[Window]) -> Vec<f64> {
    let mut contrasts = Vec::with_capacity(windows.len() / 2);
    let mut i = 0;
    while i + 1 < windows.len() {
        let (first, second) = (windows[i], windows[i + 1]);
        if first.is_b == second.is_b || !(first.log_rate.is_finite() && second.log_rate.is_finite()) {
            i += 1;
            continue;
        }
        let forward = second.log_rate - first.log_rate;
        contrasts.push(if second.is_b { forward } else { -forward });
        i += 2;
    }
    contrasts
}

/// The unit's contrast: the mean over its pairs, in log units. `None` without a pair.
pub fn unit_contrast(windows: &[Window]) -> Option<f64> {
    let contrasts = pair_contrasts(windows);
    (!contrasts.is_empty()).then(|| contrasts.iter().sum::<f64>() / contrasts.len() as f64)
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
        let unit = windows("ABBAABBA", |i, b| 0.1 * i as f64 + if b { 0.5 } else { 0.0 });
        assert_eq!(pair_contrasts(&unit).len(), 4);
        assert!((unit_contrast(&unit).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn equal_neighbours_and_gaps_make_no_pair() {
        assert!(pair_contrasts(&windows("AAAA", |_, _| 1.0)).is_empty());
        assert_eq!(pair_contrasts(&windows("AABB", |_, _| 1.0)), [0.0]);
        assert_eq!(unit_contrast(&windows("AB", |i, _| if i == 0 { f64::NAN } else { 1.0 })), None);
    }
}
