//! The tests of the crate from outside, in one program: each program is linked on its own.

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
