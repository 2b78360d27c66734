//! A guest that stops so that its state can be saved, and the job that it gets when it is restored. It reads the job
//! from QEMU's fw_cfg device with its own instructions, so that nothing arrives at a moment that the host determines.
//! Sources: QEMU's docs/specs/pvpanic.rst and fw_cfg.rst.

use crate::job::RestoredJob;
use crate::qemu::FW_CFG_RESTORED_JOB;
use schedlab_sys::ports::Ports;
use std::fs;
use std::path::Path;

const PVPANIC: u16 = 0x505;
/// A kernel panic: the machine pauses.
const PANICKED: u8 = 1;
const SELECT: u16 = 0x510;
const DATA: u16 = 0x511;
/// The directory of files: their number (u32 BE), then for each its size (u32 BE), key (u16 BE), two unused bytes and
/// 56 bytes of name.
const DIRECTORY: u16 = 0x19;

/// Stops the machine; the next instruction is executed after its state has been saved and restored. Then reads the job
/// that it was given, and puts the file where the command looks for it.
pub(super) fn stop_and_take() -> Result<RestoredJob, String> {
    // The kernel draws it when it is first read: all guests restored from this state have the same.
    let _ = fs::read("/proc/sys/kernel/random/boot_id");
    let ports = Ports::open().map_err(|e| format!("it cannot pause itself: iopl was refused: {e}"))?;
    ports.write_byte(PVPANIC, PANICKED);
    let text = read(&ports, FW_CFG_RESTORED_JOB).ok_or("it was handed nothing")?;
    drop(ports);
    let restored_job =
        RestoredJob::parse(&String::from_utf8_lossy(&text)).ok_or("what it was handed cannot be read")?;
    let written = match Path::new(&restored_job.path).parent() {
        Some(parent) => fs::create_dir_all(parent).and_then(|()| fs::write(&restored_job.path, &restored_job.content)),
        None => fs::write(&restored_job.path, &restored_job.content),
    };
    written.map_err(|e| format!("{}: {e}", restored_job.path))?;
    Ok(restored_job)
}

fn read(ports: &Ports, name: &str) -> Option<Vec<u8>> {
    let take = |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| ports.read_byte(DATA)).collect() };
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    ports.write_word(SELECT, DIRECTORY);
    let files = number(&take(4));
    let found = (0..files)
        .map(|_| take(64))
        .find(|entry| entry[8..].split(|byte| *byte == 0).next() == Some(name.as_bytes()))?;
    ports.write_word(SELECT, number(&found[4..6]) as u16);
    Some(take(number(&found[..4])))
}
