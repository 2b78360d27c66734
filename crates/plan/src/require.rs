//! `[[require]]`: what must hold in every trial of an arm for the comparison to mean anything. A setting that was read
//! back can still have no effect (autocorking without a queue never corks); a requirement on a counter shows that it
//! had one.

use crate::nearest::hint;
use crate::outcome::{Counter, TrialOutcome};
use crate::plan::Plan;
use serde::Deserialize;
use std::fmt;

/// A requirement of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// Name of the arm it is about; `None`: of every arm.
    pub arm: Option<String>,
    /// Name of the workload it is about, without version; `None`: every workload.
    pub workload: Option<String>,
    /// The number that is checked.
    pub subject: Subject,
    /// The limits of the number.
    pub bound: Bound,
}

/// Counters with this prefix and a function's name count the function's calls, but only in the trials to which the
/// requirement applies: a probe is not free.
pub const CALLS: &str = "calls.";

/// The number that a requirement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A counter's total over the trial: of the workload, else of its network namespace, else of the host.
    Counter(String),
    /// A metric of the workload.
    Metric(String),
}

/// Limits that a number must keep; at least one is set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bound {
    /// More than this.
    pub above: Option<f64>,
    /// Less than this.
    pub below: Option<f64>,
    /// Exactly this.
    pub equals: Option<f64>,
}

/// The table as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenRequirement {
    arm: Option<String>,
    workload: Option<String>,
    counter: Option<String>,
    metric: Option<String>,
    above: Option<f64>,
    below: Option<f64>,
    equals: Option<f64>,
}

impl WrittenRequirement {
    /// The requirement, checked against the plan's arms and workloads, or one sentence on what is wrong with it.
    pub(crate) fn requirement(&self, plan: &Plan) -> Result<Requirement, String> {
        if self.arm.is_some() && !plan.factors.is_empty() {
            return Err("[[require]]: the arms of a factorial follow from its factors; leave out `arm`".into());
        }
        known("arm", self.arm.as_deref(), plan.arms.iter().map(|arm| arm.name.as_str()))?;
        known("workload", self.workload.as_deref(), plan.workloads.iter().map(|workload| workload.run.name.as_str()))?;
        if self.arm.is_some() && plan.switchback_window_ns.is_some() {
            return Err("[[require]]: a switchback trial holds both arms; leave out `arm`".into());
        }
        let subject = match (&self.counter, &self.metric) {
            (Some(name), None) => Subject::Counter(name.clone()),
            (None, Some(name)) => Subject::Metric(name.clone()),
            _ => return Err("a [[require]] takes either `counter` or `metric`, not both".into()),
        };
        let bound = Bound { above: self.above, below: self.below, equals: self.equals };
        let limits = [bound.above, bound.below, bound.equals];
        if limits.iter().flatten().next().is_none() {
            return Err(format!("[[require]] {subject} has no limit; give `above`, `below` or `equals`"));
        }
        if limits.iter().flatten().any(|limit| !limit.is_finite()) {
            return Err(format!("[[require]] {subject}: a limit must be a finite number"));
        }
        Ok(Requirement { arm: self.arm.clone(), workload: self.workload.clone(), subject, bound })
    }
}

/// Whether the plan has what a requirement names.
fn known<'p>(what: &str, name: Option<&str>, all: impl Iterator<Item = &'p str> + Clone) -> Result<(), String> {
    let Some(name) = name.filter(|name| !all.clone().any(|one| one == *name)) else { return Ok(()) };
    Err(format!("[[require]]: the plan has no {what} `{name}`{}", hint(name, all)))
}

impl Requirement {
    /// The kernel function whose calls must be counted in trials of this workload and arm (`None`: of any).
    pub fn called(&self, of: Option<(&str, &str)>) -> Option<&str> {
        let about = |name: &Option<String>, this: &str| name.as_ref().is_none_or(|name| name == this);
        let is_meant = of.is_none_or(|(workload, arm)| about(&self.workload, workload) && about(&self.arm, arm));
        match &self.subject {
            Subject::Counter(name) if is_meant => name.strip_prefix(CALLS),
            _ => None,
        }
    }

    /// What a trial of this arm and workload does not meet, as part of a sentence; `None` if it meets the requirement
    /// or is not concerned.
    pub fn unmet(&self, workload: &str, arm: &str, outcome: &TrialOutcome) -> Option<String> {
        let about = |name: &Option<String>, this: &str| name.as_ref().is_none_or(|name| name == this);
        if !about(&self.workload, workload) || !about(&self.arm, arm) {
            return None;
        }
        let was = match self.subject.value(outcome) {
            Ok(value) if self.bound.holds(value) => return None,
            Ok(value) => format!("was {value}"),
            Err(why) => why,
        };
        Some(format!("arm `{arm}`: {} {was}, and the plan requires {}", self.subject, self.bound))
    }

    /// As a table of a plan.
    pub(crate) fn to_toml(&self, quoted: impl Fn(&str) -> String) -> String {
        let mut text = "\n[[require]]\n".to_owned();
        let mut line = |key: &str, value: Option<String>| {
            text.extend(value.map(|value| format!("{key} = {value}\n")));
        };
        line("arm", self.arm.as_deref().map(&quoted));
        line("workload", self.workload.as_deref().map(&quoted));
        match &self.subject {
            Subject::Counter(name) => line("counter", Some(quoted(name))),
            Subject::Metric(name) => line("metric", Some(quoted(name))),
        }
        let number = |x: f64| toml::Value::Float(x).to_string();
        line("above", self.bound.above.map(number));
        line("below", self.bound.below.map(number));
        line("equals", self.bound.equals.map(number));
        text
    }
}

impl Subject {
    /// The number in one trial, or the reason why there is none.
    fn value(&self, outcome: &TrialOutcome) -> Result<f64, String> {
        match self {
            Self::Metric(name) => {
                let metric = outcome.metrics.iter().find(|m| m.name == *name);
                metric.map(|m| m.value).ok_or_else(|| {
                    let known: Vec<&str> = outcome.metrics.iter().map(|m| m.name.as_str()).collect();
                    format!("is not a metric of {} (it has {})", outcome.workload, known.join(", "))
                })
            }
            Self::Counter(name) => counted(name, &outcome.counters),
        }
    }
}

/// Scopes in which a counter is searched, the nearest to the workload first.
const SCOPES: [&str; 3] = ["workload", "netns", "host"];

/// A counter's total. Trials have no row for a count of 0, but they have one for a count that could not be taken.
fn counted(name: &str, counters: &[Counter]) -> Result<f64, String> {
    let rows = |scope: &'static str| counters.iter().filter(move |c| c.scope == scope && c.name == name);
    if let Some(value) = SCOPES.iter().flat_map(|scope| rows(scope)).find_map(|row| row.count.value()) {
        return Ok(value as f64);
    }
    // A table that could not be read is one row, named by the prefix of its counters' names.
    let of_table =
        |row: &&Counter| name == row.name || name.strip_prefix(&row.name).is_some_and(|r| r.starts_with('.'));
    match counters.iter().filter(of_table).find_map(|row| row.count.why_not()) {
        Some(why) => Err(format!("was not counted ({why})")),
        None => Ok(0.0),
    }
}

impl Bound {
    fn holds(&self, value: f64) -> bool {
        self.above.is_none_or(|limit| value > limit)
            && self.below.is_none_or(|limit| value < limit)
            && self.equals.is_none_or(|limit| value == limit)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Counter(name) | Self::Metric(name)) = self;
        f.write_str(name)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [("more than", self.above), ("less than", self.below), ("exactly", self.equals)];
        let said: Vec<String> =
            limits.into_iter().filter_map(|(words, limit)| Some(format!("{words} {}", limit?))).collect();
        f.write_str(&said.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Count;

    const PLAN: &str = "trials = 6\n[[workload]]\nrun = \"stream\"\n[[arm]]\nname = \"off\"\n[[arm]]\nname = \"on\"\n";

    fn plan(tables: &str) -> Result<Plan, String> {
        Plan::parse(&format!("{PLAN}{tables}")).map_err(|e| e.to_string())
    }

    fn requirement(table: &str) -> Requirement {
        plan(&format!("[[require]]\n{table}")).unwrap().require.remove(0)
    }

    fn counter(name: &str, scope: &str, count: Count) -> Counter {
        Counter { name: name.into(), scope: scope.into(), source: String::new(), count }
    }

    fn outcome(counters: Vec<Counter>) -> TrialOutcome {
        TrialOutcome { workload: "stream/1".into(), counters, ..TrialOutcome::default() }
    }

    #[test]
    fn a_requirement_reads_back_from_the_canonical_plan() {
        let text = "[[require]]\narm = \"on\"\ncounter = \"TcpExt.TCPAutoCorking\"\nabove = 0\n\
                    [[require]]\nworkload = \"stream\"\nmetric = \"cpus_utilized\"\nabove = 0.5\nbelow = 2\n";
        let plan = plan(text).unwrap();
        assert_eq!(plan.require.len(), 2);
        assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn what_no_trial_could_meet_is_refused() {
        for (table, expected) in [
            ("counter = \"a\"", "has no limit"),
            ("above = 1", "takes either `counter` or `metric`"),
            ("counter = \"a\"\nmetric = \"b\"\nabove = 1", "not both"),
            ("counter = \"a\"\nabov = 1", "did you mean `above`"),
            ("counter = \"a\"\nabove = nan", "finite"),
            ("arm = \"onn\"\ncounter = \"a\"\nabove = 1", "did you mean `on`"),
            ("workload = \"pipe\"\ncounter = \"a\"\nabove = 1", "no workload `pipe`"),
        ] {
            let error = plan(&format!("[[require]]\n{table}\n")).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{table}: {error}");
        }
    }

    #[test]
    fn a_count_of_its_arm_is_compared_and_a_missing_row_is_0() {
        let corks = requirement("arm = \"on\"\ncounter = \"TcpExt.TCPAutoCorking\"\nabove = 0\n");
        let rests = requirement("arm = \"off\"\ncounter = \"TcpExt.TCPAutoCorking\"\nequals = 0\n");
        let (none, some) = (outcome(vec![]), outcome(vec![counter("TcpExt.TCPAutoCorking", "netns", Count::Exact(7))]));
        assert_eq!(corks.unmet("stream", "on", &some), None);
        assert_eq!(corks.unmet("stream", "off", &none), None, "not about this arm");
        assert_eq!(rests.unmet("stream", "off", &none), None);
        assert_eq!(
            corks.unmet("stream", "on", &none).unwrap(),
            "arm `on`: TcpExt.TCPAutoCorking was 0, and the plan requires more than 0"
        );
        assert!(rests.unmet("stream", "off", &some).unwrap().contains("was 7, and the plan requires exactly 0"));
    }

    #[test]
    fn a_count_that_was_not_taken_meets_nothing() {
        let rests = requirement("counter = \"TcpExt.TCPAutoCorking\"\nequals = 0\n");
        let unread = outcome(vec![counter("TcpExt", "netns", Count::NotCounted("no such file".into()))]);
        assert!(rests.unmet("stream", "on", &unread).unwrap().contains("was not counted (no such file)"));
        let own = requirement("counter = \"migrations\"\nbelow = 5\n");
        let both =
            vec![counter("migrations", "host", Count::Exact(90)), counter("migrations", "workload", Count::Exact(3))];
        assert_eq!(own.unmet("stream", "on", &outcome(both)), None, "the workload's own count goes first");
        let metric = requirement("metric = \"msgs_per_s\"\nabove = 1\n");
        assert!(metric.unmet("stream", "on", &outcome(vec![])).unwrap().contains("is not a metric of stream/1"));
    }
}
