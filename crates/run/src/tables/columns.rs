//! A table as named columns, written to and read from one Parquet file. Every column is optional, so that readers in
//! other languages see plain nulls; unsigned numbers have Parquet's own unsigned annotation.

mod open_table;
mod table_file;

pub(super) use open_table::OpenTable;
pub(super) use table_file::TableFile;

use parquet::errors::ParquetError;

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

#[cfg(test)]
mod tests;
