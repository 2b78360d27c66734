//! The integration tests of the crate, in one program, because each program is linked separately.

mod contract;
mod dispatch;
mod dossier;
mod gnu_patch;
mod inner;
mod interfaces;
mod moves;
mod needs;
mod port;
mod reasons;
mod series;
mod source;
mod twice;
