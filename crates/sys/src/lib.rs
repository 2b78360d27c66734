//! Kernel interfaces: syscalls, clocks, shared mappings, perf events; the only crate with unsafe.
