//! Tests of verdicts, by topic.

mod noise;
mod stopping;
