//! `schedlab tune export`: writes settings as configuration files, with their evidence and undo commands.

use super::Target;
use crate::commands::destination;
use crate::exit::{self, usage};
use crate::output::write_file;
use crate::output::{print_line, say};
use anyhow::{Context, Result, bail};
use schedlab_plan::Setting;
use schedlab_tune::{EXPORT_FILES, Exports, Roots, exports};
use std::path::Path;

/// What files can hold, for a user whose settings cannot be written to one.
const FILES_HOLD: &str =
    "files hold sysctls, files of debugfs and sysfs, and the slice, policy, niceness and CPUs of a command";

pub(super) fn run(place: &Target, values: &[String], dir: Option<&Path>) -> Result<u8> {
    if values.is_empty() {
        usage!(
            "tune export has nothing to write: name each setting with its value, as in `schedlab tune export \
             base_slice=3ms -o keep` (`schedlab tune catalog` lists the knobs)"
        );
    }
    let Some(dir) = dir else { usage!("tune export writes files: give a directory for them, such as -o keep") };
    let settings = super::settings(&place.roots, values)?;
    schedlab_tune::check(&place.roots, &settings)?;
    schedlab_tune::check_exports(&place.roots, &settings)?;
    if let Some(ours) = schedlab_tune::set_by_us(&place.roots, &place.state, &settings)? {
        bail!("{ours}: run `{}` first, or the undo in the files would write `{}`", place.restore(), ours.present);
    }
    let Exports { files: made, without } = exports(&place.roots, &settings, &[]);
    if made.is_empty() {
        usage!("tune export wrote nothing: no file for {}; {FILES_HOLD}", without.join(", nor for "));
    }
    files(&place.roots, &settings, &[], dir)?.iter().try_for_each(print_line)?;
    Ok(exit::DONE)
}

/// Writes the files for some settings, and prints for each a line about how to apply it.
pub(in crate::commands) fn files(
    roots: &Roots,
    settings: &[Setting],
    evidence: &[String],
    dir: &Path,
) -> Result<Vec<String>> {
    let Exports { files, without } = exports(roots, settings, evidence);
    without.iter().for_each(|why| say(format_args!("schedlab: no file for {why}")));
    if files.is_empty() {
        return Ok(Vec::new());
    }
    std::fs::create_dir_all(dir)
        .with_context(|| format!("{} cannot be created; give another with -o DIR", dir.display()))?;
    // Files left by an earlier export would be taken for ones with these settings.
    for stale in EXPORT_FILES.iter().filter(|name| files.iter().all(|export| export.file != **name)) {
        if dir.join(stale).exists() {
            destination::set_aside(dir, stale, "is of other settings")?;
        }
    }
    for export in &files {
        let there = std::fs::read(dir.join(export.file));
        if there.is_ok_and(|text| text != export.text.as_bytes()) {
            destination::set_aside(dir, export.file, "has other text")?;
        }
        write_file(&dir.join(export.file), |out| out.write_all(export.text.as_bytes()))?;
    }
    let line = |export: &schedlab_tune::Export| {
        format!("{}: {}; undo: {}", dir.join(export.file).display(), export.apply, export.undo)
    };
    Ok(files.iter().map(line).collect())
}
