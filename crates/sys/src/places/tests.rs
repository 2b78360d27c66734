use super::*;
use std::os::unix::fs::{chown, symlink};

/// A directory for one test, removed at its end.
struct Lab(PathBuf);

impl Lab {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("schedlab-places-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_of_ours_is_closed_to_others_and_anothers_is_refused() {
    let lab = Lab::new("directory");
    let path = lab.at("a/state");
    own_directory(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    set_mode(&path, 0o755);
    own_directory(&path).unwrap();
    assert_eq!(mode(&path), 0o700, "an existing one is tightened");
    for open in [0o770, 0o707] {
        set_mode(&path, open);
        assert_eq!(own_directory(&path).unwrap_err().kind(), ErrorKind::PermissionDenied, "{open:o}");
    }
    std::fs::write(lab.at("file"), "").unwrap();
    assert!(own_directory(&lab.at("file")).is_err());
    if effective_uid() == 0 {
        chown(&path, Some(12_345), None).unwrap();
        assert_eq!(own_directory(&path).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_lock_is_not_taken_through_what_another_put_there() {
    let lab = Lab::new("lock");
    let precious = lab.at("precious");
    std::fs::write(&precious, "data").unwrap();
    symlink(&precious, lab.at("link")).unwrap();
    assert_eq!(lock_file(&lab.at("link")).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(std::fs::read(&precious).unwrap(), b"data");
    drop(crate::fd::named_pipe(&lab.at("pipe")).unwrap());
    assert!(lock_file(&lab.at("pipe")).is_err(), "a pipe is not waited for");
    assert!(lock_file(Path::new("/dev/null")).is_err());
    let path = lab.at("lock");
    std::fs::write(&path, "7").unwrap();
    set_mode(&path, 0o644);
    lock_file(&path).unwrap().try_lock().unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (b"7".to_vec(), 0o600));
}

#[test]
fn a_draft_goes_through_no_link_and_leaves_nothing() {
    let lab = Lab::new("draft");
    let place = lab.at("report.html");
    let drafts = || std::fs::read_dir(&lab.0).unwrap().count();
    drop(Draft::beside(&place, 0o644).unwrap());
    assert_eq!(drafts(), 0);
    let mut draft = Draft::beside(&place, 0o600).unwrap();
    let other = Draft::beside(&place, 0o600).unwrap();
    assert_ne!(draft.path, other.path);
    draft.file.write_all(b"whole").unwrap();
    draft.finish(&place).unwrap();
    assert_eq!((std::fs::read(&place).unwrap(), mode(&place)), (b"whole".to_vec(), 0o600));
    remove_drafts(&lab.0);
    assert_eq!(drafts(), 2, "one that is being written stays");
    // As a kill leaves it: it exists and is no longer locked.
    std::fs::copy(&other.path, lab.at(".schedlab-0123456789abcdef.part")).unwrap();
    std::fs::create_dir(lab.at(".schedlab-theirs.part")).unwrap();
    remove_drafts(&lab.0);
    drop(other);
    assert_eq!(drafts(), 2, "what a kill left is removed, the file and a directory stay");
    symlink(&place, lab.at("planted")).unwrap();
    write_whole(&lab.at("planted"), 0o600, b"new").unwrap();
    assert_eq!(std::fs::read(&place).unwrap(), b"whole", "a planted link is replaced, not followed");
    assert!(!lab.at("planted").is_symlink());
}

#[test]
fn a_log_is_a_file_and_what_is_recorded_is_its_owners() {
    let lab = Lab::new("log");
    symlink(lab.at("elsewhere"), lab.at("log.txt")).unwrap();
    assert!(append_to(&lab.at("log.txt")).unwrap_err().to_string().contains("is a link"));
    assert!(!lab.at("elsewhere").exists());
    drop(crate::fd::named_pipe(&lab.at("pipe")).unwrap());
    assert!(append_to(&lab.at("pipe")).is_err() && open_ours(&lab.at("pipe")).is_none());
    append_to(&lab.at("log")).unwrap().write_all(b"line\n").unwrap();
    assert!(open_ours(&lab.at("log")).is_some() && open_ours(&lab.0).is_some());
    std::fs::write(lab.at("trace"), "an older one").unwrap();
    set_mode(&lab.at("trace"), 0o644);
    private_file(&lab.at("trace")).unwrap();
    private_directory(&lab.at("new/record")).unwrap();
    private_directory(&lab.at("new/record")).unwrap();
    assert_eq!((mode(&lab.at("trace")), mode(&lab.at("new/record"))), (0o600, 0o700));
}
