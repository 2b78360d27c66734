//! A table's Parquet file as it is written, a row group at a time.

use super::{Table, Values, io_error};
use crate::error::RunError;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Table {
    /// Opens `<dir>/<name>.parquet` for row groups of this table's shape.
    pub(in super::super) fn create(&self, dir: &Path) -> Result<TableFile, RunError> {
        let path = dir.join(format!("{}.parquet", self.name));
        let file = File::create(&path).map_err(RunError::io(&path))?;
        let fields: String = self.columns.iter().map(|(name, values)| values.schema(name)).collect();
        let schema = parse_message_type(&format!("message {} {{ {fields} }}", self.name)).map_err(unwritten(&path))?;
        let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
        let writer =
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(unwritten(&path))?;
        Ok(TableFile { path, writer })
    }
}

/// A Parquet file under construction.
pub(in super::super) struct TableFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl TableFile {
    /// Adds the table's rows as a row group.
    pub(in super::super) fn append(&mut self, table: &Table) -> Result<(), RunError> {
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
    pub(in super::super) fn finish(self) -> Result<(), RunError> {
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
