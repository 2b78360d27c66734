//! Results of other tools to a run directory: CSV, hackbench logs.
#![forbid(unsafe_code)]
