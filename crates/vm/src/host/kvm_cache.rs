//! Caches, until the host's next boot, whether KVM works here: a small file for each QEMU and kernel. A file that
//! cannot be read, is damaged, or is not this user's own is ignored, and KVM is tried again.

use super::process::Installed;
use crate::lane::NoKvm;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Format version of a file; other versions are ignored.
const FORMAT: u32 = 1;
/// More than any result takes.
const MAX_BYTES: u64 = 4096;

/// Whose KVM, which QEMU, which kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvmKey {
    /// The host's boot (/proc/sys/kernel/random/boot_id).
    pub boot_id: String,
    /// QEMU's file, its length and date, and its version.
    pub qemu: String,
    /// Checksum of the guest's kernel.
    pub kernel_crc32: u32,
}

impl KvmKey {
    /// The key for this boot of the host; `None` if it has no boot id.
    pub fn of(qemu: &Installed, kernel_crc32: u32) -> Option<Self> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let file = fs::metadata(&qemu.path).ok()?;
        let (path, bytes, changed) = (qemu.path.display(), file.len(), file.mtime());
        Some(Self { boot_id, qemu: format!("{path}, {bytes} bytes of {changed}, {}", qemu.version), kernel_crc32 })
    }

    fn file_name(&self) -> String {
        let Self { boot_id, qemu, kernel_crc32 } = self;
        format!("{:08x}-{kernel_crc32:08x}.json", crc32fast::hash(format!("{boot_id} {qemu}").as_bytes()))
    }
}

/// What a guest has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvmResult {
    /// Why KVM does not run it; `None`: it does, the guest was up.
    pub no_kvm: Option<NoKvm>,
    /// What showed it.
    pub evidence: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    question: KvmKey,
    answer: KvmResult,
}

/// The results in a directory.
#[derive(Debug, Clone)]
pub struct KvmCache(PathBuf);

impl KvmCache {
    /// The results in this directory, which is made with the first one.
    pub fn in_directory(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// The stored result for a key.
    pub fn find(&self, question: &KvmKey) -> Option<KvmResult> {
        let written = self.read(&question.file_name())?;
        (written.question == *question).then_some(written.answer)
    }

    /// Results of the same boot and QEMU for any kernel, with the kernel's checksum.
    pub fn of_any_kernel(&self, question: &KvmKey) -> Vec<(u32, KvmResult)> {
        let same = |of: &Written| of.question.boot_id == question.boot_id && of.question.qemu == question.qemu;
        let kept = self.names().filter_map(|name| self.read(&name)).filter(same);
        kept.map(|written| (written.question.kernel_crc32, written.answer)).collect()
    }

    /// Stores a result, and removes those of other boots. If it cannot be written, KVM is tried again next time.
    pub fn keep(&self, question: &KvmKey, answer: &KvmResult) {
        if DirBuilder::new().recursive(true).mode(0o700).create(&self.0).is_err() || !is_ours(&self.0) {
            return;
        }
        let is_old = |name: &String| self.read(name).is_some_and(|old| old.question.boot_id != question.boot_id);
        for name in self.names().filter(is_old) {
            let _ = fs::remove_file(self.0.join(name));
        }
        let written = Written { format: FORMAT, question: question.clone(), answer: answer.clone() };
        let Ok(text) = schedlab_plan::json::pretty(&written) else { return };
        let draft = self.0.join(format!(".draft-{}", std::process::id()));
        // A leftover of a dead process with our pid.
        let _ = fs::remove_file(&draft);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
        let kept = file.and_then(|mut file| file.write_all(text.as_bytes()));
        if kept.and_then(|()| fs::rename(&draft, self.0.join(question.file_name()))).is_err() {
            let _ = fs::remove_file(&draft);
        }
    }

    fn names(&self) -> impl Iterator<Item = String> + use<> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".json"))
    }

    fn read(&self, name: &str) -> Option<Written> {
        let path = self.0.join(name);
        // Checked before it is opened, because opening a pipe may never end.
        if !is_ours(&self.0) || !is_ours(&path) || !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut text = Vec::new();
        File::open(&path).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok().filter(|written: &Written| written.format == FORMAT)
    }
}

/// Whether it belongs to this user and nobody else may write to it; a link is followed to its target.
fn is_ours(path: &Path) -> bool {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let Ok(own) = fs::metadata("/proc/self") else { return false };
    fs::symlink_metadata(path)
        .is_ok_and(|of| of.uid() == own.uid() && of.mode() & WRITABLE_BY_OTHERS == 0 && !of.file_type().is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn question(boot_id: &str, kernel_crc32: u32) -> KvmKey {
        KvmKey { boot_id: boot_id.into(), qemu: "/usr/bin/qemu, 1 bytes of 2, 10.0.2".into(), kernel_crc32 }
    }

    fn answer(no_kvm: Option<NoKvm>) -> KvmResult {
        KvmResult { no_kvm, evidence: "its kernel said nothing for 5 s".into() }
    }

    #[test]
    fn an_answer_is_of_its_question_and_goes_with_its_boot() {
        let directory = tempfile::tempdir().unwrap();
        let answers = KvmCache::in_directory(directory.path().join("kvm"));
        assert_eq!(answers.find(&question("a", 1)), None);
        answers.keep(&question("a", 1), &answer(Some(NoKvm::Hangs)));
        answers.keep(&question("a", 2), &answer(None));
        assert_eq!(answers.find(&question("a", 1)), Some(answer(Some(NoKvm::Hangs))));
        assert_eq!(answers.find(&question("a", 2)), Some(answer(None)));
        let other_qemu = KvmKey { qemu: "11".into(), ..question("a", 1) };
        assert_eq!((answers.find(&question("b", 1)), answers.find(&other_qemu)), (None, None));
        assert_eq!((answers.of_any_kernel(&question("a", 3)).len(), answers.of_any_kernel(&other_qemu).len()), (2, 0));
        answers.keep(&question("b", 1), &answer(None));
        assert_eq!(answers.names().count(), 1, "those of the boot before are gone");
    }

    #[test]
    fn a_damaged_odd_or_foreign_file_is_no_answer_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("kvm");
        let (answers, asked) = (KvmCache::in_directory(at.clone()), question("a", 1));
        answers.keep(&asked, &answer(None));
        let file = at.join(asked.file_name());
        let whole = fs::read(&file).unwrap();
        let put = |text: &[u8]| {
            fs::remove_file(&file).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        };
        let text = String::from_utf8(whole.clone()).unwrap();
        let long = format!("{text}{}", " ".repeat(1 << 20));
        let odd = [
            String::new(),
            text[..text.len() / 2].to_owned(),
            text.replace("\"format\": 1", "\"format\": 2"),
            text.replace("\"a\"", "\"b\""),
            text.replace("null", "\"sometimes\""),
            text.replace("\"no_kvm\"", "\"no_kwm\""),
            "\u{0}".repeat(64),
        ];
        for odd in &odd {
            assert_ne!(*odd, text);
            put(odd.as_bytes());
            assert_eq!(answers.find(&asked), None, "{odd}");
        }
        put(long.as_bytes());
        assert!(answers.find(&asked).is_some(), "blanks at its end harm nobody");
        for cut in 0..whole.len() - 2 {
            put(&whole[..cut]);
            assert_eq!(answers.find(&asked), None, "{cut} bytes");
        }
        put(&whole);
        fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
        assert_eq!(answers.find(&asked), None, "anybody may have written it");
        let aside = at.join("aside");
        fs::rename(&file, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &file).unwrap();
        assert_eq!(answers.find(&asked), None, "a link");
        answers.keep(&asked, &answer(Some(NoKvm::Dies)));
        assert_eq!(answers.find(&asked), Some(answer(Some(NoKvm::Dies))), "replaced");
        fs::set_permissions(&at, PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(answers.find(&asked), None, "a directory of everybody's");
    }
}
