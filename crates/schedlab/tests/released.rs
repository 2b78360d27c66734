//! Errors that only the released binary can have: it is linked without tables for unwinding, so nothing in it may
//! unwind. `cargo xtask test` sets `SCHEDLAB_BIN` to it; the binary that cargo built for the tests is checked in the
//! same way.

use std::path::PathBuf;
use std::process::{Command, Output};

fn binaries() -> Vec<PathBuf> {
    let released = std::env::var_os("SCHEDLAB_BIN").map(PathBuf::from);
    released.into_iter().chain([PathBuf::from(env!("CARGO_BIN_EXE_schedlab"))]).collect()
}

fn run(binary: &PathBuf, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary);
    command.args(arguments).env("RUST_BACKTRACE", "full").env("RUST_LIB_BACKTRACE", "1");
    command.output().expect("the binary starts")
}

#[test]
fn an_error_is_a_sentence_whatever_rust_backtrace_says() {
    let lines: [&[&str]; 5] = [
        &["trace", "latency", "/nonexistent/trace.dat"],
        &["trace", "latency", "/proc/self/exe", "--time", "5,2"],
        &["bench", "pipe:nosuch=1"],
        &["record", "-o", "/proc/nowhere/trace", "--", "/nonexistent"],
        &["vm", "run", "--kernel", "/nonexistent", "--", "bench", "pipe"],
    ];
    for binary in binaries() {
        for line in lines {
            let ran = run(&binary, line);
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(matches!(ran.status.code(), Some(1 | 2)), "{} {line:?}: {}, {said}", binary.display(), ran.status);
            assert!(said.lines().count() >= 1 && !said.contains("backtrace"), "{} {line:?}: {said}", binary.display());
        }
    }
}

#[test]
fn a_command_that_is_started_has_the_environment_of_the_caller() {
    for binary in binaries() {
        let show = "exec:metric='x=([0-9])',unit=1,direction=higher";
        let ran = run(
            &binary,
            &["bench", show, "--json", "-", "--top", "0", "--", "sh", "-c", "echo x=${RUST_LIB_BACKTRACE}"],
        );
        let said = String::from_utf8_lossy(&ran.stderr);
        let outcome: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
        let metric = &outcome["metrics"].as_array().unwrap()[0];
        assert_eq!(metric["value"], 1.0, "{}: {outcome}", binary.display());
    }
}
