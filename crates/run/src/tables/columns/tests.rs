//! Columns that a file lacks, and a file that cannot be written.

use super::open_table::Unread;
use super::*;
use crate::error::RunError;
use std::path::Path;

#[test]
fn a_column_of_version_2_is_null_in_a_file_of_version_1() {
    let dir = tempfile::tempdir().unwrap();
    let mut old = Table::new("tasks", &[("trial", 'u')]);
    old.push([Cell::U(Some(7))]);
    let mut file = old.create(dir.path()).unwrap();
    file.append(&old).unwrap();
    file.finish().unwrap();
    let read = |columns: &[(&'static str, char)]| {
        let mut cells = Vec::new();
        let table = Table::new("tasks", columns);
        let found = table.read(dir.path(), |t| {
            cells.extend_from_slice(t.f64s("same_cpu_share"));
            Ok(())
        });
        found.map(|()| cells)
    };
    assert_eq!(read(&[("trial", 'u'), ("same_cpu_share", 'f')]).unwrap(), [None]);
    let missing = read(&[("trial", 'u'), ("tid", 'u')]).unwrap_err().to_string();
    assert!(missing.contains("no column tid"), "{missing}");
}

#[test]
fn a_full_disk_is_called_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("t.parquet")).unwrap();
    let mut table = Table::new("t", &[("x", 'u')]);
    table.push([Cell::U(Some(1))]);
    let written = table.create(dir.path()).and_then(|mut file| file.append(&table).and_then(|()| file.finish()));
    match written {
        Err(RunError::Io { cause, .. }) => assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_kernel_refuses_is_not_called_damage() {
    let of = |kind: std::io::ErrorKind| {
        Unread::from(ParquetError::External(std::io::Error::from(kind).into())).at(Path::new("t.parquet"))
    };
    assert!(matches!(of(std::io::ErrorKind::PermissionDenied), RunError::Io { .. }));
    assert!(matches!(of(std::io::ErrorKind::UnexpectedEof), RunError::Damaged { .. }), "it ends too early");
    let general = Unread::from(ParquetError::General("no".into())).at(Path::new("t.parquet"));
    assert!(matches!(general, RunError::Damaged { .. }));
}
