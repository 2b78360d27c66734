//! Faithful scheduler and IPC workloads, one file each.
#![forbid(unsafe_code)]
