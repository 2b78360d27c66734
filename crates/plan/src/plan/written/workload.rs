//! `[[workload]]` of a plan as a user writes it: its options may be in `run`, or beside it.

use super::super::{PlanError, PlannedWorkload, inconsistent};
use super::{WrittenValue, each_once};
use crate::shell_words;
use crate::workload_spec::{SpecError, WorkloadSpec};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenWorkload {
    run: String,
    /// `copies=1,2,4,ncpu`.
    sweep: Option<String>,
    /// The command of `exec`: a line, or its words.
    command: Option<WrittenCommand>,
    /// Options of the workload that would need quotes in `run`.
    #[serde(default)]
    options: BTreeMap<String, WrittenValue>,
    #[serde(default)]
    load: Vec<String>,
    #[serde(default)]
    primary: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenCommand {
    Line(String),
    Words(Vec<String>),
}

impl WrittenWorkload {
    pub(super) fn planned(&self) -> Result<PlannedWorkload, PlanError> {
        let load = self.load.iter().map(|l| l.parse()).collect::<Result<_, SpecError>>()?;
        let mut run: WorkloadSpec = self.run.parse()?;
        let command = self.command.as_ref().map(|command| match command {
            WrittenCommand::Line(line) => line.clone(),
            WrittenCommand::Words(words) => shell_words::join(words.iter().map(String::as_str)),
        });
        let options = self.options.iter().map(|(key, value)| (key.clone(), value.text()));
        for (key, value) in command.map(|command| ("command".to_owned(), command)).into_iter().chain(options) {
            run.add(&key, value)?;
        }
        let sweep = self.sweep.as_deref().map(parse_sweep).transpose()?;
        each_once("primary", &self.primary)?;
        Ok(PlannedWorkload { run, sweep, load, primary: self.primary.clone() })
    }
}

/// An option and its values from `copies=1,2,4,ncpu`.
pub fn parse_sweep(text: &str) -> Result<(String, Vec<String>), PlanError> {
    let (option, values) = text.split_once('=').unwrap_or((text, ""));
    let values: Vec<String> = values.split(',').map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned).collect();
    if option.trim().is_empty() || values.len() < 2 {
        return inconsistent(format!(
            "sweep `{text}` is not an option with two values or more; write it like `copies=1,2,4,ncpu`"
        ));
    }
    Ok((option.trim().to_owned(), values))
}
