//! Exports settings as files for a machine: sysctl.d, a systemd unit, a tuned profile, or a script that starts a
//! command with them. The head of each file gives the evidence for its settings and how to undo them. Nothing is
//! installed here.

mod fits;
mod lone;
mod order;
mod value;

pub use fits::check_exports;

use crate::Roots;
use lone::lone;
use order::{Back, Group, ordered};
use schedlab_plan::{Policy, Setting, plain, shell_words};
use std::path::Path;
use value::{Value, lost_without, scaling, value_of};

/// A file and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name in a directory of exports.
    pub file: &'static str,
    /// All of it.
    pub text: String,
    /// The command that applies it.
    pub apply: String,
    /// The command that undoes it.
    pub undo: String,
}

/// The exports of some settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// The files.
    pub files: Vec<Export>,
    /// Settings that no file can hold, and how to set them instead.
    pub without: Vec<String>,
}

const SYSCTL: &str = "90-schedlab.conf";
const UNIT: &str = "schedlab-knobs.service";
const TUNED: &str = "tuned.conf";
const SCRIPT: &str = "schedlab-run";
/// The names of all files that an export may have.
pub const EXPORT_FILES: [&str; 4] = [SYSCTL, UNIT, TUNED, SCRIPT];

/// The evidence for a file. It is about all settings together, of which a file may hold only a part.
struct Evidence<'e> {
    lines: &'e [String],
    all: Vec<String>,
    /// Lines about single settings.
    of_one: Vec<(String, String)>,
}

/// The files for some settings of the machine whose values `roots` shows. `evidence` has one line for each piece of
/// evidence; it is empty if the settings were given by hand.
pub fn exports(roots: &Roots, settings: &[Setting], evidence: &[String]) -> Exports {
    let (mut values, mut of_task, mut exports) = (Vec::new(), Vec::new(), Exports::default());
    for setting in settings {
        match (value_of(roots, setting), setting.is_per_task()) {
            (Some(value), _) => values.push(value),
            (None, true) if !matches!(setting, Setting::PlantSpin { .. } | Setting::PlantStall { .. }) => {
                of_task.push(setting);
            }
            _ => exports.without.push(format!("{setting}: {}", instead(setting))),
        }
    }
    let of_one = lone(roots, &values).iter().map(|one| (one.value.setting.clone(), one.comment())).collect();
    let evidence = &Evidence { lines: evidence, all: settings.iter().map(Setting::to_string).collect(), of_one };
    let (sysctls, files): (Vec<Group<'_>>, Vec<Group<'_>>) =
        ordered(&values).into_iter().partition(Group::fits_sysctl_d);
    if !sysctls.is_empty() {
        exports.files.push(sysctl_d(&sysctls, evidence));
    }
    if !files.is_empty() {
        exports.files.push(unit(&files, evidence));
    }
    let (sysctls, files) = (of_tuned(&sysctls), of_tuned(&files));
    if !sysctls.is_empty() || !files.is_empty() {
        exports.files.push(tuned(&sysctls, &files, scaling(roots).as_ref(), evidence));
    }
    if !of_task.is_empty() {
        exports.files.push(script(&of_task, evidence));
    }
    exports
}

fn instead(setting: &Setting) -> &'static str {
    match setting {
        Setting::CpuWeight(_) => "CPUWeight= in the service's unit (systemd.resource-control(5))",
        Setting::CpuQuota { .. } => "CPUQuota= in the service's unit (systemd.resource-control(5))",
        Setting::Kernel(_) | Setting::BootArgument(_) => "it belongs to the boot loader's configuration",
        Setting::Topology(_) => "it is a guest's",
        Setting::WorkloadOption { .. } | Setting::Trace(_) => "it belongs to the measurement",
        Setting::PlantSpin { .. } | Setting::PlantStall { .. } => "it is planted to be found",
        _ => "`schedlab tune set` sets it until `schedlab tune restore`",
    }
}

/// Comment lines. Names and titles come from plans, and a line break in one would become a line of the file.
fn head(evidence: &Evidence<'_>, held: &[&str], undo: &str) -> String {
    let line = |text: &str| format!("# {}\n", plain::line(text));
    let elsewhere: Vec<&str> =
        evidence.all.iter().map(String::as_str).filter(|setting| !held.contains(setting)).collect();
    let of_one = evidence.of_one.iter().filter(|(setting, _)| held.contains(&setting.as_str()));
    let by_hand = evidence.lines.is_empty().then(|| line("Settings given by hand: nothing was measured."));
    let of_all = if evidence.lines.is_empty() { "Not" } else { "That is of all settings together; not" };
    let part = (!elsewhere.is_empty()).then(|| line(&format!("{of_all} in this file: {}", elsewhere.join("; "))));
    evidence
        .lines
        .iter()
        .map(|text| line(text))
        .chain(by_hand)
        .chain(part)
        .chain(of_one.map(|(_, text)| line(text)))
        .chain([line(&format!("Undo: {undo}"))])
        .collect()
}

fn settings_of<'v>(values: impl IntoIterator<Item = &'v &'v Value>) -> Vec<&'v str> {
    values.into_iter().map(|value| value.setting.as_str()).collect()
}

fn values_of<'v>(groups: impl IntoIterator<Item = &'v Group<'v>>) -> impl Iterator<Item = &'v Value> {
    groups.into_iter().flat_map(|group| group.values.iter().copied())
}

fn of_tuned<'v>(groups: &'v [Group<'v>]) -> Vec<&'v Value> {
    values_of(groups.iter().filter(|group| group.tuned_puts_back())).collect()
}

/// Promises no undo of values that are not known.
fn but_for_unknown(undo: String, values: &[&Value]) -> String {
    let is_unknown = |value: &&&Value| value.before.is_empty();
    let of: Vec<String> = values.iter().filter(is_unknown).map(|value| value.file.display().to_string()).collect();
    if of.is_empty() {
        undo
    } else {
        format!("{undo}; {} stays until a reboot: its value before is not known here", of.join(", "))
    }
}

fn sysctl_d(groups: &[Group<'_>], evidence: &Evidence<'_>) -> Export {
    let values: Vec<&Value> = values_of(groups).collect();
    let name = |value: &Value| value.sysctl.clone().unwrap_or_default();
    let own = groups.iter().rev().flat_map(Group::back).filter_map(|back| match back {
        Back::Own(value) => Some((name(value), value.sysctl_before()?.to_owned())),
        Back::Lift(value, text) => Some((name(value), text.to_owned())),
    });
    // In this order: writing the default may widen another sysctl, which can be narrowed again only after the default
    // is restored.
    let widened = values.iter().filter_map(|value| value.widens.clone());
    let back = own.chain(widened).map(|(name, before)| shell_words::join([format!("{name}={before}").as_str()]));
    let back: Vec<String> = back.collect();
    let back = if back.is_empty() { String::new() } else { format!(" && sysctl -w {}", back.join(" ")) };
    let undo = but_for_unknown(format!("rm /etc/sysctl.d/{SYSCTL}{back}"), &values);
    let lines: String = values.iter().map(|value| format!("{} = {}\n", name(value), value.value)).collect();
    Export {
        file: SYSCTL,
        text: head(evidence, &settings_of(&values), &undo) + &lines,
        apply: format!("cp {SYSCTL} /etc/sysctl.d/ && sysctl -p /etc/sysctl.d/{SYSCTL}"),
        undo,
    }
}

/// A shell command in a unit, with the characters escaped that systemd interprets (`%`, `$`).
fn shell(command: &str) -> String {
    let escaped = command.replace('\\', "\\\\").replace('%', "%%").replace('$', "$$").replace('"', "\\\"");
    format!("/bin/sh -c \"{escaped}\"")
}

/// A knob of each CPU is a glob, which must not be quoted in the shell.
fn write(value: &str, files: &[&Path]) -> String {
    let echo = shell_words::join(["echo", value]);
    let word = |file: &&Path| match file.display().to_string() {
        glob if glob.contains('*') => glob,
        file => shell_words::join([file.as_str()]),
    };
    match files.iter().map(word).collect::<Vec<_>>().join(" ") {
        file if files.len() == 1 && !file.contains('*') => format!("{echo} > {file}"),
        files => format!("for file in {files}; do {echo} > \"$file\"; done"),
    }
}

/// The commands of one line of an undo: one for each value that the copies had.
fn write_back(back: Back<'_>) -> Vec<String> {
    match back {
        Back::Lift(value, text) => vec![write(text, &[&value.file])],
        Back::Own(value) => value.files_before().iter().map(|(text, files)| write(text, files)).collect(),
    }
}

fn unit(groups: &[Group<'_>], evidence: &Evidence<'_>) -> Export {
    let values: Vec<&Value> = values_of(groups).collect();
    let undo = format!("systemctl disable --now {UNIT} && rm /etc/systemd/system/{UNIT}");
    let undo = but_for_unknown(undo, &values);
    let again = lost_without(&values).map(|file| {
        let file = shell_words::join([file.display().to_string().as_str()]);
        format!("v=$(cat {file}) && echo $v > {file}")
    });
    let starts = groups.iter().flat_map(Group::lines).map(|(value, text)| write(text, &[&value.file])).collect();
    let stops = groups.iter().rev().flat_map(Group::back).flat_map(write_back).collect();
    let lines = |key: &str, commands: Vec<String>| -> String {
        commands.into_iter().chain(again.clone()).map(|command| format!("{key}{}\n", shell(&command))).collect()
    };
    let text = head(evidence, &settings_of(&values), &undo)
        + "[Unit]\nDescription=Scheduler knobs that schedlab found\n\
           After=sys-kernel-debug.mount systemd-sysctl.service\n\n\
           [Service]\nType=oneshot\nRemainAfterExit=yes\n"
        + &lines("ExecStart=", starts)
        // ExecStop is skipped after an ExecStart that failed, and a command that fails ends the list unless it has `-`:
        // systemd.service(5).
        + &lines("ExecStopPost=-", stops)
        + "\n[Install]\nWantedBy=multi-user.target\n";
    let apply = format!("cp {UNIT} /etc/systemd/system/ && systemctl enable --now {UNIT}");
    Export { file: UNIT, text, apply, undo }
}

/// Undone by tuned, which saves the values it found; the active profile before ours is saved next to it.
fn tuned(sysctls: &[&Value], files: &[&Value], scaling: Option<&Value>, evidence: &Evidence<'_>) -> Export {
    let undo = "p=$(cat /etc/tuned/schedlab/before); tuned-adm ${p:+profile} ${p:-off} && rm -r /etc/tuned/schedlab";
    let undo = undo.to_owned();
    let held = settings_of(sysctls.iter().chain(files));
    let mut text = head(evidence, &held, &undo) + "[main]\nsummary=Knobs that schedlab found\n";
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text += &format!("\n[{name}]\n{}\n", lines.join("\n"));
        }
    };
    let of_sysctl = |value: &&Value| format!("{}={}", value.sysctl.as_deref().unwrap_or_default(), value.value);
    section("sysctl", sysctls.iter().map(of_sysctl).collect());
    section("sysfs", of_files(files, scaling));
    // If it is applied twice, the saved profile must still be the first one.
    let apply = format!(
        "mkdir -p /etc/tuned/schedlab && cp {TUNED} /etc/tuned/schedlab/ && cp -n /etc/tuned/active_profile \
         /etc/tuned/schedlab/before; tuned-adm profile schedlab"
    );
    Export { file: TUNED, text, apply, undo }
}

/// Lines for tuned, which writes and restores them in order, even if the value is already there.
fn of_files(files: &[&Value], scaling: Option<&Value>) -> Vec<String> {
    let line = |value: &Value| format!("{}={}", value.file.display(), value.value);
    let Some(last) = lost_without(files) else { return files.iter().map(|value| line(value)).collect() };
    // A key may occur only once, so one that is also set itself moves to the end.
    let (asked, before): (Vec<&Value>, Vec<&Value>) = files.iter().copied().partition(|value| value.file == last);
    let last = match asked.first().copied().or(scaling) {
        Some(scaling) => line(scaling),
        None => format!(
            "# Add {}=VALUE with the value that it has, or the next CPU that goes on- or offline resets the slice.",
            last.display()
        ),
    };
    before.into_iter().map(line).chain([last]).collect()
}

/// Per-task settings are set for a command, by `schedlab exec`.
fn script(settings: &[&Setting], evidence: &Evidence<'_>) -> Export {
    let undo = "it ends with the command".to_owned();
    let settings: Vec<String> = settings.iter().map(|setting| setting.to_string()).collect();
    let real_time = settings.iter().any(|s| matches!(s.parse(), Ok(Setting::Policy(Policy::Fifo(_) | Policy::Rr(_)))));
    let rights = if real_time { "# A real-time policy needs CAP_SYS_NICE.\n" } else { "" };
    let held: Vec<&str> = settings.iter().map(String::as_str).collect();
    let options: Vec<String> = settings.iter().map(|setting| format!("--{setting}")).collect();
    let words = shell_words::join(options.iter().map(String::as_str));
    let text = format!(
        "#!/bin/sh\n{}{rights}exec \"${{SCHEDLAB:-schedlab}}\" exec {words} -- \"$@\"\n",
        head(evidence, &held, &undo)
    );
    Export { file: SCRIPT, text, apply: format!("sh {SCRIPT} COMMAND"), undo }
}

#[cfg(test)]
mod tests;
