//! Stops a trace at the first missed deadline: the client that saw the miss writes 0 to `tracing_on` of a tracefs
//! instance. Before the tasks start, the file is opened and must read 1. Source: Documentation/trace/ftrace.rst.

use super::config::INFO;
use crate::error::BenchError;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted, newest first.
const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The open switch of an instance.
#[derive(Debug)]
pub(super) struct TraceStop {
    tracing_on: File,
    path: PathBuf,
}

impl TraceStop {
    /// `instance` is a name below `instances/` of tracefs, or the path of such a directory.
    pub(super) fn open(instance: &str) -> Result<Self, BenchError> {
        Self::open_below(&ROOTS.map(Path::new), instance)
    }

    fn open_below(roots: &[&Path], instance: &str) -> Result<Self, BenchError> {
        let cannot = |reason: String| BenchError::NotPossibleHere { workload: INFO.name, reason };
        let directory = if instance.contains('/') {
            PathBuf::from(instance)
        } else {
            let mounted = roots.iter().find(|root| root.join("instances").is_dir());
            let Some(root) = mounted else {
                return Err(cannot(format!(
                    "trace-instance={instance}: tracefs is not mounted (mount -t tracefs none {}); it needs root",
                    ROOTS[0]
                )));
            };
            root.join("instances").join(instance)
        };
        let path = directory.join("tracing_on");
        let mut tracing_on = OpenOptions::new().read(true).write(true).open(&path).map_err(|e| {
            let make = directory.display();
            cannot(format!("trace-instance={instance}: {}: {e}; make and start it first: mkdir {make}", path.display()))
        })?;
        let mut text = String::new();
        tracing_on.read_to_string(&mut text).map_err(BenchError::io(format!("reading {}", path.display())))?;
        if text.trim() != "1" {
            return Err(cannot(format!(
                "trace-instance={instance}: it is not recording, so there is nothing to stop: echo 1 > {}",
                path.display()
            )));
        }
        Ok(Self { tracing_on, path })
    }

    /// Stops the trace; stopping twice does no harm. Errors are ignored, because the caller is being timed; the file
    /// shows whether it worked.
    pub(super) fn stop(&self) {
        let _ = self.tracing_on.write_at(b"0", 0);
    }

    /// The path of the instance's `tracing_on`, and whether it is 0 now.
    pub(super) fn state(&self) -> (&Path, bool) {
        (&self.path, std::fs::read_to_string(&self.path).is_ok_and(|text| text.trim() == "0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_instance_is_stopped_and_one_that_does_not_record_is_refused() {
        let root = std::env::temp_dir().join(format!("schedlab-trace-stop-{}", std::process::id()));
        let instance = root.join("instances/mine");
        std::fs::create_dir_all(&instance).unwrap();
        let open = |name: &str| TraceStop::open_below(&[Path::new("/nowhere"), &root], name);
        let refusal = |name: &str| open(name).unwrap_err().to_string();
        assert!(refusal("mine").contains("mkdir"), "no tracing_on yet: {}", refusal("mine"));
        std::fs::write(instance.join("tracing_on"), "0\n").unwrap();
        assert!(refusal("mine").contains("echo 1 >"), "{}", refusal("mine"));
        std::fs::write(instance.join("tracing_on"), "1\n").unwrap();
        let trace = open("mine").unwrap();
        assert!(!trace.state().1);
        trace.stop();
        trace.stop();
        assert!(trace.state().1);
        assert_eq!(std::fs::read_to_string(instance.join("tracing_on")).unwrap(), "0\n");
        std::fs::remove_dir_all(&root).unwrap();
        assert!(refusal("mine").contains("mount -t tracefs"), "{}", refusal("mine"));
    }
}
