//! `schedlab vm …`: from arguments to a guest and back: what it sends goes where it would go on the host.

mod guest;
mod inside;
pub(crate) mod task;
pub(crate) mod trials;

use crate::cli::vm::{Boot, Fetch, VmAction, VmRun};
use crate::exit;
use anyhow::{Result, bail};
use inside::Inside;
use schedlab_run::counted;
use schedlab_vm::host::{boot::deliver, fetch};
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::own_architecture;
use schedlab_vm::kernel::reference::Reference;
use std::path::Path;

pub(super) fn run(action: &VmAction) -> Result<u8> {
    match action {
        VmAction::Fetch(args) => fetch_kernel(args),
        VmAction::List => list(),
        VmAction::Boot(args) => boot(args),
        VmAction::Run(args) => run_inside(args),
    }
}

fn fetch_kernel(args: &Fetch) -> Result<u8> {
    let Reference::Debian(wanted) = args.kernel.parse()? else {
        bail!("{} is a file: it needs no fetching", args.kernel);
    };
    let cache = Cache::of_this_user();
    let mut say = |line: &str| eprintln!("schedlab: {line}");
    let (entry, path) = fetch::fetch(&cache, &wanted, own_architecture(), &args.module, &mut say)?;
    let modules: Vec<&str> = entry.modules().collect();
    println!("{} {}: {}", entry.name, entry.version(), path.display());
    println!("{}: {}", counted(modules.len(), "modules"), modules.join(", "));
    Ok(exit::DONE)
}

fn list() -> Result<u8> {
    let cache = Cache::of_this_user();
    for (entry, path) in cache.entries() {
        println!("{}  {}  {}  {}", entry.name, entry.version(), entry.architecture, path.display());
    }
    Ok(exit::DONE)
}

/// Without a shell the guest runs `doctor`: what it is and what it can measure.
fn boot(args: &Boot) -> Result<u8> {
    let inside = if args.shell { Inside::shell()? } else { Inside::of_words(&["doctor".into()])? };
    guest::run(&args.kernel, &args.guest, &inside, args.shell).map(|(code, _)| code)
}

fn run_inside(args: &VmRun) -> Result<u8> {
    let inside = Inside::of_words(&args.command)?;
    let (code, files) = guest::run(&args.kernel, &args.guest, &inside, false)?;
    for place in &inside.collect {
        deliver(&files, Path::new(place))?;
        if files.iter().any(|(path, _)| Path::new(path).starts_with(place)) {
            eprintln!("schedlab: from the guest: {place}");
        }
    }
    Ok(code)
}
