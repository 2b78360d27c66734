//! Tests of pages of traces, by topic.

mod filters;
mod stories;
