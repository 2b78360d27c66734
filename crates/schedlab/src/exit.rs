//! Exit codes, a contract with scripts.

/// Done.
pub(crate) const DONE: u8 = 0;
/// Error: one line on standard error says which.
pub(crate) const ERROR: u8 = 1;
// 2, a wrong command line, is clap's own.
// 3 worse, 4 inconclusive and 5 void come from `schedlab_analyze::exit_status`.
