//! The TCP counters of the workload's network namespace, once per second. They are not part of the 100 ms series,
//! because the files contain some 150 counters each: formatting them ten times per second would be a load of its own.

use crate::Roots;
use crate::net_mib;
use crate::series_sampler::read_again;
use schedlab_plan::{Direction, Metric, SeriesPoint};
use std::collections::BTreeMap;
use std::fs::File;

/// Time between samples, ns.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The files, as printed and relative to the procfs root.
pub(crate) const NETSTAT: &str = "/proc/thread-self/net/netstat";
pub(crate) const SNMP: &str = "/proc/thread-self/net/snmp";

/// Counters by which trials are compared, as rates.
pub(crate) const RATES: [(&str, &str); 3] = [
    ("Tcp.OutSegs", "tcp_segments_out_per_s"),
    ("TcpExt.TCPAutoCorking", "tcp_autocorkings_per_s"),
    ("Tcp.RetransSegs", "tcp_retransmits_per_s"),
];

/// One reading: its instant, ns after release, and every counter.
#[derive(Debug)]
struct Sample {
    at_ns: u64,
    counts: BTreeMap<String, u64>,
}

/// The series while it is recorded.
#[derive(Debug)]
pub(crate) struct NetSampler {
    /// Open since the start, because they stay with the namespace in which they were opened.
    files: Vec<(&'static str, File)>,
    bytes: Vec<u8>,
    samples: Vec<Sample>,
    t0_ns: u64,
    next_ns: u64,
}

impl NetSampler {
    /// Opens the files of the caller's namespace and takes the sample at which the first interval starts.
    pub(crate) fn start(roots: &Roots, t0_ns: u64, now_ns: u64) -> Self {
        let open = |source: &'static str| {
            Some((source, File::open(roots.proc.join(source.trim_start_matches("/proc/"))).ok()?))
        };
        let files = [NETSTAT, SNMP].into_iter().filter_map(open).collect();
        let mut sampler =
            Self { files, bytes: vec![0; 16 * 1024], samples: Vec::new(), t0_ns, next_ns: t0_ns + INTERVAL_NS };
        sampler.sample(now_ns);
        sampler
    }

    /// Takes a sample if one is due; returns when the next one is.
    pub(crate) fn sample_if_due(&mut self, now_ns: u64) -> u64 {
        if now_ns >= self.next_ns {
            self.sample(now_ns);
            let passed = now_ns.saturating_sub(self.t0_ns) / INTERVAL_NS;
            self.next_ns = self.t0_ns + (passed + 1) * INTERVAL_NS;
        }
        self.next_ns
    }

    /// The last sample, at the end of the measured part.
    pub(crate) fn stop(&mut self, t1_ns: u64) {
        self.sample(t1_ns);
    }

    /// Increases per interval; a counter that did not increase is left out and means 0.
    pub(crate) fn series(&self) -> Vec<SeriesPoint> {
        let mut points = Vec::new();
        for (from, to) in self.samples.iter().zip(self.samples.iter().skip(1)) {
            for (name, &count) in &to.counts {
                let delta = count.saturating_sub(from.counts.get(name).copied().unwrap_or(count));
                if delta > 0 {
                    points.push(SeriesPoint {
                        t_ns: to.at_ns,
                        name: name.clone(),
                        scope: "netns".to_owned(),
                        delta: delta as f64,
                    });
                }
            }
        }
        points
    }

    /// The rates over the whole measured part, 0 if a counter exists and did not change.
    pub(crate) fn rates(&self) -> Vec<Metric> {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else { return Vec::new() };
        let elapsed_s = last.at_ns.saturating_sub(first.at_ns).max(1) as f64 / 1e9;
        let rate = |(counter, name): (&str, &str)| {
            let (from, to) = (first.counts.get(counter)?, last.counts.get(counter)?);
            Some(Metric {
                name: name.to_owned(),
                value: to.saturating_sub(*from) as f64 / elapsed_s,
                unit: "1/s".to_owned(),
                direction: Direction::Neutral,
            })
        };
        RATES.into_iter().filter_map(rate).collect()
    }

    fn sample(&mut self, now_ns: u64) {
        let mut counts = BTreeMap::new();
        for (source, file) in &self.files {
            // With half a sample, counters would seem to have gone to 0.
            let Some(text) = read_again(file, &mut self.bytes) else { return };
            let Ok(parsed) = net_mib::parse(source, text) else { return };
            counts.extend(parsed);
        }
        self.samples.push(Sample { at_ns: now_ns.saturating_sub(self.t0_ns), counts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_sampled_each_second_and_their_rates_are_over_the_whole() {
        let tree = std::env::temp_dir().join(format!("schedlab-net-sampler-{}", std::process::id()));
        std::fs::create_dir_all(tree.join("thread-self/net")).unwrap();
        let write = |sent: u64, corked: u64| {
            std::fs::write(tree.join("thread-self/net/snmp"), format!("Tcp: OutSegs InSegs\nTcp: {sent} 5\n")).unwrap();
            let text = format!("TcpExt: TCPAutoCorking\nTcpExt: {corked}\n");
            std::fs::write(tree.join("thread-self/net/netstat"), text).unwrap();
        };
        let roots = Roots { proc: tree.clone(), sys: tree.clone() };
        write(100, 7);
        let mut sampler = NetSampler::start(&roots, 1_000, 1_000);
        write(150, 7);
        assert_eq!(sampler.sample_if_due(500_000_000), 1_000 + INTERVAL_NS, "not due yet");
        assert_eq!(sampler.sample_if_due(1_000 + INTERVAL_NS), 1_000 + 2 * INTERVAL_NS);
        write(400, 9);
        sampler.stop(1_000 + 2 * INTERVAL_NS);
        std::fs::remove_dir_all(&tree).unwrap();
        let series: Vec<_> = sampler.series().into_iter().map(|p| (p.t_ns, p.name, p.delta)).collect();
        let point = |t_ns, name: &str, delta| (t_ns, name.to_owned(), delta);
        let second = 2 * INTERVAL_NS;
        assert_eq!(
            series,
            [
                point(INTERVAL_NS, "Tcp.OutSegs", 50.0),
                point(second, "Tcp.OutSegs", 250.0),
                point(second, "TcpExt.TCPAutoCorking", 2.0)
            ]
        );
        let rates: Vec<_> = sampler.rates().into_iter().map(|m| (m.name, m.value)).collect();
        assert_eq!(rates, [("tcp_segments_out_per_s".to_owned(), 150.0), ("tcp_autocorkings_per_s".to_owned(), 1.0)]);
    }

    #[test]
    fn a_system_without_the_files_has_no_series() {
        let roots = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into() };
        let mut sampler = NetSampler::start(&roots, 0, 0);
        sampler.stop(5);
        assert!(sampler.series().is_empty() && sampler.rates().is_empty());
    }
}
