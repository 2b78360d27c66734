//! Where Debian's archive is: at the mirrors that the user names, otherwise at those in the host's own apt sources, of
//! whatever format, as apt itself reports them. This program knows none itself, and it does not change the sources.

use crate::error::VmError;
use crate::host::program::{self, output};
use std::collections::BTreeSet;

/// Archive and security archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrors {
    /// Mirror of all suites except those for security.
    pub archive: String,
    /// Mirror of the security suites; if none is known they are not read.
    pub security: Option<String>,
}

/// What separates the fields of apt's output.
const PARTS: &str = "$(REPO_URI)|$(RELEASE)|$(ORIGIN)|$(COMPONENT)";
const NO_MIRROR: &str =
    "this host's apt sources name no Debian archive: give the address of a mirror with --mirror URL";
const FIX: &str = "kernels are fetched with apt: on other systems give the path of a kernel";

impl Mirrors {
    /// The mirrors in `named` (`--mirror`), where a name that ends with `-security` is for the security suites; if
    /// empty, the host's.
    pub fn find(named: &[String]) -> Result<Self, VmError> {
        if !named.is_empty() {
            return Self::named(named);
        }
        let asked = |more: &[&str]| {
            let mut apt = program::command("apt-get");
            apt.arg("indextargets").args(more).args(["--format", PARTS]).env("LC_ALL", "C");
            output("asking apt for this host's sources", &mut apt, FIX)
        };
        // Fetched lists state their distribution; before the first `apt-get update` there are only the words of the
        // sources.
        Self::of_targets(&asked(&[])?, &asked(&["--no-release-info"])?)
            .ok_or_else(|| VmError::Refused(NO_MIRROR.into()))
    }

    fn named(urls: &[String]) -> Result<Self, VmError> {
        for url in urls {
            let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
            let plain = url.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"[]#".contains(c));
            if scheme.is_empty() || !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !plain {
                return Err(VmError::Words(format!("--mirror {url}: not a URL, such as http://HOST/debian")));
            }
        }
        let found =
            |security| urls.iter().map(|url| url.trim_end_matches('/')).find(|url| is_security(url) == security);
        let archive = found(false).ok_or_else(|| {
            VmError::Words("--mirror: give the address of the archive, too, besides that of its security suites".into())
        })?;
        Ok(Self { archive: archive.to_owned(), security: found(true).map(str::to_owned) })
    }

    /// The mirrors in apt's index targets: those that were `fetched`, and all that the sources `name`.
    fn of_targets(fetched: &str, named: &str) -> Option<Self> {
        let fetched: Vec<Target<'_>> = fetched.lines().filter_map(Target::of_line).collect();
        let others: BTreeSet<&str> = fetched.iter().filter(|t| t.origin != "Debian").map(|t| t.uri).collect();
        let named = named.lines().filter_map(Target::of_line).filter(Target::has_a_suite_of_debian);
        let named = named.filter(|target| !others.contains(target.uri));
        let all: Vec<Target<'_>> = fetched.iter().filter(|t| t.origin == "Debian").copied().chain(named).collect();
        let found =
            |security| all.iter().find(|target| is_security(target.suite) == security).map(|t| t.uri.to_owned());
        Some(Self { archive: found(false)?, security: found(true) })
    }

    /// The mirror of a suite, if one is known.
    pub fn of_suite(&self, suite: &str) -> Option<&str> {
        if is_security(suite) { self.security.as_deref() } else { Some(&self.archive) }
    }
}

fn is_security(name: &str) -> bool {
    name.ends_with("-security")
}

/// A package list of one source.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    uri: &'a str,
    suite: &'a str,
    origin: &'a str,
    component: &'a str,
}

impl<'a> Target<'a> {
    fn of_line(line: &'a str) -> Option<Self> {
        let mut parts = line.split('|').map(str::trim);
        let [uri, suite, origin, component] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        // A disc does not contain later kernels.
        (!uri.starts_with("cdrom:") && !uri.is_empty()).then_some(Self {
            uri: uri.trim_end_matches('/'),
            suite,
            origin,
            component,
        })
    }

    /// Judged by the suite's name alone; apt checks the archive's signature in any case.
    fn has_a_suite_of_debian(&self) -> bool {
        const SUITES: [&str; 10] =
            ["buster", "bullseye", "bookworm", "trixie", "forky", "sid", "oldstable", "stable", "testing", "unstable"];
        const PARTS: [&str; 4] = ["", "-updates", "-backports", "-security"];
        let is = |name: &str| self.suite.strip_prefix(name).is_some_and(|part| PARTS.contains(&part));
        self.component == "main" && SUITES.iter().any(|name| is(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fetched: &str, named: &str) -> Option<(String, Option<String>)> {
        Mirrors::of_targets(fetched, named).map(|mirrors| (mirrors.archive, mirrors.security))
    }

    #[test]
    fn the_hosts_own_mirrors_are_taken_fetched_or_not() {
        let fetched = "http://m.example/debian/|bookworm|Debian|main\nhttp://m.example/debian/|bookworm-updates|Debian|main\n\
                       http://s.example/debian-security/|bookworm-security|Debian|main\n";
        let both = Some(("http://m.example/debian".to_owned(), Some("http://s.example/debian-security".to_owned())));
        assert_eq!(found(fetched, ""), both);
        // This is what apt prints for an unknown field.
        let named = fetched.replace("|Debian|", "|$(ORIGIN)|");
        assert_eq!(found("", &named), both);
        assert_eq!(found("", "cdrom://[Debian GNU/Linux 12]/|bookworm|$(ORIGIN)|main\n"), None);
        let list = "mirror+file:/etc/apt/mirrors/debian.list/|trixie|$(ORIGIN)|main\n";
        assert_eq!(found("", list), Some(("mirror+file:/etc/apt/mirrors/debian.list".into(), None)));
    }

    #[test]
    fn archives_of_others_are_no_debian() {
        let ubuntu =
            "http://u.example/ubuntu/|noble|Ubuntu|main\nhttp://u.example/ubuntu/|noble-security|Ubuntu|main\n";
        assert_eq!(found(ubuntu, &ubuntu.replace("Ubuntu", "$(ORIGIN)")), None);
        let raspbian = "http://r.example/raspbian/|bookworm|Raspbian|main\n";
        assert_eq!(
            found(raspbian, &raspbian.replace("|Raspbian|", "|$(ORIGIN)|")),
            None,
            "it has a suite of that name"
        );
        let docker = "https://d.example/linux/debian/|bookworm|$(ORIGIN)|stable\nhttps://p.example/|bookworm-pgdg|$(ORIGIN)|main\n";
        assert_eq!(found("", docker), None);
        assert_eq!(found("", ""), None);
        assert_eq!(found("http://s.example/|bookworm-security|Debian|main\n", ""), None, "no archive");
        let beside = format!("{ubuntu}http://m.example/debian/|sid|Debian|main\n");
        assert_eq!(found(&beside, ""), Some(("http://m.example/debian".into(), None)));
    }

    #[test]
    fn mirrors_that_the_user_names_come_first() {
        let of = |urls: &[&str]| Mirrors::find(&urls.iter().map(|&url| url.to_owned()).collect::<Vec<_>>());
        let (archive, security) = ("http://a.example/debian", "http://a.example/debian-security");
        let both = Mirrors { archive: archive.into(), security: Some(security.into()) };
        assert_eq!(of(&["http://a.example/debian/", security]).unwrap(), both);
        assert_eq!(of(&["file:/srv/debian"]).unwrap().security, None);
        for wrong in ["a.example/debian", "http://a b", "http://a\ndeb x", "[trusted=yes] http://a", ":x"] {
            assert!(of(&[wrong]).unwrap_err().to_string().starts_with("--mirror "), "{wrong}");
        }
        assert!(of(&[security]).unwrap_err().to_string().contains("the archive, too"));
    }
}
