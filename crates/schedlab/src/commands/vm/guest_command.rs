//! The command that runs in the guest, parsed as on the host, to find the files that it reads and writes. Its current
//! directory has the same name in the guest, so that every path means the same there.

use crate::cli::Command;
use crate::commands::reservation::must_be_free;
use crate::commands::{ab, bench, read_words};
use crate::exit::usage;
use crate::{input, session};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Pack, Plan};
use schedlab_vm::host::initramfs::Added;
use std::path::{Component, Path, PathBuf};

/// A command for a guest.
#[derive(Debug, Default)]
pub(super) struct GuestCommand {
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// Its current directory.
    pub(super) directory: String,
    /// Files that it reads.
    pub(super) reads: Vec<Added>,
    /// Files and directories that it creates, absolute.
    pub(super) collect: Vec<String>,
    /// Modules that it needs from the start.
    pub(super) modules: Vec<String>,
}

/// Modules that a plan's guests need from the start: binder's module is not loaded on demand, because no alias leads to
/// the device.
pub(super) fn modules_of(plan: &Plan) -> Vec<String> {
    modules(plan.has_option("transport", "binder"))
}

fn modules(needs_binder: bool) -> Vec<String> {
    needs_binder.then(|| "binder_linux".to_owned()).into_iter().collect()
}

/// A file in the guest for a result that only `vm profile` reads.
pub(super) const OUTCOME: &str = "/schedlab/outcome.json";

impl GuestCommand {
    /// No command, only a directory.
    pub(super) fn shell() -> Result<Self> {
        Ok(Self { directory: "/root".into(), ..Self::default() })
    }

    /// Parses the words after `--`. A command line that is invalid on the host is refused here, before anything boots.
    pub(super) fn of_words(words: &[String]) -> Result<Self> {
        let directory = std::env::current_dir().context("the current directory cannot be read")?;
        let mut guest_command = Self { arguments: words.to_vec(), directory: text(&directory)?, ..Self::default() };
        let (command, written) = read(words)?;
        match command {
            Command::Bench(args) => {
                bench::check_anywhere(&args, &written)?;
                guest_command.modules = modules(bench::planned(&args, &written)?.has_option("transport", "binder"));
                if let Some(file) = args.json.as_deref().filter(|file| *file != "-") {
                    let file = absolute(&directory, Path::new(file))?;
                    let stays = file == Path::new(OUTCOME);
                    if let Some(parent) = file.parent().filter(|parent| !stays && !parent.is_dir()) {
                        bail!("--json: there is no directory {}", parent.display());
                    }
                    guest_command.collect.push(text(&file)?);
                }
                if let Some(recording) = &args.tracing.trace {
                    must_be_free(recording, "--trace")?;
                    guest_command.collect.push(text(&absolute(&directory, recording)?)?);
                }
            }
            Command::Ab(args) => {
                guest_command.modules = modules_of(&ab::plan(&args, &written)?);
                guest_command.experiment(
                    &directory,
                    args.output.resume,
                    args.output.out.as_deref(),
                    &ab::name(&args),
                )?
            }
            Command::Run(args) => {
                let plan = absolute(&directory, &args.plan)?;
                let read = input::text(&plan).ok().and_then(|text| Plan::parse(&text).ok());
                guest_command.modules = read.as_ref().map(modules_of).unwrap_or_default();
                if read.is_some_and(|plan| plan.guest.is_some()) {
                    bail!(
                        "{}: its trials run in guests of their own ([guest]): schedlab run {}",
                        plan.display(),
                        args.plan.display()
                    );
                }
                guest_command.reads.push(Added { from: plan.clone(), to: text(&plan)? });
                let name = session::name_of(&args.plan);
                guest_command.experiment(&directory, args.output.resume, args.output.out.as_deref(), &name)?;
            }
            Command::Repeat(args) => {
                let pack = absolute(&directory, &args.file)?;
                let read = input::bytes(&pack).ok().and_then(|bytes| Pack::parse(&bytes).ok());
                guest_command.modules =
                    read.as_ref().and_then(|pack| pack.plan().ok()).map(|plan| modules_of(&plan)).unwrap_or_default();
                if read.is_some_and(|pack| !pack.kernels.is_empty()) {
                    bail!("{}: its trials run in guests of their own: schedlab repeat {0}", args.file.display());
                }
                guest_command.reads.push(Added { from: pack.clone(), to: text(&pack)? });
                guest_command.experiment(&directory, args.resume, args.out.as_deref(), "repeat")?;
            }
            Command::Doctor(args) if args.against.is_none() => {}
            Command::Tune(args) if args.root.is_none() && args.action.only_looks() => {}
            Command::List(_) => {}
            _ => usage!("`{}` reads and writes files of the host: run it there", words.join(" ")),
        }
        Ok(guest_command)
    }

    /// The run directory is chosen on the host, where it must be free.
    fn experiment(&mut self, directory: &Path, resume: bool, out: Option<&Path>, name: &str) -> Result<()> {
        if resume {
            usage!("a run cannot be resumed in a guest: each start is another boot, and a boot is a unit of its own");
        }
        let out = match out {
            Some(out) => absolute(directory, out)?,
            None => {
                let free = absolute(directory, &session::unused(session::default_out(name)))?;
                // Inserted before the command of an exec workload.
                self.arguments.splice(1..1, ["--out".to_owned(), text(&free)?]);
                free
            }
        };
        if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty; give another --out", out.display());
        }
        self.collect.push(text(&out)?);
        Ok(())
    }
}

/// Parses the words as `schedlab` itself would, with the workload options that are written as options of `bench`.
fn read(words: &[String]) -> Result<(Command, Vec<(String, String)>)> {
    let (command, matches) = read_words(words)?;
    Ok((command, bench::workload_options(&matches, "bench")))
}

/// The path without `..`, because the guest sends plain paths. The parent of the current directory is the same in the
/// guest; that of another directory is not, if it is a symbolic link.
fn absolute(directory: &Path, path: &Path) -> Result<PathBuf> {
    let mut whole = directory.to_owned();
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    while parts.next_if_eq(&Component::ParentDir).is_some() {
        whole.pop();
    }
    for part in parts {
        if part == Component::ParentDir {
            bail!("{}: a guest has other directories: give this path without `..`", path.display());
        }
        whole.push(part);
    }
    Ok(whole)
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_the_same_in_the_guest() {
        let of = |path: &str| absolute(Path::new("/home/u"), Path::new(path)).map(|p| p.display().to_string());
        for (path, expected) in [
            ("a.json", "/home/u/a.json"),
            ("./out/./a", "/home/u/out/a"),
            ("../a.json", "/home/a.json"),
            (".././../b", "/b"),
            ("/tmp/a", "/tmp/a"),
        ] {
            assert_eq!(of(path).unwrap(), expected, "{path}");
        }
        for path in ["a/../b", "/tmp/../b", "../a/.."] {
            assert!(of(path).unwrap_err().to_string().contains("without `..`"), "{path}");
        }
    }
}
