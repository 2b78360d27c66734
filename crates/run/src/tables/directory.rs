//! A directory of tables written one row group at a time, so that memory is needed for a group and not for a table. It
//! appears under its name only when it is complete.

use super::columns::{Table, TableFile};
use crate::error::RunError;
use crate::writer::sync_dir;
use schedlab_sys::places;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Rows of a row group: while they are gathered, some 10 to 30 MB for a table with twenty columns.
const ROWS_PER_GROUP: usize = 1 << 16;

/// A directory of tables under construction, named `NAME.part` until [`Self::finish`]; if dropped before, it is
/// removed.
pub struct TableDir {
    target: PathBuf,
    part: PathBuf,
    tables: Vec<(Table, TableFile)>,
    finished: bool,
}

impl std::fmt::Debug for TableDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableDir").field("target", &self.target).finish_non_exhaustive()
    }
}

impl TableDir {
    /// Starts a directory with these (empty) tables, each of which becomes a file, even without rows. `target` must not
    /// exist or must be empty.
    pub fn create(target: &Path, tables: Vec<Table>) -> Result<Self, RunError> {
        let named = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        let Some(name) = target.file_name().filter(|_| named) else {
            return Err(RunError::Exists { path: target.to_owned() });
        };
        let mut part_name = OsString::from(name);
        part_name.push(".part");
        let part = target.with_file_name(part_name);
        remove(&part)?;
        if let Some(holder) = part.parent() {
            fs::create_dir_all(holder).map_err(RunError::io(holder))?;
        }
        // Unlike create_dir_all, this does not accept a link to a directory.
        fs::create_dir(&part).map_err(RunError::io(&part))?;
        let mut directory = Self { target: target.to_owned(), part, tables: Vec::new(), finished: false };
        for table in tables {
            let file = table.create(&directory.part)?;
            directory.tables.push((table, file));
        }
        Ok(directory)
    }

    /// A table to add rows to, by its index in the given order; writes it out if there are enough rows for a group.
    pub fn table(&mut self, number: usize) -> Result<&mut Table, RunError> {
        let (table, file) = &mut self.tables[number];
        if table.rows() >= ROWS_PER_GROUP {
            file.append(table)?;
            table.clear();
        }
        Ok(table)
    }

    /// Writes the rest, makes everything durable, and renames the directory.
    pub fn finish(mut self) -> Result<(), RunError> {
        for (table, mut file) in std::mem::take(&mut self.tables) {
            if table.rows() > 0 {
                file.append(&table)?;
            }
            file.finish()?;
        }
        sync_dir(&self.part)?;
        fs::rename(&self.part, &self.target).map_err(RunError::io(&self.target))?;
        self.finished = true;
        let holder = self.target.parent().filter(|holder| !holder.as_os_str().is_empty());
        sync_dir(holder.unwrap_or(Path::new(".")))
    }
}

impl Drop for TableDir {
    fn drop(&mut self) {
        if !self.finished {
            // Whoever drops it already has an error to report.
            let _ = remove(&self.part);
        }
    }
}

/// Removes what a killed conversion has left: tables, but nothing else. A link is never ours: its target is not
/// touched.
fn remove(part: &Path) -> Result<(), RunError> {
    if fs::symlink_metadata(part).is_ok_and(|there| !there.is_dir() || there.uid() != places::effective_uid()) {
        return Err(RunError::Exists { path: part.to_owned() });
    }
    let entries = match fs::read_dir(part) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(RunError::io(part))?,
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|extension| extension == "parquet") {
            fs::remove_file(&path).map_err(RunError::io(&path))?;
        }
    }
    match fs::remove_dir(part) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(RunError::Exists { path: part.to_owned() }),
        other => other.map_err(RunError::io(part)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Cell;
    use super::*;

    const NUMBERS: &[(&str, char)] = &[("n", 'u'), ("below", 'i')];

    fn filled(target: &Path, rows: u64) -> TableDir {
        let tables = vec![Table::new("numbers", NUMBERS), Table::new("none", NUMBERS)];
        let mut dir = TableDir::create(target, tables).unwrap();
        for n in 0..rows {
            dir.table(0).unwrap().push([Cell::U(Some(n)), Cell::I(n.checked_rem(3).map(|n| -(n as i64)))]);
        }
        dir
    }

    #[test]
    fn groups_of_rows_come_back_and_the_name_appears_at_the_end() {
        let lab = tempfile::tempdir().unwrap();
        let target = lab.path().join("made/out");
        let rows = 2 * ROWS_PER_GROUP as u64 + 5;
        let dir = filled(&target, rows);
        assert!(!target.exists());
        dir.finish().unwrap();
        let mut read = Vec::new();
        let numbers = Table::new("numbers", NUMBERS);
        let each = |group: &Table| {
            read.push((group.rows() as u64, group.u64s("n").last().copied()));
            Ok(())
        };
        numbers.read(&target, each).unwrap();
        let group = ROWS_PER_GROUP as u64;
        let last = |n: u64| Some(Some(n - 1));
        assert_eq!(read, [(group, last(group)), (group, last(2 * group)), (5, last(rows))]);
        let mut none = 0;
        let each = |group: &Table| {
            none += group.rows();
            Ok(())
        };
        Table::new("none", NUMBERS).read(&target, each).unwrap();
        assert_eq!(none, 0);
        assert_eq!(fs::read_dir(lab.path().join("made")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_there_is_not_touched_and_what_is_dropped_is_gone() {
        let lab = tempfile::tempdir().unwrap();
        let target = lab.path().join("out");
        drop(filled(&target, 3));
        assert_eq!(fs::read_dir(lab.path()).unwrap().count(), 0);
        filled(&target, 1).finish().unwrap();
        let refused = TableDir::create(&target, Vec::new()).unwrap_err().to_string();
        assert!(refused.ends_with("out already exists and is not empty: give another directory"), "{refused}");
        fs::create_dir(lab.path().join("two.part")).unwrap();
        fs::write(lab.path().join("two.part/letter"), "mine").unwrap();
        let refused = TableDir::create(&lab.path().join("two"), Vec::new()).unwrap_err().to_string();
        assert!(refused.contains("two.part already exists"), "{refused}");
        // A link planted where tables would be removed and written.
        let theirs = lab.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("old.parquet"), "mine").unwrap();
        for leads_to in [theirs.as_path(), Path::new("nowhere")] {
            let planted = lab.path().join("three.part");
            std::os::unix::fs::symlink(leads_to, &planted).unwrap();
            let refused = TableDir::create(&lab.path().join("three"), Vec::new()).unwrap_err().to_string();
            assert!(refused.contains("three.part already exists"), "{refused}");
            fs::remove_file(&planted).unwrap();
        }
        assert_eq!(fs::read(theirs.join("old.parquet")).unwrap(), b"mine");
    }
}
