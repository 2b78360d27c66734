//! `id[:args]`: how a workload is named on the command line, in a plan and in the manifest.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A workload's name and its arguments, not yet checked against the workload that owns the name.
///
/// `messaging:5x50,groups=10` has name `messaging`, shorthand `5x50` and the argument `groups`. A version may be
/// pinned (`messaging/1`). What the arguments mean is the workload's own business (crate `bench`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkloadSpec {
    /// The id without its version: `messaging`.
    pub name: String,
    /// The semantic version, when written (`messaging/1`).
    pub version: Option<u32>,
    /// The argument without a key (`5x50`), when written.
    pub shorthand: Option<String>,
    /// `key=value` arguments.
    pub args: BTreeMap<String, String>,
}

/// A text that does not have the form `id[:args]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No name before the colon.
    #[error("`{0}` names no workload; write `id[:args]`, for example `messaging:5x50,groups=10`")]
    NoName(String),
    /// `name/VERSION` with a version that is not a number.
    #[error("`{0}`: the version after `/` is not a number")]
    BadVersion(String),
    /// The same key twice, or two arguments without a key.
    #[error("`{spec}`: `{key}` is given twice")]
    Twice {
        /// The whole text.
        spec: String,
        /// The repeated key or shorthand.
        key: String,
    },
}

impl FromStr for WorkloadSpec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (id, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let (name, version) = match id.split_once('/') {
            Some((name, v)) => {
                (name.trim(), Some(v.trim().parse().map_err(|_| SpecError::BadVersion(text.to_owned()))?))
            }
            None => (id.trim(), None),
        };
        if name.is_empty() {
            return Err(SpecError::NoName(text.to_owned()));
        }
        let mut spec = Self { name: name.to_owned(), version, shorthand: None, args: BTreeMap::new() };
        // A comma inside a CPU list (`cpus=0-3,8`) continues the value: a part that starts with a digit and has no
        // `=` belongs to the key before it.
        let mut last_key: Option<String> = None;
        for part in rest.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let twice = |key: &str| SpecError::Twice { spec: text.to_owned(), key: key.to_owned() };
            match (part.split_once('='), &last_key) {
                (Some((key, value)), _) => {
                    if spec.args.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
                        return Err(twice(key));
                    }
                    last_key = Some(key.trim().to_owned());
                }
                (None, Some(key)) => {
                    let value = spec.args.get_mut(key).expect("last_key was inserted");
                    value.push(',');
                    value.push_str(part);
                }
                (None, None) => {
                    if spec.shorthand.replace(part.to_owned()).is_some() {
                        return Err(twice(part));
                    }
                }
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(version) = self.version {
            write!(f, "/{version}")?;
        }
        let mut separator = ':';
        if let Some(shorthand) = &self.shorthand {
            write!(f, "{separator}{shorthand}")?;
            separator = ',';
        }
        for (key, value) in &self.args {
            write!(f, "{separator}{key}={value}")?;
            separator = ',';
        }
        Ok(())
    }
}

impl TryFrom<String> for WorkloadSpec {
    type Error = SpecError;
    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl From<WorkloadSpec> for String {
    fn from(spec: WorkloadSpec) -> Self {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_prints_as_it_is_read() {
        for text in ["messaging", "messaging/1:5x50,groups=10,transport=pipe", "pipe:copies=1,2,4,pin=same"] {
            assert_eq!(text.parse::<WorkloadSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn repeats_and_missing_names_are_refused() {
        assert!(matches!("pipe:pin=a,pin=b".parse::<WorkloadSpec>(), Err(SpecError::Twice { .. })));
        assert!(matches!(":x".parse::<WorkloadSpec>(), Err(SpecError::NoName(_))));
        assert!(matches!("pipe/x".parse::<WorkloadSpec>(), Err(SpecError::BadVersion(_))));
    }
}
