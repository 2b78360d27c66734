//! A table's Parquet file as it is read: what is in it is checked first, because a file may be damaged or foreign.

use super::{Table, Values, io_error};
use crate::error::RunError;
use crate::regular;
use crate::tables::bounds::{self, Unbounded};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

impl Table {
    /// Opens `<dir>/<name>.parquet` for reading.
    pub(in super::super) fn open(&self, dir: &Path) -> Result<OpenTable, RunError> {
        let path = dir.join(format!("{}.parquet", self.name));
        let file = regular::open(&path)?;
        bounds::check_footer(&file).map_err(|e| Unread::from(e).at(&path))?;
        let bytes = file.try_clone().map_err(RunError::io(&path))?;
        let reader = SerializedFileReader::new(file).map_err(|e| Unread::from(e).at(&path))?;
        Ok(OpenTable { name: self.name, path, bytes, reader })
    }

    /// Gives every row group of `<dir>/<name>.parquet` to `take`, as [`OpenTable::read`] does.
    #[cfg(test)]
    pub(in super::super) fn read(
        self,
        dir: &Path,
        take: impl FnMut(&Self) -> Result<(), String>,
    ) -> Result<(), RunError> {
        self.open(dir)?.read(self, 0..usize::MAX, take)
    }

    fn read_group(&mut self, group: &dyn RowGroupReader) -> Result<(), Unread> {
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|e| e.to_string())?;
        let mut text = 0;
        for (name, values) in &mut self.columns {
            read_column(group, name, values, &mut text)?;
        }
        match self.columns.iter().find(|(_, v)| v.len() != rows) {
            Some((name, v)) => Err(format!("column {name} has {} of {rows} rows", v.len()).into()),
            None => Ok(()),
        }
    }
}

/// A table that is being read.
pub(in super::super) struct OpenTable {
    name: &'static str,
    path: PathBuf,
    /// The file that `reader` reads.
    bytes: File,
    reader: SerializedFileReader<File>,
}

impl OpenTable {
    /// File name without extension.
    pub(in super::super) fn name(&self) -> &'static str {
        self.name
    }

    /// Number of row groups.
    pub(in super::super) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Passes these row groups (those of them that exist) to `take`, each as a table like the (empty) one: memory is
    /// needed for a group, not for the file. Errors of `take` are sentences; the file's name is added here.
    pub(in super::super) fn read(
        &self,
        table: Table,
        groups: Range<usize>,
        mut take: impl FnMut(&Table) -> Result<(), String>,
    ) -> Result<(), RunError> {
        let mut buffer = Vec::new();
        for number in groups.start..groups.end.min(self.groups()) {
            let mut table = table.clone();
            let mut read = || {
                bounds::check_group(&self.bytes, self.reader.metadata().row_group(number), &mut buffer)?;
                table.read_group(self.reader.get_row_group(number)?.as_ref())?;
                Ok(take(&table)?)
            };
            read().map_err(|why| match why {
                Unread::Damaged(why) if number > 0 => {
                    Unread::Damaged(format!("row group {number}: {why}")).at(&self.path)
                }
                other => other.at(&self.path),
            })?;
        }
        Ok(())
    }
}

/// Why a table is not read: the kernel refuses, or the file is damaged.
pub(super) enum Unread {
    Kernel(std::io::Error),
    Damaged(String),
}

impl Unread {
    pub(super) fn at(self, path: &Path) -> RunError {
        let path = path.to_owned();
        match self {
            Self::Kernel(cause) => RunError::Io { path, cause },
            Self::Damaged(why) => RunError::Damaged { path, why: format!("{why}; restore it from a copy of the run") },
        }
    }
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Damaged(why)
    }
}

impl From<Unbounded> for Unread {
    fn from(why: Unbounded) -> Self {
        Self::Damaged(match why {
            Unbounded::Kernel(cause) => return Self::Kernel(cause),
            Unbounded::NoFooter => "it does not end as a Parquet file does".into(),
            Unbounded::Length => "a length in it goes beyond its end".into(),
            Unbounded::Foreign => "it has a field that schedlab does not write".into(),
            Unbounded::TooLarge(what, number) => {
                format!("it says that it has {number} {what}, which no table of ours has")
            }
        })
    }
}

impl From<ParquetError> for Unread {
    fn from(error: ParquetError) -> Self {
        match io_error(error) {
            // A file that ends too early is damage.
            Ok(cause) if cause.kind() != std::io::ErrorKind::UnexpectedEof => Self::Kernel(cause),
            Ok(cause) => Self::Damaged(cause.to_string()),
            Err(error) => Self::Damaged(error.to_string()),
        }
    }
}

/// Columns that version 1 of the format does not have: they are missing in every row of such a file.
const SINCE_VERSION_2: &[&str] = &["same_cpu_share"];

/// Appends a row group's column. The physical type is compared first, because the crate panics on a wrong one. `text`
/// counts the group's bytes of text, because a dictionary stores a text once, however many rows have it.
fn read_column(group: &dyn RowGroupReader, name: &str, values: &mut Values, text: &mut u64) -> Result<(), Unread> {
    let schema = group.metadata().schema_descr();
    let Some(index) = (0..schema.num_columns()).find(|&i| schema.column(i).name() == name) else {
        if !SINCE_VERSION_2.contains(&name) {
            return Err(format!("it has no column {name}").into());
        }
        values.add_nulls(usize::try_from(group.metadata().num_rows()).map_err(|e| e.to_string())?);
        return Ok(());
    };
    let wanted = match values {
        Values::U64(_) | Values::I64(_) => Int64Type::get_physical_type(),
        Values::F64(_) => DoubleType::get_physical_type(),
        Values::Text(_) => ByteArrayType::get_physical_type(),
    };
    if schema.column(index).physical_type() != wanted || schema.column(index).max_def_level() != 1 {
        return Err(format!("column {name} is not of the type it should be").into());
    }
    match values {
        Values::U64(v) => v.extend(cells::<Int64Type>(group, index)?.into_iter().map(|x| x.map(|x| x as u64))),
        Values::I64(v) => v.extend(cells::<Int64Type>(group, index)?),
        Values::F64(v) => v.extend(cells::<DoubleType>(group, index)?),
        Values::Text(v) => {
            for cell in cells::<ByteArrayType>(group, index)? {
                *text += cell.as_ref().map_or(0, |bytes| bytes.len() as u64);
                bounds::at_most(bounds::MAX_BYTES, "bytes of text", *text)?;
                let cell = cell.map(|bytes| String::from_utf8(bytes.data().to_vec()));
                v.push(cell.transpose().map_err(|_| format!("column {name} holds text that is not UTF-8"))?);
            }
        }
    }
    Ok(())
}

fn cells<T: DataType>(group: &dyn RowGroupReader, index: usize) -> Result<Vec<Option<T::T>>, Unread> {
    let rows = usize::try_from(group.metadata().num_rows()).map_err(|e| e.to_string())?;
    let reader = group.get_column_reader(index)?;
    let mut reader = get_typed_column_reader::<T>(reader);
    let (mut levels, mut plain) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut plain)?;
    let mut plain = plain.into_iter();
    levels
        .into_iter()
        .map(|level| {
            if level == 1 {
                plain.next().map(Some).ok_or_else(|| "a value is missing".to_owned().into())
            } else {
                Ok(None)
            }
        })
        .collect()
}
