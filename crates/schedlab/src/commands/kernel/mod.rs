//! `schedlab kernel …`: reads the files for the crate `kernel`, which does no I/O, and prints what it found.

mod adapted;
mod booted;
mod built;
mod checkout;
mod dossier;
mod history;
mod lacking;
mod patched;
mod port;
mod prerequisites;
mod ran;
mod related;
mod series;
mod states;
mod steps;
mod timeline;
mod trees;

pub(super) use checkout::{commit, git, write_files};
pub(super) use series::in_folder;

use crate::cli::kernel::KernelAction;
use anyhow::Result;

pub(super) fn run(action: &KernelAction) -> Result<u8> {
    match action {
        KernelAction::Dossier(args) => dossier::run(args),
        KernelAction::Port(args) => port::run(args),
        KernelAction::Related(args) => related::run(args),
    }
}
