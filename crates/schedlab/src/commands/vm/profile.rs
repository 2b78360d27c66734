//! `schedlab vm profile`: a workload in a guest of the virtual lane whose QEMU counts instructions by address, shown by
//! function and per operation; two kernels, or a kernel and an earlier profile, side by side.

use super::guest::{self, Capabilities};
use super::guest_command::{GuestCommand, OUTCOME};
use super::listener::Quiet;
use super::measured;
use crate::cli::Command;
use crate::cli::vm::VmProfile;
use crate::commands::{destination, read_words};
use crate::exit::{self, usage};
use crate::output::write_file;
use crate::output::{fitted, print_answer, print_line, say, terminal_width, to_stdout};
use anyhow::{Context, Result, bail};
use schedlab_analyze::profile::GroupFindings;
use schedlab_plan::TrialOutcome;
use schedlab_plan::plan::{GuestLane, GuestPlan};
use schedlab_record::profile::KernelSymbols;
use schedlab_sys::interrupt::Interrupt;
use schedlab_vm::host::boot::{GuestResult, dry_run};
use schedlab_vm::host::restore;
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::profile::{self, Instructions, LegCounts, ProfileFile, Profiled, SCHEMA, landmarks};
use schedlab_vm::{Boot, RestoredJob, VmError};
use serde::Serialize;
use std::path::Path;

/// Default number of functions that are shown.
const ROWS: usize = 25;
/// Where the guest's symbols are.
const SYMBOLS: &str = "/proc/kallsyms";

pub(super) fn run(args: &VmProfile) -> Result<u8> {
    one_workload(&args.command)?;
    let capabilities = Capabilities::default();
    if args.guest.lane == Some(GuestLane::Real) {
        usage!("--lane real: vm profile needs the virtual lane, which counts instructions; leave --lane out");
    }
    let guest = GuestPlan { lane: GuestLane::Virtual, ..args.guest.guest() };
    let words = words(&args.command);
    let file = args.json.as_deref().filter(|file| *file != "-").map(Path::new);
    let read: Vec<&Path> = args.against.iter().chain([&args.kernel]).map(Path::new).collect();
    destination::check("--json", file, &read, args.guest.dry_run)?;
    if args.guest.dry_run {
        let against = args.against.iter().filter(|name| !name.ends_with(".json"));
        for kernel in against.chain([&args.kernel]) {
            let boot = counting(kernel, args.legs, &guest, &words, &capabilities).with_context(|| kernel.clone())?;
            let stops = if_state_can_be_saved(&boot)?.map(|(stops, _)| stops);
            print_line(dry_run(stops.as_ref().unwrap_or(&boot))?)?;
        }
        return Ok(exit::DONE);
    }
    let of = |name: &String| match name.ends_with(".json") {
        true => read_json(name).with_context(|| format!("--against {name}")),
        false => profiled(name, &args.command, args.legs, &guest, &capabilities).with_context(|| name.clone()),
    };
    // --against comes first: an invalid file must fail before a guest boots.
    let against = args.against.as_ref().map(of).transpose()?;
    let this = profiled(&args.kernel, &args.command, args.legs, &guest, &capabilities);
    let this = this.with_context(|| args.kernel.clone())?;
    let found: Vec<Profiled> = against.into_iter().chain([this]).collect();
    if args.json.as_deref() == Some("-") {
        return print_answer("", &document(found), args.top).map(|()| exit::DONE);
    }
    let page = schedlab_report::groups(&groups(&found));
    let top = Some(args.top.unwrap_or(ROWS)).filter(|top| *top > 0).unwrap_or(usize::MAX);
    let columns = terminal_width();
    let shown = to_stdout(|out| {
        let mut functions = Vec::new();
        match found.as_slice() {
            [against, this] => profile::compared(against, this, top, &mut functions)?,
            _ => found.iter().try_for_each(|one| profile::alone(one, top, &mut functions))?,
        }
        writeln!(out, "{}\n", fitted(&String::from_utf8_lossy(&functions), columns))?;
        page.text(columns, false, out)
    });
    // Write the file even if printing failed: booting the guests was expensive.
    if let Some(file) = file {
        let text = schedlab_plan::json::pretty(&document(found))?;
        write_file(file, |out| writeln!(out, "{text}"))?;
    }
    shown?;
    Ok(exit::DONE)
}

/// Prepares the guest's command: the result is written to a file, and counters are reduced to the minimum unless given,
/// because reading them is also work of the kernel. Only a plain workload can be counted: a recording or probes would
/// be part of the counts, and we have to read its output.
fn one_workload(command: &[String]) -> Result<()> {
    let example = "vm profile --kernel K -- bench pipe:loops=2000";
    let is_bench = command.first().is_some_and(|word| word == "bench");
    let Some(Command::Bench(bench)) = is_bench.then(|| read_words(command)).transpose()?.map(|(command, _)| command)
    else {
        usage!("vm profile takes a `bench` command: {example}");
    };
    let asked = [
        ("--json", bench.json.is_some()),
        ("--trace", bench.tracing.trace.is_some()),
        ("--calls", !bench.calls.is_empty()),
        ("--sweep", bench.sweep.is_some()),
    ];
    if let Some((option, _)) = asked.iter().find(|(_, asked)| *asked) {
        usage!("vm profile takes a `bench` command without {option}: {example}");
    }
    if schedlab_bench::sweep(&bench.workload.parse()?, None)?.is_some() {
        usage!("{}: a list of values is several workloads, and a profile is of one: give one value", bench.workload);
    }
    Ok(())
}

fn words(command: &[String]) -> Vec<String> {
    let named = command.iter().any(|word| word.starts_with("--counters"));
    let fewest: &[&str] = if named { &[] } else { &["--counters", "basic"] };
    let mut words = command.to_vec();
    words.splice(1..1, ["--json", OUTCOME].iter().chain(fewest).map(|word| (*word).to_owned()));
    words
}

/// The results that a guest sends back.
struct Counting {
    outcome: TrialOutcome,
    symbols: String,
    counted: LegCounts,
    /// The saved state that it was restored from.
    state: Option<u32>,
}

fn count(boot: &Boot) -> Result<Counting> {
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    let (ended, state) = ended(boot, &mut Quiet::at_once(interrupt))?;
    if ended.exit_code != 0 {
        bail!("the guest's command ended with {}", ended.exit_code);
    }
    let outcome = measured::outcome(&ended)?;
    if outcome.operations == 0 {
        bail!("{} counts no operations, so nothing can be given per operation", outcome.workload);
    }
    let symbols = symbols(measured::file(&ended, SYMBOLS).ok(), boot)?;
    Ok(Counting { outcome, symbols, counted: ended.counts.context("nothing was counted")?, state })
}

/// The guest that stops so that its state can be saved, and what it is given afterwards; `None` if states of such
/// guests cannot be saved.
fn if_state_can_be_saved(boot: &Boot) -> Result<Option<(Boot, RestoredJob)>> {
    Ok(restore::refusal(boot).is_none().then(|| restore::with_restored_job(boot)).transpose()?)
}

/// Restores the guest from a saved state if possible, because booting takes most of the time of a profile.
fn ended(boot: &Boot, listener: &mut Quiet) -> Result<(GuestResult, Option<u32>)> {
    if let Some((stops, restored_job)) = if_state_can_be_saved(boot)? {
        match restore::from_state(&stops, &restored_job, &Cache::of_this_user(), listener) {
            Err(VmError::SavedState(why)) => {
                say(format_args!("schedlab: no saved guest state is used, so the guest boots: {why}"))
            }
            ended => return Ok(ended.map(|(ended, state)| (ended, Some(state)))?),
        }
    }
    Ok((schedlab_vm::boot(boot, listener)?, None))
}

/// The symbols that the guest's kernel shows, or, for a kernel that we built, its System.map: kernels are not relocated
/// in this lane.
fn symbols(shown: Option<&[u8]>, boot: &Boot) -> Result<String> {
    let shown = shown.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    if !KernelSymbols::parse(&shown)?.is_hidden() {
        return Ok(shown);
    }
    let map = boot.kernel.symbols.as_ref();
    let map = map.context("its kernel shows no symbols (CONFIG_KALLSYMS), and there is no System.map of it")?;
    std::fs::read_to_string(map).with_context(|| format!("{} cannot be read", map.display()))
}

fn counting(
    kernel: &str,
    legs: bool,
    guest: &GuestPlan,
    words: &[String],
    capabilities: &Capabilities,
) -> Result<Boot> {
    let mut guest_command = GuestCommand::of_words(words)?;
    guest_command.collect.push(SYMBOLS.into());
    let kernel = guest::find(kernel, super::architecture(guest.aarch64))?;
    let boot = Boot { counting: Some(Vec::new()), ..guest::boot(kernel, guest, &guest_command, false, capabilities)? };
    if legs && boot.machine.topology.cpus() != 1 {
        usage!("legs can be counted on one CPU only: --cpus 1");
    }
    Ok(boot)
}

/// The instructions that a `bench` command executes in a guest of the virtual lane, by function.
pub(super) fn profiled(
    kernel: &str,
    command: &[String],
    legs: bool,
    guest: &GuestPlan,
    capabilities: &Capabilities,
) -> Result<Profiled> {
    let boot = counting(kernel, legs, guest, &words(command), capabilities)?;
    let described = boot.guest();
    say(format_args!("schedlab: counting in a guest of {kernel}"));
    let found = count(&boot)?;
    let symbols = KernelSymbols::parse(&found.symbols)?;
    let name_of = |address| symbols.at(address).map(|symbol| symbol.name);
    let whole = found.counted.whole();
    let legs = match legs {
        false => None,
        true => {
            say(format_args!("schedlab: and again, with legs"));
            let boot =
                Boot { counting: Some(landmarks(|name| symbols.named(name).map(|symbol| symbol.start))?), ..boot };
            let counted = count(&boot)?.counted;
            // Guests are deterministic. If the counts differ all the same, the legs belong to another run than the
            // whole.
            if counted.whole() != whole {
                bail!(
                    "the two guests, with and without counting legs, executed different instructions, so the legs do \
                     not add up to the whole"
                );
            }
            Some(profile::legs(&counted, name_of))
        }
    };
    let profile = whole.by_function(name_of);
    Ok(Profiled {
        command: command.join(" "),
        guest: described,
        instructions: Instructions::from(&profile),
        functions: profile.functions,
        kernel: kernel.to_owned(),
        legs,
        operation: found.outcome.operation,
        operations: found.outcome.operations,
        state: found.state.map(|crc32| format!("{crc32:08x}")),
    })
}

/// The last profile in a file of `--json`: the requested one, after the one it was compared with.
fn read_json(file: &str) -> Result<Profiled> {
    let text = std::fs::read_to_string(file).context("it cannot be read")?;
    let _: serde_json::Value = serde_json::from_slice(text.as_bytes()).context("it is not JSON")?;
    let one = serde_json::from_slice(text.as_bytes()).ok().and_then(|mut whole: ProfileFile| whole.profiles.pop());
    let one = one.filter(|one| one.operations > 0).context("it is not a profile of `vm profile --json`")?;
    Ok(Profiled { kernel: format!("{file}: {}", one.kernel), legs: None, ..one })
}

/// The file of `vm profile --json`; `--against` reads only the profiles.
#[derive(Debug, Serialize)]
struct ProfileAnswer {
    /// By part of the kernel: of the profile, or of the difference between two.
    groups: GroupFindings,
    /// The reference profile, if there is one, then the requested one.
    profiles: Vec<Profiled>,
    /// Which answer this is.
    schema: &'static str,
}

fn document(profiles: Vec<Profiled>) -> ProfileAnswer {
    ProfileAnswer { groups: groups(&profiles), profiles, schema: SCHEMA }
}

/// By part of the kernel: of one profile, or of the second against the first.
pub(crate) fn groups(found: &[Profiled]) -> GroupFindings {
    let sides: Vec<GroupFindings> = found.iter().map(shares).collect();
    match &sides[..] {
        [before, this] => this.against(before),
        sides => sides.last().cloned().unwrap_or_default(),
    }
}

fn shares(one: &Profiled) -> GroupFindings {
    let functions = one.functions.iter().map(|(name, count)| (Some(name.as_str()), *count));
    let Instructions { no_function, programs, .. } = one.instructions;
    let all = functions.chain([(Some(""), no_function), (None, programs)]).filter(|(_, count)| *count > 0);
    GroupFindings::of("instructions", &one.operation, all.map(|(name, count)| (name, one.per_operation(count))))
}
