//! Settings: read, set, read back, journal, restore.
#![forbid(unsafe_code)]
