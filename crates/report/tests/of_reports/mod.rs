//! Tests of reports, by what they are about.

mod robust;
mod shapes;
