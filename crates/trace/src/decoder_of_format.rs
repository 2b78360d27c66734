//! Makes decoders of records from formats, with the problems found on the way: common to all files with binary records.

use crate::format::Format;
use crate::kind::{Kind, Kinds};
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::{Dictionary, RecordDecoder, Refused};

/// How to decode the records of a format, if their kind is wanted. The format of `sched_switch` also provides the
/// letters of states.
pub(crate) fn decoder_of(
    format: &Format,
    wanted: Kinds,
    big_endian: bool,
    dictionary: &mut Dictionary,
    problems: &mut Problems,
) -> Option<(Kind, RecordDecoder)> {
    let kind = Kind::of(&format.system, &format.name).filter(|kind| wanted.has(*kind))?;
    if kind == Kind::SchedSwitch {
        match StateBits::parse(&format.print_fmt) {
            Some(bits) => dictionary.states = PrevStates::new(bits),
            None => problems.add(ProblemKind::GuessedStates, || {
                "the format of sched_switch does not say what prev_state means; its letters are guessed".into()
            }),
        }
    }
    match RecordDecoder::new(kind, format, big_endian) {
        Ok(decoder) => Some((kind, decoder)),
        Err(why) => {
            problems.add(ProblemKind::OtherLayout, || format!("{why}; its events are skipped"));
            None
        }
    }
}

/// Reports why the record at `offset` yields no event.
#[cold]
pub(crate) fn report_refused(refused: Refused, offset: u64, problems: &mut Problems) {
    match refused {
        Refused::Short => problems.add(ProblemKind::BadRecord, || {
            format!("byte {offset}: a record that is shorter than its format says; skipped")
        }),
        Refused::Number => problems.add(ProblemKind::ImpossibleNumber, || {
            format!("byte {offset}: a CPU or thread number that no machine has; skipped")
        }),
        Refused::State => problems.add(ProblemKind::BadRecord, || {
            format!("byte {offset}: a prev_state that this kernel does not write; skipped")
        }),
        Refused::Event => problems.add(ProblemKind::BadRecord, || {
            format!("byte {offset}: a record of another event than its sample says; skipped")
        }),
        Refused::NoWakeup => {}
    }
}
