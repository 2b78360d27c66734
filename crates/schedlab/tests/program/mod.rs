//! Starting the binary under test in a directory of its own.

#![allow(dead_code, unreachable_pub, missing_docs)] // Each test file uses its part.

use std::path::PathBuf;
use std::process::Command;

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn success(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }
    pub fn failure(self) -> Self {
        assert_ne!(self.code, 0, "it should have failed: {}", self.stdout);
        self
    }
}

pub fn schedlab(arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_schedlab")).args(arguments).output().expect("the binary starts");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON: {e}: {text}"))
}

/// A scratch directory that goes with the test.
pub struct Lab(PathBuf);

impl Lab {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("schedlab-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a scratch directory");
        Self(dir)
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
