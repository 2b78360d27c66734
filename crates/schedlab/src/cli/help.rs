//! What `-h` and `--help` print. `-h` fits on a screen: the beginning of each text, and the options that most people
//! need. `--help` prints everything. Each command has examples, which a test parses.

use clap::Command;
use schedlab_report::ANALYSES;

/// Examples by the words of their command; those of trace analyses are in their rows.
#[rustfmt::skip]
const EXAMPLES: &[(&str, &[&str])] = &[
    ("", &["schedlab doctor", "schedlab ab -w pipe:pin=same --b policy=batch --budget 30s"]),
    ("doctor", &["schedlab doctor", "schedlab doctor --noise"]),
    ("list", &["schedlab list workloads", "schedlab list knobs", "schedlab list --json"]),
    ("bench", &["schedlab bench pipe:pin=same", "schedlab bench messaging:5x50,groups=2,transport=pipe --latency all",
        "schedlab bench pipe --copies 1,2,4,ncpu"]),
    ("ab", &["schedlab ab -w messaging:5x50 --b policy=batch --budget 60s", "schedlab ab 'gzip -k -f file' 'xz -k -f file'"]),
    ("run", &["schedlab run experiments/quickstart.toml", "schedlab run plan.toml --dry-run", "schedlab run plan.toml --fail-on worse"]),
    ("why", &["schedlab why plan.toml --dry-run", "schedlab why out/slower --without autogroup=off", "schedlab why plan.toml --kernels debian:6.1,debian:6.12"]),
    ("record", &["schedlab record -o out/trace -- pipe:pin=same", "schedlab record -d 5s --events full+workqueue"]),
    ("compare", &["schedlab compare out/kernel-a out/kernel-b", "schedlab compare a1 b1 --more-a a2 a3 a4 a5 --more-b b2 b3 b4 b5"]),
    ("import", &["schedlab import results.csv --lower-is-better --unit CPUs", "schedlab import old/perf-stat.txt new/perf-stat.txt --metric context-switches"]),
    ("report", &["schedlab report out/quickstart", "schedlab report out/quickstart --full", "schedlab report out/quickstart --html r.html --svg pictures"]),
    ("bisect", &["schedlab bisect debian:6.1 debian:6.12 --kernels list --plan guests.toml",
        "schedlab bisect 0 64 --series patches --onto linux-6.1 --plan guests.toml",
        "schedlab bisect v6.11 v6.12 --git linux --plan guests.toml --dry-run"]),
    ("pack", &["schedlab pack out/quickstart -o quickstart.pack.json", "schedlab pack out/quickstart --dry-run"]),
    ("repeat", &["schedlab repeat quickstart.pack.json --dry-run", "schedlab repeat quickstart.pack.json --fail-on contradicted"]),
    ("trace", &["schedlab trace latency perf.data", "schedlab trace explain out/trace"]),
    ("trace latency", &["schedlab trace latency perf.data --top 10", "schedlab trace latency trace.dat --comm 'nginx*'"]),
    ("trace timehist", &["schedlab trace timehist perf.data", "schedlab trace timehist out/trace --comm 'nginx*' --state D",
        "schedlab trace timehist perf.data --time 7312.40,7312.42 --svg turns.svg"]),
    ("trace map", &["schedlab trace map perf.data", "schedlab trace map perf.data --switches --cpu 0-3"]),
    ("trace kworkers", &["schedlab trace kworkers perf.data", "schedlab trace kworkers out/run --svg kworkers.svg"]),
    ("trace copies", &["schedlab trace copies out/copies", "schedlab trace copies out/copies --svg copies.svg"]),
    ("trace slow", &["schedlab trace slow out/trace --top 3", "schedlab trace slow out/run --trial 12"]),
    ("trace diff", &["schedlab trace diff before.data after.data", "schedlab trace diff a1 b1 --more-a a2 a3 a4 a5 --more-b b2 b3 b4 b5"]),
    ("trace convert", &["schedlab trace convert perf.data -o out.perfetto-trace", "schedlab trace convert trace.dat -o tables"]),
    ("profile", &["schedlab profile bench pipe:pin=same", "schedlab profile -d 10s --folded machine.folded"]),
    ("tune", &["schedlab tune show", "schedlab tune restore --dry-run"]),
    ("tune show", &["schedlab tune show", "schedlab tune show --json"]),
    ("tune catalog", &["schedlab tune catalog", "schedlab tune catalog base_slice"]),
    ("tune set", &["schedlab tune set base_slice=3ms rt_runtime=-1", "schedlab tune set slice=1ms --for -- make -j8"]),
    ("tune export", &["schedlab tune export base_slice=3ms -o keep", "schedlab tune export slice=1ms policy=batch -o keep"]),
    ("tune restore", &["schedlab tune restore", "schedlab tune restore --dry-run"]),
    ("exec", &["schedlab exec --slice 3ms -- make -j8", "schedlab exec --policy batch --cpus 0-3 --dry-run -- ./server"]),
    ("kernel", &["schedlab kernel port 0001-fix.patch --onto linux-6.1", "schedlab kernel dossier linux-6.1 linux-6.12 -o eevdf"]),
    ("kernel dossier", &["schedlab kernel dossier linux-6.1 linux-6.12 --paths kernel/sched -o eevdf",
        "schedlab kernel dossier 0001-feature.patch --tree linux-6.1 -o feature"]),
    ("kernel port", &["schedlab kernel port 0001-fix.patch --onto linux-6.1",
        "schedlab kernel port debian/patches-rt --onto linux-6.12 --json findings.jsonl",
        "schedlab kernel port series.mbox --onto linux-6.1 --build --boot pipe"]),
    ("kernel related", &["schedlab kernel related 62470419e993 --tree linux --range v3.10..v4.0",
        "schedlab kernel related wake_wide --tree linux --range v6.1.. --onto linux-6.1"]),
    ("vm", &["schedlab vm fetch debian:6.1", "schedlab vm run --kernel debian:6.1 -- bench pipe"]),
    ("vm fetch", &["schedlab vm fetch debian:6.1", "schedlab vm fetch debian:6.12-rt --module zram"]),
    ("vm build", &["schedlab vm build linux-source-6.1", "schedlab vm build linux-source-6.1 --patch no-wake-wide.patch --set HZ_1000=y"]),
    ("vm list", &["schedlab vm list", "schedlab vm list | grep rt"]),
    ("vm boot", &["schedlab vm boot debian:6.1 --cpus 4", "schedlab vm boot arch/x86/boot/bzImage --shell"]),
    ("vm run", &["schedlab vm run --kernel debian:6.12 -- run plan.toml",
        "schedlab vm run --kernel debian:6.1 --lane virtual -- bench messaging:5x10"]),
    ("vm profile", &["schedlab vm profile --kernel debian:6.1 --cpus 1 -- bench pipe",
        "schedlab vm profile --kernel build:new --against build:old -- bench pipe"]),
    ("explain-json", &["schedlab explain-json", "schedlab explain-json schedlab/findings/2"]),
    ("completions", &["schedlab completions bash", "schedlab completions zsh > ~/.zfunc/_schedlab"]),
    ("man", &["schedlab man share/man/man1", "schedlab man ."]),
];

/// Commands of which the first screen lists only the names; `--help` describes them.
const RARE_COMMANDS: &[&str] = &["bisect", "completions", "exec", "explain-json", "import", "man", "pack", "repeat"];

/// Options that most people do not need, for all commands or for one; only `--help` shows them.
#[rustfmt::skip]
const RARE: &[&str] = &[
    "ab latency", "ab sweep", "ab top", "bench top", "bisect max_trials", "bisect metric", "bisect no_why", "bisect only", "bisect top", "bisect why_budget",
    "record top", "record trials", "repeat top", "run top", "accel", "add", "aarch64", "all_cpus", "annotate", "binary", "boot_timeout", "buffer", "calls", "cgroup",
    "chains", "cmdline", "compat", "counters", "design", "dither", "events", "fail_on", "folded", "keep", "load_group", "machine",
    "max_blocks", "mirror", "module", "oversubscribe", "prio", "quantum", "resume", "seed", "self_test", "shift", "sort",
    "source", "tid", "timeout", "trial", "verbose",
];

/// Shared options that these commands refuse, because they have no meaning there. Trace analyses hide theirs in
/// `ANALYSES`.
const REFUSED: &[&str] = &["trace kworkers state", "trace map state", "vm profile lane"];

/// Texts of options, and of commands, up to this length are left as they are, characters.
const OPTION: usize = 44;
const ABOUT: usize = 62;

/// Text after the examples of `--help`, by command.
const MORE: &[(&str, &str)] = &[
    ("", EXIT_CODES),
    ("bench", "The options of a workload: `schedlab bench WORKLOAD --help`."),
    ("ab", "The options of a workload: `schedlab ab -w WORKLOAD --help`."),
    (
        "kernel dossier",
        "Writes dossier.md, dossier.html, dossier.json and pictures of calls into DIR. Without --paths, a patch or a range covers \
         the directories that it touches.",
    ),
    (
        "kernel port",
        "Nothing is written to TREE. With --build the exit code is 1 if a patch does not compile, and with --boot if \
         none of the changed code ran.",
    ),
];

const EXIT_CODES: &str = "Exit codes: 0 done · 1 error · 2 usage · 3 regression found, or a pack contradicted, and 4 \
inconclusive (both only with `--fail-on`) · 5 void (the machine changed during the run, or nothing is left to \
compare) · 130, 143, 129 terminated by Ctrl-C, SIGTERM, SIGHUP";

/// The command and all its subcommands with examples, and with short and long help texts.
pub(crate) fn with_help(command: Command) -> Command {
    below(command, "")
}

/// The help of `schedlab -h`: one screen with the most important commands, and the names of the others.
pub(crate) fn first_screen(command: Command) -> Command {
    let is_rare = |name: &str| RARE_COMMANDS.contains(&name);
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).filter(|name| is_rare(name)).collect();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let after = format!("Also: {}\n\n{examples}", names.join(", "));
    command.mut_subcommands(|c| if is_rare(c.get_name()) { c.hide(true) } else { c }).after_help(after)
}

fn below(command: Command, path: &str) -> Command {
    let of = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    let examples = examples(path);
    let lines: String = examples.iter().map(|example| format!("\n  {example}")).collect();
    let lines = if lines.is_empty() { lines } else { format!("Examples:{lines}") };
    let more = MORE.iter().find(|(words, _)| *words == path).map(|(_, more)| format!("{lines}\n\n{more}"));
    let about = command.get_about().map(ToString::to_string);
    let mut command = command.after_help(lines).mut_args(|arg| short_and_long(path, arg)).mut_subcommands(|c| {
        let name = of(c.get_name());
        below(c, &name)
    });
    command = match more {
        Some(more) => command.after_long_help(more),
        None => command,
    };
    match about {
        Some(about) if command.get_long_about().is_none() && !path.is_empty() => {
            command.about(beginning(&about, ABOUT)).long_about(about)
        }
        _ => command,
    }
}

fn examples(path: &str) -> &'static [&'static str] {
    let of_row = |name| ANALYSES.iter().find(|row| row.name == name).map(|row| row.examples);
    let own = || EXAMPLES.iter().find(|(words, _)| *words == path).map(|(_, examples)| *examples);
    path.strip_prefix("trace ").and_then(of_row).or_else(own).unwrap_or_default()
}

fn short_and_long(path: &str, arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str().to_owned();
    let is_of = |list: &[&str]| list.iter().any(|of| *of == id || of.strip_prefix(path) == Some(&format!(" {id}")));
    let arg = if is_of(RARE) { arg.hide_short_help(true) } else { arg };
    let arg = if is_of(REFUSED) { arg.hide(true) } else { arg };
    match arg.get_help().map(ToString::to_string) {
        Some(help) if arg.get_long_help().is_none() && beginning(&help, OPTION) != help => {
            arg.help(beginning(&help, OPTION)).long_help(help)
        }
        _ => arg,
    }
}

/// The part of a text before its first remark, if the text is longer than `limit`.
fn beginning(text: &str, limit: usize) -> String {
    const ENDS: [&str; 6] = ["; ", " (", " [", ": ", ", such as", ", as in "];
    let end = ENDS.iter().filter_map(|end| text.find(end)).filter(|at| *at >= 8).min();
    match end {
        Some(end) if text.chars().count() > limit => text[..end].to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
