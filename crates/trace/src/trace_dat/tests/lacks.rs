//! What a trace.dat lacks because of the choice of what was recorded.

use super::{MONO, problems, read};
use crate::ProblemKind;
use crate::drawing::Drawing;
use crate::perf_data::written::LITTLE;
use crate::trace_dat::written::{Packed, Saved, version_6, version_7};

/// One of two CPUs, CPU 0: A is moved to the other, and is back 20 ms later. Times are in µs.
const PART: &str = "
    0 10 . R > A
    0 20 A R > .
    0 21 migrate A 0 1
    0 22 migrate A 0 1
    0 20000 . R > A
    0 20010 A S > .
";

fn notes(file: Vec<u8>) -> Vec<String> {
    let (_, reader) = read(file).expect("a trace");
    [ProblemKind::Recording, ProblemKind::SomeCpus].iter().flat_map(|kind| problems(&reader, *kind)).collect()
}

#[test]
fn a_part_of_the_cpus_is_reported() {
    let reported = notes(version_6(LITTLE, &Drawing::new(PART), Saved::NOTHING));
    let expected = "the trace has events of CPU 0 and none of CPU 1, to which tasks were sent: what they did there is \
                    missing, and a wait may have been a run there; record and print all CPUs";
    assert_eq!(reported, [expected]);
    // An idle CPU is not reported, nor one that has an event.
    let idle = PART.replace("migrate A 0 1", "migrate A 0 0");
    let other = format!("{PART}    1 20020 . R > B\n");
    for drawing in [idle, other] {
        assert_eq!(notes(version_6(LITTLE, &Drawing::new(&drawing), Saved::NOTHING)), Vec::<String>::new());
    }
}

#[test]
fn each_thing_that_is_lacking_has_its_note() {
    let reported = notes(version_7(LITTLE, &Drawing::new(PART), MONO, Packed::No));
    let buffers = "several buffers hold scheduler events; those of the first are read (6 in all)";
    assert!(reported.len() == 2 && reported[0] == buffers, "{reported:?}");
    assert!(reported[1].starts_with("the trace has events of CPU 0 and"), "{reported:?}");
}

#[test]
fn a_guests_corrections_are_reported() {
    let saved = Saved { option: Some((12, "0123456789abcdef")), ..Saved::NOTHING };
    let reported = notes(version_6(LITTLE, &Drawing::new("0 10 . R > A\n0 18 A S > .\n"), saved));
    assert!(reported[0].starts_with("the times are those of the guest's clock"), "{reported:?}");
}
