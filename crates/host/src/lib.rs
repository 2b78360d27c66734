//! What this machine is and can measure: read-only checks with effect, evidence and mend.
#![forbid(unsafe_code)]
