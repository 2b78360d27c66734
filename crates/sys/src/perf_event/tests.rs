use super::*;

/// The group; where this machine cannot test it, prints why.
fn software(target: Target) -> Option<Group> {
    match Group::open(&Event::SOFTWARE, target) {
        Ok(group) => Some(group),
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(io::stderr(), "schedlab-skip: perf_event: needs CAP_PERFMON ({error})");
            None
        }
    }
}

#[test]
fn a_disabled_group_counts_nothing_and_an_enabled_one_counts() {
    let Some(group) = software(Target::ThisProcessAndChildren) else { return };
    let mut readings = Vec::new();
    group.read(&mut readings).unwrap();
    assert!(readings.iter().all(|r| r.value == 0 && r.enabled_ns == 0), "{readings:?}");
    group.enable().unwrap();
    // Causes a context switch or two, and uses CPU time.
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    group.disable().unwrap();
    readings.clear();
    group.read(&mut readings).unwrap();
    assert!(readings[0].value > 0, "task-clock: {readings:?}");
    assert!(readings[2].value >= 3, "context-switches: {readings:?}");
    assert!(readings.iter().all(|r| r.running_ns == r.enabled_ns), "software events are never multiplexed");
}

#[test]
fn a_cpu_is_read_at_once() {
    let Some(group) = software(Target::Cpu(0)) else { return };
    group.enable().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let mut readings = Vec::new();
    group.read(&mut readings).unwrap();
    assert_eq!(readings.len(), 4);
    assert!(readings[0].enabled_ns >= 1_000_000, "{readings:?}");
}

#[test]
fn a_raw_event_of_a_software_pmu_counts() {
    // The software PMU's own encoding of page faults, in the form in which a PMU from sysfs is opened.
    let config = u64::from(bindings::PERF_COUNT_SW_PAGE_FAULTS);
    let raw = RawEvent { pmu_type: bindings::PERF_TYPE_SOFTWARE, config: [config, 0, 0], is_uncore: false };
    let group = match Group::open(&[Event::Raw(raw)], Target::ThisProcessAndChildren) {
        Ok(group) => group,
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(io::stderr(), "schedlab-skip: perf_event: needs CAP_PERFMON ({error})");
            return;
        }
    };
    group.enable().unwrap();
    let touched: Vec<u8> = vec![1; 1 << 22];
    group.disable().unwrap();
    let mut readings = Vec::new();
    group.read(&mut readings).unwrap();
    assert!(touched.len() == 1 << 22 && readings[0].value >= 1, "{readings:?}");
}

#[test]
fn a_group_is_no_larger_than_what_is_read_at_once() {
    let error = Group::open(&[Event::PageFaults; MAX_EVENTS + 1], Target::Cpu(0)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_cpu_that_does_not_exist_is_refused() {
    assert!(Group::open(&Event::SOFTWARE, Target::Cpu(65_000)).is_err());
}
