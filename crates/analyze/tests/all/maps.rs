//! What ran on each CPU over time, as drawings with their answers.

use crate::drawn::drawn;
use schedlab_analyze::trace::{AnalysisRequest, Overview, map, overview};

fn with(text: &str, options: &AnalysisRequest) -> Overview {
    overview(&mut drawn(text, map::wanted()), options).expect("readable to its end")
}

/// The signs of each CPU, and what they mean.
fn lines(found: &Overview) -> (Vec<&str>, Vec<(char, &str, u64)>) {
    let signs = found.signs.iter().map(|row| (row.sign, row.comm.as_str(), row.ns / 1000)).collect();
    (found.cpus.iter().map(|cpu| cpu.signs.as_str()).collect(), signs)
}

/// 1024 µs: CPU 0 runs B for one half and is idle for the other; CPU 1 is known from the middle on.
const HALVES: &str = "
    0 1000 . R > B
    0 1512 B S > .
    1 1512 . R > A
    1 1768 A R > C
    0 2024 . R > B
";

#[test]
fn each_slice_shows_who_had_most_of_it() {
    let found = with(HALVES, &AnalysisRequest { slices: 8, ..AnalysisRequest::default() });
    let (cpus, signs) = lines(&found);
    assert_eq!(cpus, ["AAAA....", "????BBCC"]);
    assert_eq!(signs, [('A', "B", 512), ('B', "A", 256), ('C', "C", 256)]);
    assert_eq!((found.slice_ns, found.cpus[0].busy[3], found.cpus[0].busy[4]), (131_072, 0.90625, 0.0));
}

#[test]
fn slices_double_until_the_trace_fits() {
    for slices in [1, 2, 3, 7, 100] {
        let found = with(HALVES, &AnalysisRequest { slices, ..AnalysisRequest::default() });
        let number = found.cpus[0].signs.len();
        assert!(number <= slices && 5 * number >= 4 * slices, "{slices}: {number}");
        let all = |cpu: usize| found.cpus[cpu].busy_ns + found.cpus[cpu].idle_ns + found.cpus[cpu].unknown_ns;
        assert_eq!((all(0), found.cpus[0].busy_ns, all(1)), (1_024_000, 512_000, 1_024_000), "{slices}");
    }
}

#[test]
fn tasks_that_are_not_asked_for_have_a_common_sign() {
    let mut options = AnalysisRequest { slices: 8, top: Some(1), ..AnalysisRequest::default() };
    let found = with(HALVES, &options);
    assert_eq!((lines(&found).0[1], found.more_names), ("????****", 2));
    options.scope.tasks.comms = vec!["C".into()];
    assert_eq!(lines(&with(HALVES, &options)).0, ["----....", "????--AA"]);
    options.scope.window.cpus = Some(vec![schedlab_trace::Cpu(1)]);
    assert_eq!(lines(&with(HALVES, &options)).0, ["????--AA"]);
}

#[test]
fn missing_events_are_not_known() {
    let found = with(
        "
        0 1000 . R > B
        0 1500 lost 5
        0 1800 C R > D
        0 2024 D S > .
    ",
        &AnalysisRequest { slices: 8, ..AnalysisRequest::default() },
    );
    // The gap begins after the last event before it.
    assert_eq!(lines(&found).0, ["??????AA"]);
}
