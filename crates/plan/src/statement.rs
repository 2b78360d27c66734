//! `[[statement]]`: a claim by others about the arms, to be judged by this run: a published result, a rule of thumb,
//! the text of a patch. Each has a sentence and the claim about arms that it amounts to.

mod span;

use crate::nearest::hint;
use crate::plan::Plan;
use crate::setting::Arm;
use crate::units::parse_number;
use serde::Deserialize;
use span::Span;
use std::collections::BTreeMap;

/// With fewer values along a setting there is no trend.
const MIN_VALUES: usize = 3;

/// A sentence and its claim about the primary metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The sentence.
    pub says: String,
    /// The arms that it is about: the name of an arm, or for points of a grid the ranges of their values,
    /// `w=4ms..17ms`.
    pub arms: String,
    /// The arms that they are compared with, in the same form; `None`: the control. Trends and `best` have none.
    pub than: Option<String>,
    /// What it claims.
    pub claim: Assertion,
}

/// What is claimed about some arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assertion {
    /// Better, in the metric's direction.
    Better,
    /// Worse, in the metric's direction.
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

impl Assertion {
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

    /// Whether it is about one range of a setting.
    pub fn is_trend(self) -> bool {
        matches!(self, Self::Rising | Self::Falling | Self::Level)
    }

    fn has_other_side(self) -> bool {
        !self.is_trend() && self != Self::Best
    }
}

/// An arm by index, and its value of the one setting that varies within the range of the statement; `None` if no
/// setting varies, or several do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Index of the arm.
    pub arm: u32,
    /// The value, times in ns.
    pub at: Option<f64>,
}

/// Arms of both sides that are equal in everything that the statement does not name; `than` is empty if there is no
/// other side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matched {
    /// The arms that the statement is about.
    pub arms: Vec<Point>,
    /// The arms that they are compared with.
    pub than: Vec<Point>,
}

impl Statement {
    /// The arms of both sides, grouped by the settings that the statement does not name. Groups without one of the
    /// sides are left out, and for a trend groups with fewer than three values.
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
        // An arm given by name is compared with all points of the other side.
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
        let least = if self.claim.is_trend() { MIN_VALUES } else { 1 };
        let is_whole = |m: &Matched| m.arms.len() >= least && (!m.than.is_empty() || !self.claim.has_other_side());
        let whole: Vec<Matched> = groups.into_values().filter(is_whole).collect();
        match whole.is_empty() {
            false => Ok(whole),
            true if self.claim.is_trend() => {
                Err(format!("{self}: no curve has {MIN_VALUES} values in `{}`", self.arms))
            }
            true => Err(format!(
                "{self}: no two arms of the two sides agree in the settings that the statement does not name"
            )),
        }
    }

    /// The arms that a text selects, each with the part of its name that the text does not fix (`None`: the text is the
    /// name of an arm).
    fn select(&self, text: &str, arms: &[Arm]) -> Result<Vec<(Option<String>, Point)>, String> {
        let indexed = || (0..).zip(arms);
        if let Some((arm, _)) = indexed().find(|(_, arm)| arm.name == text) {
            return Ok(vec![(None, Point { arm, at: None })]);
        }
        let spans: Option<Vec<Span>> = text.split_whitespace().map(Span::read).collect();
        let Some(spans) = spans.filter(|spans| !spans.is_empty()) else {
            let hint = hint(text, arms.iter().map(|arm| arm.name.as_str()));
            return Err(format!("{self}: `{text}` is neither an arm{hint} nor spans such as `w=4ms..17ms`"));
        };
        for (at, span) in spans.iter().enumerate() {
            let twice = spans[..at].iter().any(|before| before.axis == span.axis);
            let fits = if twice { Err(format!("`{text}` names `{}` twice", span.axis)) } else { span.fits(arms) };
            fits.map_err(|why| format!("{self}: {why}"))?;
        }
        let inside = |arm: &&Arm| spans.iter().all(|span| span.value(arm).is_some_and(|value| span.holds(value)));
        let varies = |span: &&Span| {
            let mut values = arms.iter().filter(inside).filter_map(|arm| span.value(arm));
            values.next().is_some_and(|first| values.any(|value| value != first))
        };
        let along: Vec<&Span> = spans.iter().filter(varies).collect();
        if along.len() > 1 && self.claim.is_trend() {
            let (axes, is) = (Vec::from_iter(along.iter().map(|span| span.axis)).join(" and "), self.claim.name());
            return Err(format!(
                "{self}: `{is}` is along one setting, and `{text}` spans {axes}; one that is not named is at each of its values"
            ));
        }
        let point = |(arm, info): (u32, &Arm)| {
            let named =
                |word: &&str| word.split_once('=').is_some_and(|(axis, _)| spans.iter().any(|s| s.axis == axis));
            let others: Vec<&str> = info.name.split_whitespace().filter(|word| !named(word)).collect();
            let at = if let [one] = along[..] { one.value(info).and_then(parse_number) } else { None };
            (Some(others.join(" ")), Point { arm, at })
        };
        let found: Vec<_> = indexed().filter(|(_, arm)| inside(arm)).map(point).collect();
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
    /// The statement, checked against the plan's arms, or one sentence on what is wrong with it.
    pub(crate) fn statement(&self, plan: &Plan) -> Result<Statement, String> {
        let words = || Assertion::ALL.iter().map(|(word, _)| *word);
        let Some((_, claim)) = Assertion::ALL.iter().find(|(word, _)| *word == self.is) else {
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
mod tests;
