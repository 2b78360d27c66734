//! The archive is read back by an unpacker in these tests, for random contents, and by cpio(1) if it is installed.

use super::*;
use schedlab_stats::Random;
use std::io::Write;
use std::process::{Command, Stdio};

/// One entry as an unpacker sees it: name, mode, device, content.
type Seen = (String, u32, (u32, u32), Vec<u8>);

/// What an unpacker that knows only the format makes of the bytes.
fn unpack(bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut at = 0;
    loop {
        assert_eq!(&bytes[at..at + 6], b"070701", "a header at {at}");
        let field = |i: usize| {
            let text = std::str::from_utf8(&bytes[at + 6 + 8 * i..at + 14 + 8 * i]).unwrap();
            u32::from_str_radix(text, 16).unwrap()
        };
        let (mode, length, device, named) = (field(1), field(6) as usize, (field(9), field(10)), field(11) as usize);
        let name = &bytes[at + 110..at + 110 + named];
        assert_eq!(name.last(), Some(&0));
        let name = String::from_utf8(name[..named - 1].to_vec()).unwrap();
        let content = (at + 110 + named).next_multiple_of(4);
        at = (content + length).next_multiple_of(4);
        if name == "TRAILER!!!" {
            assert_eq!(at, bytes.len());
            return seen;
        }
        seen.push((name, mode, device, bytes[content..content + length].to_vec()));
    }
}

struct Draw(Random);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end as usize) as u64
    }

    fn path(&mut self) -> String {
        let parts = 1 + self.below(4);
        let letters = ["a", "bb", "c c", "ddd", "é", "lib-x.so"];
        let part = |draw: &mut Self| letters[draw.below(letters.len() as u64) as usize];
        (0..parts).map(|_| part(self)).collect::<Vec<_>>().join("/")
    }

    fn content(&mut self) -> Vec<u8> {
        let length = self.below(40);
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

#[test]
fn drawn_archives_are_read_back_as_they_were_put_in() {
    for seed in 0..200 {
        let mut draw = Draw(Random::new(seed));
        let (mut archive, mut files) = (Archive::default(), BTreeMap::new());
        for _ in 0..draw.below(12) {
            let (path, content) = (draw.path(), draw.content());
            // After a conflict the archive lacks the file; then it must be in neither list.
            if archive.file(&format!("/{path}"), 0o640, content.clone()).is_ok() {
                files.insert(path, content);
            }
        }
        let seen = unpack(&archive.to_bytes());
        let found: BTreeMap<String, Vec<u8>> =
            seen.iter().filter(|s| s.1 == S_IFREG | 0o640).map(|s| (s.0.clone(), s.3.clone())).collect();
        assert_eq!(found, files, "seed {seed}");
        let mut above: Vec<&str> = vec![""];
        for (name, mode, ..) in &seen {
            let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
            assert!(above.contains(&parent), "seed {seed}: {name} comes before its directory");
            if mode & S_IFDIR != 0 {
                above.push(name);
            }
        }
    }
}

fn sample() -> Archive {
    let mut archive = Archive::default();
    archive.file("/init", 0o755, b"ELF".to_vec()).unwrap();
    archive.link("/sbin/modprobe", "/init").unwrap();
    archive.character_device("/dev/console", 5, 1).unwrap();
    archive.directory("tmp/", 0o1777).unwrap();
    archive
}

#[test]
fn links_devices_and_directories_have_their_kinds() {
    let seen = unpack(&sample().to_bytes());
    let lines: Vec<String> = seen.iter().map(|(name, mode, device, _)| format!("{name} {mode:o} {device:?}")).collect();
    let expected = [
        "dev 40755 (0, 0)",
        "dev/console 20600 (5, 1)",
        "init 100755 (0, 0)",
        "sbin 40755 (0, 0)",
        "sbin/modprobe 120777 (0, 0)",
        "tmp 41777 (0, 0)",
    ];
    assert_eq!(lines, expected);
    assert_eq!(seen[4].3, b"/init");
}

#[test]
fn places_outside_the_root_and_conflicts_are_refused() {
    let mut archive = sample();
    for path in ["", "/", "/a/../b", "a//b", "./a"] {
        let error = archive.file(path, 0o644, Vec::new()).unwrap_err();
        assert!(matches!(error, CpioError::Name(_)), "{path}");
    }
    assert_eq!(archive.file("/init/x", 0o644, Vec::new()), Err(CpioError::Conflict("init".into())));
    assert_eq!(archive.file("/tmp", 0o644, Vec::new()), Err(CpioError::Conflict("tmp".into())));
    assert_eq!(archive, sample());
}

#[test]
fn cpio_itself_lists_the_archive() {
    let Ok(mut child) =
        Command::new("cpio").args(["-t", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    else {
        skip("cpio_itself_lists_the_archive: needs cpio");
        return;
    };
    child.stdin.take().unwrap().write_all(&sample().to_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "dev\ndev/console\ninit\nsbin\nsbin/modprobe\ntmp\n");
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(why: &str) {
    eprintln!("schedlab-skip: {why}");
}
