//! Uses the tree that the series was written for (`--from`): where each hunk belongs there, and the state contract, which
//! compares the code in both trees that could change what the series reads.

use super::dossier::Raw;
use super::{port, trees};
use crate::output::say;
use anyhow::{Result, bail};
use schedlab_kernel::contract::{Contract, contract};
use schedlab_kernel::{Finding, Obstacle, Patch, Port, doubt, is_c, rehearse_series};
use schedlab_plan::counted;
use std::path::Path;

/// `from`: the tree that the series was made for, before it or with it.
pub(super) fn find(from: &Path, onto: &Path, patches: &[Patch], ported: &mut Port) -> Result<Contract> {
    if !from.is_dir() {
        bail!("--from {}: it is not a directory; give the source tree that the series was written for", from.display());
    }
    let home = rehearse_series(patches, &[], &mut |path: &str| port::file(from, path))?;
    let in_from = |finding: &Finding| finding.obstacle != Some(Obstacle::NoFile);
    if !home.findings.is_empty() && !home.findings.iter().any(in_from) {
        bail!(
            "--from {}: it has none of the files that the series changes; give the tree that the series was written for",
            from.display()
        );
    }
    let fits = |finding: &Finding| finding.is_taken || finding.is_present;
    let astray = home.findings.iter().filter(|finding| !fits(finding)).count();
    if astray > 0 {
        say(format_args!(
            "--from {}: applied only without {} of the series; is it the tree that the series was written for?",
            from.display(),
            counted(astray, "hunks")
        ));
    }
    let (mut there, mut here) = (|path: &str| port::file(from, path), |path: &str| port::file(onto, path));
    doubt(patches, ported, &home, &mut there, &mut here)?;
    let ported = &*ported;
    let touched = ported.findings.iter().map(|found| folder(&found.file));
    let paths = trees::folders(touched.chain(["include/"]));
    let files = |tree: &Path, port: &Port| -> Result<Vec<Raw>> {
        let mut problems = Vec::new();
        let mut files = trees::files(tree, &paths, &is_c, &mut problems)?;
        problems.iter().for_each(|problem| say(format_args!("{problem}")));
        files.retain(|(path, _)| !port.changed.contains_key(path));
        let changed = port.changed.iter().filter_map(|(path, text)| Some((path.clone(), text.clone()?)));
        files.extend(changed);
        files.sort();
        Ok(files)
    };
    Ok(contract(patches, ported, &files(from, &home)?, &files(onto, ported)?))
}

/// A file in the folder that is searched for one of the series: `net/` for `net/ipv4/tcp.c`; of drivers only their own.
pub(super) fn folder(file: &str) -> &str {
    let is_wide = ["drivers/", "arch/", "sound/"].iter().any(|top| file.starts_with(top));
    let end = if is_wide { file.rfind('/') } else { file.find('/') };
    end.map_or(file, |end| &file[..=end])
}
