//! Reads a workload's arguments: an unknown key gets the nearest known one as a hint, every value is checked for form
//! and range, and the canonical spec is written from the parsed values.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::workload::WorkloadInfo;
use schedlab_plan::WorkloadSpec;
use schedlab_plan::nearest::{hint, nearest};
use schedlab_plan::units::{self, CpuList};
use schedlab_sys::affinity;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The arguments of one spec; its keys are already known to exist.
pub(crate) struct Arguments<'a> {
    info: &'static WorkloadInfo,
    spec: &'a WorkloadSpec,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(info: &'static WorkloadInfo, spec: &'a WorkloadSpec) -> Result<Self, BenchError> {
        let known = || info.options.iter().map(|option| option.name);
        for key in spec.args.keys() {
            let spelled = key.replace('_', "-");
            if spelled != *key && spec.args.contains_key(&spelled) {
                let reason = format!("`{key}` and `{spelled}` are one option: leave out one of them");
                return Err(BenchError::Conflict { workload: info.name, reason });
            }
            if !known().any(|name| name == spelled) {
                return Err(BenchError::UnknownOption {
                    workload: info.name,
                    key: key.clone(),
                    nearest: nearest(&spelled, known()),
                    known: known().collect(),
                });
            }
        }
        let arguments = Self { info, spec };
        match &spec.shorthand {
            Some(text) if known().any(|name| name == text.replace('_', "-")) => {
                Err(arguments.conflict(format!("option `{text}` has no value: write `{text}=…`")))
            }
            Some(text) if info.shorthand.is_empty() => Err(arguments.conflict(format!(
                "`{text}` is not `key=value`; its options are {}",
                known().collect::<Vec<_>>().join(", ")
            ))),
            _ => Ok(arguments),
        }
    }

    pub(crate) fn shorthand(&self) -> Option<&'a str> {
        self.spec.shorthand.as_deref()
    }

    /// The value of an option, whose name may be written with `_` for `-`, as the references do.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let args = &self.spec.args;
        args.get(key).or_else(|| args.get(&key.replace('-', "_"))).map(String::as_str)
    }

    pub(crate) fn bad(&self, key: &str, value: &str, reason: impl Into<String>) -> BenchError {
        BenchError::BadValue { workload: self.info.name, key: key.into(), value: value.into(), reason: reason.into() }
    }

    pub(crate) fn conflict(&self, reason: impl Into<String>) -> BenchError {
        BenchError::Conflict { workload: self.info.name, reason: reason.into() }
    }

    /// A whole number within a range.
    pub(crate) fn number(&self, key: &str, value: &str, low: u64, high: u64) -> Result<u64, BenchError> {
        let number = u64::from_str(&value.replace('_', "")).ok().filter(|n| (low..=high).contains(n));
        number.ok_or_else(|| self.bad(key, value, format!("must be a whole number from {low} to {high}")))
    }

    pub(crate) fn number_or(&self, key: &str, default: u64, low: u64, high: u64) -> Result<u64, BenchError> {
        self.get(key).map_or(Ok(default), |value| self.number(key, value, low, high))
    }

    /// A count, by default 1; `ncpu` means one, and `4ncpu` four, for each of `cpus`, or for each CPU that we may use
    /// if none are given.
    pub(crate) fn number_or_ncpu(&self, key: &str, high: u64, cpus: &CpuList) -> Result<u64, BenchError> {
        let Some((value, times)) = self.get(key).and_then(|value| Some((value, value.strip_suffix("ncpu")?))) else {
            return self.number_or(key, 1, 1, high);
        };
        let ncpu = match cpus.as_slice() {
            [] => affinity::allowed_cpus(0).map_err(BenchError::io("reading our own affinity"))?.len() as u64,
            cpus => cpus.len() as u64,
        };
        let times = if times.is_empty() { 1 } else { self.number(key, times, 1, high)? };
        let total = times * ncpu;
        if total <= high {
            Ok(total)
        } else {
            Err(self.bad(key, value, format!("is {total} here; the limit is {high}")))
        }
    }

    /// A text; `None` if it is not given or is the option's word `none`.
    pub(crate) fn written(&self, key: &str, none: &str) -> Option<String> {
        self.get(key).filter(|text| *text != none).map(str::to_owned)
    }

    /// Bytes of a message.
    pub(crate) fn bytes_or(&self, default: u64, low: u64, high: u64) -> Result<u64, BenchError> {
        let Some(value) = self.get("bytes") else { return Ok(default) };
        let bytes = units::parse_bytes(value).map_err(|e| self.bad("bytes", value, e.to_string()))?;
        if (low..=high).contains(&bytes) {
            return Ok(bytes);
        }
        Err(self.bad("bytes", value, format!("must be from {low} to {high} bytes")))
    }

    /// A time within a range, ns.
    pub(crate) fn time_or(&self, key: &str, default: u64, low: u64, high: u64) -> Result<u64, BenchError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let ns = units::parse_duration_ns(value).map_err(|e| self.bad(key, value, e.to_string()))?;
        if (low..=high).contains(&ns) {
            return Ok(ns);
        }
        let (low, high) = (units::format_ns(low), units::format_ns(high));
        Err(self.bad(key, value, format!("must be from {low} to {high}")))
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(&self, key: &str, default: T, words: &[(&'static str, T)]) -> Result<T, BenchError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        if let Some(&(_, choice)) = words.iter().find(|(word, _)| *word == value) {
            return Ok(choice);
        }
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = hint(value, all.iter().copied());
        Err(self.bad(key, value, format!("must be one of {}{hint}", all.join(", "))))
    }

    /// `loops=` or `duration=`, never both; and whether one of them was given.
    pub(crate) fn length_or(&self, default: Length) -> Result<(Length, bool), BenchError> {
        match (self.get("loops"), self.get("duration")) {
            (Some(_), Some(_)) => Err(self.conflict("give loops or duration, not both: one of them ends the run")),
            (Some(value), None) => Ok((Length::Loops(self.number("loops", value, 1, 1 << 40)?), true)),
            (None, Some(value)) => {
                let ns = units::parse_duration_ns(value).map_err(|e| self.bad("duration", value, e.to_string()))?;
                // At most a day: far longer than any trial, and a bound that avoids overflow.
                if !(1_000_000..=86_400_000_000_000).contains(&ns) {
                    return Err(self.bad("duration", value, "must be from 1ms to 24h"));
                }
                Ok((Length::DurationNs(ns), true))
            }
            (None, None) => Ok((default, false)),
        }
    }

    /// `cpus=`: a list of CPUs of this machine that we may use; empty if not given.
    pub(crate) fn cpus(&self) -> Result<CpuList, BenchError> {
        let Some(value) = self.get("cpus").filter(|value| *value != "all") else { return Ok(CpuList::default()) };
        let list: CpuList = value.parse().map_err(|e: units::UnitError| self.bad("cpus", value, e.to_string()))?;
        let allowed = affinity::allowed_cpus(0).map_err(BenchError::io("reading our own affinity"))?;
        match list.as_slice().iter().find(|cpu| !allowed.contains(cpu)) {
            None => Ok(list),
            Some(cpu) => {
                let ours = CpuList::new(allowed);
                let reason = format!("cpus={value}: CPU {cpu} is not among the CPUs we may use here ({ours})");
                Err(BenchError::NotPossibleHere { workload: self.info.name, reason })
            }
        }
    }
}

/// A canonical spec made from its arguments.
pub(crate) fn canonical(info: &'static WorkloadInfo, args: &[(&str, String)], length: Option<Length>) -> WorkloadSpec {
    let mut all: BTreeMap<String, String> =
        args.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    match length {
        Some(Length::Loops(loops)) => all.insert("loops".into(), loops.to_string()),
        Some(Length::DurationNs(ns)) => all.insert("duration".into(), units::format_ns(ns)),
        None => None,
    };
    WorkloadSpec { name: info.name.into(), version: Some(info.version), shorthand: None, args: all }
}

/// `all` or the list.
pub(crate) fn cpus_text(cpus: &CpuList) -> String {
    if cpus.is_empty() { "all".to_owned() } else { cpus.to_string() }
}

/// The common rule of `set_duration_ns`: a plan's trial length applies unless the spec itself fixes the loops.
pub(crate) fn set_duration(
    info: &'static WorkloadInfo,
    length: &mut Length,
    written: bool,
    ns: u64,
) -> Result<(), BenchError> {
    if written && let Length::Loops(loops) = *length {
        let reason = format!("loops={loops} already ends the run; leave out loops or the trial length");
        return Err(BenchError::Conflict { workload: info.name, reason });
    }
    *length = Length::DurationNs(ns);
    Ok(())
}
