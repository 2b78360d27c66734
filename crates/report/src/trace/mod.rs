//! Findings of traces in print.

mod affine;
mod basis;
mod blame;
mod chains;
mod check;
mod copies;
mod inversions;
mod kworkers;
mod latency;
mod map;
mod overview;
mod perf_latency;
mod pooled_kworkers;
mod queues;
mod slow;
mod states;
mod timehist;

pub use affine::trace_affine_text;
pub use blame::trace_blame_text;
pub use chains::trace_chains_text;
pub use check::{trace_check_claim, trace_check_text};
pub use copies::{trace_copies_svg, trace_copies_text};
pub use inversions::trace_inversions_text;
pub use kworkers::trace_kworkers_text;
pub use latency::trace_latency_text;
pub use map::map_line;
pub use overview::trace_overview_text;
pub use perf_latency::perf_latency_text;
pub use pooled_kworkers::{pooled_kworkers_svg, pooled_kworkers_text};
pub use queues::trace_queues_text;
pub use slow::trace_slow_text;
pub use states::trace_states_text;
pub use timehist::{timehist_header, timehist_line};

use crate::page::Page;
use schedlab_analyze::trace::TraceFacts;
use schedlab_run::counted;
use std::io;

/// What pages of traces have in common.
impl Page<'_> {
    /// Where the trace is from.
    pub(super) fn origin(&mut self, trace: &TraceFacts) -> io::Result<()> {
        let mut text = trace.format.clone();
        let mut add = |before: &str, what: &str| {
            if !what.is_empty() {
                text += &format!("{before}{what}");
            }
        };
        add(" of ", &trace.hostname);
        add(", kernel ", &trace.release);
        add(" ", &trace.arch);
        add(", by ", &trace.recorder);
        add("; clock: ", &trace.clock);
        let length = crate::number::quantity(trace.length_ns as f64, "ns");
        let events = match trace.events_in_file() {
            all if all > trace.events => format!("{} of the file's {} events", trace.events, all),
            _ => counted(trace.events, "events"),
        };
        self.paragraph("", &format!("{text}; {length}, {events}"))?;
        trace.unmatched.iter().try_for_each(|sentence| self.paragraph("  ! ", sentence))
    }

    /// Sentences that begin with a number, of those that are not 0: how each goes on behind 1, and behind others.
    pub(super) fn numbered<'s>(&mut self, told: impl IntoIterator<Item = (u64, &'s str, &'s str)>) -> io::Result<()> {
        for (number, one, more) in told.into_iter().filter(|(number, ..)| *number > 0) {
            let text = if number == 1 { one } else { more };
            self.paragraph("  - ", &format!("{} {text}", crate::number::count(number)))?;
        }
        Ok(())
    }

    /// What the reader of the findings must know of the trace.
    pub(super) fn remarks(&mut self, trace: &TraceFacts) -> io::Result<()> {
        let told = [
            (
                trace.repaired_wakings,
                "waking came before the switch-out that it ended; that wait begins there",
                "wakings came before the switch-out that they ended; those waits begin there",
            ),
            (
                trace.cancelled_sleeps,
                "waking found its thread not asleep yet, and it did not sleep",
                "wakings found their thread not asleep yet, and it did not sleep",
            ),
            (
                trace.unseen_wakings,
                "time a thread was switched in after a sleep whose waking is not in the trace",
                "times a thread was switched in after a sleep whose waking is not in the trace",
            ),
            (
                trace.gaps,
                "stretch of some CPU has missing events; waits that overlap it are censored",
                "stretches of some CPU have missing events; waits that overlap them are censored",
            ),
        ];
        self.numbered(told)?;
        for problem in &trace.problems {
            self.paragraph("  ! ", problem)?;
        }
        Ok(())
    }
}

/// Whose a row is: `name:tid` of one task, `name:(n)` of several, as perf writes them.
fn task(comm: &str, tid: Option<u32>, tasks: u64) -> String {
    match tid {
        Some(tid) => format!("{comm}:{tid}"),
        None => format!("{comm}:({tasks})"),
    }
}
