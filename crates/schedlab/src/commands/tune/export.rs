//! `schedlab tune export`: settings as files that a machine keeps, beside their evidence and undo.

use super::Place;
use crate::commands::report::write_file;
use crate::exit;
use crate::output::{print_line, say};
use anyhow::{Context, Result};
use schedlab_run::Setting;
use schedlab_tune::{Exports, Roots, exports, named};
use std::path::Path;

pub(super) fn run(place: &Place, values: &[String], dir: &Path) -> Result<u8> {
    let of = |text: &String| Ok(named(&place.roots, text).map_err(exit::Usage)?.setting);
    let settings = values.iter().map(of).collect::<Result<Vec<Setting>>>()?;
    schedlab_tune::check(&place.roots, &settings)?;
    let evidence = ["Settings given by hand: nothing was measured.".to_owned()];
    for line in files(&place.roots, &settings, &evidence, dir)? {
        print_line(line)?;
    }
    Ok(exit::DONE)
}

/// Writes the files for some settings; how each is put in force, a line each.
pub(in crate::commands) fn files(
    roots: &Roots,
    settings: &[Setting],
    evidence: &[String],
    dir: &Path,
) -> Result<Vec<String>> {
    let Exports { files, without } = exports(roots, settings, evidence);
    std::fs::create_dir_all(dir)
        .with_context(|| format!("{} cannot be made; name another place by -o DIR", dir.display()))?;
    for export in &files {
        write_file(&dir.join(export.file), |out| out.write_all(export.text.as_bytes()))?;
    }
    without.iter().for_each(|why| say(format_args!("schedlab: no file for {why}")));
    let line = |export: &schedlab_tune::Export| {
        format!("{}: {}; undo: {}", dir.join(export.file).display(), export.apply, export.undo)
    };
    Ok(files.iter().map(line).collect())
}
