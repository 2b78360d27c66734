//! Finds the kernels of a pack on this machine, in the cache, by fetching or by building; or reports why one is not
//! available.

use crate::cli::Repeat;
use crate::commands::vm::{architecture, find};
use crate::exit::usage;
use crate::output::say;
use anyhow::{Context, Result};
use schedlab_plan::{BootedKernel, KernelSource, Pack, Plan, Setting};
use schedlab_vm::host::scratch::Scratch;
use schedlab_vm::host::{build, fetch};
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::debian::Debian;
use schedlab_vm::kernel::image::Architecture;
use schedlab_vm::kernel::mirrors::Mirrors;
use std::path::Path;

/// The kernels of a pack, and what is done for each.
pub(super) struct Kernels<'a> {
    steps: Vec<(&'a BootedKernel, Step<'a>)>,
    of: Architecture,
    modules: Vec<String>,
    mirrors: &'a [String],
}

/// How this machine can get a kernel.
enum Step<'a> {
    /// It is in the cache under this name.
    Have(String),
    /// The user replaces it (`--kernel`); the result then applies to that one.
    Instead(String),
    /// A Debian package, with the version that selects it.
    Fetch { wanted: Debian, version: &'a str },
    /// The source is available.
    Build { tree: &'a Path, name: String, config: &'a str, patches: &'a [String] },
    /// It is not available.
    Missing(String),
}

impl<'a> Kernels<'a> {
    pub(super) fn of(pack: &'a Pack, args: &'a Repeat) -> Result<Self> {
        let guest = pack.plan()?.guest.unwrap_or_default();
        let of = architecture(guest.aarch64);
        let instead = args.kernel.iter().map(|text| substitution(text)).collect::<Result<Vec<_>>>()?;
        if let Some((from, _)) = instead.iter().find(|(from, _)| !pack.kernels.iter().any(|k| k.name == *from)) {
            let names: Vec<&str> = pack.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            match names.as_slice() {
                [] => usage!(
                    "--kernel: the pack's run was on a host; in a guest: schedlab vm run --kernel KERNEL -- repeat FILE"
                ),
                names => usage!("--kernel: the pack has no kernel {from}; it has {}", names.join(", ")),
            }
        }
        let step = |kernel: &'a BootedKernel| {
            let other = instead.iter().find(|(from, _)| *from == kernel.name);
            let step = match other {
                Some((_, to)) => find(to, of).map(|_| Step::Instead(to.clone())),
                None => step(kernel, args.tree.as_deref(), of),
            };
            step.map(|step| (kernel, step))
        };
        let steps = pack.kernels.iter().map(step).collect::<Result<Vec<_>>>()?;
        Ok(Self { steps, of, modules: guest.module, mirrors: &args.mirror })
    }

    /// What is done for each, one line each.
    pub(super) fn steps(&self) -> Vec<String> {
        let line = |(kernel, step): &(&BootedKernel, Step<'_>)| {
            let name = &kernel.name;
            match step {
                Step::Have(here) => format!("{name} is here: {here}"),
                Step::Instead(other) => {
                    format!("{name} is replaced by {other} (--kernel): the result applies to {other}")
                }
                Step::Fetch { wanted, version } => {
                    format!("{name} would be fetched: {wanted}, package version {version}")
                }
                Step::Build { tree, name: here, .. } => {
                    format!("{name} would be built from {} as {here}", tree.display())
                }
                Step::Missing(why) => format!("{name} is not available here: {why}"),
            }
        };
        self.steps.iter().map(line).collect()
    }

    /// Whether it, or its replacement, is here, so that it need not be built.
    pub(super) fn has(&self, kernel: &BootedKernel) -> bool {
        let is_here = |step: &Step<'_>| matches!(step, Step::Have(_) | Step::Instead(_));
        self.steps.iter().filter(|(of, _)| of.name == kernel.name).all(|(_, step)| is_here(step))
    }

    /// Their names, if all are here already, or why one is not available; `None` if some would have to be fetched or
    /// built.
    pub(super) fn here(&self) -> Option<Result<Vec<(String, String)>, String>> {
        let of = |(kernel, step): &(&BootedKernel, Step<'_>)| match step {
            Step::Have(name) | Step::Instead(name) => Some(Ok((kernel.name.clone(), name.clone()))),
            Step::Missing(why) => Some(Err(not_available(kernel, why))),
            Step::Fetch { .. } | Step::Build { .. } => None,
        };
        let all: Vec<_> = self.steps.iter().map(of).collect();
        let missing = all.iter().flatten().find_map(|one| one.clone().err());
        missing.map(Err).or_else(|| all.into_iter().collect::<Option<Result<Vec<_>, String>>>())
    }

    /// Fetches and builds; returns the names of the pack's kernels on this machine, or why one is not available.
    pub(super) fn prepare(&self) -> Result<Result<Vec<(String, String)>, String>> {
        let mut names = Vec::new();
        for (kernel, step) in &self.steps {
            match self.done(kernel, step) {
                Ok(Ok(name)) => names.push((kernel.name.clone(), name)),
                Ok(Err(why)) => return Ok(Err(not_available(kernel, &why))),
                // Failures of network, archive or compiler are problems of this machine, and not a result.
                Err(error) => return Ok(Err(not_available(kernel, &format!("{error:#}")))),
            }
        }
        Ok(Ok(names))
    }

    fn done(&self, kernel: &BootedKernel, step: &Step<'_>) -> Result<Result<String, String>> {
        let mut tell = |line: &str| say(format_args!("schedlab: {line}"));
        let cache = Cache::of_this_user();
        Ok(match step {
            Step::Have(name) | Step::Instead(name) => Ok(name.clone()),
            Step::Missing(why) => Err(why.clone()),
            Step::Fetch { wanted, version } => {
                let mirrors = Mirrors::find(self.mirrors)?;
                let (entry, _) = fetch::fetch(&cache, wanted, self.of, &self.modules, mirrors, &mut tell)?;
                let name = wanted.to_string();
                if entry.version() == *version && format!("{:08x}", entry.kernel_crc32()) == kernel.crc32 {
                    Ok(name)
                } else if entry.version() == *version {
                    Err(format!("the kernel in Debian's package {version} is not the pack's (CRC-32)"))
                } else {
                    let has = entry.version();
                    Err(format!(
                        "Debian has {has}, and the pack was measured on {version}; use that kernel with --kernel {}={name}",
                        kernel.name
                    ))
                }
            }
            Step::Build { tree, name, config, patches } => Ok(self.build(kernel, tree, name, config, patches)?),
        })
    }

    /// Builds a kernel from the user's tree; returns its name on this machine.
    fn build(
        &self,
        kernel: &BootedKernel,
        tree: &Path,
        name: &str,
        config: &str,
        patches: &[String],
    ) -> Result<String> {
        let scratch = Scratch::new()?;
        let mut files = Vec::new();
        for (number, patch) in patches.iter().enumerate() {
            let file = scratch.path().join(format!("{:04}.patch", number + 1));
            std::fs::write(&file, patch).with_context(|| format!("{} cannot be written", file.display()))?;
            files.push(file);
        }
        let wanted = build::Build {
            tree: tree.to_owned(),
            change: build::Change::of(files),
            options: vec![config.to_owned()],
            architecture: self.of,
            name: name.to_owned(),
            jobs: schedlab_sys::thread::usable_cpus(),
        };
        build::build(&Cache::of_this_user(), &wanted, &mut |line| say(format_args!("schedlab: {line}")))?;
        let name = format!("build:{name}");
        if format!("{:08x}", find(&name, self.of)?.crc32) != kernel.crc32 {
            say(format_args!(
                "schedlab: {name} is not bit-identical to the kernel of the pack: another compiler, or another source \
                 of that version"
            ));
        }
        Ok(name)
    }
}

fn not_available(kernel: &BootedKernel, why: &str) -> String {
    format!("kernel {} is not available: {why}", kernel.name)
}

/// `--kernel debian:6.1=debian:6.12`.
fn substitution(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => usage!("--kernel {text}: give a kernel of the pack and one of yours, such as debian:6.1=debian:6.12"),
    }
}

fn step<'a>(kernel: &'a BootedKernel, tree: Option<&'a Path>, of: Architecture) -> Result<Step<'a>> {
    let here = |name: &str| find(name, of).ok().filter(|found| format!("{:08x}", found.crc32) == kernel.crc32);
    Ok(match &kernel.source {
        _ if here(&kernel.name).is_some() => Step::Have(kernel.name.clone()),
        KernelSource::Debian { packages } => {
            let package = packages.first().context("a kernel of Debian without a package")?;
            let upstream = package.version.split('-').next().unwrap_or_default();
            let flavour = kernel.name.split_once('-').map_or(String::new(), |(_, flavour)| format!("-{flavour}"));
            let wanted: Debian = format!("{upstream}{flavour}").parse()?;
            match here(&wanted.to_string()) {
                Some(_) => Step::Have(wanted.to_string()),
                None => Step::Fetch { wanted, version: &package.version },
            }
        }
        KernelSource::Build { version, config, patches } => {
            // A name with the checksum, because the user may have another kernel with the pack's name.
            let name = format!("{}-{}", kernel.name.trim_start_matches("build:"), kernel.crc32);
            if let Ok(found) = find(&format!("build:{name}"), of) {
                return Ok(Step::Have(found.name));
            }
            match tree.map(|tree| (tree, source_version(tree))) {
                None => Step::Missing(format!(
                    "it is built from the source of Linux {version}: name its tree by --tree (Debian: linux-source-{})",
                    version.rsplit_once('.').map_or(version.as_str(), |(series, _)| series)
                )),
                Some((tree, Some(own))) if own == *version => Step::Build { tree, name, config, patches },
                Some((tree, own)) => Step::Missing(format!(
                    "it is built from the source of Linux {version}, and {} is {}",
                    tree.display(),
                    own.map_or_else(|| "not a kernel source tree".to_owned(), |own| format!("Linux {own}"))
                )),
            }
        }
        KernelSource::File => Step::Missing("the pack does not say how to get it".into()),
    })
}

/// `6.1.192`, from the beginning of the tree's Makefile.
fn source_version(tree: &Path) -> Option<String> {
    let makefile = String::from_utf8(crate::input::regular(&tree.join("Makefile")).ok()?).ok()?;
    let value = |key: &str| {
        let mut lines = makefile.lines().take(20);
        lines.find_map(|line| Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().to_owned()))
    };
    Some(format!("{}.{}.{}{}", value("VERSION")?, value("PATCHLEVEL")?, value("SUBLEVEL")?, value("EXTRAVERSION")?))
}

/// Replaces the kernel names in a plan by those of this machine.
pub(super) fn rename(plan: &mut Plan, names: &[(String, String)]) {
    let renamed = |name: &mut String| {
        if let Some((_, here)) = names.iter().find(|(there, _)| there == name) {
            name.clone_from(here);
        }
    };
    plan.guest.iter_mut().filter_map(|guest| guest.kernel.as_mut()).for_each(renamed);
    for setting in plan.arms.iter_mut().flat_map(|arm| &mut arm.settings) {
        if let Setting::Kernel(name) = setting {
            renamed(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_source_tree_is_that_of_its_makefile() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(source_version(directory.path()), None);
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\nNAME = Curry Ramen\n";
        std::fs::write(directory.path().join("Makefile"), makefile).unwrap();
        assert_eq!(source_version(directory.path()).as_deref(), Some("6.1.192"));
    }

    #[test]
    fn only_what_the_pack_names_is_renamed() {
        let text = "trials = 6\n[guest]\nkernel = \"build:a\"\ncpus = 1\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n\
                    [[arm]]\nname = \"b\"\nset = \"kernel:build:b\"\n[[arm]]\nname = \"c\"\nset = \"kernel:build:c\"\n";
        let mut plan = Plan::parse(text).unwrap();
        rename(&mut plan, &[("build:a".into(), "build:x".into()), ("build:b".into(), "build:y".into())]);
        let kernels: Vec<String> = plan.arms.iter().map(|arm| arm.spec()).collect();
        assert_eq!(kernels, ["", "kernel:build:y", "kernel:build:c"]);
        assert_eq!(plan.guest.unwrap().kernel.as_deref(), Some("build:x"));
    }
}
