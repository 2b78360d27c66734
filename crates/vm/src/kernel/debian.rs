//! Debian's kernels: which suites have which, and the contents of a package's record. Pure; `fetch` queries the
//! archive.

use super::image::Architecture;
use crate::error::VmError;
use std::fmt;
use std::str::FromStr;

/// `debian:6.1`, `debian:6.12-cloud`, `debian:6.1-rt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debian {
    /// The upstream version, such as `6.1`, or a longer one, such as `6.1.176`.
    pub version: String,
    /// Which build.
    pub flavour: Flavour,
}

/// Debian's builds of one source version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// For servers and desktops.
    General,
    /// For virtual machines: fewer drivers.
    Cloud,
    /// PREEMPT_RT.
    Rt,
}

const FLAVOURS: [(Flavour, &str); 3] = [(Flavour::General, ""), (Flavour::Cloud, "-cloud"), (Flavour::Rt, "-rt")];

impl Flavour {
    fn suffix(self) -> &'static str {
        FLAVOURS.iter().find(|(flavour, _)| *flavour == self).map_or("", |(_, suffix)| suffix)
    }
}

impl FromStr for Debian {
    type Err = VmError;

    fn from_str(text: &str) -> Result<Self, VmError> {
        let named = FLAVOURS[1..].iter().find_map(|(f, suffix)| Some((*f, text.strip_suffix(suffix)?)));
        let (flavour, version) = named.unwrap_or((Flavour::General, text));
        let numbers: Vec<&str> = version.split('.').collect();
        let plain = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !(2..=3).contains(&numbers.len()) || !numbers.iter().all(plain) {
            return Err(VmError::Words(format!(
                "`debian:{text}` does not name a kernel: give debian:VERSION, such as debian:6.1 or debian:6.12-rt"
            )));
        }
        Ok(Self { version: version.to_owned(), flavour })
    }
}

impl fmt::Display for Debian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debian:{}{}", self.version, self.flavour.suffix())
    }
}

/// Debian's name for an architecture.
pub fn architecture(of: Architecture) -> &'static str {
    match of {
        Architecture::X86_64 => "amd64",
        Architecture::Aarch64 => "arm64",
    }
}

impl Debian {
    /// The package that always depends on the newest build in a suite.
    pub fn meta_package(&self, of: Architecture) -> String {
        // `linux-image-cloud-amd64`: the flavour comes before the architecture.
        let flavour = self.flavour.suffix().trim_start_matches('-');
        let dash = if flavour.is_empty() { "" } else { "-" };
        format!("linux-image-{flavour}{dash}{}", architecture(of))
    }

    /// Whether a package version matches: `6.1` matches `6.1.176-1`, not `6.12.95-1`.
    pub fn takes(&self, package_version: &str) -> bool {
        let rest = package_version.strip_prefix(&self.version);
        rest.is_some_and(|rest| rest.starts_with(['.', '-', '~', '+']) || rest.is_empty())
    }

    /// Groups of suites to look in, one group after another until one has it; the first is where it is known to be.
    pub fn suites(&self) -> Vec<Vec<&'static str>> {
        let numbers: Vec<&str> = self.version.splitn(3, '.').collect();
        let first: Vec<&str> = match numbers[..] {
            ["5", "10", ..] => vec!["bullseye", "bullseye-security"],
            ["6", "1", ..] => vec!["bookworm", "bookworm-security"],
            ["6", "12", ..] => vec!["bookworm-backports"],
            _ => vec!["trixie-backports"],
        };
        let later = ["trixie", "forky", "sid"];
        [first].into_iter().chain(later.map(|suite| vec![suite])).collect()
    }
}

/// A line of `apt-cache madison`: ` linux-image-amd64 | 6.1.192-2 | http://… bookworm/main amd64 Packages`, newest
/// first.
pub fn newest<'a>(madison: &'a str, wanted: &Debian) -> Option<&'a str> {
    let versions = madison.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim()));
    versions.into_iter().find(|version| wanted.takes(version))
}

/// The fields of a package's record that are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub package: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the package file.
    pub sha256: String,
    /// Kernel packages that it depends on, with a version if one is required.
    pub kernel_parts: Vec<(String, Option<String>)>,
}

impl Record {
    /// The first record that `apt-cache show` printed.
    pub fn parse(shown: &str) -> Option<Self> {
        let paragraph = shown.split("\n\n").next()?;
        let field = |name: &str| {
            paragraph.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
        };
        let depends = field("Depends").unwrap_or_default();
        let parts = depends.split(',').filter_map(|one| kernel_part(one.split('|').next()?.trim()));
        Some(Self {
            package: field("Package")?,
            version: field("Version")?,
            sha256: field("SHA256").unwrap_or_default(),
            kernel_parts: parts.collect(),
        })
    }
}

/// `linux-image-6.1.0-56-amd64 (= 6.1.192-2)`. Since 7.x, image and modules are separate packages.
fn kernel_part(dependency: &str) -> Option<(String, Option<String>)> {
    let name = dependency.split(' ').next()?;
    let kinds = ["linux-image-", "linux-base-", "linux-binary-", "linux-modules-"];
    if !kinds.iter().any(|kind| name.starts_with(kind)) {
        return None;
    }
    let demanded = dependency.split_once("(= ").and_then(|(_, rest)| rest.split_once(')'));
    Some((name.to_owned(), demanded.map(|(version, _)| version.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debian(text: &str) -> Debian {
        text.parse().unwrap()
    }

    const MADISON: &str = "linux-image-amd64 | 6.12.95-1~bpo12+1 | http://x/debian bookworm-backports/main amd64 Packages\n\
                           linux-image-amd64 |  6.1.192-2 | http://x/debian-security bookworm-security/main amd64 Packages\n\
                           linux-image-amd64 |  6.1.176-1 | http://x/debian bookworm/main amd64 Packages\n";

    #[test]
    fn the_newest_of_a_version_is_taken() {
        assert_eq!(newest(MADISON, &debian("6.1")), Some("6.1.192-2"));
        assert_eq!(newest(MADISON, &debian("6.1.176")), Some("6.1.176-1"));
        assert_eq!(newest(MADISON, &debian("6.12")), Some("6.12.95-1~bpo12+1"));
        assert_eq!(newest(MADISON, &debian("6.2")), None);
        assert_eq!(newest("", &debian("6.1")), None);
    }

    #[test]
    fn flavours_have_packages_and_names_of_their_own() {
        let package = |text: &str| debian(text).meta_package(Architecture::X86_64);
        assert_eq!(package("6.1"), "linux-image-amd64");
        assert_eq!(package("6.1-cloud"), "linux-image-cloud-amd64");
        assert_eq!(debian("6.12-rt").meta_package(Architecture::Aarch64), "linux-image-rt-arm64");
        assert_eq!(debian("6.12-rt").to_string(), "debian:6.12-rt");
        for wrong in ["", "6", "6.1.2.3", "6.x", "6.", "latest", "6.1-desktop"] {
            assert!(wrong.parse::<Debian>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_record_leads_to_the_parts_of_the_kernel() {
        let shown = "Package: linux-image-amd64\nVersion: 6.1.192-2\nDepends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\n\
                     SHA256: 4545\n\nPackage: linux-image-amd64\nVersion: 6.1.176-1\n";
        let record = Record::parse(shown).unwrap();
        assert_eq!((record.version.as_str(), record.sha256.as_str()), ("6.1.192-2", "4545"));
        assert_eq!(record.kernel_parts, [("linux-image-6.1.0-56-amd64".into(), Some("6.1.192-2".into()))]);
        let leaf = "Package: l\nVersion: 1\nDepends: kmod, linux-base (>= 4.3~), initramfs-tools | dracut\n";
        assert!(Record::parse(leaf).unwrap().kernel_parts.is_empty());
        assert_eq!(Record::parse(""), None);
    }
}
