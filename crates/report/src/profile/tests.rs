use super::*;
use schedlab_analyze::profile::{InstructionShare, TaskShare};

fn found() -> ProfileFindings {
    let row = |name: &str, image: &str, share: f64, marked: bool| FunctionShare {
        name: name.into(),
        image: image.into(),
        samples: (share * 1000.0) as u64,
        share,
        share_margin: 0.031,
        samples_with_callees: 500,
        share_with_callees: 0.5,
        per_operation: Some(share * 6500.0),
        per_operation_with_callees: Some(3250.0),
        interrupts_back_on: marked,
    };
    ProfileFindings {
        pace: "cpu-clock".into(),
        unit: "ns".into(),
        frequency_hz: 997,
        of: "the command and its children".into(),
        cpus: 2,
        length_s: 2.0,
        samples: 1000,
        weight: 1_003_009_000,
        operations: Some(154_000),
        operation: Some("round trip".into()),
        per_operation: Some(6500.0),
        share_interrupts_back_on: Some(0.441),
        functions: vec![
            row("finish_task_switch.isra.0", "[kernel]", 0.441, true),
            row("", "/usr/lib/libof-a-very-long-name.so.6", 0.2, false),
            row("__schedule", "[kernel]", 0.0, true),
        ],
        more_functions: 65,
        chains: vec![ChainShare {
            functions: ["main", "write", "__schedule"].map(String::from).to_vec(),
            samples: 441,
            share: 0.441,
            per_operation: Some(2866.5),
        }],
        more_chains: 1,
        tasks: ["parent", "child"].map(|c| TaskShare { comm: c.into(), samples: 500, share: 0.5 }).to_vec(),
        lost: 3,
        notes: vec!["user code only: \u{1b}[2J".into()],
        ..ProfileFindings::default()
    }
}

fn text(found: &ProfileFindings) -> String {
    let mut out = Vec::new();
    profile(found).text(80, false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_page_fits_80_columns_and_says_what_is_an_artefact() {
    let expected = "\
6.500 µs of CPU time per round trip, over 154\u{202f}000 round trips; most of it in
finish_task_switch.isra.0 (44.1 %).
1000 samples at 997 Hz by cpu-clock, of the command and its children; 2 CPUs,
2.000 s

    self    ±   total   self/op  total/op     of                 function
  44.1 %  3.1  50.0 %  2.866 µs  3.250 µs  *  [kernel]           finish_task_swi
                                                                 tch.isra.0
  20.0 %  3.1  50.0 %  1.300 µs  3.250 µs     libof-a-very-lon…  (no name)
     0 %  3.1  50.0 %      0 ns  3.250 µs     [kernel]           __schedule

Call chains, the outermost function first
  44.1 %  2.866 µs  main > write > __schedule

Tasks: parent 50.0 %, child 50.0 %

  * interrupts come back on in these functions, and cpu-clock cannot interrupt
    where they are off: their own samples (44.1 % of all) are in part time of
    the code before, such as a context switch or a wakeup under a lock; the
    totals of their callers are right
  - 65 more functions; --top 0 shows all
  - 1 more call chain; --chains 0 shows all
  ! 3 samples were lost, because the buffers were full: lower --frequency
  - user code only: [2J
";
    let text = text(&found());
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_profile_without_a_workload_or_without_a_sample_says_what_it_is() {
    let whole = ProfileFindings { operations: None, per_operation: None, idle_samples: 1000, ..found() };
    let text_of_whole = text(&whole);
    let first = "1.003 s of CPU time; most of it in finish_task_switch.isra.0 (44.1 %).";
    assert_eq!(text_of_whole.lines().next(), Some(first));
    assert!(text_of_whole.contains("CPUs idle 50.0 %") && !text_of_whole.contains("/op"), "{text_of_whole}");
    let cycles = ProfileFindings { unit: "cycles".into(), pace: "cycles".into(), ..found() };
    assert!(text(&cycles).contains("6500 cycles of CPU time per round trip"), "{}", text(&cycles));
    let none = text(&ProfileFindings { notes: vec!["why".into()], ..ProfileFindings::default() });
    assert!(none.starts_with("No sample") && none.contains("- why"), "{none}");
}

#[test]
fn instructions_far_from_any_sample_are_left_out() {
    let row = |offset: u64, samples: u64| InstructionShare {
        offset,
        samples,
        share: samples as f64 / 4.0,
        text: format!("op {offset}"),
    };
    let rows: Vec<InstructionShare> = (0..12).map(|at| row(at, if at == 6 { 4 } else { 0 })).collect();
    let found = Annotation {
        name: "f".into(),
        image: "[kernel]".into(),
        samples: 4,
        share: 0.25,
        no_text: Some("no kcore".into()),
        rows,
    };
    let mut out = Vec::new();
    annotation(&found).text(80, false, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let expected = "\
f of [kernel]: 25.0 % of all, 4 samples
  - offsets alone, because the code cannot be shown: no kcore

         offset  instruction
              …
           +0x3  op 3
           +0x4  op 4
           +0x5  op 5
  100 %    +0x6  op 6
           +0x7  op 7
           +0x8  op 8
           +0x9  op 9
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn folded_stacks_are_a_line_each() {
    let stacks = BTreeMap::from([("a;b".to_owned(), 3), ("a;b;c d".to_owned(), 1)]);
    let mut out = Vec::new();
    folded_text(&stacks, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "a;b 3\na;b;c d 1\n");
}
