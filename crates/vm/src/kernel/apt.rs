//! Debian's archive through apt's own programs, with our own lists, cache and sources: apt checks signatures and
//! checksums, and the host's sources and lists are not changed.

use super::mirrors::Mirrors;
use crate::error::VmError;
use crate::host::program::{self, output};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installed by the package debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const FIX: &str = "kernels are fetched with apt: on other systems give the path of a kernel";

/// apt with a state of its own below a directory.
#[derive(Debug)]
pub(crate) struct Apt {
    root: PathBuf,
    architecture: &'static str,
    mirrors: Mirrors,
}

impl Apt {
    /// Makes the directories.
    pub(crate) fn new(root: &Path, architecture: &'static str, mirrors: Mirrors) -> Result<Self, VmError> {
        let apt = Self { root: root.to_owned(), architecture, mirrors };
        for directory in ["state/lists/partial", "cache/archives/partial"] {
            let path = apt.root.join(directory);
            std::fs::create_dir_all(&path).map_err(VmError::file("making", path))?;
        }
        let status = apt.root.join("state/status");
        std::fs::write(&status, "").map_err(VmError::file("writing", status))?;
        Ok(apt)
    }

    /// Writes our sources and fetches their lists.
    pub(crate) fn update(&self, suites: &[&str]) -> Result<(), VmError> {
        if !Path::new(KEYRING).exists() {
            let fix = "apt-get install debian-archive-keyring".to_owned();
            return Err(VmError::NoProgram { program: "Debian's keyring".into(), fix });
        }
        let path = self.root.join("sources.list");
        std::fs::write(&path, sources(suites, &self.mirrors)).map_err(VmError::file("writing", &path))?;
        output("reading Debian's package lists", self.command("apt-get").args(["--quiet=2", "update"]), FIX)?;
        Ok(())
    }

    /// `apt-cache madison PACKAGE`.
    pub(crate) fn madison(&self, package: &str) -> Result<String, VmError> {
        output("looking for the kernel", self.command("apt-cache").args(["madison", package]), FIX)
    }

    /// `apt-cache show PACKAGE[=VERSION]`.
    pub(crate) fn show(&self, package: &str, version: Option<&str>) -> Result<String, VmError> {
        let wanted = with_version(package, version);
        output("reading a package's record", self.command("apt-cache").args(["show", &wanted]), FIX)
    }

    /// Downloads a package file into a directory; apt checks its checksum.
    pub(crate) fn download(&self, package: &str, version: &str, into: &Path) -> Result<(), VmError> {
        let mut command = self.command("apt-get");
        command.args(["--quiet=2", "download", &with_version(package, Some(version))]).current_dir(into);
        output("downloading the kernel", &mut command, FIX).map(drop)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = program::command(name);
        command
            .args(options(&self.root, self.architecture))
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

fn with_version(package: &str, version: Option<&str>) -> String {
    version.map_or_else(|| package.to_owned(), |version| format!("{package}={version}"))
}

/// Options that make apt ignore the host's state, sources and preferences; it keeps using the host's proxies and
/// certificates.
fn options(root: &Path, architecture: &str) -> Vec<OsString> {
    let place = |key: &str, path: &str| {
        let mut value = OsString::from(format!("{key}="));
        value.push(root.join(path));
        value
    };
    let places = [
        place("Dir::State", "state"),
        place("Dir::State::status", "state/status"),
        place("Dir::Cache", "cache"),
        place("Dir::Etc::sourcelist", "sources.list"),
    ];
    let settings = [
        "Dir::Etc::sourceparts=/dev/null",
        "Dir::Etc::preferences=/dev/null",
        "Dir::Etc::preferencesparts=/dev/null",
        // As root, apt would otherwise download as a user that may not enter our directory.
        "APT::Sandbox::User=root",
        "Acquire::Languages=none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        "Acquire::IndexTargets::deb::CNF::DefaultEnabled=false",
        "Acquire::http::Timeout=30",
        "Acquire::Retries=2",
        // Otherwise lists that cannot be fetched are only a warning, and their kernels seem not to exist.
        "APT::Update::Error-Mode=any",
    ]
    .map(OsString::from);
    let own =
        [format!("APT::Architecture={architecture}"), format!("APT::Architectures={architecture}")].map(OsString::from);
    places.into_iter().chain(settings).chain(own).flat_map(|setting| ["-o".into(), setting]).collect()
}

fn sources(suites: &[&str], mirrors: &Mirrors) -> String {
    let line = |suite: &&str| {
        let mirror = mirrors.of_suite(suite)?;
        Some(format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n"))
    };
    suites.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_is_sought_at_its_mirror_and_one_without_a_mirror_nowhere() {
        let (archive, security) = ("http://m.example/debian", "http://s.example/debian-security");
        let of = |security: Option<&str>| Mirrors { archive: archive.into(), security: security.map(Into::into) };
        let suites = ["bookworm", "bookworm-security"];
        let first = format!("deb [signed-by={KEYRING}] {archive} bookworm main\n");
        let second = format!("deb [signed-by={KEYRING}] {security} bookworm-security main\n");
        assert_eq!(sources(&suites, &of(Some(security))), first.clone() + &second);
        assert_eq!(sources(&suites, &of(None)), first);
    }

    #[test]
    fn apt_is_told_to_forget_the_host() {
        let options = options(Path::new("/c"), "arm64");
        let text: Vec<&str> = options.iter().map(|word| word.to_str().unwrap()).collect();
        for wanted in [
            "Dir::State=/c/state",
            "Dir::Etc::sourceparts=/dev/null",
            "APT::Architecture=arm64",
            "APT::Update::Error-Mode=any",
        ] {
            let at = text.iter().position(|word| *word == wanted).unwrap_or_else(|| panic!("{wanted}"));
            assert_eq!(text[at - 1], "-o");
        }
    }
}
