//! Recognises the first console output of a guest's kernel, as opposed to its firmware's, and limits how long a guest
//! may be silent before it.

use std::time::{Duration, Instant};

/// How the lines begin that SeaBIOS and option ROMs write if they have a serial console.
const FIRMWARE: [&str; 8] =
    ["SeaBIOS", "Machine UUID", "iPXE", "gPXE", "Press ", "Booting from", "Boot failed", "No bootable device"];

/// The output that shows that a guest's kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FirstWord(String);

impl FirstWord {
    /// The first line of a console's plain text that is not the firmware's.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut lines: Vec<&str> = text.split('\n').map(after_firmware).collect();
        // An incomplete line may still turn out to be the firmware's.
        if let Some(last) = lines.pop()
            && !FIRMWARE.iter().any(|word| word.starts_with(last))
        {
            lines.push(last);
        }
        lines.into_iter().find(|line| !line.is_empty()).map(|line| Self(line.to_owned()))
    }
}

/// `Booting from ROM..` has no newline: the kernel's first output follows it directly.
fn after_firmware(line: &str) -> &str {
    let line = line.trim();
    match line.strip_prefix("Booting from ") {
        Some(rest) => rest.trim_start_matches(|c: char| c != '.' && c != '[').trim_start_matches('.').trim(),
        None if FIRMWARE.iter().any(|word| line.starts_with(word)) => "",
        None => line,
    }
}

/// How long a guest has been silent, excluding the time in which it could not run: when its host took the CPUs away
/// from all of us, or its threads waited for one (/proc/PID/task/TID/schedstat, the kernel's sched-stats.rst).
#[derive(Debug)]
pub(super) struct Silence {
    pid: u32,
    started: Instant,
    looked: Instant,
    counted: Duration,
    waited: Duration,
}

impl Silence {
    /// How often to look.
    pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);
    /// Twenty times as long as a kernel under KVM takes until its first output.
    const LIMIT: Duration = Duration::from_secs(5);
    /// How often the threads are checked.
    const COUNT_EVERY: Duration = Duration::from_millis(100);
    /// If more time than this passes between two polls, we were not scheduled, and so probably the guest was not
    /// either.
    const MAX_AT_ONCE: Duration = Duration::from_millis(200);

    /// Starts measuring; the QEMU must have just been started.
    pub(super) fn new(pid: u32) -> Self {
        let now = Instant::now();
        Self { pid, started: now, looked: now, counted: Duration::ZERO, waited: Duration::ZERO }
    }

    /// A sentence without its end if a live guest would have produced output by now. Must be called often.
    pub(super) fn over(&mut self) -> Option<String> {
        let passed = self.looked.elapsed();
        if passed >= Self::COUNT_EVERY {
            self.looked += passed;
            self.count(passed, waited(self.pid));
        }
        let is_over = self.counted.saturating_sub(self.waited) >= Self::LIMIT;
        is_over.then(|| self.evidence())
    }

    fn count(&mut self, passed: Duration, waited: Duration) {
        self.counted += passed.min(Self::MAX_AT_ONCE);
        self.waited = waited;
    }

    /// In a sentence.
    pub(super) fn evidence(&self) -> String {
        format!("its kernel said nothing for {:.0} s", self.started.elapsed().as_secs_f64())
    }
}

/// Total time that the threads of a process have waited for a CPU; zero if the kernel does not report it.
fn waited(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |text: String| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    let waited_ns = tasks.filter_map(|task| of(std::fs::read_to_string(task.path().join("schedstat")).ok()?));
    Duration::from_nanos(waited_ns.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_word_is_one() {
        let found = |text: &str| FirstWord::of(text).map(|FirstWord(word)| word);
        let firmware = "SeaBIOS (version 1.16.3-debian)\nMachine UUID 1-2\n\niPXE (https://ipxe.org) 00:03.0 CA00\n";
        for silent in [
            "",
            "\n\n",
            "Sea",
            "SeaBIOS (ver",
            firmware,
            "Booting from ROM..",
            "Booting from ROM...\n",
            "Booting from 0000:7c00\n",
            "i",
        ] {
            assert_eq!(found(silent), None, "{silent}");
        }
        let with = |word: &str| found(&format!("{firmware}Booting from ROM..{word}"));
        assert_eq!(with("[    0.000000] Linux version 6.1").unwrap(), "[    0.000000] Linux version 6.1");
        assert_eq!(with("Linux version 6.1").unwrap(), "Linux version 6.1");
        assert_eq!(found("L").unwrap(), "L", "one byte is enough");
        assert_eq!(found("early console in extract_kernel\n").unwrap(), "early console in extract_kernel");
    }

    #[test]
    fn a_guest_is_silent_only_while_it_could_speak() {
        let after = |steps: u32, passed_ms: u64, waited_ms: u64| {
            let mut silence = Silence::new(std::process::id());
            (0..steps).for_each(|_| silence.count(Duration::from_millis(passed_ms), Duration::from_millis(waited_ms)));
            silence.counted.saturating_sub(silence.waited) >= Silence::LIMIT
        };
        assert!(after(50, 100, 0) && !after(49, 100, 0));
        assert!(!after(60, 100, 2000), "it waited for a CPU for two seconds of the six");
        assert!(after(70, 100, 2000));
        assert!(!after(2, 60_000, 0), "the whole host stood still, twice");
    }

    #[test]
    fn waiting_of_a_process_is_read() {
        // Of a process with one thread it only grows; threads of other tests here come and go.
        let mut one = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let all = waited(one.id());
        let later = waited(one.id());
        one.kill().and_then(|()| one.wait()).unwrap();
        assert!(later >= all, "{all:?} {later:?}");
        assert_eq!(waited(u32::MAX), Duration::ZERO);
    }
}
