//! `cargo xtask bench`: the long measurements behind the tables of the documents. They are in the package
//! `schedlab-benches` (benches/), one binary each; none of them runs in CI.

use crate::nearest::nearest;
use crate::workspace::{Workspace, run_to_success};
use anyhow::{Result, bail};

struct Measurement {
    name: &'static str,
    minutes: u32,
    shows: &'static str,
}

#[rustfmt::skip]
const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "fidelity", minutes: 25, shows: "our workloads against the reference tools, pinned pairs" },
    Measurement { name: "aa", minutes: 44, shows: "false alarms on A against A, and a planted 3 % found, on recorded series" },
    Measurement { name: "power", minutes: 1, shows: "seconds to a verdict on a planted 3 % (after aa, whose series it reads)" },
    Measurement { name: "overhead", minutes: 8, shows: "cost of each stamping level and of the counters" },
    Measurement { name: "endurance", minutes: 2, shows: "every transport of transact, 1000 iterations, 50 clean ends in a row" },
    Measurement { name: "kill", minutes: 2, shows: "SIGKILL of each process of every workload: an error, nothing left, seconds" },
    Measurement { name: "crash", minutes: 4, shows: "SIGKILL in the middle of setting or sweeping 20 knobs: all of them back, byte for byte" },
    Measurement { name: "knobs", minutes: 1, shows: "the catalogue of knobs against sources of kernels (names their trees)" },
    Measurement { name: "groups", minutes: 1, shows: "the parts of the kernel by function name, against sources (names a tree and profiles)" },
    Measurement { name: "omission", minutes: 1, shows: "a planted stall in open and closed loops, predicted and measured" },
    Measurement { name: "regions", minutes: 1, shows: "curves with a known boundary: found, inside its interval, none invented" },
    Measurement { name: "statements", minutes: 1, shows: "claims about drawn surfaces: how often one is answered wrongly" },
    Measurement { name: "bisect", minutes: 1, shows: "simulated histories bisected in noise: the right commit, trials beside plain bisection" },
    Measurement { name: "why", minutes: 1, shows: "screens of factors: the active ones named, false names, trials against the full factorial" },
    Measurement { name: "trace", minutes: 6, shows: "reading a trace against perf sched latency: speed, memory, agreement, cost by length" },
    Measurement { name: "vm", minutes: 5, shows: "guests: one seed, one outcome, on 1, 2 and 4 CPUs; seconds to the first output" },
    Measurement { name: "states", minutes: 12, shows: "virtual samples from saved states: equal to the byte, seconds to their first instruction, a study with and without" },
    Measurement { name: "recording", minutes: 15, shows: "the recorder: speed, size, losses, cost against the events alone and perf record" },
    Measurement { name: "formats", minutes: 6, shows: "traces by every recorder and option, numbers equal to an independent reading" },
    Measurement { name: "mutants", minutes: 14, shows: "damaged traces of every format: no panic, hang or hunger, and what is missing is told" },
    Measurement { name: "search", minutes: 10, shows: "searches over known surfaces: the best point found for 15 % of the grid's trials" },
    Measurement { name: "kernel", minutes: 1, shows: "back-ports rehearsed against the maintainers' own, beside GNU patch (names four trees)" },
];

/// Lists the measurements, or runs one in the foreground.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", list());
        return Ok(true);
    };
    let bench = find(name)?;
    let passed_on = match rest.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => rest,
    };
    // The measured binary is the released one: built first, so that a measurement never times an old build.
    run_to_success(&mut workspace.cargo(&["build", "--release", "-p", "schedlab"]))?;
    let mut cargo = workspace.cargo(&["run", "--release", "-p", "schedlab-benches", "--bin", bench.name, "--"]);
    cargo.env("SCHEDLAB_BIN", workspace.release_binary(&workspace.host)).args(passed_on);
    eprintln!("{}: about {} min on an idle machine", bench.name, bench.minutes);
    run_to_success(&mut cargo)?;
    Ok(true)
}

fn find(name: &str) -> Result<&'static Measurement> {
    if let Some(found) = MEASUREMENTS.iter().find(|m| m.name == name) {
        return Ok(found);
    }
    match nearest(name, MEASUREMENTS.iter().map(|m| m.name)) {
        Some(meant) => bail!("no measurement `{name}`; did you mean `cargo xtask bench {meant}`?"),
        None => bail!("no measurement `{name}`; there are:\n{}", list().trim_end()),
    }
}

fn list() -> String {
    let row = |m: &Measurement| format!("  {:<10} {:>3} min  {}\n", m.name, m.minutes, m.shows);
    MEASUREMENTS.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_typos_answered() {
        assert_eq!(find("aa").unwrap().name, "aa");
        assert!(find("powr").err().unwrap().to_string().contains("bench power"));
        let unknown = find("quickstart").err().unwrap().to_string();
        assert!(MEASUREMENTS.iter().all(|m| unknown.contains(m.name)), "{unknown}");
    }

    /// The `//!` lines of each program give the same minutes as the list.
    #[test]
    fn every_program_says_its_minutes_as_the_list_does() {
        for &Measurement { name, minutes, .. } in MEASUREMENTS {
            let path = format!("{}/../benches/src/bin/{name}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(format!("{path}.rs"));
            let text = text.or_else(|_| std::fs::read_to_string(format!("{path}/main.rs"))).unwrap();
            let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
            let head = head.concat();
            let unit = if minutes == 1 { "minute" } else { "minutes" };
            assert!(head.contains(&format!("About {minutes} {unit}")), "{path}: {head}");
        }
    }

    /// Each kind has its own bound, and a new program cannot use up another kind's.
    #[test]
    fn verdicts_take_an_hour_and_a_half_at_most_the_others_one_and_simulations_a_quarter() {
        let others = ["trace", "vm", "states", "recording", "formats", "mutants", "kernel"];
        let simulations = ["power", "regions", "statements", "bisect", "why", "search"];
        let minutes =
            |of: &dyn Fn(&str) -> bool| -> u32 { MEASUREMENTS.iter().filter(|m| of(m.name)).map(|m| m.minutes).sum() };
        let of_verdicts = minutes(&|name| !others.contains(&name) && !simulations.contains(&name));
        let (of_others, of_simulations) =
            (minutes(&|name| others.contains(&name)), minutes(&|name| simulations.contains(&name)));
        assert!(
            of_verdicts <= 90 && of_others <= 60 && of_simulations <= 15,
            "{of_verdicts}, {of_others}, {of_simulations}"
        );
    }
}
