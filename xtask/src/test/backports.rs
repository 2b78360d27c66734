//! QEMU 10 on Debian 12, from bookworm-backports. It is needed for guests with several virtual CPUs that repeat to the
//! bit, and for the plugin that counts instructions. apt gets its own sources, lists and cache for this call; the
//! machine's are not changed.

use super::ledger::Outcome;
use super::packages::apt;
use crate::machine::qemu_major;
use crate::workspace::stdout_of;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

const FIRST_QEMU: u32 = 10;
const RELEASE: &str = "bookworm";
/// From the package debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Installs it if wanted and possible; otherwise some tests are skipped.
pub(super) fn qemu(target: &Path, root: bool, install: bool) -> Result<Outcome> {
    if !cfg!(target_arch = "x86_64") || qemu_major().is_none_or(|major| major >= FIRST_QEMU) {
        return Ok(Outcome::passed(1));
    }
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let line = "apt-get install -t bookworm-backports qemu-system-x86";
    if !install || !is_release(&os_release) {
        return Ok(Outcome::skipped(format!(
            "several virtual CPUs and `vm profile`; to run them on Debian 12: {line}"
        )));
    }
    match from_backports(&target.join("apt-backports"), root) {
        Ok(()) => Ok(Outcome::passed(1)),
        // A mirror without backports is not a test failure.
        Err(error) => {
            Ok(Outcome::skipped(format!("several virtual CPUs and `vm profile`: {error:#}; by hand: {line}")))
        }
    }
}

fn is_release(os_release: &str) -> bool {
    os_release.lines().any(|line| line.strip_prefix("VERSION_CODENAME=") == Some(RELEASE))
}

fn from_backports(state: &Path, root: bool) -> Result<()> {
    for directory in ["lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(state.join(directory)).context("a directory for apt")?;
    }
    let format = "$(REPO_URI) $(RELEASE)";
    let targets =
        stdout_of(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let mirror = mirror_of(&targets).context("no source of this machine has Debian 12")?;
    let sources = state.join("sources.list");
    std::fs::write(&sources, sources_of(mirror)).context("the sources of backports")?;
    let at = |key: &str, path: &Path| format!("-o{key}={}", path.display());
    let apart = [
        at("Dir::Etc::SourceList", &sources),
        at("Dir::Etc::SourceParts", Path::new("/dev/null")),
        at("Dir::State::Lists", &state.join("lists")),
        at("Dir::Cache", &state.join("cache")),
    ];
    let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
    apt(root, &[&apart[..], &["update", "--quiet"]].concat())?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends", "-t", "bookworm-backports"];
    apt(root, &[&apart[..], &install, &["qemu-system-x86"]].concat())
}

/// The mirror from which this machine installs Debian, found in the lines `URI RELEASE` of its sources.
fn mirror_of(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| line.strip_suffix(RELEASE)?.strip_suffix(' '))
}

fn sources_of(mirror: &str) -> String {
    ["", "-updates", "-backports"]
        .map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {RELEASE}{suite} main\n"))
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backports_come_from_the_mirror_of_the_release() {
        let targets =
            "http://a/security/ bookworm-security\nhttp://b/debian/ bookworm-updates\nhttp://c/debian/ bookworm\n";
        let mirror = mirror_of(targets).unwrap();
        assert_eq!(mirror, "http://c/debian/");
        let last = sources_of(mirror).lines().last().unwrap().to_owned();
        assert!(last.ends_with("http://c/debian/ bookworm-backports main"), "{last}");
        assert_eq!(mirror_of("http://a/ trixie\n"), None);
    }

    #[test]
    fn the_release_is_told_by_its_codename() {
        assert!(is_release("ID=debian\nVERSION_CODENAME=bookworm\n"));
        assert!(!is_release("VERSION_CODENAME=trixie\n") && !is_release(""));
    }
}
