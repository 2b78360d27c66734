use super::*;

fn environment(lane: Option<Lane>, qemu: &str) -> Environment {
    let words =
        lane.map(|lane| Provenance { lane, qemu: qemu.into(), no_kvm: None }.words().join(" ")).unwrap_or_default();
    Environment { cmdline: format!("console=ttyS0 quiet {words} ro"), ..Environment::default() }
}

const REAL: Lane = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };
const VIRTUAL: Virtual = Virtual { shift: 7, seed: 3, quantum_us: Some(50), dither_us: 12_000 };

#[test]
fn what_is_written_is_read() {
    let oversubscribed = Lane::Real { accelerator: Accelerator::Kvm, oversubscribed: true };
    for lane in [
        REAL,
        oversubscribed,
        Lane::Virtual(VIRTUAL),
        Lane::Virtual(Virtual { quantum_us: None, dither_us: 0, ..VIRTUAL }),
    ] {
        let made_by = Provenance { lane, qemu: "7.2.22".into(), no_kvm: None };
        let line = format!("quiet {} ro", made_by.words().join(" "));
        assert_eq!(Provenance::of_command_line(&line), Some(made_by));
    }
    for line in ["", "quiet schedlab.seed=1", "schedlab.lane=sideways", "schedlab.lane=virtual schedlab.shift=x"] {
        assert_eq!(Provenance::of_command_line(line), None);
    }
}

#[test]
fn why_there_was_no_kvm_is_written_and_makes_no_other_lane() {
    let of = |no_kvm| Provenance { lane: REAL, qemu: "10.0.2".into(), no_kvm };
    let line = |no_kvm| of(no_kvm).words().join(" ");
    for why in NoKvm::ALL {
        assert_eq!(Provenance::of_command_line(&line(Some(why))), Some(of(Some(why))));
    }
    let environment = |cmdline| Environment { cmdline, ..Environment::default() };
    let hangs = environment(line(Some(NoKvm::Hangs)));
    assert_eq!(differ(&hangs, &environment(line(None))), None);
    assert!(
        caveat(&hangs).unwrap().contains("(QEMU 10.0.2; without KVM, since the kernel of a guest"),
        "{:?}",
        caveat(&hangs)
    );
}

#[test]
fn a_wanted_accelerator_is_read_as_it_is_written() {
    for (wanted, name) in WantedAccelerator::ALL.into_iter().zip(WantedAccelerator::NAMES) {
        assert_eq!((wanted.to_string().as_str(), name.parse()), (name, Ok(wanted)));
    }
    assert!("hvf".parse::<WantedAccelerator>().unwrap_err().contains("auto, kvm, tcg"));
}

#[test]
fn a_kernel_is_one_word_and_read_back() {
    assert_eq!(kernel_of(&format!("quiet {} ro", kernel_word(0xa1))), Some("000000a1"));
    assert_eq!(kernel_of("quiet schedlab.lane=real"), None);
}

#[test]
fn a_lane_is_said_in_a_few_words() {
    let said = |lane| Provenance { lane, qemu: "7.2.22".into(), no_kvm: None }.to_string();
    assert_eq!(said(REAL), "real, tcg, QEMU 7.2.22");
    assert_eq!(
        said(Lane::Virtual(VIRTUAL)),
        "virtual, shift 7, seed 3, dither up to 12ms, turns of at most 50us, QEMU 7.2.22"
    );
}

#[test]
fn a_guests_times_are_said_to_be_no_machines() {
    let said = |lane| caveat(&environment(lane, "10.0.2"));
    let of_virtual = said(Some(Lane::Virtual(VIRTUAL))).unwrap();
    assert!(of_virtual.contains("128 ns") && of_virtual.contains("no time is a latency"), "{of_virtual}");
    assert!(said(Some(REAL)).unwrap().contains("translated code (QEMU 10.0.2)"));
    let kvm = Lane::Real { accelerator: Accelerator::Kvm, oversubscribed: false };
    assert_eq!((said(Some(kvm)), said(None)), (None, None));
}

#[test]
fn the_host_is_not_blamed_for_what_is_counted_in_instructions() {
    let advice = |lane| apart(&environment(lane, "10.0.2"));
    assert!(!advice(Some(Lane::Virtual(VIRTUAL))).contains("doctor"));
    assert!(advice(Some(REAL)).contains("the guest's host"));
    assert!(advice(None).starts_with("`schedlab doctor` names"));
}

#[test]
fn lanes_are_never_compared_and_seeds_are() {
    let with = |change: fn(&mut Virtual)| {
        let mut parameters = VIRTUAL;
        change(&mut parameters);
        environment(Some(Lane::Virtual(parameters)), "7.2.22")
    };
    let (real, host) = (environment(Some(REAL), "7.2.22"), environment(None, ""));
    assert_eq!(differ(&host, &host), None);
    assert_eq!(differ(&real, &environment(Some(REAL), "10.0.2")), None);
    assert_eq!(differ(&with(|_| {}), &with(|v| v.seed = 4)), None);
    let virtual_ = with(|_| {});
    let shifted = with(|v| v.shift = 8);
    let other_qemu = environment(Some(Lane::Virtual(VIRTUAL)), "10.0.2");
    let undithered = with(|v| v.dither_us = 0);
    for other in [&real, &host, &shifted, &other_qemu, &undithered, &with(|v| v.quantum_us = None)] {
        assert!(differ(&virtual_, other).is_some_and(|why| !why.contains('\n') && !why.contains("seed")));
    }
    assert!(differ(&real, &host).is_some());
}

#[test]
fn a_seed_gives_each_task_a_time_of_its_own_evenly_spread() {
    let of = |seed| Virtual { seed, ..VIRTUAL }.dither();
    assert_eq!(of(0), None);
    assert_eq!(Virtual { dither_us: 0, ..VIRTUAL }.dither(), None);
    let times: Vec<Vec<u64>> =
        (1..=100).map(|seed| (0..4).map(|task| of(seed).unwrap().ns_of(task)).collect()).collect();
    assert_eq!(times[6], (0..4).map(|task| of(7).unwrap().ns_of(task)).collect::<Vec<_>>());
    let mut all: Vec<u64> = times.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 400);
    // In 400 uniform draws each quarter of the range gets 100 ± 9.
    for quarter in 0..4 {
        let of_it = all.iter().filter(|&ns| ns / 3_000_000 == quarter).count();
        assert!((70..=130).contains(&of_it), "{of_it} in quarter {quarter}");
    }
    // Neighbouring seeds and tasks are unrelated: the first of two tasks is ahead as often as the second.
    let ahead = times.iter().filter(|of| of[0] > of[1]).count();
    assert!((35..=65).contains(&ahead), "{ahead}");
}

#[test]
fn more_cpus_than_the_host_make_a_run_worthless() {
    assert_eq!(worthless(&environment(Some(REAL), "")), None);
    assert_eq!(worthless(&environment(None, "")), None);
    let lane = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: true };
    assert!(worthless(&environment(Some(lane), "")).is_some());
}
