//! `schedlab kernel …`: opens files for the pure crate of that name and shows what it found.

mod answer;
mod port;
mod shown;

use crate::cli::kernel::KernelAction;
use anyhow::Result;

pub(super) fn run(action: &KernelAction) -> Result<u8> {
    match action {
        KernelAction::Port(args) => port::run(args),
    }
}
