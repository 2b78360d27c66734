//! Readable names of metrics: `msgs_per_s` is `messages per second`, `latency_p99_ns` is `99th-percentile latency`. A
//! name that is not ours (from an import, or from a command's output) stays unchanged.

/// Names that do not follow the rules.
const WHOLE: [(&str, &str); 19] = [
    ("msgs_per_s", "messages per second"),
    ("ops_per_s", "operations per second"),
    ("time_s", "run time"),
    ("real_time_ns", "run time"),
    ("cpu_s", "CPU time"),
    ("cpu_s_per_gb", "CPU time per GB"),
    ("server_cpu_s", "CPU time of the server"),
    ("client_cpu_time_ns", "CPU time of the clients"),
    ("cpus_utilized", "CPUs used"),
    ("max_rss_bytes", "largest resident memory"),
    ("run_delay_ns_per_op", "run-queue wait per operation"),
    ("cpu_ns_per_op", "CPU time per operation"),
    // Counted on the whole machine, and divided by the workload's operations.
    ("page_faults_per_op", "page faults of the machine per operation"),
    ("cycles_per_op", "cycles of all CPUs per operation"),
    ("instructions_per_op", "instructions of all CPUs per operation"),
    ("cache_misses_per_op", "cache misses of all CPUs per operation"),
    ("branch_misses_per_op", "branch misses of all CPUs per operation"),
    ("asked_cpu_share", "CPU share asked for"),
    ("achieved_cpu_share", "CPU share got"),
];

/// The readable name.
pub fn metric_name(name: &str) -> String {
    if let Some((_, whole)) = WHOLE.iter().find(|(ours, _)| *ours == name) {
        return (*whole).to_owned();
    }
    if let Some((of, percent)) = quantile(name) {
        let which = if percent == "50" { "median".to_owned() } else { format!("{percent}th-percentile") };
        return format!("{which} {}", plain(of));
    }
    for (suffix, said) in [("_per_s", " per second"), ("_per_op", " per operation")] {
        if let Some(of) = name.strip_suffix(suffix) {
            return format!("{}{said}", plain(without_unit(of)));
        }
    }
    match without_unit(name) {
        of if of != name => plain(of),
        _ => name.to_owned(),
    }
}

/// The base name of a quantile, and its percentage: `latency_p999_ns` is `latency`, 99.9.
fn quantile(name: &str) -> Option<(&str, String)> {
    let (of, digits) = without_unit(name).rsplit_once("_p")?;
    let is_number = digits.len() >= 2 && digits.bytes().all(|b| b.is_ascii_digit());
    let (whole, rest) = digits.split_at_checked(2)?;
    is_number.then(|| (of, if rest.is_empty() { whole.to_owned() } else { format!("{whole}.{rest}") }))
}

/// The name without its unit, which is shown next to every value.
fn without_unit(name: &str) -> &str {
    ["_ns", "_s", "_bytes"].iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name)
}

fn plain(name: &str) -> String {
    name.split('_').map(|word| if word == "cpu" { "CPU" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_machine_say_so() {
        for name in crate::metric::OF_MACHINE {
            let said = metric_name(name);
            assert!(said.contains("machine") || said.contains("all CPUs"), "{name}: {said}");
        }
    }

    #[test]
    fn names_are_words_and_foreign_ones_stay() {
        for (name, said) in [
            ("msgs_per_s", "messages per second"),
            ("round_trips_per_s", "round trips per second"),
            ("latency_p50_ns", "median latency"),
            ("latency_p99_ns", "99th-percentile latency"),
            ("other_p999_ns", "99.9th-percentile other"),
            ("voluntary_switches_per_op", "voluntary switches per operation"),
            ("received_bytes_per_s", "received per second"),
            ("mean_segment_bytes", "mean segment"),
            ("context-switches", "context-switches"),
            ("bogo_ops", "bogo_ops"),
            ("index", "index"),
            ("fps_p", "fps_p"),
        ] {
            assert_eq!(metric_name(name), said);
        }
    }
}
