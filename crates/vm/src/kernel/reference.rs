//! How a user names a kernel.

use super::debian::Debian;
use crate::error::VmError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A kernel by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `debian:6.1`.
    Debian(Debian),
    /// `build:NAME`, what `schedlab vm build` made.
    Build(String),
    /// A file: bzImage, vmlinuz, vmlinux, Image.
    File(PathBuf),
}

impl FromStr for Reference {
    type Err = VmError;

    fn from_str(text: &str) -> Result<Self, VmError> {
        if let Some(wanted) = text.strip_prefix("debian:") {
            return wanted.parse().map(Self::Debian);
        }
        match text.split_once(':') {
            Some(("build", name)) => Self::built(name),
            // A path may contain a colon, after a slash.
            Some((kind, _)) if !kind.contains('/') && !kind.is_empty() => Err(VmError::Words(format!(
                "kernel `{text}`: unknown kind `{kind}`; give debian:VERSION, such as debian:6.1, build:NAME, or the path of a kernel (./{text} if that is one)"
            ))),
            _ if text.is_empty() => Err(VmError::Words("name a kernel debian:VERSION or by its path".into())),
            _ => Ok(Self::File(text.into())),
        }
    }
}

impl Reference {
    /// By its name, or by the tree from which its usual name is made.
    fn built(text: &str) -> Result<Self, VmError> {
        match text.trim_end_matches('/').rsplit('/').next() {
            Some(name) if !name.is_empty() => Ok(Self::Build(name.to_owned())),
            _ => Err(VmError::Words(
                "a kernel of `schedlab vm build` is named build:NAME, see `schedlab vm list`".into(),
            )),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Debian(debian) => write!(f, "{debian}"),
            Self::Build(name) => write!(f, "build:{name}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_by_version_or_by_path() {
        for text in
            ["debian:6.1", "debian:6.12-rt", "/boot/vmlinuz", "arch/x86/boot/bzImage", "./a:b", "build:linux-6.1+x"]
        {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        assert_eq!("build:../src/linux-6.1/".parse::<Reference>().unwrap().to_string(), "build:linux-6.1");
        for (text, needle) in [
            ("build:", "vm list"),
            ("debain:6.1", "unknown kind `debain`"),
            ("debian:six", "debian:6.1"),
            ("", "name a kernel"),
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(needle), "{error}");
        }
    }
}
