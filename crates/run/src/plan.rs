//! PLAN.toml: what a person asks for. Parsing checks everything that can be checked without a machine; unknown keys
//! are errors that name the nearest key. Workload arguments are checked by crate `bench`, knobs by crate `tune`.

use crate::factorial::{self, MOST_FACTORS, PlannedFactor};
use crate::manifest::Factorial;
use crate::nearest::nearest;
use crate::order::{CounterLevel, LoadGroup, Stamping};
use crate::setting::{Arm, Setting, SettingError};
use crate::units::{UnitError, format_ns, parse_duration_ns, parse_share};
use crate::words;
use crate::workload_spec::{SpecError, WorkloadSpec};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Default smallest effect of interest.
const DEFAULT_SESOI: f64 = 0.01;
/// Default of `max_arms`.
const DEFAULT_MAX_ARMS: u32 = 16;
/// Default length of a switchback window.
const DEFAULT_WINDOW_NS: u64 = 50_000_000;

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// `trials = N`: that many blocks.
    Trials {
        /// Blocks per workload.
        blocks: u32,
    },
    /// `budget = "60s"`, for all workloads together.
    Budget {
        /// The whole budget.
        budget_ns: u64,
        /// Looks, evenly spread.
        looks: u32,
    },
    /// `until_decided = true`.
    UntilDecided {
        /// A cap on blocks per workload.
        max_blocks: u32,
    },
}

/// A workload of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWorkload {
    /// What to run, not yet checked by its owner.
    pub run: WorkloadSpec,
    /// An option and the values it is to take one after the other.
    pub sweep: Option<(String, Vec<String>)>,
    /// Loads beside it.
    pub load: Vec<WorkloadSpec>,
    /// Primary metrics; empty is the workload's own.
    pub primary: Vec<String>,
}

/// A complete, consistent plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Title for reports.
    pub title: String,
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
    /// Two-sided error rate of the run.
    pub alpha: f64,
    /// Seed of all coins; drawn when the run begins if the plan names none.
    pub seed: Option<u64>,
    /// When the run stops.
    pub stopping: Stopping,
    /// Length of one trial, if named.
    pub trial_ns: Option<u64>,
    /// Window of a switchback design.
    pub switchback_window_ns: Option<u64>,
    /// Stamping level.
    pub stamping: Stamping,
    /// Counters.
    pub counters: CounterLevel,
    /// Whether loads share the workload's groups.
    pub load_group: LoadGroup,
    /// At least one.
    pub workloads: Vec<PlannedWorkload>,
    /// At least two with distinct names; the first is the control. Empty while a factorial is not settled.
    pub arms: Vec<Arm>,
    /// The factors whose levels the arms combine.
    pub factors: Vec<PlannedFactor>,
    /// Most arms that a factorial may have.
    pub max_arms: u32,
    /// The design of the factors, once it is settled ([`Plan::settle`]).
    pub factorial: Option<Factorial>,
}

/// A plan that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not TOML, or a key of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A key that does not exist.
    #[error("{place}: unknown key `{key}`{}; there are {}", .nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default(), .known.join(", "))]
    UnknownKey {
        /// `line 3`.
        place: String,
        /// As written.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
        /// All keys of the table.
        known: Vec<String>,
    },
    /// A size, time or share that is not one.
    #[error("{key}: {source}")]
    Unit {
        /// The key.
        key: &'static str,
        /// What is wrong.
        source: UnitError,
    },
    /// A workload that does not have the form of one.
    #[error("{0}")]
    Workload(#[from] SpecError),
    /// An arm's settings.
    #[error("arm `{arm}`: {source}")]
    Setting {
        /// The arm.
        arm: String,
        /// What is wrong.
        source: SettingError,
    },
    /// Keys that fit singly but not together.
    #[error("{0}")]
    Inconsistent(String),
}

fn inconsistent<T>(text: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Inconsistent(text.into()))
}

/// The file as written, all keys optional that have a default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlan {
    title: Option<String>,
    sesoi: Option<String>,
    alpha: Option<f64>,
    seed: Option<u64>,
    trials: Option<u32>,
    budget: Option<String>,
    looks: Option<u32>,
    until_decided: Option<bool>,
    max_blocks: Option<u32>,
    trial: Option<String>,
    design: Option<String>,
    latency: Option<Stamping>,
    counters: Option<CounterLevel>,
    load_group: Option<LoadGroup>,
    #[serde(default)]
    workload: Vec<WrittenWorkload>,
    #[serde(default)]
    arm: Vec<WrittenArm>,
    #[serde(default)]
    factor: Vec<WrittenFactor>,
    max_arms: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorkload {
    run: String,
    /// `copies=1,2,4,ncpu`.
    sweep: Option<String>,
    /// The command of `exec`: a line, or its words.
    command: Option<WrittenCommand>,
    /// Options of the workload that would need quotes in `run`.
    #[serde(default)]
    options: BTreeMap<String, WrittenOption>,
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

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenOption {
    Text(String),
    Number(i64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArm {
    name: String,
    #[serde(default)]
    set: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFactor {
    name: String,
    #[serde(default)]
    low: String,
    high: String,
}

impl Plan {
    /// The plan with the arms of its factorial, if it has one; `refused` says of each factor why it cannot be set here.
    pub fn settle(&self, refused: &[Option<String>]) -> Result<Self, PlanError> {
        let mut settled = self.clone();
        if !self.factors.is_empty() {
            let (arms, factorial) =
                factorial::arms(&self.factors, refused, self.max_arms as usize).map_err(PlanError::Inconsistent)?;
            (settled.arms, settled.factorial) = (arms, Some(factorial));
        }
        Ok(settled)
    }

    /// From the text of a PLAN.toml.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let written: WrittenPlan = toml::from_str(text).map_err(|error| describe(text, &error))?;
        let plan = written.into_plan()?;
        plan.check()?;
        Ok(plan)
    }

    /// What no machine could run.
    fn check(&self) -> Result<(), PlanError> {
        if self.workloads.is_empty() {
            return inconsistent("the plan has no workload; add `[[workload]]` with `run = \"messaging:5x50\"`");
        }
        if !self.factors.is_empty() {
            return self.check_factors();
        }
        match self.arms.as_slice() {
            [] => {
                return inconsistent(
                    "the plan has no arms; add at least two `[[arm]]` tables, the first is the control",
                );
            }
            [_] => {
                return inconsistent(
                    "the plan has one arm; add a second `[[arm]]` to compare it with, if only the same again",
                );
            }
            _ => {}
        }
        for (i, arm) in self.arms.iter().enumerate() {
            if self.arms[..i].iter().any(|a| a.name == arm.name) {
                return inconsistent(format!("two arms are named `{}`; give each a name of its own", arm.name));
            }
        }
        self.check_rules()
    }

    fn check_factors(&self) -> Result<(), PlanError> {
        if !self.arms.is_empty() {
            return inconsistent("the factors make the arms; leave out `[[arm]]`, or write arms without `[[factor]]`");
        }
        if !(2..=MOST_FACTORS).contains(&self.factors.len()) {
            let n = self.factors.len();
            return inconsistent(format!(
                "a factorial has 2 to {MOST_FACTORS} factors, not {n}; one factor is two arms"
            ));
        }
        if self.switchback_window_ns.is_some() {
            return inconsistent("a switchback alternates two arms; a factorial has more: use blocks");
        }
        if !matches!(self.stopping, Stopping::Trials { .. }) {
            return inconsistent("a factorial has a fixed number of blocks; give `trials = 6` or more");
        }
        let mut keys: Vec<(String, &str)> = Vec::new();
        for (i, factor) in self.factors.iter().enumerate() {
            if self.factors[..i].iter().any(|f| f.name == factor.name) {
                return inconsistent(format!("two factors are named `{}`; give each a name of its own", factor.name));
            }
            if factor.low.settings == factor.high.settings {
                return inconsistent(format!("factor `{}`: its low and its high level are the same", factor.name));
            }
            let mut own: Vec<String> =
                factor.low.settings.iter().chain(&factor.high.settings).map(Setting::key).collect();
            own.sort();
            own.dedup();
            for key in own {
                if let Some((_, other)) = keys.iter().find(|(k, _)| *k == key) {
                    return inconsistent(format!("factors `{other}` and `{}` both set {key}", factor.name));
                }
                keys.push((key, &factor.name));
            }
        }
        // Whether the fraction exists; which factors can be set only the machine knows.
        self.settle(&[])?;
        self.check_rules()
    }

    fn check_rules(&self) -> Result<(), PlanError> {
        if !(self.sesoi > 0.0 && self.sesoi < 1.0) {
            return inconsistent("sesoi must lie between 0 and 100 %");
        }
        if !(self.alpha > 0.0 && self.alpha <= 0.5) {
            return inconsistent("alpha must lie between 0 and 0.5; 0.05 is the default");
        }
        match self.stopping {
            Stopping::Trials { blocks } if blocks < 6 => {
                inconsistent(format!("trials = {blocks} is too few: no verdict is given below six blocks"))
            }
            Stopping::UntilDecided { max_blocks } if max_blocks < 6 => {
                inconsistent(format!("max_blocks = {max_blocks} is too few: no verdict is given below six blocks"))
            }
            Stopping::Budget { looks: 0, .. } => {
                inconsistent("looks = 0: a budget needs at least one look, at its end")
            }
            _ => self.check_switchback(),
        }
    }

    fn check_switchback(&self) -> Result<(), PlanError> {
        let Some(window_ns) = self.switchback_window_ns else { return Ok(()) };
        if self.arms.len() != 2 {
            return inconsistent(format!("a switchback alternates two arms; this plan has {}", self.arms.len()));
        }
        if window_ns < 1_000_000 {
            return inconsistent(format!(
                "a switchback window of {} is too short; use at least 1ms",
                format_ns(window_ns)
            ));
        }
        // Autogroup acts on tasks forked or moved after the change, so running tasks would not follow it.
        let autogroup =
            |s: &Setting| matches!(s, Setting::Sysctl { name, .. } if name == "kernel.sched_autogroup_enabled");
        let sysctl = |s: &Setting| matches!(s, Setting::Sysctl { .. }) && !s.is_net_sysctl() && !autogroup(s);
        let alternates = |s: &Setting| s.is_per_task() || sysctl(s);
        let fixed = self.arms.iter().flat_map(|a| &a.settings).find(|s| !alternates(s));
        match fixed {
            Some(setting) => inconsistent(format!(
                "`{setting}` cannot alternate on running tasks (cgroup, autogroup, namespace and boot settings have a memory); use blocks"
            )),
            None => Ok(()),
        }
    }

    /// The plan as canonical TOML, complete; parsing it gives the same plan.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: String| text.push_str(&format!("{key} = {value}\n"));
        line("title", quoted(&self.title));
        line("sesoi", quoted(&share(self.sesoi)));
        line("alpha", self.alpha.to_string());
        if let Some(seed) = self.seed {
            line("seed", seed.to_string());
        }
        match self.stopping {
            Stopping::Trials { blocks } => line("trials", blocks.to_string()),
            Stopping::Budget { budget_ns, looks } => {
                line("budget", quoted(&format!("{budget_ns}ns")));
                line("looks", looks.to_string());
            }
            Stopping::UntilDecided { max_blocks } => {
                line("until_decided", "true".into());
                line("max_blocks", max_blocks.to_string());
            }
        }
        if let Some(ns) = self.trial_ns {
            line("trial", quoted(&format!("{ns}ns")));
        }
        if let Some(ns) = self.switchback_window_ns {
            line("design", quoted(&format!("switchback={ns}ns")));
        }
        line(
            "latency",
            quoted(match self.stamping {
                Stamping::Off => "off",
                Stamping::Sampled => "sampled",
                Stamping::All => "all",
            }),
        );
        line(
            "counters",
            quoted(match self.counters {
                CounterLevel::Basic => "basic",
                CounterLevel::Full => "full",
            }),
        );
        line(
            "load_group",
            quoted(match self.load_group {
                LoadGroup::Same => "same",
                LoadGroup::Separate => "separate",
            }),
        );
        if !self.factors.is_empty() {
            line("max_arms", self.max_arms.to_string());
        }
        let list = |items: Vec<String>| format!("[{}]", items.iter().map(|i| quoted(i)).collect::<Vec<_>>().join(", "));
        for workload in &self.workloads {
            text.push_str(&format!("\n[[workload]]\nrun = {}\n", quoted(&workload.run.to_string())));
            if let Some((option, values)) = &workload.sweep {
                text.push_str(&format!("sweep = {}\n", quoted(&format!("{option}={}", values.join(",")))));
            }
            if !workload.load.is_empty() {
                text.push_str(&format!("load = {}\n", list(workload.load.iter().map(ToString::to_string).collect())));
            }
            if !workload.primary.is_empty() {
                text.push_str(&format!("primary = {}\n", list(workload.primary.clone())));
            }
        }
        for factor in &self.factors {
            let (name, low, high) = (quoted(&factor.name), quoted(&factor.low.spec()), quoted(&factor.high.spec()));
            text.push_str(&format!("\n[[factor]]\nname = {name}\nlow = {low}\nhigh = {high}\n"));
        }
        // Arms of a factorial follow from its factors and the machine.
        for arm in self.arms.iter().filter(|_| self.factors.is_empty()) {
            text.push_str(&format!("\n[[arm]]\nname = {}\nset = {}\n", quoted(&arm.name), quoted(&arm.spec())));
        }
        text
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A share as percent where that reads back as the same number (5 % is 5 and not 5.000000000000001), else as it is.
fn share(x: f64) -> String {
    let percent = format!("{:.12}", x * 100.0);
    let percent = format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'));
    if parse_share(&percent) == Ok(x) { percent } else { x.to_string() }
}

impl WrittenPlan {
    fn into_plan(self) -> Result<Plan, PlanError> {
        let duration = |key: &'static str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => match parse_duration_ns(text) {
                Ok(0) => inconsistent(format!("{key} is zero; it must last some time")),
                Ok(ns) => Ok(Some(ns)),
                Err(source) => Err(PlanError::Unit { key, source }),
            },
        };
        let sesoi = match &self.sesoi {
            None => DEFAULT_SESOI,
            Some(text) => parse_share(text).map_err(|source| PlanError::Unit { key: "sesoi", source })?,
        };
        let stopping = self.stopping(duration("budget", &self.budget)?)?;
        let workloads = self.workload.iter().map(WrittenWorkload::planned).collect::<Result<_, _>>()?;
        let arms = self
            .arm
            .iter()
            .map(|a| Arm::parse(&a.name, &a.set).map_err(|source| PlanError::Setting { arm: a.name.clone(), source }));
        Ok(Plan {
            sesoi,
            alpha: self.alpha.unwrap_or(0.05),
            seed: self.seed,
            stopping,
            trial_ns: duration("trial", &self.trial)?,
            switchback_window_ns: switchback_window(self.design.as_deref())?,
            stamping: self.latency.unwrap_or_default(),
            counters: self.counters.unwrap_or_default(),
            load_group: self.load_group.unwrap_or_default(),
            workloads,
            arms: arms.collect::<Result<_, _>>()?,
            factors: self.factor.iter().map(WrittenFactor::planned).collect::<Result<_, _>>()?,
            max_arms: self.max_arms.unwrap_or(DEFAULT_MAX_ARMS),
            factorial: None,
            title: self.title.unwrap_or_else(|| "Untitled".into()),
        })
    }

    fn stopping(&self, budget_ns: Option<u64>) -> Result<Stopping, PlanError> {
        let until_decided = self.until_decided.unwrap_or(false);
        if self.max_blocks.is_some() && !until_decided {
            return inconsistent("max_blocks caps `until_decided = true`; this plan does not say that");
        }
        if self.looks.is_some() && budget_ns.is_none() {
            return inconsistent("looks belong to a `budget`; this plan has none");
        }
        match (self.trials, budget_ns, until_decided) {
            (Some(blocks), None, false) => Ok(Stopping::Trials { blocks }),
            (None, None, true) => Ok(Stopping::UntilDecided { max_blocks: self.max_blocks.unwrap_or(200) }),
            (None, Some(budget_ns), false) => Ok(Stopping::Budget { budget_ns, looks: self.looks.unwrap_or(5) }),
            (None, None, false) => Ok(Stopping::Budget { budget_ns: 60_000_000_000, looks: 5 }),
            _ => inconsistent("give one of `trials`, `budget` and `until_decided`, not several"),
        }
    }
}

impl WrittenFactor {
    fn planned(&self) -> Result<PlannedFactor, PlanError> {
        let level = |text: &str| {
            let wrong = |source| PlanError::Setting { arm: self.name.clone(), source };
            Arm::parse(&self.name, text).map_err(wrong)
        };
        Ok(PlannedFactor { name: self.name.clone(), low: level(&self.low)?, high: level(&self.high)? })
    }
}

impl WrittenWorkload {
    fn planned(&self) -> Result<PlannedWorkload, PlanError> {
        let load = self.load.iter().map(|l| l.parse()).collect::<Result<_, SpecError>>()?;
        let mut run: WorkloadSpec = self.run.parse()?;
        let command = self.command.as_ref().map(|command| match command {
            WrittenCommand::Line(line) => line.clone(),
            WrittenCommand::Words(words) => words::join(words.iter().map(String::as_str)),
        });
        let options = self.options.iter().map(|(key, value)| match value {
            WrittenOption::Text(text) => (key.clone(), text.clone()),
            WrittenOption::Number(number) => (key.clone(), number.to_string()),
        });
        for (key, value) in command.map(|command| ("command".to_owned(), command)).into_iter().chain(options) {
            run.add(&key, value)?;
        }
        let sweep = self.sweep.as_deref().map(parse_sweep).transpose()?;
        Ok(PlannedWorkload { run, sweep, load, primary: self.primary.clone() })
    }
}

/// An option and its values from `copies=1,2,4,ncpu`.
pub fn parse_sweep(text: &str) -> Result<(String, Vec<String>), PlanError> {
    let (option, values) = text.split_once('=').unwrap_or((text, ""));
    let values: Vec<String> = values.split(',').map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned).collect();
    if option.trim().is_empty() || values.len() < 2 {
        return inconsistent(format!(
            "sweep = `{text}` is not an option with values; write it like `copies=1,2,4,ncpu`"
        ));
    }
    Ok((option.trim().to_owned(), values))
}

fn switchback_window(design: Option<&str>) -> Result<Option<u64>, PlanError> {
    match design {
        None | Some("blocks") => Ok(None),
        Some("switchback") => Ok(Some(DEFAULT_WINDOW_NS)),
        Some(text) => match text.strip_prefix("switchback=") {
            Some(window) => {
                parse_duration_ns(window).map(Some).map_err(|source| PlanError::Unit { key: "design", source })
            }
            None => inconsistent(format!("design `{text}` is neither `blocks` nor `switchback=50ms`")),
        },
    }
}

/// serde's message names the unknown key and the known ones; we add the line and the nearest.
fn describe(text: &str, error: &toml::de::Error) -> PlanError {
    let line = error.span().map_or(1, |span| text.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1);
    let place = format!("line {line}");
    let message = error.message();
    let mut ticked = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let key = ticked.next().unwrap_or_default().to_owned();
        let known: Vec<String> = ticked.map(str::to_owned).collect();
        let nearest = nearest(&key, known.iter().map(String::as_str)).map(str::to_owned);
        return PlanError::UnknownKey { place, key, nearest, known };
    }
    PlanError::Toml(format!("{place}: {}", message.lines().next().unwrap_or(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "trials = 6\n[[workload]]\nrun = \"pipe:pin=same\"\nload = [\"burn:2\"]\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"slice=0.1ms;policy=batch\"\n";

    #[test]
    fn a_plan_and_its_canonical_text_are_the_same_plan() {
        for text in [
            SMALL,
            &SMALL.replace("trials = 6", "budget = \"90s\"\nsesoi = \"5%\"\nseed = 7\ntitle = \"a \\\"b\\\"\""),
            &SMALL.replace(
                "run = \"pipe:pin=same\"",
                "run = \"exec:unit=1/s\"\ncommand = [\"sh\", \"-c\", \"echo 'a, b'\"]\noptions = { metric = 'tps = ([0-9.]+), \"', warmup = 1 }",
            ),
            &SMALL.replace("run = \"pipe:pin=same\"", "run = \"pipe:pin=same\"\nsweep = \"copies=1, 2,ncpu\""),
            &SMALL.replace("trials = 6", "until_decided = true\ndesign = \"switchback\"\ntrial = \"1s\""),
        ] {
            let plan = Plan::parse(text).unwrap();
            assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
        }
    }

    #[test]
    fn a_command_is_a_line_or_its_words_and_options_need_no_quotes() {
        let with = |keys: &str| {
            let text = SMALL.replace("run = \"pipe:pin=same\"", &format!("run = \"exec\"\n{keys}"));
            Plan::parse(&text).map(|plan| plan.workloads[0].run.clone())
        };
        let words = with("command = [\"sh\", \"-c\", \"a, b\"]").unwrap();
        assert_eq!(words, with("command = \"sh -c 'a, b'\"").unwrap());
        assert_eq!(words.args["command"], "sh -c 'a, b'");
        let options = with("options = { metric = '([0-9]+), \"x\"', warmup = 2 }").unwrap();
        assert_eq!((options.args["metric"].as_str(), options.args["warmup"].as_str()), ("([0-9]+), \"x\"", "2"));
        let twice = with("command = \"a\"\noptions = { command = \"b\" }").unwrap_err().to_string();
        assert!(twice.contains("given twice"), "{twice}");
    }

    #[test]
    fn a_mistyped_key_is_named_with_its_line_and_the_nearest() {
        let error = Plan::parse("title = \"x\"\ntrails = 6\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: unknown key `trails` (did you mean `trials`?)"), "{error}");
    }

    #[test]
    fn what_cannot_be_run_is_refused_in_one_sentence() {
        for (change, to, expected) in [
            ("trials = 6", "trials = 5", "six blocks"),
            ("trials = 6", "trials = 6\nbudget = \"1min\"", "not several"),
            ("trials = 6", "trials = 6\nlooks = 3", "looks belong"),
            ("name = \"b\"", "name = \"a\"", "named `a`"),
            ("slice=0.1ms", "slice=5", "slice"),
            ("trials = 6", "trials = 6\ntrial = \"0\"", "zero"),
            ("trials = 6", "trials = 6\nsesoi = \"200%\"", "sesoi"),
            ("trials = 6", "trials = 6\ndesign = \"latin\"", "latin"),
            ("load = [\"burn:2\"]", "sweep = \"copies\"", "copies=1,2,4,ncpu"),
        ] {
            let error = Plan::parse(&SMALL.replace(change, to)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
        let one_arm = SMALL.split("[[arm]]\nname = \"b\"").next().unwrap();
        assert!(Plan::parse(one_arm).unwrap_err().to_string().contains("one arm"));
    }

    const FACTORIAL: &str = "trials = 6\nmax_arms = 4\n[[workload]]\nrun = \"pipe\"\n[[factor]]\nname = \"thp\"\nlow = \"thp=never\"\nhigh = \"thp=always\"\n[[factor]]\nname = \"pin\"\nhigh = \"option:pin=same\"\n[[factor]]\nname = \"group\"\nhigh = \"autogroup=off\"\n";

    #[test]
    fn a_factorial_makes_its_arms_when_the_machine_is_known() {
        let plan = Plan::parse(FACTORIAL).unwrap();
        assert!(plan.arms.is_empty());
        assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
        let settled = plan.settle(&[None, None, Some("no autogroups".into())]).unwrap();
        assert_eq!(settled.arms.iter().map(Arm::spec).collect::<Vec<_>>()[3], "thp=always;option:pin=same");
        assert_eq!(settled.to_toml(), plan.to_toml(), "a resumed run knows its plan again");
        assert_eq!(plan.settle(&[]).unwrap().arms.len(), 4, "half of the eight");
    }

    #[test]
    fn a_factorial_that_cannot_be_is_refused_in_one_sentence() {
        for (change, to, expected) in [
            ("trials = 6", "budget = \"90s\"", "fixed number of blocks"),
            ("max_arms = 4", "max_arms = 3", "too few"),
            ("name = \"pin\"", "name = \"thp\"", "named `thp`"),
            ("high = \"autogroup=off\"", "high = \"thp=madvise\"", "both set thp"),
            ("high = \"autogroup=off\"", "high = \"\"", "are the same"),
            ("high = \"autogroup=off\"", "high = \"autogroup=of\"", "autogroup"),
            ("max_arms = 4", "max_arms = 4\ndesign = \"switchback\"", "use blocks"),
            ("[[workload]]", "[[arm]]\nname = \"a\"\n[[workload]]", "leave out `[[arm]]`"),
        ] {
            let error = Plan::parse(&FACTORIAL.replace(change, to)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_switchback_refuses_settings_with_memory_and_more_than_two_arms() {
        let with = |set: &str| {
            SMALL.replace("trials = 6", "trials = 6\ndesign = \"switchback=20ms\"").replace("slice=0.1ms", set)
        };
        assert_eq!(Plan::parse(&with("slice=0.1ms")).unwrap().switchback_window_ns, Some(20_000_000));
        assert!(Plan::parse(&with("cpu_weight=200")).unwrap_err().to_string().contains("memory"));
        assert!(
            Plan::parse(&(with("slice=1ms") + "[[arm]]\nname = \"c\"\n")).unwrap_err().to_string().contains("two arms")
        );
    }
}
