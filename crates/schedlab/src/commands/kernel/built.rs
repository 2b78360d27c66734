//! Compiles the adapted series patch by patch, in the copy of the tree that `vm build` keeps.

use super::{booted, port};
use crate::cli::kernel::Port;
use crate::commands::vm;
use crate::output::say;
use anyhow::Result;
use schedlab_kernel::needs::build_errors;
use schedlab_kernel::{FilePatch, is_c};
use schedlab_report::port::{Build, Rehearsal, Step};
use schedlab_vm::VmError;
use schedlab_vm::host::build::{self, Building, Change, Content, Files};
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::own_architecture;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The build request for the tree.
fn request(args: &Port) -> Result<build::Build> {
    let first: Vec<PathBuf> = args.series.first().map(PathBuf::from).into_iter().collect();
    let name = args.name.clone().unwrap_or_else(|| build::usual_name(&args.onto, &first));
    Ok(build::Build {
        tree: args.onto.clone(),
        change: Change::Files,
        options: vm::options(&args.set, args.config.as_deref())?,
        architecture: own_architecture(),
        name: vm::plain_name(name)?,
        jobs: args.jobs.unwrap_or_else(schedlab_sys::thread::usable_cpus).max(1),
    })
}

/// Refuses what cannot be built or booted, before the rehearsal.
pub(super) fn check(args: &Port) -> Result<()> {
    build::check(&request(args)?)?;
    args.boot.as_deref().map_or(Ok(()), booted::check)
}

/// Describes in a line what would be done.
pub(super) fn plan(args: &Port, rehearsal: &Rehearsal) -> Result<String> {
    let request = request(args)?;
    let taken = rehearsal.port.adapted.iter().filter(|files| !files.is_empty()).count();
    let boot = args.boot.as_ref().map(|workload| format!("; then boot it and run `bench {workload}`"));
    Ok(format!(
        "would compile {} alone, then with each of {taken} patches, as build:{}{}",
        args.onto.display(),
        request.name,
        boot.unwrap_or_default()
    ))
}

/// Compiles the tree as it is, then after each patch of the series, up to the first that fails; boots the last one if
/// requested.
pub(super) fn build(args: &Port, rehearsal: &Rehearsal) -> Result<Build> {
    let request = request(args)?;
    let cache = Cache::of_this_user();
    let mut tell = |line: &str| say(format_args!("schedlab: {line}"));
    let mut building = Building::begin(&cache, &request, &mut tell)?;
    tell("the tree without the series");
    let dropped = building.compile(&mut tell).map_err(|error| match error {
        VmError::Make { .. } => anyhow::Error::from(error).context("the tree does not compile without the series"),
        error => error.into(),
    })?;
    let mut out = Build { dropped, ..Build::default() };
    let (mut files, mut kinds) = (Files::new(), Kinds::default());
    for (number, adapted) in rehearsal.port.adapted.iter().enumerate() {
        if adapted.is_empty() {
            out.steps.push(Step::Unchanged);
            continue;
        }
        tell(&format!("patch {} of {}", number + 1, rehearsal.patches.len()));
        kinds.learn(adapted, &args.onto);
        let made = &rehearsal.port.made[number];
        files.extend(made.iter().map(|(path, text)| (path.into(), text.clone().map(|text| kinds.content(path, text)))));
        building.put(&files, adapted.iter().flat_map(FilePatch::to_bytes).collect(), &mut tell)?;
        match building.compile(&mut tell) {
            Ok(_) => out.steps.push(Step::Compiled { unused: unused(&building, adapted)? }),
            Err(VmError::Make { said, log, .. }) => {
                let source = building.source().display().to_string();
                out.steps.push(Step::Failed { build_errors: build_errors(&log, &source), said });
                return Ok(out);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (entry, _) = building.keep(&cache, &mut tell)?;
    drop(building);
    out.proof = match &args.boot {
        Some(workload) => {
            let mut read = |path: &str| port::file(&args.onto, path);
            Some(booted::prove(workload, &entry.name, rehearsal, &mut read)?)
        }
        None => None,
    };
    out.kernel = Some(entry.name);
    Ok(out)
}

/// Files that the patches so far make symbolic links or executables.
#[derive(Default)]
struct Kinds(BTreeMap<String, u32>);

impl Kinds {
    fn learn(&mut self, files: &[FilePatch], tree: &Path) {
        for file in files {
            let Some(new) = &file.new else { continue };
            // A renamed file keeps its kind.
            let of_old = || {
                let old = file.old.as_ref().filter(|old| *old != new)?;
                self.0.get(old).copied().or_else(|| Some(std::fs::metadata(tree.join(old)).ok()?.permissions().mode()))
            };
            if let Some(mode) = file.new_mode.or_else(of_old) {
                self.0.insert(new.clone(), mode);
            }
        }
    }

    fn content(&self, path: &str, text: Vec<u8>) -> Content {
        const LINK: u32 = 0o120_000;
        match self.0.get(path) {
            Some(&LINK) => Content::Link(OsString::from_vec(text).into()),
            mode => Content::File { text, is_executable: mode.map(|mode| mode & 0o100 != 0) },
        }
    }
}

/// Source files of a patch that were not compiled.
fn unused(building: &Building, files: &[FilePatch]) -> Result<Vec<String>> {
    let sources = || files.iter().filter_map(|file| file.new.as_deref()).filter(|path| is_source(path));
    let used = building.used(sources())?;
    Ok(sources().filter(|path| !used.contains(*path)).map(str::to_owned).collect())
}

fn is_source(path: &str) -> bool {
    is_c(path) || path.ends_with(".S")
}
