//! Waits for a recording or profile until it ends or the user wants to stop.

use anyhow::{Context, Result};
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::{clock, pidfd, signal};
use std::process::Child;
use std::time::Duration;

/// How often to check whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a command may take to end by itself after each signal.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn wait_for_time(ns: u64, interrupt: Interrupt) {
    let end_ns = clock::monotonic_ns().saturating_add(ns);
    while !interrupt.requested() && clock::monotonic_ns() < end_ns {
        clock::sleep_until_ns(end_ns.min(clock::monotonic_ns() + LOOK.as_nanos() as u64));
    }
}

/// How the command failed, if it did. A signal to us is passed on to the command, which then has time to end by itself;
/// after a second signal we do not wait for that.
pub(super) fn wait_for_command(mut child: Child, interrupt: Interrupt) -> Result<Option<String>> {
    let mut sent = None;
    while !pidfd::wait_exit(child.id(), LOOK)? {
        let Some(asked) = interrupt.signal() else { continue };
        let Some(next) = SentSignal::next(sent, asked, interrupt.insisted(), clock::monotonic_ns()) else { continue };
        sent = Some(next);
        if let Some(signal) = next.signal {
            // It has not been waited for yet, so its pid is still valid.
            signal::kill(child.id(), signal).context("the command cannot be terminated")?;
        }
    }
    let status = child.wait().context("the command cannot be waited for")?;
    Ok((!status.success()).then(|| status.to_string()))
}

/// The last signal to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentSignal {
    /// `None` if the terminal sent it: Ctrl-C goes to all processes in the foreground.
    signal: Option<i32>,
    at_ns: u64,
}

impl SentSignal {
    /// The signal to send at `at_ns`, if any, after `last`: the signal that we got, then SIGTERM, then SIGKILL.
    fn next(last: Option<Self>, asked: i32, insisted: bool, at_ns: u64) -> Option<Self> {
        let signal = match last {
            Some(Self { signal: Some(signal::SIGKILL), .. }) => return None,
            _ if insisted => Some(signal::SIGKILL),
            None => Some(asked).filter(|asked| *asked != signal::SIGINT),
            Some(last) if at_ns.saturating_sub(last.at_ns) < PATIENCE.as_nanos() as u64 => return None,
            Some(Self { signal: None, .. }) => Some(signal::SIGTERM),
            Some(_) => Some(signal::SIGKILL),
        };
        Some(Self { signal, at_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal::{SIGINT, SIGKILL, SIGTERM};

    /// The signals to a command that never ends, with the second in which each is sent: first asked at 0, again at
    /// `again_s`.
    fn timeline(asked: i32, again_s: Option<u64>) -> Vec<(u64, Option<i32>)> {
        let (mut sent, mut all) = (None, Vec::new());
        for tenth in 0..200 {
            let insisted = again_s.is_some_and(|again_s| tenth >= again_s * 10);
            if let Some(next) = SentSignal::next(sent, asked, insisted, tenth * 100_000_000) {
                sent = Some(next);
                all.push((tenth / 10, next.signal));
            }
        }
        all
    }

    #[test]
    fn a_command_is_told_what_we_were_told_and_has_time() {
        assert_eq!(timeline(SIGTERM, None), [(0, Some(SIGTERM)), (5, Some(SIGKILL))]);
        assert_eq!(timeline(SIGINT, None), [(0, None), (5, Some(SIGTERM)), (10, Some(SIGKILL))]);
        assert_eq!(timeline(SIGINT, Some(2)), [(0, None), (2, Some(SIGKILL))]);
        assert_eq!(timeline(SIGTERM, Some(0)), [(0, Some(SIGKILL))]);
    }
}
