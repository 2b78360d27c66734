//! The running kernel's build configuration, wherever it is kept.

use crate::Roots;
use crate::inflate;
use std::path::PathBuf;

/// A kernel config and where it was found.
pub(crate) struct KernelConfig {
    /// Such as `/boot/config-6.1.0-28-amd64`.
    pub(crate) source: String,
    text: String,
}

impl KernelConfig {
    /// /proc/config.gz (CONFIG_IKCONFIG_PROC), else the distribution's file. /boot and /lib are the siblings of the
    /// procfs root, so that a test's tree holds them too.
    pub(crate) fn find(roots: &Roots, release: &str) -> Option<Self> {
        if let Some(text) = std::fs::read(roots.proc.join("config.gz")).ok().and_then(|bytes| inflate::gunzip(&bytes)) {
            return Some(Self {
                source: "/proc/config.gz".to_owned(),
                text: String::from_utf8_lossy(&text).into_owned(),
            });
        }
        let beside: PathBuf = roots.proc.join("..");
        let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
        let read = |place: &String| {
            let text = std::fs::read_to_string(beside.join(place)).ok()?;
            Some(Self { source: format!("/{place}"), text })
        };
        places.iter().find_map(read)
    }

    /// Whether `CONFIG_NAME=y`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name) == Some("y")
    }

    /// The value of `CONFIG_NAME`.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix("CONFIG_")?.strip_prefix(name)?.strip_prefix('='))
    }

    /// Length and CRC-32, enough to tell two configs apart.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{}:{:08x}", self.text.len(), crc32fast::hash(self.text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_whole() {
        let text = "CONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_PREEMPT is not set\nCONFIG_HZ=250\n".to_owned();
        let config = KernelConfig { source: String::new(), text };
        assert!(config.has("PREEMPT_DYNAMIC") && !config.has("PREEMPT"));
        assert_eq!(config.value("HZ"), Some("250"));
        assert_eq!(config.value("H"), None);
    }
}
