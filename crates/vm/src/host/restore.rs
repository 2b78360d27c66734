//! A guest that is restored from a saved state instead of booting: the state is made if there is none, and restored,
//! and the guest is given its job. The host's timing does not affect what follows, because the guest reads its job with
//! its own instructions.

use super::boot::{Boot, Events, GuestResult};
use super::boot_files::{BootFiles, RESTORED_JOB_FILE};
use super::monitor::Monitor;
use super::session::Session;
use crate::error::VmError;
use crate::job::{Job, Perturbation, RestoredJob};
use crate::kernel::cache::Cache;
use crate::kernel::image::Architecture;
use crate::lane::Lane;
use crate::qemu::SaveOrRestore;
use crate::qemu_version;
use crate::saved_states::{SavedState, SavedStates};
use std::path::Path;

/// The guest changed so that it gets its command after it is restored from a state, and what it is given then.
pub fn with_restored_job(boot: &Boot) -> Result<(Boot, RestoredJob), VmError> {
    let Job { arguments, perturbation, .. } = boot.job.clone();
    let content = serde_json::to_string(&arguments).map_err(|why| VmError::SavedState(why.to_string()))?;
    let job = Job { stops: true, arguments: Vec::new(), perturbation: Perturbation::default(), ..boot.job.clone() };
    Ok((Boot { job, ..boot.clone() }, RestoredJob { perturbation, path: COMMAND.into(), content }))
}

/// Where the guest stores the arguments of a command that it was given.
const COMMAND: &str = "/schedlab/command.json";

/// Why the state of such a guest cannot be saved, as far as that is known without trying.
pub fn refusal(boot: &Boot) -> Option<String> {
    if !matches!(boot.lane, Lane::Virtual(_)) {
        return Some("the real lane's clock runs on while a guest is stopped".into());
    }
    if boot.kernel.image.architecture != Architecture::X86_64 {
        return Some("a guest of arm64 has no port by which it stops itself".into());
    }
    let version = &boot.qemu.version;
    (!qemu_version::saves_states(version))
        .then(|| format!("QEMU {version} does not write a guest's state into a file (8.2 does); {}", qemu_version::FIX))
}

/// Restores the guest's saved state (and makes one if the cache has none), gives it its job, and follows it to its end.
/// Also returns the checksum of the state. The boot's own job must be to stop the guest.
pub fn from_state(
    boot: &Boot,
    restored_job: &RestoredJob,
    cache: &Cache,
    events: &mut dyn Events,
) -> Result<(GuestResult, u32), VmError> {
    let boot_files = BootFiles::new(boot)?;
    let (states, made_from) = (SavedStates::of(cache), boot_files.made_from()?);
    let file = boot_files.at(RESTORED_JOB_FILE);
    let mut again = false;
    loop {
        // Both are reported to `events`, one after the other.
        let mut notes = Vec::new();
        std::fs::write(&file, "").map_err(VmError::file("writing", &file))?;
        let mut make = |into: &Path| make(boot, &boot_files, &file, into, events);
        let state = states.get(cache, &made_from, &mut |note| notes.push(note.to_owned()), &mut make);
        notes.iter().for_each(|note| events.note(note));
        let state = state?;
        std::fs::write(&file, restored_job.to_text()).map_err(VmError::file("writing", &file))?;
        match restored(boot, &boot_files, &file, &state, events) {
            // Another build of the same QEMU version has probably written it.
            Err(VmError::SavedState(why)) if !again => {
                events.note(&format!("the saved state is unusable ({why}): creating it again"));
                states.remove(&made_from);
                again = true;
            }
            ended => return Ok((ended?, state.crc32)),
        }
    }
}

/// Boots the guest until it stops, and writes its state.
fn make(
    boot: &Boot,
    boot_files: &BootFiles<'_>,
    restored_job: &Path,
    into: &Path,
    events: &mut dyn Events,
) -> Result<(), VmError> {
    let (mut qemu, ports) = boot_files.start(Some(SaveOrRestore { restored_job, from: None }))?;
    let monitor = Monitor::new(&mut qemu).map_err(|why| complained(&mut qemu, why))?;
    let mut session = Session::new(boot, qemu, ports, None, events);
    session.follow_until_stopped(monitor)?.save_state(into)
}

fn restored(
    boot: &Boot,
    boot_files: &BootFiles<'_>,
    restored_job: &Path,
    state: &SavedState,
    events: &mut dyn Events,
) -> Result<GuestResult, VmError> {
    let (mut qemu, ports) = boot_files.start(Some(SaveOrRestore { restored_job, from: Some(&state.path) }))?;
    let gone_on = Monitor::new(&mut qemu).and_then(|mut monitor| monitor.go_on().map(|()| monitor));
    // Kept until the end, because QEMU reads from it.
    let _monitor = gone_on.map_err(|why| complained(&mut qemu, why))?;
    let ended = Session::new(boot, qemu, ports, None, events).follow()?;
    Ok(GuestResult { counts: boot_files.counts()?, ..ended })
}

/// Adds QEMU's own messages, if there are any.
fn complained(qemu: &mut super::process::Qemu, why: VmError) -> VmError {
    qemu.end();
    qemu.drain_stderr();
    match (qemu.complaints(), why) {
        (said, VmError::SavedState(why)) if !said.is_empty() => VmError::SavedState(format!("{why}: {said}")),
        (_, why) => why,
    }
}
