//! `[[statement]]`: what somebody else has said of the arms, to be judged by this run: a published result, a rule of thumb, the
//! text of a patch. Each is a sentence and the claim on arms that it comes down to.

use crate::nearest::hint;
use crate::plan::Plan;
use crate::setting::Arm;
use crate::units::parse_number;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Fewer values along a setting have no trend.
const LEAST_VALUES: usize = 3;

/// A sentence and what it claims of the primary metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The sentence.
    pub says: String,
    /// The arms that it is about: the name of one, or for points of a grid the spans that their values lie in, `w=4ms..17ms`.
    pub arms: String,
    /// The arms that they are held against, in the same form; `None`: the control. Trends and the best have none.
    pub than: Option<String>,
    /// What it claims.
    pub claim: Claim,
}

/// What is claimed of some arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Better by the metric's direction.
    Better,
    /// Worse by it.
    Worse,
    /// Within the smallest effect of interest.
    Same,
    /// The metric rises along the setting.
    Rising,
    /// It falls.
    Falling,
    /// It does neither.
    Level,
    /// Trials vary less.
    Steadier,
    /// Trials vary more.
    LessSteady,
    /// The best of all arms is one of these.
    Best,
}

impl Claim {
    /// All, with their words in a plan.
    const ALL: [(&str, Self); 9] = [
        ("better", Self::Better),
        ("worse", Self::Worse),
        ("same", Self::Same),
        ("rising", Self::Rising),
        ("falling", Self::Falling),
        ("level", Self::Level),
        ("steadier", Self::Steadier),
        ("less-steady", Self::LessSteady),
        ("best", Self::Best),
    ];

    /// Its word in a plan.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Whether it is about one span of a setting.
    pub fn is_trend(self) -> bool {
        matches!(self, Self::Rising | Self::Falling | Self::Level)
    }

    fn has_other_side(self) -> bool {
        !self.is_trend() && self != Self::Best
    }
}

/// An arm, by index, and where it lies along the setting that the statement names; `None` where it names none or several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Index of the arm.
    pub arm: u32,
    /// The value, times in ns.
    pub at: Option<f64>,
}

/// Arms of both sides that are alike in all that the statement does not name; `than` is empty where there is no other side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matched {
    /// What it is about.
    pub arms: Vec<Point>,
    /// What that is held against.
    pub than: Vec<Point>,
}

impl Statement {
    /// The arms of both sides, apart by the settings that the statement does not name. Only what has both sides, or of a trend
    /// three values, is there.
    pub fn matched(&self, arms: &[Arm]) -> Result<Vec<Matched>, String> {
        let own = self.select(&self.arms, arms)?;
        let others = match &self.than {
            Some(than) => self.select(than, arms)?,
            None if self.claim.has_other_side() => vec![(None, Point { arm: 0, at: None })],
            None => Vec::new(),
        };
        if let Some((_, both)) = own.iter().find(|(_, a)| others.iter().any(|(_, b)| a.arm == b.arm)) {
            return Err(format!("{self}: arm `{}` is on both sides", arms[both.arm as usize].name));
        }
        // One that is named is held against all points of the other side.
        let keys: Vec<Option<String>> = own.iter().chain(&others).map(|(key, _)| key.clone()).collect();
        let mut groups: BTreeMap<String, Matched> =
            keys.into_iter().flatten().map(|k| (k, Matched::default())).collect();
        if groups.is_empty() {
            groups.insert(String::new(), Matched::default());
        }
        for (key, group) in &mut groups {
            let of = |side: &[(Option<String>, Point)]| {
                let is_in = |(own, _): &&(Option<String>, Point)| own.as_ref().is_none_or(|own| own == key);
                side.iter().filter(is_in).map(|(_, point)| *point).collect::<Vec<_>>()
            };
            *group = Matched { arms: of(&own), than: of(&others) };
        }
        let least = if self.claim.is_trend() { LEAST_VALUES } else { 1 };
        let is_whole = |m: &Matched| m.arms.len() >= least && (!m.than.is_empty() || !self.claim.has_other_side());
        let whole: Vec<Matched> = groups.into_values().filter(is_whole).collect();
        match whole.is_empty() {
            false => Ok(whole),
            true if self.claim.is_trend() => {
                Err(format!("{self}: no curve has {LEAST_VALUES} values in `{}`", self.arms))
            }
            true => Err(format!(
                "{self}: no two arms of the two sides agree in the settings that the statement does not name"
            )),
        }
    }

    /// Arms that a text means, each with what it does not name of them (`None`: it is the name of an arm).
    fn select(&self, text: &str, arms: &[Arm]) -> Result<Vec<(Option<String>, Point)>, String> {
        let indexed = || (0..).zip(arms);
        if let Some((arm, _)) = indexed().find(|(_, arm)| arm.name == text) {
            return Ok(vec![(None, Point { arm, at: None })]);
        }
        let spans: Option<Vec<(&str, Span)>> = text.split_whitespace().map(span).collect();
        let Some(spans) = spans.filter(|spans| !spans.is_empty()) else {
            let hint = hint(text, arms.iter().map(|arm| arm.name.as_str()));
            return Err(format!("{self}: `{text}` is neither an arm{hint} nor spans such as `w=4ms..17ms`"));
        };
        let point = |(arm, info): (u32, &Arm)| {
            let words = || info.name.split_whitespace().map(|word| (word, word.split_once('=')));
            let mut at = None;
            for (axis, span) in &spans {
                let value = words().find_map(|(_, pair)| pair.filter(|(name, _)| name == axis))?.1;
                at = Some(parse_number(value).filter(|value| span.holds(*value))?);
            }
            let named =
                |pair: Option<(&str, &str)>| pair.is_some_and(|(name, _)| spans.iter().any(|(axis, _)| *axis == name));
            let others: Vec<&str> = words().filter(|(_, pair)| !named(*pair)).map(|(word, _)| word).collect();
            Some((Some(others.join(" ")), Point { arm, at: at.filter(|_| spans.len() == 1) }))
        };
        let found: Vec<_> = indexed().filter_map(point).collect();
        if found.is_empty() { Err(format!("{self}: no arm lies in `{text}`")) } else { Ok(found) }
    }

    /// As a table of a plan.
    pub(crate) fn to_toml(&self, quoted: impl Fn(&str) -> String) -> String {
        let than = self.than.as_deref().map(|than| format!("than = {}\n", quoted(than))).unwrap_or_default();
        let (says, arms, is) = (quoted(&self.says), quoted(&self.arms), quoted(self.claim.name()));
        format!("\n[[statement]]\nsays = {says}\narms = {arms}\n{than}is = {is}\n")
    }
}

impl std::fmt::Display for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[[statement]] `{}`", self.says)
    }
}

/// Both ends belong to it.
struct Span {
    lo: f64,
    hi: f64,
}

impl Span {
    /// The text of a value is not always the number's own: 0.1 ms and 100 us are one.
    fn holds(&self, value: f64) -> bool {
        (self.lo..=self.hi).contains(&value)
    }
}

/// `w=4ms..17ms`, `w=17ms..`, `w=4ms`.
fn span(word: &str) -> Option<(&str, Span)> {
    let (axis, span) = word.split_once('=')?;
    let (lo, hi) = span.split_once("..").unwrap_or((span, span));
    let end = |text: &str, open: f64| if text.is_empty() { Some(open) } else { parse_number(text) };
    Some((axis, Span { lo: end(lo, f64::NEG_INFINITY)?, hi: end(hi, f64::INFINITY)? }))
}

/// The table as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenStatement {
    says: String,
    arms: String,
    than: Option<String>,
    is: String,
}

impl WrittenStatement {
    /// The statement, fit for the plan's arms, or one sentence on what is wrong with it.
    pub(crate) fn statement(&self, plan: &Plan) -> Result<Statement, String> {
        let words = || Claim::ALL.iter().map(|(word, _)| *word);
        let Some((_, claim)) = Claim::ALL.iter().find(|(word, _)| *word == self.is) else {
            let (hint, all) = (hint(&self.is, words()), Vec::from_iter(words()).join(", "));
            return Err(format!("[[statement]] `{}`: nothing is `{}`{hint}; there are {all}", self.says, self.is));
        };
        let [says, arms] = [&self.says, &self.arms].map(|text| text.trim().to_owned());
        let statement = Statement { says, arms, than: self.than.clone(), claim: *claim };
        if !plan.factors.is_empty() || plan.search.is_some() || plan.switchback_window_ns.is_some() {
            return Err(format!("{statement}: statements need blocks of several arms; leave them out"));
        }
        if statement.than.is_some() && !claim.has_other_side() {
            return Err(format!("{statement}: `{}` takes `arms` only; leave out `than`", self.is));
        }
        if statement.says.is_empty() {
            return Err("[[statement]]: `says` is empty; give the statement to test".into());
        }
        statement.matched(&plan.arms).map(|_| statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"default\"\n\
        [[grid]]\nname = \"m\"\nset = \"debugfs:sched/min_granularity_ns\"\nvalues = [\"1ms\", \"10ms\"]\n\
        [[grid]]\nname = \"w\"\nset = \"debugfs:sched/wakeup_granularity_ns\"\nvalues = [\"1ms\", \"2ms\", \"4ms\", \"8ms\"]\n";

    fn plan(table: &str) -> Result<Plan, String> {
        Plan::parse(&format!("{PLAN}[[statement]]\nsays = \"x\"\n{table}\n")).map_err(|error| error.to_string())
    }

    fn names(table: &str) -> Vec<[Vec<String>; 2]> {
        let plan = plan(table).unwrap();
        let of = |points: &[Point]| points.iter().map(|p| plan.arms[p.arm as usize].name.clone()).collect::<Vec<_>>();
        let matched = plan.statements[0].matched(&plan.arms).unwrap();
        matched.iter().map(|m| [of(&m.arms), of(&m.than)]).collect()
    }

    #[test]
    fn spans_are_held_against_spans_at_the_same_other_values() {
        let found = names("arms = \"w=4ms..\"\nthan = \"w=..1ms\"\nis = \"better\"");
        let row = |m: &str| [vec![format!("m={m} w=4ms"), format!("m={m} w=8ms")], vec![format!("m={m} w=1ms")]];
        assert_eq!(found, [row("10ms"), row("1ms")]);
        let named = names("arms = \"m=10ms w=4ms..8ms\"\nis = \"worse\"");
        assert_eq!(named, [[vec!["m=10ms w=4ms".to_owned(), "m=10ms w=8ms".into()], vec!["default".into()]]]);
    }

    #[test]
    fn a_statement_reads_back_from_the_canonical_plan() {
        let read = plan("arms = \"m=1ms..10ms w=1ms\"\nis = \"best\"").unwrap();
        assert_eq!(Plan::parse(&read.to_toml()).unwrap(), read);
        let points = read.statements[0].matched(&read.arms).unwrap();
        assert!(points.iter().flat_map(|m| &m.arms).all(|point| point.at.is_none()), "two settings are named");
        let trend = plan("arms = \"w=1ms..4ms\"\nis = \"rising\"").unwrap();
        let points = trend.statements[0].matched(&trend.arms).unwrap();
        assert_eq!(points[0].arms.iter().map(|p| p.at.unwrap()).collect::<Vec<_>>(), [1e6, 2e6, 4e6]);
    }

    #[test]
    fn what_no_run_could_judge_is_refused() {
        for (table, expected) in [
            ("arms = \"w=4ms\"\nis = \"beter\"", "did you mean `better`"),
            ("arms = \"defaultt\"\nis = \"worse\"", "did you mean `default`"),
            ("arms = \"w=5ms..7ms\"\nis = \"worse\"", "no arm lies in"),
            ("arms = \"w=1ms..2ms\"\nis = \"level\"", "no curve has 3 values"),
            ("arms = \"w=1ms..4ms\"\nthan = \"w=4ms..\"\nis = \"same\"", "on both sides"),
            ("arms = \"w=1ms..4ms\"\nthan = \"w=8ms\"\nis = \"rising\"", "leave out `than`"),
            ("arms = \"m=1ms w=1ms..1ms\"\nthan = \"w=8ms\"\nis = \"same\"", "no two arms of the two sides agree"),
        ] {
            let error = plan(table).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{table}: {error}");
        }
    }
}
