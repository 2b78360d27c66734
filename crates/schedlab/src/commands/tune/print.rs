//! Prints knobs in lines of at most 80 columns, or of the terminal's width if that is smaller.

use crate::output::terminal_width;
use schedlab_tune::Knob;
use std::io::{self, Write};

/// Prints knobs; the flag tells whether they were named by the user.
pub(super) type Printer = fn(&[Knob], bool, &mut dyn Write) -> io::Result<()>;

/// Name, value and default of each knob that exists here.
pub(super) fn values(knobs: &[Knob], named: bool, out: &mut dyn Write) -> io::Result<()> {
    let is_here = |knob: &Knob| knob.value.is_some() || knob.path.is_some() && knob.set == "host";
    for knob in knobs.iter().filter(|knob| named || is_here(knob)) {
        let default = match (knob.is_default(), &knob.default[..]) {
            (_, []) => String::new(),
            (Some(true), _) => " (the default)".to_owned(),
            (_, several) => format!(" (default {})", several.join(" or ")),
        };
        let line = match (&knob.value, &knob.why_not) {
            (Some(value), _) => format!("{} = {}{default}", knob.name, with_unit(knob, value)),
            (None, Some(why)) => format!("{}: {why}", knob.name),
            (None, None) => continue,
        };
        wrapped("", &line, out)?;
    }
    let mut hidden: Vec<(&str, Vec<&str>)> = Vec::new();
    for knob in knobs.iter().filter(|knob| !named && knob.here.is_none()) {
        let why = knob.why_not.as_deref().unwrap_or_default();
        match hidden.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&knob.name),
            None => hidden.push((why, vec![&knob.name])),
        }
    }
    // A reason shared by many, such as an unmounted debugfs, can be fixed; knobs of other kernels cannot.
    let mut together = hidden.iter().filter(|(_, names)| names.len() > 1);
    together.try_for_each(|(why, names)| wrapped("", &format!("{}: {why}", names.join(", ")), out))
}

fn with_unit(knob: &Knob, value: &str) -> String {
    if knob.unit.is_empty() || value.parse::<f64>().is_err() {
        value.to_owned()
    } else {
        format!("{value} {}", knob.unit)
    }
}

/// Everything known about each knob.
pub(super) fn catalogue(knobs: &[Knob], _named: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut family = "";
    for knob in knobs {
        if knob.family != family {
            family = knob.family;
            writeln!(out, "{}:", if family.is_empty() { "not described" } else { family })?;
        }
        let does = if knob.does.is_empty() { String::new() } else { format!(": {}", knob.does) };
        wrapped("  ", &format!("{}{does}", knob.name), out)?;
        if let Some(value) = &knob.value {
            let default = knob.default.join(" or ");
            let default = if default.is_empty() { default } else { format!(", default {default}") };
            wrapped("      ", &format!("now {}{default}", with_unit(knob, value)), out)?;
        }
        let path = knob.path.as_ref().map(|path| path.display().to_string());
        let is_file =
            |place: &&String| **place != knob.name && !place.starts_with("spec:") && !place.starts_with("task:");
        let place = knob.here.as_ref().filter(is_file).or(path.as_ref()).map(String::as_str);
        let range = match knob.range.split_once("..") {
            Some((least, "")) => format!("{least} {} or more", knob.unit),
            Some((least, most)) => format!("{least} to {most} {}", knob.unit),
            None => knob.range.replace('|', ", "),
        };
        let special: Vec<String> = knob.special.iter().map(|s| format!("{}: {}", s.value, s.meaning)).collect();
        let kernels = if knob.here.is_none() { knob.kernels.as_str() } else { "" };
        let parts = [place.unwrap_or(kernels), range.trim(), &special.join("; "), knob.coupled];
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            wrapped("      ", part, out)?;
        }
        match (&knob.why_not, knob.set) {
            (Some(why), _) if knob.arm == Some(true) => {
                wrapped("      ", &format!("not set by `tune set` here: {why}"), out)?;
            }
            (Some(why), _) => wrapped("      ", &format!("cannot be set here: {why}"), out)?,
            (None, _) if knob.arm == Some(false) => {
                let why =
                    "set by `tune set` only: it is the whole host's, and an arm has a network namespace of its trial";
                wrapped("      ", why, out)?;
            }
            (None, "task") => wrapped("      ", "set in an arm, or for a command (tune set --for)", out)?,
            (None, "group") => wrapped("      ", "set in an arm, of a group around the workload", out)?,
            (None, _) => {}
        }
    }
    Ok(())
}

fn wrapped(indent: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let width = terminal_width().min(80);
    for (number, line) in schedlab_report::wrap(text, width.saturating_sub(indent.len() + 4)).iter().enumerate() {
        writeln!(out, "{indent}{}{line}", if number == 0 { "" } else { "    " })?;
    }
    Ok(())
}
