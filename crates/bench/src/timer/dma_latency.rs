//! /dev/cpu_dma_latency: as long as the file is held open, no CPU enters an idle state whose exit takes longer than the
//! number of microseconds written to it. cyclictest writes 0 by default, so its figures do not include the cost of
//! leaving idle. The kernel drops the request when the file is closed, even by SIGKILL, so nothing needs to be
//! journaled. Source: Documentation/power/pm_qos_interface.rst.

use crate::error::BenchError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

pub(super) const DEVICE: &str = "/dev/cpu_dma_latency";

/// What to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// 0 µs if we may, otherwise nothing (and a note): cyclictest's behaviour.
    Auto,
    /// Exactly this, or an error.
    Micros(u32),
    /// Leave it as it is.
    Leave,
}

/// An active request, or why there is none.
#[derive(Debug)]
pub(super) struct DmaLatency {
    _held: Option<File>,
    micros: Option<u32>,
    /// A note for readers of the result.
    pub(super) note: Option<String>,
}

impl DmaLatency {
    /// Opens and writes `device`.
    pub(super) fn hold(device: &Path, wish: Wish) -> Result<Self, BenchError> {
        let micros = match wish {
            Wish::Leave => return Ok(Self { _held: None, micros: None, note: None }),
            Wish::Auto => 0,
            Wish::Micros(micros) => micros,
        };
        match write(device, micros) {
            Ok(file) => Ok(Self { _held: Some(file), micros: Some(micros), note: None }),
            Err(error) if wish == Wish::Auto => {
                let reason =
                    format!("{} was not set ({error}): latencies include the exit from idle", device.display());
                Ok(Self { _held: None, micros: None, note: Some(reason) })
            }
            Err(error) => Err(BenchError::NotPossibleHere {
                workload: super::INFO.name,
                reason: format!(
                    "dma_latency={micros}us: {}: {error}; it needs root (or dma_latency=none leaves it alone)",
                    device.display()
                ),
            }),
        }
    }

    /// cyclictest's line, if a request is active.
    pub(super) fn native_line(&self) -> Option<String> {
        self.micros.map(|micros| format!("# {DEVICE} set to {micros}us"))
    }
}

/// The device takes a 32-bit number in native byte order.
fn write(device: &Path, micros: u32) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(device)?;
    file.write_all(&micros.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_written_as_the_kernel_reads_it_and_kept_open() {
        let device = std::env::temp_dir().join(format!("schedlab-dma-latency-{}", std::process::id()));
        std::fs::write(&device, "").unwrap();
        let held = DmaLatency::hold(&device, Wish::Micros(7)).unwrap();
        assert_eq!(std::fs::read(&device).unwrap(), 7u32.to_ne_bytes());
        assert!(held._held.is_some() && held.native_line().unwrap().ends_with("set to 7us"));
        std::fs::remove_file(&device).unwrap();
    }

    #[test]
    fn where_it_cannot_be_opened_auto_notes_it_and_an_explicit_value_is_refused() {
        let nowhere = Path::new("/nonexistent/cpu_dma_latency");
        let auto = DmaLatency::hold(nowhere, Wish::Auto).unwrap();
        assert!(auto.note.unwrap().contains("exit from idle"));
        let error = DmaLatency::hold(nowhere, Wish::Micros(0)).unwrap_err().to_string();
        assert!(error.contains("dma_latency=none") && !error.contains('\n'), "{error}");
        assert!(DmaLatency::hold(nowhere, Wish::Leave).unwrap().note.is_none());
    }
}
