//! The text after an event's name, as the kernel's print formats write it; [`read_payload`](super::read_payload) reads
//! it.

use crate::event::{Cpu, Prio, Wake, What};
use crate::names::{Name, Names};
use crate::prev_state::PrevStates;
use crate::rows::{Bits, Holds, Row, Values};
use crate::syscall::Syscall;

/// Name and text of an event; `None` for anything that is not a kernel event.
pub(crate) fn payload_of(what: &What, names: &Names, states: &PrevStates) -> Option<(&'static str, String)> {
    match *what {
        What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
            let (prev_comm, prev_prio) = (name(prev_comm, names), number(prev_prio));
            let (next_comm, next_prio) = (name(next_comm, names), number(next_prio));
            let (prev, next, state) = (prev.0, next.0, states.letters(prev_state));
            let words = format!(
                "prev_comm={prev_comm} prev_pid={prev} prev_prio={prev_prio} prev_state={state} ==> next_comm={next_comm} \
                 next_pid={next} next_prio={next_prio}"
            );
            Some(("sched_switch", words))
        }
        What::Waking(wake) => Some(("sched_waking", of_wake(&wake, names))),
        What::Wakeup(wake) => Some(("sched_wakeup", of_wake(&wake, names))),
        What::WakeupNew(wake) => Some(("sched_wakeup_new", of_wake(&wake, names))),
        // The text has only those arguments that an event has.
        What::SysEnter { number, arg0, arg1, .. } => {
            let arg1 = if arg1 == u32::MAX { String::new() } else { format!(", {arg1:x}") };
            Some(("sys_enter", format!("NR {} ({:x}{arg1})", call(number), arg0.get())))
        }
        What::SysExit { number, ret, .. } => Some(("sys_exit", format!("NR {} = {}", call(number), ret.get() as i64))),
        other => {
            let (row, fields) = other.fields()?;
            Some((row.name, of_row(row, &fields, names)))
        }
    }
}

fn name(name: Name, names: &Names) -> &str {
    Some(names.text(name)).filter(|text| !text.is_empty()).unwrap_or("<...>")
}

/// An unknown priority is written as −2, which is read back as unknown.
fn number(prio: Prio) -> i16 {
    prio.get().unwrap_or(-2)
}

fn on(cpu: Cpu) -> i32 {
    if cpu == Cpu::ANY { -1 } else { i32::from(cpu.0) }
}

fn of_wake(wake: &Wake, names: &Names) -> String {
    let (comm, prio, cpu) = (name(wake.comm, names), number(wake.prio), on(wake.target_cpu));
    format!("comm={comm} pid={} prio={prio} target_cpu={cpu:03}", wake.tid.0)
}

fn call(number: Syscall) -> i64 {
    if number == Syscall::OTHER { -1 } else { number.0.into() }
}

/// A row's first text with the fields inserted.
fn of_row(row: &Row, fields: &Values, names: &Names) -> String {
    let mut words = String::new();
    for (key, word) in row.texts.first().into_iter().flat_map(|template| pieces(template)) {
        words += key;
        let Some((field, bits)) = row.fields.iter().zip(*fields).find(|(field, _)| field.name == word) else {
            words += word.split_once(':').map_or("", |(_, written)| written);
            continue;
        };
        words += &match field.holds {
            Holds::Thread | Holds::ThreadIfSaid | Holds::Number | Holds::Long => bits.to_string(),
            Holds::Comm | Holds::Text | Holds::Function => name(Bits::of(bits), names).to_owned(),
            Holds::Prio => number(Bits::of(bits)).to_string(),
            Holds::Cpu | Holds::Pool => on(Bits::of(bits)).to_string(),
            Holds::Address => format!("{bits:016x}"),
        };
    }
    words
}

/// A row's text in pieces: literal text, and the content of the braces after it; empty after the last.
pub(crate) fn pieces(template: &str) -> impl Iterator<Item = (&str, &str)> {
    template.split('}').map(|piece| piece.split_once('{').unwrap_or((piece, "")))
}
