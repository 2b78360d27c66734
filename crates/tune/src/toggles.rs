//! What can be switched in this kernel's scheduler, as factors of a screening: every feature bit, and every knob with a
//! neutral value in the catalogue.

use crate::catalogue::{Knob, catalogue};
use crate::reason::refused;
use crate::resolve::{Missing, debugfs_path};
use crate::roots::Roots;
use schedlab_plan::Arm;
use schedlab_plan::factorial::{PlannedFactor, Toggles};

/// Features that only report, and decide nothing (kernel/sched/features.h of 5.10 to 6.18).
const REPORTS: [&str; 2] = ["feature:WARN_DOUBLE_CLOCK", "feature:LATENCY_WARN"];

/// All toggles: first the feature bits, in the order of the kernel's file.
pub fn toggles(roots: &Roots) -> Toggles {
    let mut toggles = Toggles::default();
    let knobs = catalogue(roots);
    let (features, others): (Vec<&Knob>, Vec<&Knob>) =
        knobs.iter().filter(|knob| !REPORTS.contains(&knob.name.as_str())).partition(|knob| is_feature(knob));
    for knob in features.into_iter().chain(others) {
        let Some(other) = other_value(knob) else {
            if let (Some(value), Some(_), "host") = (&knob.value, &knob.neutral, knob.set) {
                toggles.left_out.push(format!("{}: it has its neutral value, {value}", knob.name));
            }
            continue;
        };
        match &knob.why_not {
            Some(why) => toggles.left_out.push(format!("{}: {why}", knob.name)),
            None => match Arm::parse("high", &other.spec) {
                Ok(high) => toggles.factors.push(PlannedFactor {
                    name: other.name,
                    low: Arm { name: "low".into(), settings: Vec::new() },
                    high,
                }),
                Err(why) => toggles.left_out.push(format!("{}: {why}", knob.name)),
            },
        }
    }
    if !knobs.iter().any(is_feature) {
        let why = match debugfs_path(&roots.debugfs, "sched/features") {
            Err(Missing::Absent(why) | Missing::Refused(why)) => why,
            Ok(file) => match crate::file::read(&file) {
                Ok(_) => format!("{} is empty", file.display()),
                Err(why) => refused(&file, &why, None),
            },
        };
        toggles.left_out.insert(0, format!("feature bits: {why}"));
    }
    toggles
}

fn is_feature(knob: &Knob) -> bool {
    knob.name.starts_with("feature:")
}

/// The other setting of a switch: its name in tables, and its SPEC.
struct Other {
    name: String,
    spec: String,
}

/// The opposite value of a feature, or the neutral value of a knob that has another one; `None` if there is nothing to
/// switch.
fn other_value(knob: &Knob) -> Option<Other> {
    let present = knob.value.as_deref()?;
    if let Some(feature) = knob.name.strip_prefix("feature:") {
        let word = if present == "on" { format!("NO_{feature}") } else { feature.to_owned() };
        return Some(Other { spec: format!("feature:{word}"), name: word });
    }
    let wanted = knob.neutral.as_ref().filter(|_| knob.set == "host")?;
    let offered = knob.path.as_ref().and_then(|path| crate::file::read(path).ok()).unwrap_or_default();
    // A file that lists choices, such as `none (voluntary) full`, accepts only these.
    let is_offered = |value: &&str| !offered.contains('(') || offered.split_whitespace().any(|word| word == *value);
    let value = wanted.value.split('|').filter(|value| *value != present).find(is_offered)?;
    let spec = match knob.here.as_deref()?.split_once(':')? {
        ("spec", example) => format!("{}={value}", example.split('=').next()?),
        _ => format!("{}={value}", knob.here.as_deref()?),
    };
    Some(Other { name: format!("{}={value}", knob.name), spec })
}
