//! Tests of reports, by topic.

mod robust;
mod shapes;
