//! The requests of `wakeup/2` against a reference in C, compiled by `cc -O2` as in schbench's Makefile: CPU time of a
//! request's matrix multiplications, on one CPU. The reference is written from the description of what schbench
//! computes: three square matrices of unsigned longs in fresh memory, the factors never written, a sum that is stored
//! after each step. If schbench itself is found, its median request is compared with ours.

use crate::pairs::{Ratio, interleave_by};
use crate::program;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Requests of a run: long compared with the other work of the worker's thread.
const REQUESTS: u64 = 40;
/// Raised to this because 20 pairs, measured beside other work, were too wide for the bar; the recorded run is the
/// first with it.
const PAIRS: usize = 120;
/// Pairs of two seconds each.
const SCHBENCH_PAIRS: usize = 14;

/// Prints the CPU time of its requests, ns. The footprint is an argument, so that the compiler does not know any size.
const REFERENCE: &str = r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long rows;

static __attribute__((noinline)) void request(unsigned long *first, unsigned long times)
{
	unsigned long *second = first + rows * rows, *product = second + rows * rows;

	while (times--)
		for (unsigned long y = 0; y < rows; y++)
			for (unsigned long x = 0; x < rows; x++) {
				product[y * rows + x] = 0;
				for (unsigned long z = 0; z < rows; z++)
					product[y * rows + x] += first[y * rows + z] * second[z * rows + x];
			}
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int count, char **words)
{
	unsigned long footprint = strtoul(words[count - 2], NULL, 10), requests = strtoul(words[count - 1], NULL, 10);
	unsigned long *matrices = malloc(footprint);
	double begin;

	rows = sqrt(footprint / 3 / sizeof(unsigned long));
	request(matrices, 1);
	begin = cpu_ns();
	while (requests--)
		request(matrices, 5);
	printf("%.0f\n", cpu_ns() - begin);
	return 0;
}
"#;

/// Table rows below [`crate::pairs::HEADER`], for names that contain `filter`; and a sentence for each reference that
/// is missing.
pub fn rows(filter: &str, pairs: Option<usize>) -> Result<(Vec<Vec<String>>, Vec<String>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let name = "wakeup request, C reference of cc -O2";
    if name.contains(filter) {
        match program::missing("cc", "gcc") {
            Some(missing) => left_out.push(format!("{name}: {missing}")),
            None => rows.push(against_reference(name, pairs.unwrap_or(PAIRS))?),
        }
    }
    let name = "schbench -m 1 -t 2, request p50";
    if name.contains(filter) {
        if program::exists("schbench") {
            let found = interleave_by(pairs.unwrap_or(SCHBENCH_PAIRS), 0x5EED, schbench, || {
                program::median_ns(
                    &program::outcome(None, &["wakeup:1x2,duration=2s", "--counters", "basic"])?,
                    "request",
                )
            })?;
            rows.push(row(name, "free", &found)?);
        } else {
            left_out.push(format!("{name}: schbench is not on the PATH, so this row is left out; no package has it"));
        }
    }
    Ok((rows, left_out))
}

fn row(name: &str, place: &str, found: &[(f64, f64)]) -> Result<Vec<String>> {
    let logs: Vec<f64> = found.iter().map(|(reference, ours)| (ours / reference).ln()).collect();
    let ratio = Ratio::from_logs(&logs).context("no pairs")?;
    let typical = schedlab_stats::median(&found.iter().map(|(reference, _)| *reference).collect::<Vec<_>>());
    Ok(ratio.row(name, place, format!("{:.3} ms a request", typical / 1e6)))
}

fn against_reference(name: &str, pairs: usize) -> Result<Vec<String>> {
    let folder = std::env::temp_dir().join(format!("schedlab-requests-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let found = compile(&folder).and_then(|reference| interleave_by(pairs, 0x5EED, || run(&reference), ours));
    std::fs::remove_dir_all(&folder)?;
    row(name, "one CPU", &found?)
}

fn compile(folder: &Path) -> Result<String> {
    let (source, program) = (folder.join("request.c"), folder.join("request"));
    std::fs::write(&source, REFERENCE)?;
    let mut cc = Command::new("cc");
    cc.arg("-O2").arg("-o").arg(&program).arg(&source).arg("-lm");
    program::output(cc)?;
    Ok(program.to_str().context("the temporary folder's path is not text")?.to_owned())
}

/// CPU time of one of the reference's requests, ns.
fn run(reference: &str) -> Result<f64> {
    let text = program::text(program::on_cpus(Some("0"), reference, &["262144", &REQUESTS.to_string()]))?;
    Ok(text.trim().parse::<f64>().with_context(|| format!("the reference printed {text}"))? / REQUESTS as f64)
}

/// CPU time of one of our worker's requests, ns.
fn ours() -> Result<f64> {
    let spec = format!("wakeup:1x1,think=0s,footprint=262144,work=5,loops={REQUESTS}");
    let outcome = program::outcome(Some("0"), &[&spec, "--latency", "off", "--counters", "basic"])?;
    let worker = outcome.tasks.iter().find(|task| task.role == "worker").context("the trial has no worker")?;
    Ok(worker.run_ns.or(worker.cpu_ns).context("the worker's CPU time is missing")? as f64 / REQUESTS as f64)
}

/// The median request of two seconds of schbench, ns; the last table of a run covers the whole run.
fn schbench() -> Result<f64> {
    let text = program::text(program::on_cpus(None, "schbench", &["-m", "1", "-t", "2", "-r", "2"]))?;
    median_request_ns(&text).with_context(|| format!("schbench printed no median request: {text}"))
}

fn median_request_ns(text: &str) -> Option<f64> {
    let (_, table) = text.rsplit_once("Request Latencies")?;
    let us: f64 = table.split("50.0th:").nth(1)?.split_whitespace().next()?.parse().ok()?;
    Some(us * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tables_median_request_is_read() {
        let table = |us: u32| {
            format!(
                "Wakeup Latencies percentiles (usec) runtime 2 (s) (640 total samples)\n\t  50.0th: 7          (69921 samples)\n\
                 Request Latencies percentiles (usec) runtime 2 (s) (645 total samples)\n\t  50.0th: {us}       (193 samples)\n\
                 \t* 99.0th: 9000 (2 samples)\n"
            )
        };
        assert_eq!(median_request_ns(&format!("{}{}", table(5000), table(6024))), Some(6_024_000.0));
        assert_eq!(median_request_ns("schbench usage:"), None);
    }
}
