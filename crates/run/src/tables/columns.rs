//! A table as named columns, written to and read from one Parquet file. Every column is optional, so that readers in
//! other languages see plain nulls; unsigned numbers have Parquet's own unsigned annotation.

use crate::error::RunError;
use crate::regular;
use crate::tables::bounds::{self, Unbounded};
use parquet::basic::Compression;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values of one column, a row each.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// Unsigned 64-bit numbers.
    U64(Vec<Option<u64>>),
    /// Signed 64-bit numbers.
    I64(Vec<Option<i64>>),
    /// Floating point.
    F64(Vec<Option<f64>>),
    /// UTF-8 text.
    Text(Vec<Option<String>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    fn add_nulls(&mut self, rows: usize) {
        match self {
            Self::U64(v) => v.resize(v.len() + rows, None),
            Self::I64(v) => v.resize(v.len() + rows, None),
            Self::F64(v) => v.resize(v.len() + rows, None),
            Self::Text(v) => v.resize(v.len() + rows, None),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::U64(v) => v.clear(),
            Self::I64(v) => v.clear(),
            Self::F64(v) => v.clear(),
            Self::Text(v) => v.clear(),
        }
    }

    fn schema(&self, name: &str) -> String {
        match self {
            Self::I64(_) => format!("optional int64 {name};"),
            Self::U64(_) => format!("optional int64 {name} (INTEGER(64,false));"),
            Self::F64(_) => format!("optional double {name};"),
            Self::Text(_) => format!("optional binary {name} (STRING);"),
        }
    }
}

/// Columns in order, all of one length.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// File name without extension.
    pub(super) name: &'static str,
    /// `(name, values)`.
    pub(super) columns: Vec<(&'static str, Values)>,
}

impl Table {
    /// An empty table with these columns: `u` unsigned, `i` signed, `f` floating point, `t` text.
    pub fn new(name: &'static str, columns: &[(&'static str, char)]) -> Self {
        let empty = |kind| match kind {
            'u' => Values::U64(Vec::new()),
            'i' => Values::I64(Vec::new()),
            'f' => Values::F64(Vec::new()),
            _ => Values::Text(Vec::new()),
        };
        Self { name, columns: columns.iter().map(|&(name, kind)| (name, empty(kind))).collect() }
    }

    /// Adds a row; cells in the order of the columns.
    pub fn push<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        assert_eq!(N, self.columns.len(), "a row of {} has a cell for each column", self.name);
        for ((column, values), cell) in self.columns.iter_mut().zip(cells) {
            match (values, cell) {
                (Values::U64(v), Cell::U(x)) => v.push(x),
                (Values::I64(v), Cell::I(x)) => v.push(x),
                (Values::F64(v), Cell::F(x)) => v.push(x),
                (Values::Text(v), Cell::T(x)) => v.push(x.map(str::to_owned)),
                _ => unreachable!("the cells of {}.{column} are of the column's type", self.name),
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, v)| v.len())
    }

    /// Removes the rows; their memory is kept.
    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(|(_, values)| values.clear());
    }

    /// A column's cells by name.
    pub(super) fn u64s(&self, name: &str) -> &[Option<u64>] {
        match self.column(name) {
            Values::U64(v) => v,
            _ => &[],
        }
    }

    /// A column's cells by name.
    pub(super) fn f64s(&self, name: &str) -> &[Option<f64>] {
        match self.column(name) {
            Values::F64(v) => v,
            _ => &[],
        }
    }

    /// A column's cells by name.
    pub(super) fn texts(&self, name: &str) -> &[Option<String>] {
        match self.column(name) {
            Values::Text(v) => v,
            _ => &[],
        }
    }

    fn column(&self, name: &str) -> &Values {
        let found = self.columns.iter().find(|(n, _)| *n == name);
        &found.unwrap_or_else(|| unreachable!("{} has a column {name}", self.name)).1
    }

    /// Opens `<dir>/<name>.parquet` for row groups of this table's shape.
    pub(super) fn create(&self, dir: &Path) -> Result<TableFile, RunError> {
        let path = dir.join(format!("{}.parquet", self.name));
        let file = File::create(&path).map_err(RunError::io(&path))?;
        let fields: String = self.columns.iter().map(|(name, values)| values.schema(name)).collect();
        let schema = parse_message_type(&format!("message {} {{ {fields} }}", self.name)).map_err(unwritten(&path))?;
        let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
        let writer =
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(unwritten(&path))?;
        Ok(TableFile { path, writer })
    }

    /// Opens `<dir>/<name>.parquet` for reading.
    pub(super) fn open(&self, dir: &Path) -> Result<OpenTable, RunError> {
        let path = dir.join(format!("{}.parquet", self.name));
        let file = regular::open(&path)?;
        bounds::check_footer(&file).map_err(|e| Unread::from(e).at(&path))?;
        let bytes = file.try_clone().map_err(RunError::io(&path))?;
        let reader = SerializedFileReader::new(file).map_err(|e| Unread::from(e).at(&path))?;
        Ok(OpenTable { name: self.name, path, bytes, reader })
    }

    /// Gives every row group of `<dir>/<name>.parquet` to `take`, as [`OpenTable::read`] does.
    #[cfg(test)]
    pub(super) fn read(self, dir: &Path, take: impl FnMut(&Self) -> Result<(), String>) -> Result<(), RunError> {
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
pub(super) struct OpenTable {
    name: &'static str,
    path: PathBuf,
    /// The file that `reader` reads.
    bytes: File,
    reader: SerializedFileReader<File>,
}

impl OpenTable {
    /// File name without extension.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Number of row groups.
    pub(super) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Passes these row groups (those of them that exist) to `take`, each as a table like the (empty) one: memory is
    /// needed for a group, not for the file. Errors of `take` are sentences; the file's name is added here.
    pub(super) fn read(
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
enum Unread {
    Kernel(std::io::Error),
    Damaged(String),
}

impl Unread {
    fn at(self, path: &Path) -> RunError {
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

/// The kernel's error, if that is the reason.
fn io_error(error: ParquetError) -> Result<std::io::Error, ParquetError> {
    match error {
        ParquetError::External(cause) => {
            cause.downcast::<std::io::Error>().map(|cause| *cause).map_err(ParquetError::External)
        }
        other => Err(other),
    }
}

/// A Parquet file under construction.
pub(super) struct TableFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl TableFile {
    /// Adds the table's rows as a row group.
    pub(super) fn append(&mut self, table: &Table) -> Result<(), RunError> {
        let write = |writer: &mut SerializedFileWriter<File>| {
            let mut group = writer.next_row_group()?;
            for (_, values) in &table.columns {
                write_column(&mut group, values)?;
            }
            group.close().map(|_| ())
        };
        write(&mut self.writer).map_err(unwritten(&self.path))
    }

    /// Ends the file; durable when this returns.
    pub(super) fn finish(self) -> Result<(), RunError> {
        let Self { path, writer } = self;
        let file = writer.into_inner().map_err(unwritten(&path))?;
        file.sync_all().map_err(RunError::io(&path))
    }
}

/// Why a table cannot be written. For a full disk this is the kernel's error, not damage to existing data.
fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> RunError + use<> {
    let path = path.to_owned();
    move |error| match io_error(error) {
        Ok(cause) => RunError::Io { path, cause },
        Err(error) => RunError::Damaged { path, why: error.to_string() },
    }
}

/// One cell of a row.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// Unsigned.
    U(Option<u64>),
    /// Signed.
    I(Option<i64>),
    /// Floating point.
    F(Option<f64>),
    /// Text.
    T(Option<&'a str>),
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, File>, values: &Values) -> Result<(), ParquetError> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("the schema has fewer columns".into()))?;
    fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
        values.iter().map(|v| i16::from(v.is_some())).collect()
    }
    match values {
        Values::U64(v) => {
            let plain: Vec<i64> = v.iter().flatten().map(|&x| x as i64).collect();
            column.typed::<Int64Type>().write_batch(&plain, Some(&levels(v)), None)?;
        }
        Values::I64(v) => {
            let plain: Vec<i64> = v.iter().flatten().copied().collect();
            column.typed::<Int64Type>().write_batch(&plain, Some(&levels(v)), None)?;
        }
        Values::F64(v) => {
            let plain: Vec<f64> = v.iter().flatten().copied().collect();
            column.typed::<DoubleType>().write_batch(&plain, Some(&levels(v)), None)?;
        }
        Values::Text(v) => {
            let plain: Vec<ByteArray> = v.iter().flatten().map(|s| ByteArray::from(s.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&plain, Some(&levels(v)), None)?;
        }
    }
    column.close()
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
                bounds::at_most(bounds::MOST_BYTES, "bytes of text", *text)?;
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

#[cfg(test)]
mod tests;
