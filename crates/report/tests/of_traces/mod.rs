//! Tests of pages of traces, by what they are about.

mod filters;
mod stories;
