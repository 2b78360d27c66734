//! The members of a history: kernels, patches on a tree, commits of a checkout, or settings; each is built on demand.

use super::history;
use crate::cli::Bisect;
use crate::commands::kernel::in_folder;
use crate::commands::vm::{architecture, find};
use crate::exit::usage;
use crate::input;
use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_plan::plan::GuestPlan;
use schedlab_plan::{Arm, Setting};
use schedlab_vm::VmError;
use schedlab_vm::host::build;
use schedlab_vm::kernel::cache::Cache;
use std::path::{Path, PathBuf};

/// Longest arm name that a member can have.
const LONGEST_NAME: usize = 60;

/// A history, the good end first.
pub(super) struct Members {
    names: Vec<String>,
    /// Names of their kernels, if they are built. They depend on the content, so that a kernel built for another
    /// bisection is reused.
    built: Vec<String>,
    kind: Kind,
}

enum Kind {
    /// Each member is the settings of an arm.
    Settings(Vec<Vec<Setting>>),
    /// The patches of each member, in order, on top of a tree.
    Patches { tree: PathBuf, patches: Vec<Vec<PathBuf>> },
    /// The changes of each commit against the good one, which is extracted to `place`.
    Commits { checkout: PathBuf, ids: Vec<String>, place: PathBuf },
}

impl Members {
    /// From the options; `dir` is that of the study.
    pub(super) fn of(args: &Bisect, dir: &Path) -> Result<Self> {
        if let Some(checkout) = &args.git {
            let commits = history::commits(checkout, &args.good, &args.bad)?;
            let (ids, names): (Vec<String>, _) = commits.into_iter().unzip();
            for end in [&ids[0], &ids[ids.len() - 1]] {
                history::must_be_a_kernel(checkout, end)?;
            }
            let built = ids.iter().map(|id| format!("bisect-{:.12}-{id:.12}", ids[0])).collect();
            let kind = Kind::Commits { checkout: checkout.clone(), ids, place: dir.join("source") };
            return Ok(Self { names, built, kind });
        }
        if let Some(series) = &args.series {
            let tree = args.onto.clone().context("--series needs the tree that its patches are for: --onto TREE")?;
            let files = in_folder(series)?;
            let state = build::source_tree(&tree).and_then(|tree| build::state(&tree)).context("--onto")?;
            let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let names: Vec<String> = std::iter::once("none".to_owned()).chain(files.iter().map(name)).collect();
            let (from, to) = ends(&names, args)?;
            let patches = (from..=to).map(|count| files[..count].to_vec()).collect();
            let built = built_names(state, &files[..to])?.split_off(from);
            return Ok(Self { names: names[from..=to].to_vec(), built, kind: Kind::Patches { tree, patches } });
        }
        let (list, prefix) = match (&args.kernels, &args.arms) {
            (Some(kernels), _) => (history::list(kernels)?, "kernel:"),
            (None, Some(arms)) => (history::lines(&input::text(arms)?), ""),
            (None, None) => {
                usage!(
                    "give a history to bisect: --kernels LIST, --series PATCHES --onto TREE, --git CHECKOUT or --arms FILE"
                )
            }
        };
        let (from, to) = ends(&list, args)?;
        let names = list[from..=to].to_vec();
        let settings = |name: &String| {
            let spec = if name == "default" { String::new() } else { format!("{prefix}{name}") };
            Ok(Arm::parse(name, &spec)?.settings)
        };
        let settings = names.iter().map(settings).collect::<Result<Vec<_>>>()?;
        Ok(Self { names, built: Vec::new(), kind: Kind::Settings(settings) })
    }

    /// Identifies a member: a patch may be corrected without changing its name.
    pub(super) fn key(&self, member: usize) -> String {
        let built = self.built.get(member).map_or("", String::as_str);
        format!("{member} {} {built}", self.names[member])
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Index of the last member.
    pub(super) fn last(&self) -> usize {
        self.names.len() - 1
    }

    /// Whether they are kernels.
    pub(super) fn are_kernels(&self) -> bool {
        match &self.kind {
            Kind::Settings(all) => all.iter().flatten().any(|setting| matches!(setting, Setting::Kernel(_))),
            Kind::Patches { .. } | Kind::Commits { .. } => true,
        }
    }

    /// Refuses a history whose ends are kernels that do not exist here; one in between would be skipped.
    pub(super) fn check_ends(&self, guest: &GuestPlan) -> Result<()> {
        let Kind::Settings(all) = &self.kind else { return Ok(()) };
        for setting in all.iter().take(1).chain(all.last()).flatten() {
            if let Setting::Kernel(name) = setting {
                find(name, architecture(guest.aarch64)).with_context(|| format!("--kernels: {name}"))?;
            }
        }
        Ok(())
    }

    /// A member as an arm: its settings on top of those of the plan's first arm.
    pub(super) fn arm(&self, member: usize, common: &Arm) -> Result<Arm> {
        let own = match &self.kind {
            Kind::Settings(all) => all[member].clone(),
            _ => vec![format!("kernel:build:{}", self.built[member]).parse().context("a name of ours")?],
        };
        let is_set = |setting: &&Setting| !own.iter().any(|one| one.key() == setting.key());
        let settings = common.settings.iter().filter(is_set).cloned().chain(own.iter().cloned()).collect();
        let name: String = self.names[member].chars().take(LONGEST_NAME).collect();
        Ok(Arm { name: format!("{member} {name}"), settings })
    }

    /// Builds a member if necessary; if that fails, returns the message of the compiler or of patch.
    pub(super) fn make(&self, member: usize, dir: &Path) -> Result<Result<(), String>> {
        let tree = match &self.kind {
            Kind::Settings(_) => return Ok(Ok(())),
            Kind::Patches { tree, .. } => tree.clone(),
            Kind::Commits { checkout, ids, place } => history::extracted(checkout, &ids[0], place)?,
        };
        let name = self.built[member].clone();
        let of = architecture(false);
        if find(&format!("build:{name}"), of).is_ok() {
            return Ok(Ok(()));
        }
        let patches = match &self.kind {
            Kind::Patches { patches, .. } => patches[member].clone(),
            _ => {
                // A commit that does not change the tree is the same as the good one.
                let file = dir.join("source.patch");
                let text = self.changes(member)?;
                std::fs::write(&file, &text).with_context(|| format!("{} cannot be written", file.display()))?;
                if text.is_empty() { Vec::new() } else { vec![file] }
            }
        };
        say(format_args!("schedlab: building {member} `{}`", self.names[member]));
        let wanted = build::Build {
            tree,
            change: build::Change::of(patches),
            options: Vec::new(),
            architecture: of,
            name,
            jobs: schedlab_sys::thread::usable_cpus(),
        };
        match self.build(&wanted)? {
            Ok(()) => Ok(Ok(())),
            Err(error) if error.is_of_machine() => Err(error.into()),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// Builds a member, after checking that its sources have not changed since the beginning.
    fn build(&self, wanted: &build::Build) -> Result<Result<(), VmError>> {
        let mut tell = |line: &str| say(format_args!("schedlab: {line}"));
        let cache = Cache::of_this_user();
        let mut building = match build::Building::begin(&cache, wanted, &mut tell) {
            Ok(building) => building,
            Err(error) => return Ok(Err(error)),
        };
        // The build has copied the sources by now. If they changed, the kernel would be stored under the name of the
        // old ones.
        if let Kind::Patches { tree, patches } = &self.kind {
            let files = patches.last().map(Vec::as_slice).unwrap_or_default();
            if !built_names(build::state(tree)?, files)?.ends_with(&self.built) {
                bail!("the tree or a patch was changed since the bisection began: begin again with another -o DIR");
            }
        }
        Ok(building.compile(&mut tell).and_then(|_| building.keep(&cache, &mut tell)).map(drop))
    }

    /// The changes from the good commit's tree to this member's tree, as one patch.
    fn changes(&self, member: usize) -> Result<Vec<u8>> {
        match &self.kind {
            Kind::Commits { checkout, ids, .. } => history::changes(checkout, &ids[0], &ids[member]),
            _ => bail!("only commits are identified by their changes"),
        }
    }
}

/// Names of the kernels of a tree in this state with no patch, with the first one, with the first two, and so on.
fn built_names(state: u32, patches: &[PathBuf]) -> Result<Vec<String>> {
    let mut sum = crc32fast::Hasher::new_with_initial(state);
    let mut names = vec![format!("bisect-{state:08x}-0")];
    for (at, file) in patches.iter().enumerate() {
        let text = input::regular(file).with_context(|| format!("{} cannot be read", file.display()))?;
        sum.update(&(text.len() as u64).to_le_bytes());
        sum.update(&text);
        names.push(format!("bisect-{:08x}-{}", sum.clone().finalize(), at + 1));
    }
    Ok(names)
}

/// The indices of GOOD and BAD in a list, given by name or by index.
fn ends(list: &[String], args: &Bisect) -> Result<(usize, usize)> {
    if list.len() < 2 {
        usage!("the history has {}: a bisection needs two or more", schedlab_plan::counted(list.len(), "members"));
    }
    let place = |wanted: &str, what: &str| -> Result<usize> {
        let by_name: Vec<usize> = (0..list.len()).filter(|&at| list[at] == wanted).collect();
        match (by_name.as_slice(), wanted.parse::<usize>()) {
            ([one], _) => Ok(*one),
            ([], Ok(index)) if index < list.len() => Ok(index),
            ([_, _, ..], _) => usage!("{what} `{wanted}` is in the list more than once: give its index, from 0"),
            _ => {
                usage!("{what} `{wanted}` is not in the list, nor an index from 0 to {}", list.len().saturating_sub(1))
            }
        }
    };
    let (good, bad) = (place(&args.good, "GOOD")?, place(&args.bad, "BAD")?);
    if good == bad {
        usage!("GOOD `{}` and BAD `{}` are the same member: give an older one as GOOD", args.good, args.bad);
    }
    if good > bad {
        usage!(
            "GOOD `{}` is after BAD `{}` in the history, which begins with the oldest: exchange them",
            args.good,
            args.bad
        );
    }
    Ok((good, bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_after_the_tree_and_the_patches_up_to_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let patches = [file("1.patch", "a"), file("2.patch", "b"), file("3.patch", "c")];
        let [first, same, other] = [1, 1, 2].map(|state| built_names(state, &patches).unwrap());
        assert_eq!((first.len(), &first), (4, &same));
        assert!(first.iter().zip(&other).all(|(first, other)| first != other), "{other:?}");
        file("2.patch", "corrected");
        let corrected = built_names(1, &patches).unwrap();
        let equal: Vec<bool> = first.iter().zip(&corrected).map(|(first, now)| first == now).collect();
        assert_eq!(equal, [true, true, false, false]);
        let why = format!("{:#}", built_names(1, &[directory.path().to_owned()]).unwrap_err());
        assert!(why.ends_with("cannot be read: it is not a regular file"), "{why}");
    }
}
