//! The complete report of a comparison, in reading order. Each section is a file here and a row of [`SECTIONS`].

mod caveats;
mod claims;
mod counters;
mod curves;
mod exploratory;
mod inside;
mod machine;
mod main_effects;
mod methods;
mod primary;
mod repeat;
pub(crate) mod scaling;
mod statements;
mod tradeoff;
mod workload;

pub(crate) use claims::headline;
pub(crate) use statements::ANSWERS;

use crate::Input;
use crate::document::Section;
use crate::pictures::{self, Rows};
use std::cell::OnceCell;

type Sections = for<'a> fn(&'a Subject<'a>) -> Vec<Section<'a>>;

/// Every section of a report.
const SECTIONS: &[Sections] = &[
    claims::sections,
    caveats::sections,
    claims::arms,
    tradeoff::sections,
    scaling::sections,
    workload::sections,
    machine::sections,
    methods::sections,
    repeat::sections,
];

/// The input of a report, and the trials as pictures show them, which are prepared when the first picture needs them.
pub(crate) struct Subject<'a> {
    pub(crate) input: Input<'a>,
    rows: Vec<OnceCell<Rows>>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        Self { input, rows: input.findings.workloads.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The trials of a workload of the findings, by index.
    pub(crate) fn rows(&self, workload: usize) -> &Rows {
        self.rows[workload].get_or_init(|| pictures::rows_of(&self.input, workload).unwrap_or_default())
    }
}

/// All sections, in order.
pub(crate) fn whole<'a>(subject: &'a Subject<'a>) -> Vec<Section<'a>> {
    SECTIONS.iter().flat_map(|sections| sections(subject)).collect()
}
