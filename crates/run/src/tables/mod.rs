//! The sealed form of a run: one Parquet file per kind of row, every row leading back to its trial by number. Nothing
//! is lost by sealing: what [`write`] stores, [`read`] gives back equal.

mod checksums;
mod columns;
mod from_tables;
mod schema;
mod to_tables;

use crate::error::RunError;
use crate::record::TrialRecord;
use std::path::Path;

/// Writes all tables into a directory.
pub(crate) fn write(dir: &Path, trials: &[TrialRecord]) -> Result<(), RunError> {
    let tables = to_tables::tables(trials);
    tables.iter().try_for_each(|table| table.write(dir))?;
    checksums::write(dir, &tables.iter().map(file_name).collect::<Vec<_>>())
}

/// Reads all tables of a directory.
pub(crate) fn read(dir: &Path) -> Result<Vec<TrialRecord>, RunError> {
    checksums::verify(dir, &schema::Tables::empty().all().iter().map(file_name).collect::<Vec<_>>())?;
    from_tables::read(dir)
}

fn file_name(table: &columns::Table) -> String {
    format!("{}.parquet", table.name)
}
