//! The sealed form of a run: one Parquet file per kind of row, every row leading back to its trial by number. Nothing
//! is lost by sealing: what [`write`] stores, [`read`] gives back equal.

mod columns;
mod from_tables;
mod schema;
mod to_tables;

use crate::error::RunError;
use crate::record::TrialRecord;
use std::path::Path;

/// Writes all tables into a directory.
pub(crate) fn write(dir: &Path, trials: &[TrialRecord]) -> Result<(), RunError> {
    to_tables::tables(trials).iter().try_for_each(|table| table.write(dir))
}

/// Reads all tables of a directory.
pub(crate) fn read(dir: &Path) -> Result<Vec<TrialRecord>, RunError> {
    from_tables::read(dir)
}
