//! Finds words on the guest's command line that have no effect in its kernel, as far as that can be detected: if an arm
//! differs only by such a word, it is the control under another name.

use super::job;
use crate::job::Job;
use crate::lane::AS_ON_AMD;
use crate::qemu::{EARLY_CONSOLE, NO_CIPHER_TESTS};
use schedlab_sys::tracefs::open_without_waiting;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What every kernel passes to its init process, and words of ours that some kernels do not know (without KASLR, on a
/// CPU without a TSC, without ciphers), which does no harm.
const USUAL: &[&str] = &["HOME=/", "TERM=linux", "nokaslr", "tsc=reliable", "quiet", EARLY_CONSOLE, NO_CIPHER_TESTS];
/// Prefix of words for schedlab itself, which belong to no module.
const OURS: &str = "schedlab.";

/// Words that the kernel does not know: it passes them to its init process, as arguments and environment. (A word with
/// a dot is a parameter of a module, which may be loaded later.)
pub(super) fn unknown(job: &Job) -> Vec<String> {
    let read = |file: &str| fs::read_to_string(Path::new("/proc/1").join(file)).unwrap_or_default();
    // On a machine with SMT we add words that an old kernel does not know.
    let ours = if job.machine.threads > 1 { AS_ON_AMD } else { &[] };
    unknown_among(&read("cmdline"), &read("environ"), ours)
}

fn unknown_among(arguments: &str, environment: &str, ours: &[&str]) -> Vec<String> {
    let words = arguments.split('\0').skip(1).chain(environment.split('\0'));
    let is_usual = |word: &&str| word.is_empty() || USUAL.contains(word) || ours.contains(word);
    words.filter(|word| !is_usual(word)).map(str::to_owned).collect()
}

/// These, parameters of modules that are not loaded by now, and words whose value the kernel rejected in its log.
pub fn without_effect() -> Vec<String> {
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let log = kernel_log();
    let idle = |word: &&str| !has_parameter(word, Path::new("/")) || is_rejected(word, &log);
    let of_the_user = |word: &&str| !word.starts_with(OURS) && !USUAL.contains(word);
    let mut words = job().map(|job| unknown(&job)).unwrap_or_default();
    words.extend(line.split_whitespace().filter(of_the_user).filter(idle).map(str::to_owned));
    words
}

/// Whether `module.parameter=value` or `sysctl.name=value` exists in this kernel; other words are assumed to be known.
fn has_parameter(word: &str, root: &Path) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    match name.split_once('.') {
        Some(("sysctl", name)) => root.join("proc/sys").join(name.replace('.', "/")).exists(),
        Some((module, parameter)) => {
            let module = module.replace('-', "_");
            root.join("sys/module").join(module).join("parameters").join(parameter.replace('-', "_")).exists()
        }
        None => true,
    }
}

/// Judged by the messages of `parse_args()`, `parse_early_param()` and the mitigations about a value.
fn is_rejected(word: &str, log: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let said = [
        format!("Malformed early option '{name}'"),
        format!("invalid for parameter `{name}'"),
        format!("Unsupported {word},"),
    ];
    said.iter().any(|text| log.contains(text))
}

/// The kernel log since boot.
fn kernel_log() -> String {
    let (mut log, mut record) = (String::new(), [0; 8192]);
    let Ok(mut device) = open_without_waiting(Path::new("/dev/kmsg")) else { return log };
    loop {
        match device.read(&mut record) {
            Ok(1..) => {}
            // The record was overwritten meanwhile.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => continue,
            _ => return log,
        }
        log += &String::from_utf8_lossy(record.split(|byte| *byte == 0).next().unwrap_or_default());
        record.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_hands_on_it_does_not_know() {
        let found = unknown_among("/init\0nosuch\0nokaslr\0nopti\0", "HOME=/\0TERM=linux\0preempt=full\0", &["nopti"]);
        assert_eq!(found, ["nosuch", "preempt=full"]);
        assert!(unknown_among("/init\0", "HOME=/\0", &[]).is_empty());
        assert_eq!(unknown_among("/init\0nopti\0", "", &[]), ["nopti"], "a word of the user's");
    }

    #[test]
    fn parameters_of_nothing_and_values_that_are_refused_have_no_effect() {
        let root = tempfile::tempdir().unwrap();
        for file in ["sys/module/rcu_x/parameters/half_fqs", "proc/sys/kernel/sched_child_runs_first"] {
            fs::create_dir_all(root.path().join(file)).unwrap();
        }
        for (word, known) in [
            ("rcu-x.half_fqs=3", true),
            ("rcu-x.nosuch=3", false),
            ("sched.nosuch=1", false),
            ("sysctl.kernel.sched_child_runs_first=1", true),
            ("sysctl.kernel.nosuch=1", false),
            ("preempt=full", true),
        ] {
            assert_eq!(has_parameter(word, root.path()), known, "{word}");
        }
        let log = "6,1,0,-;Kernel command line: preempt=x mitigations=nonsense hz=1\n4,2,0,-;mitigations: Unsupported \
                   mitigations=nonsense, system may still be vulnerable\n4,3,0,-;Malformed early option 'preempt'\n\
                   3,4,0,-;Booting kernel: `x' invalid for parameter `hz'\n";
        for (word, rejected) in [
            ("mitigations=nonsense", true),
            ("mitigations=off", false),
            ("preempt=x", true),
            ("hz=x", true),
            ("nohz=x", false),
        ] {
            assert_eq!(is_rejected(word, log), rejected, "{word}");
        }
    }
}
