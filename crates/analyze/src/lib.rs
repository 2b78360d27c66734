//! Run directory to findings: arms, effects, verdicts.
#![forbid(unsafe_code)]
