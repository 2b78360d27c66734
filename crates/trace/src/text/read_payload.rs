//! Parses what an event prints after its name, in the wording of the kernel's print formats and trace-cmd's plugins.

use super::letters::Letters;
use super::line::Line;
use super::shape::{Comm, MAX_VALUES, Nothing, Number, Shape, Text, Value, Word, values, values_of};
use super::write_payload::pieces;
use crate::event::{Cpu, Prio, Tid, Wake, What, second_argument};
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::record_decoder::Dictionary;
use crate::rows::{Bits, Holds, Row, Values};
use crate::syscall::Syscall;

/// Why a line is not an event of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its wording differs, or is ambiguous.
    Unlike,
    /// A wakeup of an old kernel that woke nobody.
    WokeNobody,
}

/// The event in a line. `letters` is what the text's states have shown so far.
pub(super) fn parse(
    kind: Kind,
    line: &Line<'_>,
    dictionary: &mut Dictionary,
    letters: &mut Letters,
) -> Result<What, Unread> {
    let woken = match kind {
        Kind::SchedWaking => What::Waking,
        Kind::SchedWakeup => What::Wakeup,
        Kind::SchedWakeupNew => What::WakeupNew,
        Kind::SchedSwitch => return switch(line.payload, dictionary, letters).ok_or(Unread::Unlike),
        _ => return other(kind, line, &mut dictionary.names).ok_or(Unread::Unlike),
    };
    wake(line, &mut dictionary.names).map(woken)
}

/// Converts what tracefs prints with its option `fields`, `prio=0x78 (120)`, to the form without it.
pub(super) fn without_fields(kind: Kind, payload: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), payload);
    while let Some(at) = rest.find("=0x") {
        let (hex, after) = rest[at + 3..].split_once(" (")?;
        let (number, after) = after.split_once(')')?;
        let is_hex = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
        number.parse::<i64>().ok().filter(|_| is_hex)?;
        out += &rest[..=at];
        out += number;
        rest = after;
    }
    out += rest;
    let words: &[[&str; 2]] = match kind {
        Kind::SchedSwitch => &[[" next_comm=", " ==> next_comm="]],
        Kind::SchedProcessFork => &[["parent_comm=", "comm="], [" parent_pid=", " pid="]],
        Kind::SchedProcessExit => &[[" group_dead=(1)", " group_dead=true"], [" group_dead=(0)", " group_dead=false"]],
        _ => &[],
    };
    // If a comm contains these words, the line is ambiguous, as in other texts.
    (out.len() < payload.len()).then(|| words.iter().fold(out, |out, [from, to]| out.replacen(from, to, 1)))
}

/// Events other than switches and wakeups.
fn other(kind: Kind, line: &Line<'_>, names: &mut Names) -> Option<What> {
    let payload = line.payload;
    match kind {
        Kind::WorkqueueQueueWork
        | Kind::WorkqueueActivateWork
        | Kind::WorkqueueExecuteStart
        | Kind::WorkqueueExecuteEnd => work(kind, line, names),
        Kind::SysEnter => sys_enter(payload, line.tid),
        Kind::SysExit => {
            let (id, ret) = payload.strip_prefix("NR ")?.split_once(" = ")?;
            let ret = ret.trim().parse::<i64>().ok()? as u64;
            Some(What::SysExit { tid: line.tid, number: Syscall::from_raw(id.trim().parse().ok()?), ret: ret.into() })
        }
        _ => of_row(kind.row(), line, names),
    }
}

/// Parses a line with the texts of a row.
fn of_row(row: &Row, line: &Line<'_>, names: &mut Names) -> Option<What> {
    let (words, values) = row.texts.iter().find_map(|template| {
        let (mut shape, mut words) = ([("", Nothing); MAX_VALUES], [""; MAX_VALUES]);
        let mut count = 0;
        for ((key, word), at) in pieces(template).filter(|(_, word)| !word.is_empty()).zip(0..MAX_VALUES) {
            (shape[at], words[at], count) = ((key, of_word(word, row)), word, at + 1);
        }
        Some((words, values_of(line.payload, &shape[..count])?))
    })?;
    let mut fields = Values::default();
    for (field, bits) in row.fields.iter().zip(&mut fields) {
        let text = words.iter().position(|word| *word == field.name).map(|at| values[at]);
        *bits = match (field.holds, text) {
            (Holds::Thread | Holds::ThreadIfSaid, Some(text)) => tid(text)?.bits(),
            (Holds::Thread, None) => line.tid.bits(),
            (Holds::ThreadIfSaid, None) => Tid::IDLE.bits(),
            (Holds::Comm | Holds::Text | Holds::Function, text) => name(text?, names).bits(),
            (Holds::Prio, text) => prio(text?).bits(),
            (Holds::Cpu | Holds::Pool, text) => cpu(text?)?.bits(),
            (Holds::Number, text) => number(text?)?.bits(),
            (Holds::Long, text) => text?.parse().ok()?,
            (Holds::Address, text) => u64::from_str_radix(text?.trim_start_matches("0x"), 16).ok()?,
        };
    }
    What::of(row.kind, fields)
}

/// The value for a word in braces in a row's text: a field, or something that the model does not have.
fn of_word(word: &str, row: &Row) -> Value {
    if let Some(field) = row.fields.iter().find(|field| field.name == word) {
        return match field.holds {
            Holds::Comm => Comm,
            Holds::Text => Text,
            Holds::Function | Holds::Address => Word,
            _ => Number,
        };
    }
    match word.split_once(':').map_or(word, |(word, _)| word) {
        "comm" => Comm,
        "text" => Text,
        "word" => Word,
        _ => Number,
    }
}

const SWITCH: Shape<7> = [
    ("prev_comm=", Comm),
    (" prev_pid=", Number),
    (" prev_prio=", Number),
    (" prev_state=", Word),
    (" ==> next_comm=", Comm),
    (" next_pid=", Number),
    (" next_prio=", Number),
];
/// `trace-cmd report -R`, which prints the fields.
const RAW_SWITCH: Shape<7> = {
    let mut shape = SWITCH;
    shape[4].0 = " next_comm=";
    shape
};
/// `bash:1977 [120] S ==> swapper/0:0 [120]` from trace-cmd's plugin.
const PLUGIN_SWITCH: Shape<8> = [
    ("", Comm),
    (":", Number),
    (" [", Number),
    ("] ", Word),
    (" ==> ", Comm),
    (":", Number),
    (" [", Number),
    ("]", Nothing),
];
const WAKE: Shape<4> = [("comm=", Comm), (" pid=", Number), (" prio=", Number), (" target_cpu=", Number)];
/// Before Linux 4.3.
const OLD_WAKE: Shape<5> =
    [("comm=", Comm), (" pid=", Number), (" prio=", Number), (" success=", Number), (" target_cpu=", Number)];
/// `bash:1977 [120] success=1 CPU:003` from trace-cmd's plugin; the end depends on the kernel.
const PLUGIN_WAKE: Shape<4> = [("", Comm), (":", Number), (" [", Number), ("]", Nothing)];
const QUEUE_WORK: Shape<5> =
    [("work struct=", Word), (" function=", Word), (" workqueue=", Text), (" req_cpu=", Number), (" cpu=", Number)];

/// `NR 202 (7f00, 80, 1, 0, 0, 0)`: the arguments in hexadecimal.
fn sys_enter(payload: &str, tid: Tid) -> Option<What> {
    let (id, args) = payload.strip_prefix("NR ")?.split_once(" (")?;
    let mut args = args.trim_end().trim_end_matches(')').split(", ").map(|arg| u64::from_str_radix(arg, 16).ok());
    let arg0 = args.next().flatten()?.into();
    let arg1 = args.next().flatten().map_or(u32::MAX, second_argument);
    Some(What::SysEnter { tid, number: Syscall::from_raw(id.trim().parse().ok()?), arg0, arg1 })
}

fn switch(payload: &str, dictionary: &mut Dictionary, letters: &mut Letters) -> Option<What> {
    let keyed = values(payload, &SWITCH).or_else(|| values(payload, &RAW_SWITCH));
    let (of_kernel, [prev_comm, prev, prev_prio, state, next_comm, next, next_prio]) = match keyed {
        Some(values) => (true, values),
        None => (false, plugin_switch(payload)?),
    };
    let (prev, next) = (tid(prev)?, tid(next)?);
    let prev_state = match of_kernel {
        true => letters.state(state, dictionary),
        false => letters.of_plugin(state, prev == Tid::IDLE, dictionary),
    };
    let names = &mut dictionary.names;
    Some(What::Switch {
        prev,
        next,
        prev_comm: name(prev_comm, names),
        next_comm: name(next_comm, names),
        prev_prio: prio(prev_prio),
        next_prio: prio(next_prio),
        prev_state,
    })
}

fn plugin_switch(payload: &str) -> Option<[&str; 7]> {
    let [prev, prev_tid, prev_prio, state, next, next_tid, next_prio, _] = values(payload, &PLUGIN_SWITCH)?;
    Some([prev, prev_tid, prev_prio, state, next, next_tid, next_prio])
}

fn wake(line: &Line<'_>, names: &mut Names) -> Result<Wake, Unread> {
    let payload = line.payload;
    let old = || values(payload, &OLD_WAKE).map(|[comm, who, of, success, on]| (comm, who, of, success, cpu(on)));
    let keyed = values(payload, &WAKE).map(|[comm, who, of, on]| (comm, who, of, "1", cpu(on))).or_else(old);
    let (comm, who, of, success, on) = keyed.or_else(|| plugin_wake(payload)).ok_or(Unread::Unlike)?;
    if success == "0" {
        return Err(Unread::WokeNobody);
    }
    Ok(Wake {
        tid: tid(who).ok_or(Unread::Unlike)?,
        comm: name(comm, names),
        waker: line.tid,
        target_cpu: on.unwrap_or(Cpu::ANY),
        prio: prio(of),
        context: line.context.unwrap_or_default(),
    })
}

/// Name, id, priority, whether a task was woken, and the CPU.
fn plugin_wake(payload: &str) -> Option<(&str, &str, &str, &str, Option<Cpu>)> {
    let [comm, who, of, _] = values(payload, &PLUGIN_WAKE)?;
    let after = payload.rsplit_once(']')?.1;
    let value = |key: &str| after.split_whitespace().find_map(|word| word.strip_prefix(key));
    Some((comm, who, of, value("success=").unwrap_or("1"), value("CPU:").and_then(cpu)))
}

fn work(kind: Kind, line: &Line<'_>, names: &mut Names) -> Option<What> {
    let payload = line.payload;
    // `work struct=0xffff function=f …`, `work struct 0xffff: function f`, `work struct 0xffff`.
    let rest = payload.strip_prefix("work struct")?.trim_start_matches(['=', ' ']);
    let (address, rest) = rest.split_once([' ', ':']).unwrap_or((rest, ""));
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?.into();
    let named = rest.split_once("function").map(|(_, name)| name.trim_start_matches(['=', ' ']));
    let function = named
        .and_then(|name| name.split_whitespace().next())
        .filter(|name| *name != "<...>")
        .map_or(Name::UNKNOWN, |name| names.intern(name));
    Some(match kind {
        Kind::WorkqueueQueueWork => {
            let [_, _, workqueue, _, on] = values(payload, &QUEUE_WORK)?;
            let (workqueue, cpu) = (names.intern(workqueue), cpu(on).unwrap_or(Cpu::ANY));
            What::WorkQueued { work: address, function, workqueue, cpu }
        }
        Kind::WorkqueueActivateWork => What::WorkActivated { work: address, function },
        Kind::WorkqueueExecuteStart => What::WorkStarted { work: address, function, worker: line.tid },
        _ => What::WorkEnded { work: address, function, worker: line.tid },
    })
}

fn name(comm: &str, names: &mut Names) -> Name {
    if comm == "<...>" { Name::UNKNOWN } else { names.intern(comm) }
}

fn number(text: &str) -> Option<u32> {
    Some(text.parse::<i64>().ok()? as u32)
}

fn tid(text: &str) -> Option<Tid> {
    Tid::from_raw(text.parse().ok()?)
}

fn cpu(text: &str) -> Option<Cpu> {
    Cpu::from_raw(text.parse().ok()?)
}

fn prio(text: &str) -> Prio {
    text.parse().map_or(Prio::UNKNOWN, Prio::from_raw)
}
