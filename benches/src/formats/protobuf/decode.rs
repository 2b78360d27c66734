//! Decodes a trace that [`super::encode`] wrote, for mutants: its events, or nothing if its framing is broken.

use crate::formats::reference::{Event, State, What};

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The events in the order of their times; `None` if a length, a wire type or a field is invalid.
pub fn decode(trace: &[u8]) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    for (field, packet) in fields(trace)? {
        let (super::field::PACKET, Value::Bytes(packet)) = (field, packet) else { return None };
        for part in fields(packet)? {
            match part {
                (super::field::FTRACE_EVENTS, Value::Bytes(of)) => bundle(of, &mut events)?,
                (super::field::FTRACE_EVENTS, _) => return None,
                // Another kind of packet, as most in a trace are.
                _ => {}
            }
        }
    }
    events.sort_by_key(|event| event.ts);
    Some(events)
}

fn fields(mut bytes: &[u8]) -> Option<Vec<(u32, Value<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(number),
            2 => {
                let (value, rest) = bytes.split_at_checked(usize::try_from(number).ok()?)?;
                bytes = rest;
                Value::Bytes(value)
            }
            _ => return None,
        };
        found.push((u32::try_from(tag >> 3).ok()?, value));
    }
    Some(found)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn bundle(bytes: &[u8], events: &mut Vec<Event>) -> Option<()> {
    let (mut cpu, mut whats) = (None, Vec::new());
    for part in fields(bytes)? {
        match part {
            (1, Value::Number(number)) => cpu = Some(u32::try_from(number).ok()?),
            (2, Value::Bytes(event)) => whats.push(single(event)?),
            (4, Value::Bytes(compact)) => columns(compact, &mut whats)?,
            _ => return None,
        }
    }
    let cpu = cpu?;
    events.extend(whats.into_iter().map(|(ts, what)| Event { ts, cpu, what }));
    Some(())
}

fn single(bytes: &[u8]) -> Option<(u64, What)> {
    let (mut ts, mut what) = (None, None);
    for part in fields(bytes)? {
        match part {
            (1, Value::Number(ns)) => ts = Some(ns),
            (2, Value::Number(_)) => {}
            (kind, Value::Bytes(message)) => what = Some(what_of(kind, message)?),
            _ => return None,
        }
    }
    Some((ts?, what?))
}

fn what_of(kind: u32, message: &[u8]) -> Option<What> {
    let numbers: Vec<(u32, u64)> = fields(message)?
        .into_iter()
        .map(|(field, value)| if let Value::Number(number) = value { Some((field, number)) } else { None })
        .collect::<Option<_>>()?;
    // If a field appears twice, the last one counts (protobuf.dev, "Last One Wins").
    let of =
        |field: u32| numbers.iter().rfind(|(number, _)| *number == field).and_then(|(_, n)| u32::try_from(*n).ok());
    Some(match kind {
        4 => What::Switch { prev: of(2)?, state: state_of(u64::from(of(4)?)), next: of(6)? },
        20 => What::Waking { tid: of(2)?, target_cpu: of(5)? },
        17 => What::Wakeup { tid: of(2)?, target_cpu: of(5)? },
        114 => What::WakeupNew { tid: of(2)?, target_cpu: of(5)? },
        491 => What::Migrate { tid: of(2)?, orig_cpu: of(4)?, dest_cpu: of(5)? },
        239 => What::Fork { child: of(4)? },
        // A changed kind is a valid event.
        _ => What::Other,
    })
}

fn state_of(number: u64) -> State {
    match number {
        0 | 0x100.. => State::Runnable,
        _ if number & 0x30 != 0 => State::Dead,
        _ => State::Asleep,
    }
}

fn columns(bytes: &[u8], whats: &mut Vec<(u64, What)>) -> Option<()> {
    let mut found: [Vec<u64>; 13] = Default::default();
    for (field, value) in fields(bytes)? {
        let (1..=12, Value::Bytes(mut packed)) = (field, value) else { return None };
        while field != 5 && !packed.is_empty() {
            found[field as usize].push(varint(&mut packed)?);
        }
    }
    let [_, switch_ts, state, next, prio, _, comm, waking_ts, tid, cpu, waking_prio, waking_comm, flags] = found;
    let all = |columns: &[&Vec<u64>], length: usize| columns.iter().all(|column| column.len() == length);
    all(&[&state, &next, &prio, &comm], switch_ts.len()).then_some(())?;
    all(&[&tid, &cpu, &waking_prio, &waking_comm, &flags], waking_ts.len()).then_some(())?;
    let mut ts = 0u64;
    for ((delta, state), next) in switch_ts.into_iter().zip(state).zip(next) {
        ts = ts.checked_add(delta)?;
        whats.push((ts, What::Switch { prev: 0, state: state_of(state), next: u32::try_from(next).ok()? }));
    }
    ts = 0;
    for ((delta, tid), cpu) in waking_ts.into_iter().zip(tid).zip(cpu) {
        ts = ts.checked_add(delta)?;
        whats.push((ts, What::Waking { tid: u32::try_from(tid).ok()?, target_cpu: u32::try_from(cpu).ok()? }));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, encode};
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        let happened = |ts, cpu, what| Event { ts, cpu, what };
        let mut events = vec![
            happened(5, 0, What::Fork { child: 9 }),
            happened(6, 0, What::WakeupNew { tid: 9, target_cpu: 1 }),
            happened(7, 1, What::Switch { prev: 0, state: State::Runnable, next: 9 }),
            happened(400, 0, What::Waking { tid: 8, target_cpu: 0 }),
            happened(401, 0, What::Wakeup { tid: 8, target_cpu: 0 }),
            happened(500, 1, What::Migrate { tid: 8, orig_cpu: 0, dest_cpu: 1 }),
            happened(501, 1, What::Switch { prev: 9, state: State::Asleep, next: 8 }),
        ];
        let mut layout = Layout { compact: false, compressed: false, sequences: true, hole: None };
        let (bytes, kept) = encode(&events, layout);
        assert_eq!((decode(&bytes).as_ref(), &kept), (Some(&events), &events));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None, "cut");
        layout.compact = true;
        let (bytes, kept) = encode(&events, layout);
        assert_eq!(kept, events, "whoever got the CPU last leaves it");
        // Compact events do not contain the previous thread.
        for event in &mut events {
            if let What::Switch { prev, .. } = &mut event.what {
                *prev = 0;
            }
        }
        assert_eq!(decode(&bytes), Some(events));
    }

    #[test]
    fn a_packet_of_another_kind_is_passed_over() {
        // A byte that is not a bundle, and the same after one flipped bit: `process_stats`.
        let packet = |tag: u8| decode(&[1 << 3 | 2, 3, tag, 1, 0]);
        assert_eq!(packet(1 << 3 | 2), None);
        assert_eq!(packet((1 << 3 | 2) ^ 1 << 6), Some(vec![]));
    }

    #[test]
    fn of_a_field_that_stands_twice_the_last_one_counts() {
        let message: Vec<u8> =
            [[2, 5], [2, 9], [5, 1]].iter().flat_map(|[field, value]| [field << 3, *value]).collect();
        assert_eq!(what_of(20, &message), Some(What::Waking { tid: 9, target_cpu: 1 }));
    }
}
