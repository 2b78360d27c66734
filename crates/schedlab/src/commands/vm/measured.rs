//! Runs a `bench` command in a separate guest, for other commands: returns its outcome, and writes nothing on the host.

use super::guest::{self, Capabilities};
use super::guest_command::{GuestCommand, OUTCOME};
use super::listener::Quiet;
use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_plan::TrialOutcome;
use schedlab_plan::plan::GuestPlan;
use schedlab_sys::interrupt::Interrupt;
use schedlab_vm::host::boot::GuestResult;
use schedlab_vm::kernel::own_architecture;

/// Refuses a command that the guest would refuse.
pub(crate) fn check(words: &[String]) -> Result<()> {
    command(words).map(|_| ())
}

fn command(words: &[String]) -> Result<GuestCommand> {
    let mut words = words.to_vec();
    words.splice(1..1, ["--json", OUTCOME].map(str::to_owned));
    GuestCommand::of_words(&words)
}

/// Runs it in a guest with this kernel of the cache and the usual options.
pub(crate) fn measured(kernel: &str, words: &[String]) -> Result<TrialOutcome> {
    let found = guest::find(kernel, own_architecture())?;
    let boot = guest::boot(found, &GuestPlan::default(), &command(words)?, false, &Capabilities::default())?;
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    say(format_args!("schedlab: `{}` in a guest of {kernel}", words.join(" ")));
    let ended = schedlab_vm::boot(&boot, &mut Quiet::at_once(interrupt))?;
    if ended.exit_code != 0 {
        bail!("the guest's command ended with {}", ended.exit_code);
    }
    outcome(&ended)
}

/// The outcome that the guest's `bench` wrote.
pub(super) fn outcome(ended: &GuestResult) -> Result<TrialOutcome> {
    serde_json::from_slice(file(ended, OUTCOME)?).context("the guest's result cannot be read")
}

/// A file that the guest sent.
pub(super) fn file<'a>(ended: &'a GuestResult, path: &str) -> Result<&'a [u8]> {
    let found = ended.files.iter().find(|(name, _)| name == path);
    found.map(|(_, content)| content.as_slice()).with_context(|| format!("the guest sent no {path}"))
}

/// The System.map of a kernel that we built.
pub(crate) fn symbols(kernel: &str) -> Result<String> {
    let found = guest::find(kernel, own_architecture())?;
    let map = found.symbols.with_context(|| format!("there is no System.map of {kernel}"))?;
    std::fs::read_to_string(&map).with_context(|| format!("{} cannot be read", map.display()))
}
