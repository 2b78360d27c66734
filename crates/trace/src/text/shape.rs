//! Parses the text after an event's name by all of its fields at once, because a thread's name may contain text that
//! looks like any single one of them.

/// What follows a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Digits, with or without a sign.
    Number,
    /// Up to a blank.
    Word,
    /// A thread's name: any bytes but zero, at most [`LONGEST_COMM`] if it is the kernel's own.
    Comm,
    /// Any text of any length.
    Text,
    /// No value: the key is the end.
    Nothing,
}
pub(super) use Value::{Comm, Nothing, Number, Text, Word};

/// The fields of an event in order, each with the literal text before it.
pub(super) type Shape<const N: usize> = [(&'static str, Value); N];

/// `TASK_COMM_LEN - 1` of include/linux/sched.h.
const LONGEST_COMM: usize = 15;

/// Most ways of parsing one payload that are considered.
const MAX_WAYS: usize = 64;

/// Fields of a shape at most.
pub(super) const MAX_VALUES: usize = 8;

/// The values in a payload; `None` if it has another shape, or if its names make it ambiguous.
pub(super) fn values<'a, const N: usize>(payload: &'a str, shape: &Shape<N>) -> Option<[&'a str; N]> {
    const { assert!(N <= MAX_VALUES) };
    values_of(payload, shape).map(|values| std::array::from_fn(|at| values[at]))
}

/// The same for a shape that is not known at compile time; the text after its fields must be empty.
pub(super) fn values_of<'a>(payload: &'a str, shape: &[(&str, Value)]) -> Option<[&'a str; MAX_VALUES]> {
    let mut ways = Vec::new();
    let payload = payload.strip_prefix("[FAILED TO PARSE] ").unwrap_or(payload);
    search(payload, shape, 0, &mut [""; MAX_VALUES], &mut ways);
    if ways.len() > 1 {
        // No name from the kernel is longer; those that we write for names of other formats may be.
        let is_short = |values: &[&str; MAX_VALUES]| {
            shape.iter().zip(values).all(|((_, value), text)| *value != Comm || bytes(text) <= LONGEST_COMM)
        };
        ways.retain(is_short);
    }
    if ways.len() > 1 && shape.iter().filter(|(_, value)| matches!(value, Comm | Text)).count() == 1 {
        // After the only text there are only numbers, so its end is the last one that fits.
        return ways.pop();
    }
    if ways.len() == 1 { ways.pop() } else { None }
}

/// Length of a name in bytes, as far as known: bytes that were not text became a longer character.
fn bytes(text: &str) -> usize {
    text.chars().map(|c| if c == char::REPLACEMENT_CHARACTER { 1 } else { c.len_utf8() }).sum()
}

/// Parses the fields from `at` on in every possible way.
fn search<'a>(
    text: &'a str,
    shape: &[(&str, Value)],
    at: usize,
    values: &mut [&'a str; MAX_VALUES],
    ways: &mut Vec<[&'a str; MAX_VALUES]>,
) {
    let Some((key, value)) = shape.get(at) else {
        // A field that is not used may follow.
        if text.is_empty() || text.starts_with([' ', '\t']) || shape.last().is_some_and(|last| last.1 == Nothing) {
            ways.push(*values);
        }
        return;
    };
    let Some(rest) = text.strip_prefix(key) else { return };
    let end = match value {
        Nothing => 0,
        Number => number_bytes(rest),
        Word => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        Comm | Text => {
            let next = shape.get(at + 1).map_or("", |(key, _)| key);
            if next.is_empty() {
                values[at] = rest;
                return ways.push(*values);
            }
            for (end, _) in rest.match_indices(next) {
                if ways.len() >= MAX_WAYS {
                    return;
                }
                values[at] = &rest[..end];
                search(&rest[end..], shape, at + 1, values, ways);
            }
            return;
        }
    };
    if end > 0 || *value == Nothing {
        values[at] = &rest[..end];
        search(&rest[end..], shape, at + 1, values, ways);
    }
}

/// Length of the number at the start of a text.
fn number_bytes(text: &str) -> usize {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits.bytes().take_while(u8::is_ascii_digit).count() {
        0 => 0,
        count => text.len() - digits.len() + count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKE: Shape<3> = [("comm=", Comm), (" pid=", Number), (" prio=", Number)];
    const RENAME: Shape<3> = [("oldcomm=", Comm), (" newcomm=", Comm), (" oom_score_adj=", Number)];

    #[test]
    fn what_follows_a_name_ends_it() {
        assert_eq!(values("comm=a pid=1 prio=2 x=3", &WAKE), Some(["a", "1", "2"]));
        assert_eq!(values("comm=a pid=5 pid=1 prio=2", &WAKE), Some(["a pid=5", "1", "2"]));
        assert_eq!(values("comm=a pid=5 prio=1 pid=1 prio=2", &WAKE), Some(["a pid=5 prio=1", "1", "2"]));
        assert_eq!(values("comm= pid=-1 prio=-2", &WAKE), Some(["", "-1", "-2"]));
        for other in
            ["", "comm=a", "comm=a pid=1", "comm=a pid=x prio=2", "comm=a pid=1 prio=2x", "xcomm=a pid=1 prio=2"]
        {
            assert_eq!(values(other, &WAKE), None, "{other}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        assert_eq!(values("oldcomm=a newcomm=b oom_score_adj=0", &RENAME), Some(["a", "b", "0"]));
        assert_eq!(values("oldcomm=a newcomm=b newcomm=c oom_score_adj=0", &RENAME), None);
        // In the other reading, one of the two names would be too long for the kernel.
        let long = values("oldcomm=a newcomm=b newcomm=0123456789abcde oom_score_adj=0", &RENAME);
        assert_eq!(long, Some(["a newcomm=b", "0123456789abcde", "0"]));
    }
}
