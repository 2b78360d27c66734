//! `schedlab vm …`: runs commands in guests; the files that a guest sends are written where they would be on the host.

mod guest;
mod guest_command;
mod listener;
pub(crate) mod measured;
pub(super) mod profile;
pub(crate) mod task;
pub(crate) mod trials;

use crate::cli::vm::{Boot, Build, Fetch, VmAction, VmRun};
use crate::exit::{self, usage};
use crate::input;
use crate::output::{print_line, say, terminal_width, to_stdout};
use anyhow::{Result, bail};
pub(super) use guest::find;
use guest_command::GuestCommand;
use schedlab_host::{KvmOutcome, KvmSeen};
use schedlab_plan::lane::Provenance;
use schedlab_plan::{Check, Manifest, counted};
use schedlab_run::writer::{MANIFEST, manifest_bytes};
use schedlab_vm::VmError;
use schedlab_vm::host::deliver::{Delivered, deliver, probe};
use schedlab_vm::host::examine::{Seen, examine};
use schedlab_vm::host::kvm::{Kvm, fix};
use schedlab_vm::host::{build, fetch};
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::image::Architecture;
use schedlab_vm::kernel::mirrors::Mirrors;
use schedlab_vm::kernel::own_architecture;
use schedlab_vm::kernel::reference::Reference;
use schedlab_vm::saved_states::SavedStates;
use std::io::IsTerminal;
use std::path::Path;

pub(super) fn run(action: &VmAction) -> Result<u8> {
    match action {
        VmAction::Fetch(args) => fetch_kernel(args),
        VmAction::Build(args) => build_kernel(args),
        VmAction::List => list(),
        VmAction::Boot(args) => boot(args),
        VmAction::Run(args) => run_inside(args),
        VmAction::Profile(args) => profile::run(args),
    }
}

fn fetch_kernel(args: &Fetch) -> Result<u8> {
    let Reference::Debian(wanted) = args.kernel.parse()? else {
        usage!("{} needs no fetching: only debian:VERSION does", args.kernel);
    };
    let (cache, mirrors) = (Cache::of_this_user(), Mirrors::find(&args.mirror)?);
    let mut tell = |line: &str| say(format_args!("schedlab: {line}"));
    let of = architecture(args.aarch64);
    let (entry, path) = fetch::fetch(&cache, &wanted, of, &args.module, mirrors, &mut tell)?;
    let modules: Vec<&str> = entry.modules().collect();
    print_line(format_args!("{} {}: {}", entry.name, entry.version(), path.display()))?;
    print_line(format_args!("{}: {}", counted(modules.len(), "modules"), modules.join(", ")))?;
    Ok(exit::DONE)
}

fn build_kernel(args: &Build) -> Result<u8> {
    let name = args.name.clone().unwrap_or_else(|| build::usual_name(&args.tree, &args.patch));
    let build = build::Build {
        tree: args.tree.clone(),
        change: build::Change::of(args.patch.clone()),
        options: options(&args.set, args.config.as_deref())?,
        architecture: architecture(args.aarch64),
        name: plain_name(name)?,
        jobs: args.jobs.unwrap_or_else(schedlab_sys::thread::usable_cpus).max(1),
    };
    let mut tell = |line: &str| say(format_args!("schedlab: {line}"));
    let (entry, path, dropped) = build::build(&Cache::of_this_user(), &build, &mut tell)?;
    print_line(format_args!("{} {}: {}", entry.name, entry.version(), path.display()))?;
    for option in dropped {
        print_line(format_args!("not taken by this tree: {option}"))?;
    }
    Ok(exit::DONE)
}

/// The config lines of `--config` and `--set`; later ones win.
pub(crate) fn options(set: &[String], config: Option<&Path>) -> Result<Vec<String>> {
    let file = config.map(input::text).transpose()?;
    Ok(file.into_iter().chain(set.iter().cloned()).collect())
}

/// Checks the NAME in `build:NAME`.
pub(crate) fn plain_name(name: String) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        usage!("`{name}` cannot name a kernel: give --name of letters, digits, `-`, `_`, `.` and `+`");
    }
    Ok(name)
}

/// The architecture that `--aarch64` asks for.
pub(super) fn architecture(aarch64: bool) -> Architecture {
    if aarch64 { Architecture::Aarch64 } else { own_architecture() }
}

fn list() -> Result<u8> {
    let cache = Cache::of_this_user();
    let (entries, states) = (cache.entries()?, SavedStates::of(&cache));
    to_stdout(|out| {
        for (entry, path) in &entries {
            let (what, path) = (format!("{}  {}  {}", entry.name, entry.version(), entry.architecture), path.display());
            // If the output is not a terminal, each kernel is one line.
            let fits =
                !std::io::stdout().is_terminal() || format!("{what}  {path}").chars().count() <= terminal_width();
            writeln!(out, "{what}{}{path}", if fits { "  " } else { "\n    " })?;
        }
        let Some((path, count, bytes)) = states.summary() else { return Ok(()) };
        writeln!(out, "{} of guests  {} MiB  {}", counted(count, "states"), bytes >> 20, path.display())
    })?;
    Ok(exit::DONE)
}

/// What `doctor` reports about KVM; `None` in a guest of ours, where KVM is the host's matter.
pub(super) fn kvm_check(command_line: &str) -> Option<Check> {
    if Provenance::of_command_line(command_line).is_some() {
        return None;
    }
    let seen = |outcome, evidence, fix: &str| KvmSeen { outcome, evidence, fix: fix.to_owned() };
    let seen = match examine(&Kvm::of_this_host(), &Cache::of_this_user()) {
        Ok(Seen::Runs(evidence)) => seen(KvmOutcome::Runs, evidence, ""),
        Ok(Seen::MayRun(evidence)) => {
            seen(KvmOutcome::MayRun, evidence, "schedlab vm fetch debian:6.1, and doctor tries that")
        }
        Ok(Seen::Fails(failure)) => seen(KvmOutcome::Fails(failure.why), failure.evidence, fix(failure.why)),
        Err(VmError::NoProgram { program, fix }) => {
            seen(KvmOutcome::Unknown, format!("{program} is not installed"), &fix)
        }
        Err(error) => seen(KvmOutcome::Unknown, error.to_string(), ""),
    };
    Some(schedlab_host::kvm(&seen))
}

/// Without --shell the guest runs `doctor`, which shows the guest and what it can measure.
fn boot(args: &Boot) -> Result<u8> {
    if args.shell && !args.guest.dry_run && !std::io::stdin().is_terminal() {
        bail!(
            "--shell needs a terminal on standard input: give it one (script -qc 'schedlab vm boot … --shell' /dev/null)"
        );
    }
    let command = if args.shell { GuestCommand::shell()? } else { GuestCommand::of_words(&["doctor".into()])? };
    guest::run(&args.kernel, &args.guest, &command, args.shell).map(|(code, _)| code)
}

fn run_inside(args: &VmRun) -> Result<u8> {
    let command = GuestCommand::of_words(&args.command)?;
    let places = || command.collect.iter().map(Path::new);
    if !args.guest.dry_run {
        // Only directories of the host; those below /schedlab exist only in the guest.
        places().filter(|place| !place.starts_with("/schedlab")).try_for_each(probe)?;
    }
    let (mut code, mut files) = guest::run(&args.kernel, &args.guest, &command, false)?;
    files.iter_mut().for_each(as_typed_here);
    for place in places() {
        let Some(Delivered { at, instead }) = deliver(&files, place)? else { continue };
        say(format_args!("schedlab: from the guest: {}", at.display()));
        if let Some(why) = instead {
            say(format_args!("schedlab: it could not be written to {}: {why}", place.display()));
            code = exit::ERROR;
        }
    }
    Ok(code)
}

/// Replaces the guest's command line in a manifest by the one typed here, which repeats the run.
fn as_typed_here((path, content): &mut (String, Vec<u8>)) {
    if Path::new(path).file_name().is_some_and(|name| name == MANIFEST)
        && let Ok(mut manifest) = serde_json::from_slice::<Manifest>(content)
    {
        manifest.command = std::env::args().collect();
        *content = manifest_bytes(&manifest);
    }
}
