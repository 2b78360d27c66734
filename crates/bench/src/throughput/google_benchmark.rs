//! Google Benchmark's own output: the console table, and the JSON that its `compare.py` reads. The layout is that of
//! version 1.8: the context, then one entry for each payload.

use super::measured::Row;
use schedlab_plan::units::utc;
use schedlab_sys::clock::realtime_ns;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What the library prints about the machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Context {
    /// `2026-11-21T14:05:35+00:00`.
    date: String,
    host_name: String,
    num_cpus: usize,
    mhz_per_cpu: u64,
    /// Whether a governor other than `performance` may change clock speeds.
    cpu_scaling_enabled: bool,
    load_avg: Vec<String>,
}

impl Context {
    /// Reads it from this machine; the roots are `/proc` and `/sys`.
    pub(super) fn read(proc_root: &Path, sys_root: &Path, num_cpus: usize) -> Self {
        let text = |path: &str| fs::read_to_string(proc_root.join(path)).unwrap_or_default();
        let [year, month, day, hour, minute, second] = utc(realtime_ns() / 1_000_000_000);
        let cpuinfo = text("cpuinfo");
        let mhz = cpuinfo.lines().find(|line| line.starts_with("cpu MHz")).and_then(|line| line.split(':').nth(1));
        let governor = sys_root.join("devices/system/cpu/cpu0/cpufreq/scaling_governor");
        Self {
            date: format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00"),
            host_name: text("sys/kernel/hostname").trim().to_owned(),
            num_cpus,
            mhz_per_cpu: mhz.and_then(|mhz| mhz.trim().parse::<f64>().ok()).unwrap_or(0.0).round() as u64,
            cpu_scaling_enabled: fs::read_to_string(governor).is_ok_and(|name| name.trim() != "performance"),
            load_avg: text("loadavg").split_whitespace().take(3).map(str::to_owned).collect(),
        }
    }
}

/// A number of bytes as the console prints it: `3.77k` is decimal, `3.68Ki` is binary; ours is binary, as the library's
/// is.
fn human_readable(value: f64) -> String {
    const PREFIXES: [&str; 6] = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let mut scaled = value;
    let mut prefix = 0;
    while scaled >= 1024.0 && prefix + 1 < PREFIXES.len() {
        scaled /= 1024.0;
        prefix += 1;
    }
    // Six significant digits without trailing zeros, as a C++ stream writes a number.
    let digits = (5 - scaled.max(1.0).log10().floor() as i32).max(0) as usize;
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{}", PREFIXES[prefix])
}

/// A time in ten columns, with fewer decimals the longer it is.
fn time(ns: f64) -> String {
    match ns {
        ..1.0 => format!("{ns:10.3}"),
        ..10.0 => format!("{ns:10.2}"),
        ..100.0 => format!("{ns:10.1}"),
        _ => format!("{ns:10.0}"),
    }
}

/// The console's table.
pub(super) fn console(rows: &[Row]) -> Vec<String> {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("Benchmark".len());
    let header = format!("{:<width$} {:>13} {:>15} {:>12} UserCounters...", "Benchmark", "Time", "CPU", "Iterations");
    let rule = "-".repeat(header.len());
    let mut lines = vec![rule.clone(), header, rule];
    lines.extend(rows.iter().map(|row| {
        let (real, cpu) = (time(row.real_ns_per_op), time(row.cpu_ns_per_op));
        let rate = human_readable(row.bytes_per_s);
        format!("{:<width$} {real} ns   {cpu} ns   {:>10} bytes_per_second={rate}/s", row.name, row.operations)
    }));
    lines
}

/// The lines above the console's table.
pub(super) fn console_context(context: &Context) -> Vec<String> {
    let mut lines = vec![
        context.date.clone(),
        "Running schedlab".to_owned(),
        format!("Run on ({} X {} MHz CPU s)", context.num_cpus, context.mhz_per_cpu),
        format!("Load Average: {}", context.load_avg.join(", ")),
    ];
    if context.cpu_scaling_enabled {
        let warning = "***WARNING*** CPU scaling is enabled, the benchmark real time measurements may be noisy and will \
                       incur extra overhead.";
        lines.push(warning.to_owned());
    }
    lines
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The whole JSON text.
pub(super) fn json(context: &Context, rows: &[Row]) -> Vec<String> {
    let mut lines = vec![
        "{".to_owned(),
        "  \"context\": {".to_owned(),
        format!("    \"date\": {},", quoted(&context.date)),
        format!("    \"host_name\": {},", quoted(&context.host_name)),
        "    \"executable\": \"schedlab\",".to_owned(),
        format!("    \"num_cpus\": {},", context.num_cpus),
        format!("    \"mhz_per_cpu\": {},", context.mhz_per_cpu),
        format!("    \"cpu_scaling_enabled\": {},", context.cpu_scaling_enabled),
        "    \"caches\": [".to_owned(),
        "    ],".to_owned(),
        format!("    \"load_avg\": [{}],", context.load_avg.join(",")),
        format!("    \"library_build_type\": \"{}\"", if cfg!(debug_assertions) { "debug" } else { "release" }),
        "  },".to_owned(),
        "  \"benchmarks\": [".to_owned(),
    ];
    for (index, row) in rows.iter().enumerate() {
        let name = quoted(&row.name);
        lines.push("    {".to_owned());
        let fields = [
            format!("\"name\": {name}"),
            "\"family_index\": 0".to_owned(),
            format!("\"per_family_instance_index\": {index}"),
            format!("\"run_name\": {name}"),
            "\"run_type\": \"iteration\"".to_owned(),
            "\"repetitions\": 1".to_owned(),
            "\"repetition_index\": 0".to_owned(),
            format!("\"threads\": {}", row.pairs),
            format!("\"iterations\": {}", row.operations),
            format!("\"real_time\": {:.16e}", row.real_ns_per_op),
            format!("\"cpu_time\": {:.16e}", row.cpu_ns_per_op),
            "\"time_unit\": \"ns\"".to_owned(),
            format!("\"bytes_per_second\": {:.16e}", row.bytes_per_s),
        ];
        let last = fields.len() - 1;
        lines.extend(fields.iter().enumerate().map(|(i, f)| format!("      {f}{}", if i == last { "" } else { "," })));
        lines.push(if index + 1 == rows.len() { "    }" } else { "    }," }.to_owned());
    }
    lines.extend(["  ]".to_owned(), "}".to_owned()]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn row(name: &str, ns: f64) -> Row {
        Row {
            name: name.to_owned(),
            bytes: 4096,
            pairs: 1,
            operations: 1_000,
            real_ns_per_op: ns,
            cpu_ns_per_op: ns / 2.0,
            bytes_per_s: 4096e9 / ns,
        }
    }

    #[test]
    fn the_table_is_the_librarys() {
        let lines = console(&[row("BM_sendVec_unix/4", 5_012.6), row("BM_sendVec_unix/65536", 12.34)]);
        assert_eq!(lines[1], "Benchmark                      Time             CPU   Iterations UserCounters...");
        assert_eq!(lines[0], "-".repeat(lines[1].len()));
        assert_eq!(
            lines[3],
            "BM_sendVec_unix/4           5013 ns         2506 ns         1000 bytes_per_second=779.286Mi/s"
        );
        assert_eq!(
            lines[4],
            "BM_sendVec_unix/65536       12.3 ns         6.17 ns         1000 bytes_per_second=309.133Gi/s"
        );
    }

    #[test]
    fn the_json_has_what_its_readers_look_for() {
        let root = std::env::temp_dir().join(format!("schedlab-gbench-{}", std::process::id()));
        fs::create_dir_all(root.join("sys/kernel")).unwrap();
        fs::write(root.join("cpuinfo"), "processor : 0\ncpu MHz\t\t: 2399.998\n").unwrap();
        fs::write(root.join("loadavg"), "0.52 0.58 0.59 1/100 7\n").unwrap();
        fs::write(root.join("sys/kernel/hostname"), "board \"7\"\n").unwrap();
        let context = Context::read(&root, &root, 2);
        fs::remove_dir_all(&root).unwrap();
        let text = json(&context, &[row("BM_sendVec_unix/4", 5_012.625), row("BM_sendVec_unix/8", 5_100.0)]).join("\n");
        let parsed: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}:\n{text}"));
        assert_eq!(parsed["context"]["host_name"], "board \"7\"");
        assert_eq!(
            (&parsed["context"]["mhz_per_cpu"], &parsed["context"]["load_avg"][2]),
            (&2400.into(), &0.59.into())
        );
        assert_eq!(parsed["context"]["cpu_scaling_enabled"], false);
        let runs = parsed["benchmarks"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        let first = &runs[0];
        assert_eq!(
            (first["name"].as_str(), first["run_name"].as_str()),
            (Some("BM_sendVec_unix/4"), first["name"].as_str())
        );
        assert_eq!((first["run_type"].as_str(), first["time_unit"].as_str()), (Some("iteration"), Some("ns")));
        assert_eq!((first["real_time"].as_f64(), first["cpu_time"].as_f64()), (Some(5_012.625), Some(2_506.312_5)));
        assert_eq!(first["iterations"], 1_000);
        assert_eq!(runs[1]["per_family_instance_index"], 1);
        let without_governor = console_context(&context);
        assert_eq!(without_governor[2..], ["Run on (2 X 2400 MHz CPU s)", "Load Average: 0.52, 0.58, 0.59"]);
    }

    #[test]
    fn bytes_are_written_with_binary_prefixes() {
        for (value, text) in
            [(0.0, "0"), (1023.0, "1023"), (1024.0, "1Ki"), (1_572_864.0, "1.5Mi"), (3.2e9, "2.98023Gi")]
        {
            assert_eq!(human_readable(value), text);
        }
    }
}
