//! Uses the tree that the series was written for (`--from`): where each hunk belongs there, and the state contract,
//! which compares the code in both trees that may change what the series reads.

use super::dossier::Raw;
use super::trees::Origin;
use super::{port, trees};
use crate::output::say;
use anyhow::{Result, bail};
use schedlab_kernel::contract::{Contract, contract};
use schedlab_kernel::{FilePatch, Finding, Obstacle, Patch, Port, doubt, is_c, rehearse_series};
use schedlab_plan::{InOrder, counted};
use std::collections::BTreeSet;
use std::path::Path;

/// `from`: the source that the series was written for, before or after the series.
pub(super) fn find(from: &Origin, onto: &Path, patches: &[Patch], ported: &mut Port) -> Result<Contract> {
    let place = from.place().display();
    if !from.place().is_dir() {
        bail!("--from {place}: it is not a directory; give the source tree that the series was written for");
    }
    let named = patches.iter().flat_map(|patch| &patch.files).flat_map(|file| [&file.old, &file.new]).flatten();
    let named: BTreeSet<String> = named.cloned().collect();
    let mut there = from.reader(&named.into_iter().collect::<Vec<_>>())?;
    let home = rehearse_series(patches, &[], &mut there)?;
    let in_from = |finding: &Finding| finding.obstacle != Some(Obstacle::NoFile);
    if !home.findings.is_empty() && !home.findings.iter().any(in_from) {
        bail!(
            "--from {place}: it has none of the files that the series changes; give the tree that the series was written \
             for"
        );
    }
    let fits = |finding: &Finding| finding.is_taken || finding.is_present;
    let astray = home.findings.iter().filter(|finding| !fits(finding)).count();
    if astray > 0 {
        say(format_args!(
            "--from {place}: applied only without {} of the series; is it the tree that the series was written for?",
            counted(astray, "hunks")
        ));
    }
    let mut here = |path: &str| port::file(onto, path);
    doubt(patches, ported, &home, &mut there, &mut here)?;
    let ported = &*ported;
    let touched = ported.findings.iter().map(|found| folder(&found.file));
    let paths = trees::folders(touched.chain(["include/"]));
    let links = patches.iter().flat_map(|patch| &patch.files).filter(|file| file.is_link());
    let links: Vec<&str> = links.map(FilePatch::path).collect();
    let onto = Origin::Tree(onto.to_owned());
    Ok(contract(patches, ported, &texts(from, &paths, &links, &home)?, &texts(&onto, &paths, &links, ported)?))
}

/// The C files of a source with the series applied. Symbolic links, whether in the tree or created by the series, are
/// skipped silently, because they contain no code. Missing files are reported if the series changes them.
fn texts(from: &Origin, paths: &[String], links: &[&str], port: &Port) -> Result<Vec<Raw>> {
    let mut files = from.files(paths, &is_c, &mut Vec::new())?;
    files.retain(|(path, _)| !port.changed.contains_key(path));
    let changed = port.changed.iter().filter(|(path, _)| !links.contains(&path.as_str()));
    files.extend(changed.filter_map(|(path, text)| Some((path.clone(), text.clone()?))));
    files.in_order_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

/// The folder that is searched for a file of the series: `net/` for `net/ipv4/tcp.c`; for drivers only their own
/// folder.
pub(super) fn folder(file: &str) -> &str {
    let is_wide = ["drivers/", "arch/", "sound/"].iter().any(|top| file.starts_with(top));
    let end = if is_wide { file.rfind('/') } else { file.find('/') };
    end.map_or(file, |end| &file[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_no_code() {
        let tree = std::env::temp_dir().join(format!("schedlab-states-{}", std::process::id()));
        std::fs::create_dir_all(tree.join("net")).unwrap();
        std::fs::write(tree.join("net/a.c"), "int a;\n").unwrap();
        std::os::unix::fs::symlink("a.c", tree.join("net/l.c")).unwrap();
        let mut port = Port::default();
        port.changed.insert("net/b.c".into(), Some(b"int b;\n".into()));
        port.changed.insert("net/made.c".into(), Some(b"a.c".into()));
        let found = texts(&Origin::Tree(tree.clone()), &["net".into()], &["net/made.c"], &port);
        let mut said = Vec::new();
        let again = [0, 1].map(|_| trees::files(&tree, &["net".into()], &is_c, &mut said).unwrap().len());
        std::fs::remove_dir_all(&tree).unwrap();
        assert_eq!(found.unwrap().into_iter().map(|(path, _)| path).collect::<Vec<_>>(), ["net/a.c", "net/b.c"]);
        // A dossier reports it once for both trees.
        assert_eq!((again, said.len()), ([1, 1], 1), "{said:?}");
    }
}
