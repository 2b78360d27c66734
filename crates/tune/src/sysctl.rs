//! Sysctls that the guard does not write: those in a network namespace of the trial's own, which end with it, and the
//! cheap writes of a switchback trial, whose original value is held by the guard of the process that runs it
//! ([`HostGuard::cover`]).
//!
//! [`HostGuard::cover`]: crate::HostGuard::cover

use crate::catalogue::{are_same_numbers, one_word, row_of_file};
use crate::error::TuneError;
use crate::fate::Fate;
use crate::knob::Knob;
use crate::reason;
use crate::resolve::{Resolved, resolve};
use crate::roots::Roots;
use schedlab_plan::units::format_ns_exact;
use schedlab_plan::{Applied, Setting};
use schedlab_sys::namespace;
use std::io;

/// A setting that is not applied, and why.
pub(crate) fn not_applied(setting: &Setting, effective: impl Into<String>, why: impl Into<String>) -> Applied {
    Applied { setting: setting.clone(), effective: effective.into(), not_applied: Some(why.into()) }
}

/// The actual value in the form of the setting: its key with the value that the kernel shows, and this kernel's name
/// for it if that differs.
pub(crate) fn in_own_words(setting: &Setting, resolved: &Resolved, present: &str) -> String {
    let words = match setting {
        Setting::Autogroup(_) => format!("autogroup={}", if present == "0" { "off" } else { "on" }),
        Setting::Feature { .. } => format!("feature:{present}"),
        Setting::HaltPoll { .. } => match present.parse() {
            Ok(ns) => format!("halt_poll={}", format_ns_exact(ns)),
            Err(_) => format!("halt_poll={present}"),
        },
        // Otherwise the value has one word for each state of each CPU.
        Setting::Cpuidle(states) if present == resolved.value => format!("cpuidle={}", states.name()),
        _ if matches!(resolved.knob, Knob::Files { .. }) => format!("{}={}", setting.key(), one_word(present)),
        _ => format!("{}={present}", setting.key()),
    };
    match &resolved.found_as {
        Some(name) => format!("{words} (on this kernel: {name})"),
        None => words,
    }
}

/// Compares the value read back with the requested one; `before` is the value before the write.
pub(crate) fn judge(setting: &Setting, resolved: &Resolved, before: &str, present: &str) -> Applied {
    let effective = in_own_words(setting, resolved, present);
    if present == resolved.value {
        return Applied { setting: setting.clone(), effective, not_applied: None };
    }
    let (asked, shows) = (one_word(&resolved.value), one_word(present));
    if are_same_numbers(asked, shows) {
        let effective = format!("{effective} (`{asked}`, as the kernel reads it)");
        return Applied { setting: setting.clone(), effective, not_applied: None };
    }
    // The kernel replaces such a value by another one, so it never reads back.
    if let Some(meaning) = row_of_file(resolved.knob.path()).and_then(|row| row.resets(asked)) {
        let effective = format!("{effective} ({asked} {meaning})");
        return Applied { setting: setting.clone(), effective, not_applied: None };
    }
    let why = match Fate::of(asked, before, present) {
        Fate::Ignored => format!("ignored: the kernel accepted `{asked}` and still shows `{shows}`"),
        fate => format!("{}: the kernel accepted `{asked}` and shows `{shows}`; ask for that value", fate.word()),
    };
    not_applied(setting, effective, why)
}

const OF_THE_HOST: &str = "many net.* knobs are the whole host's, and a trial has a network namespace of its own: `schedlab \
     tune set KNOB=VALUE --for -- schedlab …` sets one for all arms";

fn refused_in_namespace(resolved: &Resolved, error: &io::Error) -> String {
    let path = resolved.knob.path();
    if reason::is_for_nobody(path) {
        format!("{} can only be read in a network namespace of its own; {OF_THE_HOST}", path.display())
    } else {
        reason::refused(path, error, Some(&resolved.value))
    }
}

/// Why the setting is impossible in a trial's own network namespace, found out in a new one; `None` if it is possible,
/// or if only a try can tell.
pub(crate) fn impossible_in_namespace(roots: &Roots, setting: &Setting) -> Option<String> {
    let look = || {
        namespace::enter_new_net().ok()?;
        match resolve(roots, setting) {
            Err(why) => Some(format!("{why}; {OF_THE_HOST}")),
            Ok(resolved) => Some(refused_in_namespace(&resolved, &resolved.knob.open_for_write().err()?)),
        }
    };
    // A network namespace belongs to a thread, and ends with it.
    std::thread::scope(|scope| scope.spawn(look).join().ok().flatten())
}

/// Writes a `net.*` sysctl and reads it back. Call it inside the network namespace of the workload, before its sockets
/// exist. There is no journal, because the namespace ends with the trial.
pub fn net_sysctl(roots: &Roots, setting: &Setting) -> Applied {
    let resolved = match resolve(roots, setting) {
        Ok(resolved) => resolved,
        Err(why) => {
            return not_applied(setting, "", format!("{why}; {OF_THE_HOST}"));
        }
    };
    let refused = |e| not_applied(setting, "", refused_in_namespace(&resolved, &e));
    let before = resolved.knob.read().ok();
    if let Err(e) = resolved.knob.write(&resolved.value) {
        return refused(e);
    }
    match resolved.knob.read() {
        Ok(present) => judge(setting, &resolved, before.as_deref().unwrap_or_default(), &present),
        Err(e) => refused(e),
    }
}

/// Writes a sysctl (or autogroup) without journal and read-back, between two windows of a switchback trial.
pub fn write_sysctl(roots: &Roots, setting: &Setting) -> Result<(), TuneError> {
    let resolved = resolve(roots, setting).map_err(TuneError::Impossible)?;
    let written = resolved.knob.write(&resolved.value);
    written.map_err(|e| TuneError::Impossible(reason::refused(resolved.knob.path(), &e, Some(&resolved.value))))
}

/// The same setting with its current value, which a switchback arm uses if it does not name the setting.
pub fn present_value(roots: &Roots, setting: &Setting) -> Result<Setting, TuneError> {
    let resolved = resolve(roots, setting).map_err(TuneError::Impossible)?;
    let read = resolved.knob.read();
    let present = read.map_err(|e| TuneError::Impossible(reason::refused(resolved.knob.path(), &e, None)))?;
    Ok(match setting {
        Setting::Sysctl { name, .. } => Setting::Sysctl { name: name.clone(), value: present },
        Setting::Debugfs { path, .. } => Setting::Debugfs { path: path.clone(), value: present },
        Setting::Feature { name, .. } => Setting::Feature { name: name.clone(), on: present == *name },
        Setting::Autogroup(_) => Setting::Autogroup(present != "0"),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(tree: &tempfile::TempDir) -> Roots {
        let net = tree.path().join("sys/net/ipv4");
        std::fs::create_dir_all(&net).unwrap();
        std::fs::write(net.join("tcp_autocorking"), "1\n").unwrap();
        Roots { proc: tree.path().to_owned(), ..Roots::default() }
    }

    #[test]
    fn a_net_sysctl_is_written_and_read_back() {
        let tree = tempfile::tempdir().unwrap();
        let roots = roots(&tree);
        let setting: Setting = "sysctl:net.ipv4.tcp_autocorking=0".parse().unwrap();
        let before = present_value(&roots, &setting).unwrap();
        assert_eq!(before.to_string(), "sysctl:net.ipv4.tcp_autocorking=1");
        let applied = net_sysctl(&roots, &setting);
        assert_eq!((applied.effective.as_str(), applied.not_applied), ("sysctl:net.ipv4.tcp_autocorking=0", None));
        write_sysctl(&roots, &before).unwrap();
        assert_eq!(present_value(&roots, &setting).unwrap(), before);
    }

    #[test]
    fn a_missing_net_sysctl_says_why_it_may_be_missing() {
        let tree = tempfile::tempdir().unwrap();
        let applied = net_sysctl(&roots(&tree), &"sysctl:net.ipv4.tcp_autocork=0".parse().unwrap());
        let why = applied.not_applied.unwrap();
        assert!(why.contains("net.ipv4.tcp_autocorking") && why.contains("namespace"), "{why}");
    }
}
