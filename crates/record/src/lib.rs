//! Counters of a trial: rusage, schedstat, perf events, /proc tables.
#![forbid(unsafe_code)]
