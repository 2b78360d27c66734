//! Values of kernel files. What the next arm does not name is restored; what it names is written in several passes,
//! because one value may be refused until another is written, and read back.

use super::{AppliedKnob, HostGuard, Wanted, all_back};
use crate::error::TuneError;
use crate::knob::Knob;
use crate::nr_latency;
use crate::reason;
use crate::resolve::Resolved;
use crate::restore::{PASSES, put_back};
use crate::sysctl::{judge, not_applied};
use crate::tick;
use schedlab_plan::{Applied, Setting};
use std::io;

/// Values can limit each other, so a write may succeed after the other knobs of the arm are written.
enum Outcome {
    Final(Applied),
    Retry(Applied),
}

impl HostGuard {
    /// Restores what the next arm does not name. A value that limits a wanted one is left alone, because it changes
    /// along with it.
    pub(super) fn go_back(&mut self, wanted: &[Wanted<'_>]) -> Result<(), TuneError> {
        let stays = |knob: &Knob| {
            let found = wanted.iter().filter_map(|w| w.found.as_ref().ok());
            let mut knobs = found.map(|r| &r.knob);
            knobs.any(|k| k == knob || k.partner().as_ref() == Some(knob))
        };
        self.held.clear();
        let Some((journal, _)) = &self.journal else { return Ok(()) };
        let files = Knob::is_setting;
        all_back(put_back(&journal.ledger, |e| files(&e.knob) && !stays(&e.knob)))?;
        // A child may be switching a covered knob between its values at any time.
        let covered = |knob: &Knob| self.covered.iter().any(|h| h.knob == *knob);
        let left = journal.ledger.entries().iter();
        let left = left.filter(|e| files(&e.knob) && !stays(&e.knob) && !covered(&e.knob));
        let at_rest = left.map(|e| {
            let shows = e.knob.read().unwrap_or_else(|e| format!("unreadable: {e}"));
            AppliedKnob { name: e.name.clone(), knob: e.knob.clone(), may_show: vec![shows] }
        });
        self.idle = at_rest.collect();
        Ok(())
    }

    pub(super) fn set_files(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Applied>, TuneError> {
        let (mut applied, mut left) = (Vec::new(), Vec::from_iter(wanted));
        for pass in 1..=PASSES {
            // If each of two new values is refused because of the other's old one, first remove the limit.
            if pass > 1 && left.len() > 1 {
                self.lift(&left)?;
            }
            let mut again = Vec::new();
            for one in left {
                match self.set_file(one)? {
                    Outcome::Retry(_) if pass < PASSES => again.push(one),
                    Outcome::Final(outcome) | Outcome::Retry(outcome) => applied.push(outcome),
                }
            }
            left = again;
        }
        // All values are set now, so each is read back, no matter which was written last.
        for one in wanted {
            let Ok(found) = &one.found else { continue };
            let said = applied.iter_mut().find(|a| a.setting == *one.setting && a.not_applied.is_none());
            let notes = nr_latency::beside(found.knob.path()).map(|number| format!(", nr_latency {number}"));
            let notes = notes.into_iter().chain(tick::note(&self.roots, found.knob.path(), &found.value));
            if let Some(said) = said {
                said.effective.extend(notes);
            }
        }
        Ok(applied)
    }

    fn lift(&mut self, wanted: &[&Wanted<'_>]) -> Result<(), TuneError> {
        for one in wanted {
            let Ok(Resolved { knob, .. }) = &one.found else { continue };
            if let (Some(unlimited), Ok(old)) = (knob.unlimited(), knob.read()) {
                // If this write is refused, writing the wanted value is refused too, and that is reported.
                let _ = self.write_journalled(&one.setting.key(), knob, &old, unlimited)?;
            }
        }
        Ok(())
    }

    fn set_file(&mut self, wanted: &Wanted<'_>) -> Result<Outcome, TuneError> {
        let setting = wanted.setting;
        let resolved = match &wanted.found {
            Ok(resolved) => resolved,
            Err(why) => return Ok(Outcome::Final(not_applied(setting, "", why.clone()))),
        };
        let (knob, value) = (&resolved.knob, &resolved.value);
        let refused = |e: &io::Error| not_applied(setting, "", reason::refused(knob.path(), e, Some(value)));
        let old = match knob.read() {
            Ok(old) => old,
            Err(e) => return Ok(Outcome::Final(refused(&e))),
        };
        if old == *value {
            self.hold(&setting.key(), knob, old.clone());
            return Ok(Outcome::Final(judge(setting, resolved, &old, &old)));
        }
        if let Err(e) = knob.open_for_write() {
            return Ok(Outcome::Final(refused(&e)));
        }
        if let Err(e) = self.write_journalled(&setting.key(), knob, &old, value)? {
            let outcome = refused(&e);
            let retry = e.kind() == io::ErrorKind::InvalidInput;
            return Ok(if retry { Outcome::Retry(outcome) } else { Outcome::Final(outcome) });
        }
        let present = knob.read().unwrap_or_else(|e| format!("unreadable: {e}"));
        self.hold(&setting.key(), knob, present.clone());
        Ok(Outcome::Final(judge(setting, resolved, &old, &present)))
    }
}

pub(super) fn refuse_same_knob(wanted: &[Wanted<'_>]) -> Result<(), TuneError> {
    let found: Vec<(&Setting, &Knob)> =
        wanted.iter().filter_map(|w| w.found.as_ref().ok().map(|r| (w.setting, &r.knob))).collect();
    for (index, (first, knob)) in found.iter().enumerate() {
        if let Some((second, _)) = found[index + 1..].iter().find(|(_, other)| other == knob) {
            let path = knob.path().to_owned();
            return Err(TuneError::SameKnob { first: first.key(), second: second.key(), path });
        }
    }
    Ok(())
}
