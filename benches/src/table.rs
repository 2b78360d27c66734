//! Markdown tables on standard output, ready to be pasted into the documents together with the command.

use std::time::Duration;

/// Prints a table.
pub fn print(title: &str, header: &[&str], rows: &[Vec<String>]) {
    println!("\n### {title}\n");
    println!("| {} |", header.join(" | "));
    println!("|{}", "---|".repeat(header.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// `yes`, or `**no**` so that a miss stands out.
pub fn met(ok: bool) -> String {
    if ok { "yes".into() } else { "**no**".into() }
}

/// The closing line: how long the benchmark took and on what.
pub fn closing(name: &str, took: Duration) {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "\n`cargo xtask bench {name}` took {:.1} minutes; {cpus} CPUs, Linux {}.",
        took.as_secs_f64() / 60.0,
        kernel.trim()
    );
}
