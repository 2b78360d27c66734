//! `stream/1` against netperf's TCP_STREAM and sockperf's throughput mode: bytes that many small sends move over
//! loopback per second of CPU time, with sender and receiver on one CPU.
//!
//! Both sides are counted in the same way: bytes that arrived, divided by the CPU time of all processes started for it,
//! from RUSAGE_CHILDREN after waiting for them. Start and end are included; in a run of 4 s they are some 0.5 %.

use crate::pairs::{Ratio, interleave_by};
use crate::{processes, program};
use anyhow::{Context, Result, bail};
use schedlab_sys::rusage;
use std::net::TcpListener;
use std::process::{Child, Stdio};

/// netperf's -m.
const MESSAGE_BYTES: u64 = 128;
/// Long compared with the start of either program.
const SECONDS: u64 = 4;
/// Chosen once, before the recorded run.
pub const PAIRS: usize = 16;
/// How long a server may take until it listens.
const LISTEN_NS: u64 = 5_000_000_000;

/// One reference. `PORT` in a line stands for a free port.
struct Reference {
    name: &'static str,
    program: &'static str,
    package: &'static str,
    server: &'static str,
    client: String,
    /// Bytes that arrived, from what the client printed.
    bytes: fn(&str) -> Option<f64>,
}

fn references() -> [Reference; 2] {
    [
        Reference {
            name: "netperf TCP_STREAM -m 128",
            program: "netperf",
            package: "netperf, from Debian's non-free",
            // Without a child for each test: a child that is not waited for would be missing in the CPU time.
            server: "netserver -4 -D -f -p PORT",
            client: format!(
                "netperf -4 -H 127.0.0.1 -p PORT -P 0 -l {SECONDS} -t TCP_STREAM -- -m 128 -k REMOTE_BYTES_RECVD"
            ),
            bytes: |text| number_after(text, "REMOTE_BYTES_RECVD="),
        },
        Reference {
            name: "sockperf throughput -m 128",
            program: "sockperf",
            package: "sockperf",
            server: "sockperf server --tcp -i 127.0.0.1 -p PORT",
            client: format!("sockperf throughput --tcp -i 127.0.0.1 -p PORT -m 128 -t {SECONDS}"),
            bytes: |text| Some(number_after(text, "Total of ")? * MESSAGE_BYTES as f64),
        },
    ]
}

fn number_after(text: &str, label: &str) -> Option<f64> {
    text.split(label).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// Table rows below [`crate::pairs::HEADER`], for names that contain `filter`; and a sentence for each reference that
/// is missing.
pub fn rows(filter: &str, pairs: Option<usize>) -> Result<(Vec<Vec<String>>, Vec<String>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for reference in references().into_iter().filter(|reference| reference.name.contains(filter)) {
        if let Some(missing) = program::missing(reference.program, reference.package) {
            left_out.push(format!("{}: {missing}", reference.name));
            continue;
        }
        let found = interleave_by(
            pairs.unwrap_or(PAIRS),
            0x5EED,
            || per_cpu_second(|| reference.run()),
            || per_cpu_second(ours),
        )?;
        let logs: Vec<f64> = found.iter().map(|(reference, ours)| (ours / reference).ln()).collect();
        let ratio = Ratio::from_logs(&logs).context("no pairs")?;
        let typical = schedlab_stats::median(&found.iter().map(|(reference, _)| *reference).collect::<Vec<_>>());
        rows.push(ratio.row(reference.name, "one CPU", format!("{:.1} MB a CPU second", typical / 1e6)));
    }
    Ok((rows, left_out))
}

/// Bytes that a run moved, divided by the CPU time of the processes that it waited for.
fn per_cpu_second(run: impl FnOnce() -> Result<f64>) -> Result<f64> {
    let before_ns = rusage::of_children().cpu_ns;
    let bytes = run()?;
    let used_ns = rusage::of_children().cpu_ns - before_ns;
    Ok(bytes * 1e9 / used_ns as f64)
}

/// A trial verifies for each stream that its receivers counted what was sent; a mismatch is an error.
fn ours() -> Result<f64> {
    let spec = format!("stream:1,bytes={MESSAGE_BYTES},duration={SECONDS}s");
    let outcome = program::outcome(Some("0"), &[&spec, "--latency", "off", "--counters", "basic"])?;
    Ok((outcome.operations * MESSAGE_BYTES) as f64)
}

impl Reference {
    fn run(&self) -> Result<f64> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let words = |line: &str| line.replace("PORT", &port.to_string());
        let _server = Server::start(&words(self.server), port)?;
        let client = words(&self.client);
        let text = program::text(command(&client))?;
        (self.bytes)(&text).with_context(|| format!("`{client}` printed no count of bytes: {text}"))
    }
}

fn command(line: &str) -> std::process::Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    program::on_cpus(Some("0"), words[0], &words[1..])
}

/// A server that is ended, and waited for, when the client is done.
struct Server(Child);

impl Server {
    fn start(line: &str, port: u16) -> Result<Self> {
        let mut command = command(line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self(command.spawn().with_context(|| format!("`{line}` cannot be started"))?);
        if !processes::wait_for_listener(port, LISTEN_NS) {
            bail!("`{line}` does not listen");
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_what_either_prints() {
        let [netperf, sockperf] = references().map(|reference| reference.bytes);
        let printed = "THROUGHPUT=3012.20\nREMOTE_BYTES_RECVD=1506123520\n";
        assert_eq!((netperf(printed), netperf("recv_response: partial")), (Some(1_506_123_520.0), None));
        let printed =
            "sockperf: Total of 1000 messages sent in 4001 ms\n\nsockperf: Summary: Message Rate is 250 [msg/sec]\n";
        assert_eq!((sockperf(printed), sockperf("sockperf: ERROR")), (Some(128_000.0), None));
    }
}
