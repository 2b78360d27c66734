//! The sealed form of a run: one Parquet file per kind of row; every row names its trial by number. Sealing loses
//! nothing: [`read`] returns exactly what [`write`] stored.

mod bounds;
mod checksums;
mod columns;
mod directory;
mod from_tables;
mod schema;
mod to_tables;

pub use columns::{Cell, Table};
pub use directory::TableDir;

use crate::error::RunError;
use schedlab_plan::manifest::{CHECKED_SINCE, SLOW_OPERATIONS_SINCE};
use schedlab_plan::record::TrialRecord;
use std::path::Path;

/// Trials whose rows share a row group: half a million histogram cells of the largest workload. Sealing and reading
/// thousands of trials therefore needs about ten megabytes in addition to the trials themselves.
const TRIALS_PER_GROUP: usize = 100;

/// Writes all tables into a directory. `next` returns the trials, some at a time, and none at the end.
pub(crate) fn write(
    dir: &Path,
    mut next: impl FnMut(usize) -> Result<Vec<TrialRecord>, RunError>,
) -> Result<(), RunError> {
    let empty = schema::Tables::empty().all();
    let mut files = empty.iter().map(|table| table.create(dir)).collect::<Result<Vec<_>, _>>()?;
    let mut is_first = true;
    loop {
        let group = next(TRIALS_PER_GROUP)?;
        // A run without trials has tables, too.
        if group.is_empty() && !is_first {
            break;
        }
        is_first = false;
        for (file, table) in files.iter_mut().zip(&to_tables::tables(&group)) {
            file.append(table)?;
        }
    }
    files.into_iter().try_for_each(columns::TableFile::finish)?;
    checksums::write(dir, &empty.iter().map(file_name).collect::<Vec<_>>())
}

/// Reads all tables of a directory of this format version, and reports which could not be checked.
pub(crate) fn read(
    dir: &Path,
    version: u32,
    take: &mut dyn FnMut(TrialRecord) -> Option<TrialRecord>,
) -> Result<(Vec<TrialRecord>, Option<String>), RunError> {
    let mut names = schema::Tables::empty().all().iter().map(file_name).collect::<Vec<_>>();
    let slow_operations = format!("{}.parquet", schema::SLOW_OPERATIONS);
    names.retain(|name| version >= SLOW_OPERATIONS_SINCE || *name != slow_operations);
    let unchecked = checksums::verify(dir, &names, version >= CHECKED_SINCE)?;
    Ok((from_tables::read(dir, take)?, unchecked))
}

fn file_name(table: &columns::Table) -> String {
    format!("{}.parquet", table.name)
}
