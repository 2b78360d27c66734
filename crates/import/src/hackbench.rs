//! hackbench's own output (rt-tests), as people keep it: any number of runs per log, often in a shell transcript.
//! `Time: 0.123` ends a run; the two lines before it say what was run. Runs that differ in those are different
//! workloads, never replicates of one. All other lines are skipped.

use crate::error::shown;
use crate::table::{Measured, Table, tool};
use crate::{ImportError, Kind, Source};
use schedlab_plan::Direction;

/// Whether this is the line with which hackbench ends a run.
pub(crate) fn is_time_line(line: &str) -> bool {
    line.trim_start().starts_with("Time:")
}

/// All runs of a log.
pub(crate) fn read(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
    let mut configuration = Configuration::default();
    let before = table.rows.len();
    for (index, line) in source.text.lines().enumerate() {
        configuration.learn(line);
        if !is_time_line(line) {
            continue;
        }
        let seconds = line.trim_start().strip_prefix("Time:").unwrap_or_default().trim();
        let value = seconds.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0).ok_or_else(|| {
            let why = format!("`{}` is not hackbench's `Time: SECONDS`", shown(line));
            ImportError::line(source, index + 1, why)
        })?;
        let args = std::mem::take(&mut configuration).args;
        let args: Vec<(&str, &str)> = args.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let workload = table.workload(tool("hackbench", &args), "time_s");
        let mut measured = Measured::default();
        measured.metric("time_s", value, "s", Direction::LowerIsBetter);
        table.push(workload, arm, Ok(measured));
    }
    if table.rows.len() == before {
        return Err(ImportError::no_result(source, Kind::Hackbench, "`Time: SECONDS`"));
    }
    Ok(())
}

/// The parameters in the two banner lines; empty if the log was cut down to its `Time:` lines. The lines are `Running
/// in process mode with 10 groups using 40 file descriptors each (== 400 tasks)` and `Each sender will pass 100
/// messages of 100 bytes`. Apart from `print_usage_exit` they are hackbench.c's only other output (rt-tests).
#[derive(Debug, Default)]
struct Configuration {
    args: Vec<(&'static str, String)>,
}

impl Configuration {
    fn learn(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|w| w.parse::<u64>().ok());
        if line.trim_start().starts_with("Running in ") {
            // A new run: the parameters of an aborted one do not apply to it.
            self.args.clear();
            if let (Some(mode), Some(groups), Some(fds)) = (words.get(2), number(5), number(8)) {
                self.args.extend([("mode", plain(mode)), ("groups", groups.to_string()), ("fds", fds.to_string())]);
            }
        } else if line.trim_start().starts_with("Each sender will pass ")
            && let (Some(loops), Some(bytes)) = (number(4), number(7))
        {
            self.args.extend([("loops", loops.to_string()), ("bytes", bytes.to_string())]);
        }
    }
}

/// A word that cannot be mistaken for further arguments of a workload.
fn plain(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}
