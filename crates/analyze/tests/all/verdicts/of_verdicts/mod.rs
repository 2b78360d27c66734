//! Tests of verdicts, by what they are about.

mod noise;
mod stopping;
