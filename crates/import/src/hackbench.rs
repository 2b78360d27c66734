//! hackbench's own output (rt-tests), as people keep it: any number of runs to a log, often in a shell transcript.
//! `Time: 0.123` ends a run; the two lines before it say what was run, and runs that differ there are different
//! workloads, never replicates of one. All other lines are somebody's notes and are passed over.

use crate::error::shown;
use crate::{ImportError, Row, Source, Table};
use schedlab_run::Direction;

/// Whether hackbench ended a run with this line.
pub(crate) fn is_time_line(line: &str) -> bool {
    line.trim_start().starts_with("Time:")
}

/// One arm per log.
pub(crate) fn read(sources: &[Source]) -> Result<Table, ImportError> {
    let mut table = Table {
        title: sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(" against "),
        workloads: Vec::new(),
        metric: "time_s".into(),
        unit: "s".into(),
        direction: Direction::LowerIsBetter,
        arms: Vec::new(),
        rows: Vec::new(),
        warnings: Vec::new(),
    };
    for source in sources {
        let arm = table.arms.len() as u32;
        table.arms.push(distinct(&table.arms, &source.name));
        read_log(source, arm, &mut table)?;
    }
    // After the logs: a file that is no log at all is the better thing to be told of.
    if sources.len() < 2 {
        return Err(ImportError::OneLog);
    }
    if table.workloads.len() > 1 {
        for (workload, name) in table.workloads.iter().enumerate() {
            let has = |arm: u32| table.rows.iter().any(|r| r.workload == workload as u32 && r.arm == arm);
            for missing in (0..sources.len() as u32).filter(|&arm| !has(arm)) {
                table.warnings.push(format!("{} has no run of {name}", sources[missing as usize].name));
            }
        }
    }
    Ok(table)
}

fn read_log(source: &Source, arm: u32, table: &mut Table) -> Result<(), ImportError> {
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
            ImportError::Line { source_name: source.name.clone(), line: index + 1, why }
        })?;
        let name = std::mem::take(&mut configuration).name();
        let workload = table.workloads.iter().position(|w| *w == name).unwrap_or_else(|| {
            table.workloads.push(name);
            table.workloads.len() - 1
        }) as u32;
        let block = table.next_block();
        table.rows.push(Row { workload, arm, block, value });
    }
    if table.rows.len() == before {
        let text = shown(source.text.lines().next().unwrap_or_default());
        return Err(ImportError::NoTime { source_name: source.name.clone(), lines: source.text.lines().count(), text });
    }
    Ok(())
}

/// Two logs of one name, from two directories, are still two arms.
fn distinct(taken: &[String], name: &str) -> String {
    let numbered = (2..).map(|n| format!("{name} ({n})"));
    std::iter::once(name.to_owned()).chain(numbered).find(|n| !taken.contains(n)).unwrap_or_default()
}

/// What the two banner lines say:
/// `Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)` and
/// `Each sender will pass 100 messages of 100 bytes`. rt-tests hackbench.c, `print_usage_exit` aside its only output.
#[derive(Debug, Default)]
struct Configuration {
    args: Vec<String>,
}

impl Configuration {
    fn learn(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|w| w.parse::<u64>().ok());
        if line.trim_start().starts_with("Running in ") {
            // A new run: what is left of an aborted one does not describe it.
            self.args.clear();
            if let (Some(mode), Some(groups), Some(fds)) = (words.get(2), number(5), number(8)) {
                self.args.extend([format!("mode={}", plain(mode)), format!("groups={groups}"), format!("fds={fds}")]);
            }
        } else if line.trim_start().starts_with("Each sender will pass ")
            && let (Some(loops), Some(bytes)) = (number(4), number(7))
        {
            self.args.extend([format!("loops={loops}"), format!("bytes={bytes}")]);
        }
    }

    /// `hackbench:groups=10,…`, or `hackbench` when the log was cut down to its `Time:` lines.
    fn name(self) -> String {
        if self.args.is_empty() { "hackbench".into() } else { format!("hackbench:{}", self.args.join(",")) }
    }
}

/// A word that cannot be taken for more of a workload's arguments.
fn plain(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}
