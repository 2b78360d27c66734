//! SIGKILL at random instants of `schedlab tune set … --for -- sleep 0.1` over 20 knobs, 1000 times below a tree of files and 100
//! times on sysctls of this host, and 100 times of `schedlab run` of a sweep over 20 sysctls: after each `schedlab tune restore`
//! every file is, byte for byte, what it was. Arguments: the three numbers of kills, and a seed. Needs root for all but the
//! first. About 4 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::{program, table};
use schedlab_stats::Random;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files below a root, and the values that a round may write to them: the knobs of the tree.
const IN_A_TREE: [(&str, u64); 20] = [
    ("kernel/sched_rt_runtime_us", 950_000),
    ("kernel/sched_rt_period_us", 1_000_000),
    ("kernel/sched_rr_timeslice_ms", 100),
    ("kernel/sched_cfs_bandwidth_slice_us", 5_000),
    ("kernel/sched_deadline_period_max_us", 4_194_304),
    ("kernel/sched_deadline_period_min_us", 100),
    ("kernel/sched_min_granularity_ns", 2_250_000),
    ("kernel/sched_latency_ns", 18_000_000),
    ("kernel/sched_wakeup_granularity_ns", 3_000_000),
    ("kernel/sched_migration_cost_ns", 500_000),
    ("kernel/sched_nr_migrate", 32),
    ("kernel/sched_util_clamp_min", 1_000),
    ("vm/dirty_bytes", 8_192),
    ("vm/dirty_ratio", 20),
    ("vm/swappiness", 60),
    ("net/core/netdev_budget", 300),
    ("net/core/netdev_max_backlog", 1_000),
    ("net/core/somaxconn", 4_096),
    ("net/core/rmem_default", 212_992),
    ("net/unix/max_dgram_qlen", 10),
];

/// Sysctls of this host that do no harm if they are changed for a few milliseconds; those that exist are used.
const ON_THE_HOST: [&str; 8] = [
    "net/core/netdev_budget",
    "net/core/netdev_budget_usecs",
    "net/core/netdev_max_backlog",
    "net/core/dev_weight",
    "net/core/gro_normal_batch",
    "net/core/skb_defer_max",
    "net/core/somaxconn",
    "net/unix/max_dgram_qlen",
];

/// Sysctls for a sweep, whose trials run in a network namespace of their own; a run may hold their values for seconds.
const SWEPT: [&str; 24] = [
    "fs/inotify/max_queued_events",
    "fs/lease-break-time",
    "fs/mqueue/msg_default",
    "fs/mqueue/queues_max",
    "kernel/hung_task_check_count",
    "kernel/keys/maxkeys",
    "kernel/msgmni",
    "kernel/perf_event_mlock_kb",
    "kernel/printk_ratelimit",
    "kernel/printk_ratelimit_burst",
    "kernel/sched_cfs_bandwidth_slice_us",
    "kernel/sched_deadline_period_max_us",
    "kernel/sched_rr_timeslice_ms",
    "kernel/shmmni",
    "vm/compaction_proactiveness",
    "vm/dirty_expire_centisecs",
    "vm/dirty_writeback_centisecs",
    "vm/extfrag_threshold",
    "vm/min_slab_ratio",
    "vm/page-cluster",
    "vm/stat_interval",
    "vm/swappiness",
    "vm/user_reserve_kbytes",
    "vm/vfs_cache_pressure",
];
/// Knobs of a sweep.
const MAX_SWEPT: usize = 20;

struct Place {
    name: &'static str,
    /// The plan of a sweep; `None` for `tune set`.
    plan: Option<PathBuf>,
    /// `--root DIR`; empty for this host.
    root: Vec<String>,
    /// Each knob with the original content of its file.
    knobs: Vec<(PathBuf, Vec<u8>)>,
}

#[derive(Default)]
struct Tally {
    kills: u32,
    /// Kills after which something was changed, so that the journal had to be read.
    caught: u32,
    /// Those of them after which some knobs were changed and some not.
    halfway: u32,
    back: u32,
    /// Kills that came after the command had ended.
    late: u32,
}

fn main() -> Result<()> {
    let started = Instant::now();
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().context("arguments are numbers"));
    let mut next = |default: u64| numbers.next().unwrap_or(Ok(default));
    let (in_a_tree, on_the_host, swept, seed) = (next(1000)?, next(100)?, next(100)?, next(0x9e37_79b9_7f4a_7c15)?);
    let program = program::schedlab()?;
    let root = std::env::temp_dir().join(format!("schedlab-bench-crash-{}", std::process::id()));
    let (mut rows, mut problems, mut random) = (Vec::new(), Vec::new(), Random::new(seed));
    let places = [(tree(&root)?, in_a_tree), (host(&ON_THE_HOST), on_the_host), (a_sweep(&root)?, swept)];
    for (place, kills) in places {
        let tally = killed(&program, &place, kills as u32, &mut random, &mut problems)?;
        rows.push(vec![
            place.name.to_owned(),
            place.knobs.len().to_string(),
            tally.kills.to_string(),
            format!("{} ({} of them halfway)", tally.caught, tally.halfway),
            tally.late.to_string(),
            format!("{} of {}", tally.back, tally.kills),
            table::met(tally.back == tally.kills),
        ]);
    }
    std::fs::remove_dir_all(&root)?;
    let header = ["where", "knobs", "SIGKILLs", "left something", "came too late", "restored byte for byte", "all"];
    table::print("SIGKILL in the middle of setting and restoring", &header, &rows);
    table::closing("crash", started.elapsed());
    if problems.is_empty() { Ok(()) } else { bail!("{} findings:\n{}", problems.len(), problems.join("\n")) }
}

fn tree(root: &Path) -> Result<Place> {
    let mut knobs = Vec::new();
    for (file, value) in IN_A_TREE {
        let path = root.join("proc/sys").join(file);
        std::fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        std::fs::write(&path, format!("{value}\n"))?;
        knobs.push((path, format!("{value}\n").into_bytes()));
    }
    let random = root.join("proc/sys/kernel/random");
    std::fs::create_dir_all(&random)?;
    std::fs::write(random.join("boot_id"), "the-only-boot\n")?;
    std::fs::create_dir_all(root.join("run"))?;
    Ok(Place { name: "a tree of files", plan: None, root: vec!["--root".into(), root.display().to_string()], knobs })
}

fn host(files: &[&str]) -> Place {
    let paths = files.iter().map(|file| Path::new("/proc/sys").join(file));
    let read = |path: PathBuf| std::fs::read(&path).ok().map(|text| (path, text));
    Place { name: "this host", plan: None, root: Vec::new(), knobs: paths.filter_map(read).collect() }
}

/// Three points of a Latin hypercube and the control, in six blocks: each arm sets all knobs.
fn a_sweep(root: &Path) -> Result<Place> {
    let mut place = Place { name: "this host, a sweep", ..host(&SWEPT) };
    place.knobs.truncate(MAX_SWEPT);
    let mut plan = "strategy = \"latin-hypercube\"\npoints = 3\ntrials = 6\ntrial = \"20ms\"\n\
        [[workload]]\nrun = \"pipe:pin=same\"\n"
        .to_owned();
    for (path, text) in &place.knobs {
        let (name, old) = of_sysctl(path, text)?;
        plan += &format!("[[knob]]\nset = \"sysctl:{name}\"\nrange = [{}, {}]\n", old + 1, old + 20);
    }
    let file = root.join("sweep.toml");
    std::fs::write(&file, plan)?;
    Ok(Place { plan: Some(file), ..place })
}

/// The dotted name of a sysctl, and its value.
fn of_sysctl(path: &Path, text: &[u8]) -> Result<(String, u64)> {
    let name = path.display().to_string();
    let (_, name) = name.split_once("/proc/sys/").context("a sysctl")?;
    Ok((name.replace('/', "."), String::from_utf8_lossy(text).trim().parse()?))
}

/// Runs a number of rounds, each with its own values, and a kill at a random moment from the start to just after the
/// end.
fn killed(program: &Path, place: &Place, kills: u32, random: &mut Random, problems: &mut Vec<String>) -> Result<Tally> {
    let mut tally = Tally::default();
    if kills == 0 {
        return Ok(tally);
    }
    let whole = Instant::now();
    let ended = sweep(program, place, random)?.wait()?;
    if !ended.success() {
        bail!("{}: a sweep that nobody killed ended with {ended}", place.name);
    }
    let length_us = whole.elapsed().as_micros() as u64;
    for round in 0..kills {
        let delay = Duration::from_micros(random.next_u64() % (length_us * 11 / 10));
        let mut child = sweep(program, place, random)?;
        std::thread::sleep(delay);
        tally.late += u32::from(child.try_wait()?.is_some());
        // Killing a child that has already ended is not an error.
        child.kill()?;
        child.wait()?;
        let changed = changed(place)?.len();
        tally.caught += u32::from(changed > 0);
        tally.halfway += u32::from(changed > 0 && changed < place.knobs.len());
        let restored = Command::new(program).args(["tune", "restore"]).args(&place.root).output()?;
        let left = self::changed(place)?;
        tally.kills += 1;
        if left.is_empty() && restored.status.success() {
            tally.back += 1;
        } else {
            let said = String::from_utf8_lossy(&restored.stderr);
            problems.push(format!("{}, round {round}, after {delay:?}: {left:?} {}", place.name, said.trim()));
        }
    }
    Ok(tally)
}

/// Starts the place's sweep, or a command that sets every knob to a value of this round, keeps them for a tenth of a
/// second, and restores all. The values have as many digits as the originals: a plain file, unlike the kernel, takes
/// one write at a time and cannot be shortened by it.
fn sweep(program: &Path, place: &Place, random: &mut Random) -> Result<std::process::Child> {
    let mut command = Command::new(program);
    match &place.plan {
        Some(plan) => {
            let out = plan.with_file_name(format!("run-{}", random.next_u64()));
            command.arg("run").arg(plan).arg("--out").arg(out);
        }
        None => {
            command.args(["tune", "set"]).args(&place.root);
            for (path, text) in &place.knobs {
                let (name, old) = of_sysctl(path, text)?;
                command.arg(format!("sysctl:{name}={}", old + 1 + random.next_u64() % 20));
            }
            command.args(["--for", "--", "sleep", "0.1"]);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().with_context(|| format!("{} cannot be started", program.display()))
}

fn changed(place: &Place) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for (path, text) in &place.knobs {
        let now = std::fs::read(path)?;
        if now != *text {
            changed.push(format!("{}: {:?}", path.display(), String::from_utf8_lossy(&now)));
        }
    }
    Ok(changed)
}
