//! The measured check: a wakeup on one CPU compared with a wakeup across two. The ratio shows whether a result is
//! determined by placement or by the thing under test.

use crate::Probes;
use crate::draft::check;
use schedlab_plan::Check;

/// From this ratio on, free placement determines the result.
const PLACEMENT_DECIDES: f64 = 5.0;

/// The check; `Unavailable` when the caller measured nothing.
pub(crate) fn round_trip(probes: Probes) -> Check {
    let draft = check("round_trip", "round trip on one CPU against two");
    let (same, apart) = match (probes.round_trip_same_ns, probes.round_trip_apart_ns) {
        (Some(same), Some(apart)) if same > 0.0 => (same, apart),
        (Some(same), _) => {
            return draft
                .info(format!("{} on one CPU", micros(same)), "there is no second CPU to compare with")
                .evidence("pipe ping-pong, pinned");
        }
        _ => {
            return draft
                .unavailable("not measured", "whether placement decides results here is not known")
                .fix("`schedlab doctor` measures it in a fraction of a second")
                .evidence("no measurement given");
        }
    };
    let ratio = apart / same;
    let value = format!("{} against {}: {ratio:.1}×", micros(same), micros(apart));
    let draft = if ratio >= PLACEMENT_DECIDES {
        draft
            .warning(value, "where the scheduler puts two tasks decides the result, more than any setting does")
            .fix("pin both arms (pin=same or pin=apart), or read results per tier")
    } else {
        draft.info(value, "what free placement can change at most")
    };
    draft.evidence("pipe ping-pong of two pinned processes")
}

fn micros(ns: f64) -> String {
    format!("{:.1} µs", ns / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::CheckState;

    #[test]
    fn a_large_ratio_is_a_warning() {
        let of = |same, apart| round_trip(Probes { round_trip_same_ns: same, round_trip_apart_ns: apart });
        let vm = of(Some(2_700.0), Some(65_000.0));
        assert_eq!((vm.state, vm.value.as_str()), (CheckState::Warning, "2.7 µs against 65.0 µs: 24.1×"));
        assert_eq!(of(Some(3_000.0), Some(6_000.0)).state, CheckState::Info);
        assert_eq!(of(Some(3_000.0), None).state, CheckState::Info);
        assert_eq!(of(None, None).state, CheckState::Unavailable);
    }
}
