//! Memory controllers of three vendors as files, and a fake kernel that counts on them.

use super::*;
use crate::fake_pmu::{Machine, kernel};

const EVENT: (&str, &str) = ("format/event", "config:0-7");

/// Counts that were found: `(name, scope, bytes)`.
fn bytes(rows: &[Counter]) -> Vec<(&str, &str, u64)> {
    rows.iter().map(|r| (r.name.as_str(), r.scope.as_str(), r.count.value().unwrap())).collect()
}

fn rate(metrics: &[Metric], name: &str) -> f64 {
    metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}: {metrics:?}")).value
}

#[test]
fn intel_controllers_are_summed_by_socket() {
    let machine = Machine::new("0-3", "");
    (0..4).for_each(|cpu| machine.topology(cpu, cpu / 2, 0));
    for number in 0..2 {
        let files = [
            EVENT,
            ("format/umask", "config:8-15"),
            ("cpumask", "0,2"),
            ("events/cas_count_read", "event=0x04,umask=0x03"),
            ("events/cas_count_read.scale", "6.103515625e-5"),
            ("events/cas_count_read.unit", "MiB"),
            ("events/cas_count_write", "event=0x04,umask=0x0c"),
            ("events/cas_count_write.scale", "6.103515625e-5"),
            ("events/cas_count_write.unit", "MiB"),
        ];
        machine.pmu(&format!("uncore_imc_{number}"), 12 + number, &files);
    }
    // It counts the same traffic again, so it must not be used.
    machine.pmu("uncore_imc_free_running_0", 20, &[("cpumask", "0,2")]);
    let value = |event: RawEvent, cpu: u32| {
        assert!(event.is_uncore && [12, 13].contains(&event.pmu_type), "{event:?}");
        let lines = if event.config[0] == 0x304 { 1000 } else { 250 };
        Some(if cpu == 0 { lines } else { 3 * lines })
    };
    let mut bandwidth = Bandwidth::open_with(&machine.roots(), &kernel(value, 1.0));
    bandwidth.enable();
    bandwidth.disable();
    let (rows, metrics) = bandwidth.found(2_000_000_000);
    assert_eq!(
        bytes(&rows),
        [
            ("dram_read_bytes", "socket0", 2 * 1000 * 64),
            ("dram_write_bytes", "socket0", 2 * 250 * 64),
            ("dram_read_bytes", "socket1", 2 * 3000 * 64),
            ("dram_write_bytes", "socket1", 2 * 750 * 64),
        ]
    );
    assert_eq!(rows[0].source, "perf uncore_imc");
    assert_eq!(rate(&metrics, "dram_read_bytes_per_s"), 8000.0 * 64.0 / 2.0);
    assert_eq!(rate(&metrics, "dram_write_bytes_per_s.socket1"), 1500.0 * 64.0 / 2.0);
}

#[test]
fn kunpeng_controllers_are_summed_by_die() {
    let machine = Machine::new("0-7", "");
    (0..8).for_each(|cpu| machine.topology(cpu, cpu / 4, 0));
    for (sccl, cpu) in [(1, "0"), (3, "2"), (5, "4")] {
        for ddrc in 0..2 {
            let files = [EVENT, ("cpumask", cpu), ("events/flux_rd", "config=0x1"), ("events/flux_wr", "config=0x0")];
            machine.pmu(&format!("hisi_sccl{sccl}_ddrc{ddrc}"), 10 * sccl + ddrc, &files);
        }
        machine.pmu(&format!("hisi_sccl{sccl}_l3c0"), 90 + sccl, &[("cpumask", cpu)]);
    }
    let value = |event: RawEvent, _| Some(if event.config[0] == 1 { 100 } else { 10 } * u64::from(event.pmu_type / 10));
    let (rows, metrics) = Bandwidth::open_with(&machine.roots(), &kernel(value, 0.5)).found(1_000_000_000);
    assert!(matches!(rows[0].count, Count::Scaled { .. }), "an estimate: half of the time");
    assert_eq!(
        bytes(&rows)[..4],
        [
            ("dram_read_bytes", "socket0.sccl1", 2 * 2 * 100 * 32),
            ("dram_write_bytes", "socket0.sccl1", 2 * 2 * 10 * 32),
            ("dram_read_bytes", "socket0.sccl3", 2 * 2 * 300 * 32),
            ("dram_write_bytes", "socket0.sccl3", 2 * 2 * 30 * 32),
        ]
    );
    assert_eq!(rate(&metrics, "dram_read_bytes_per_s.socket1.sccl5"), 2.0 * 2.0 * 500.0 * 32.0);
}

#[test]
fn amd_controllers_count_bursts_of_a_line() {
    let machine = Machine::new("0-1", "");
    machine.topology(0, 0, 0);
    machine.topology(1, 0, 1);
    let files = [EVENT, ("format/rdwrmask", "config:8-9"), ("cpumask", "1")];
    machine.pmu("amd_umc_0", 14, &files);
    let value = |event: RawEvent, _| match event.config[0] {
        0x10a => Some(7),
        0x20a => Some(5),
        other => panic!("{other:#x}"),
    };
    let (rows, _) = Bandwidth::open_with(&machine.roots(), &kernel(value, 1.0)).found(1);
    let expected = [("dram_read_bytes", "socket0.die1", 7 * 64), ("dram_write_bytes", "socket0.die1", 5 * 64)];
    assert_eq!(bytes(&rows), expected);
}

#[test]
fn a_controller_that_is_missing_leaves_no_wrong_sum() {
    let machine = Machine::new("0", "");
    machine.topology(0, 0, 0);
    let files = [EVENT, ("format/rdwrmask", "config:8-9"), ("cpumask", "0")];
    machine.pmu("amd_umc_0", 14, &files);
    machine.pmu("amd_umc_1", 15, &files);
    let value = |event: RawEvent, _| (event.pmu_type == 14).then_some(1);
    let (rows, metrics) = Bandwidth::open_with(&machine.roots(), &kernel(value, 1.0)).found(1);
    assert!(matches!(&rows[0].count, Count::NotCounted(why) if why.starts_with("amd_umc_1: ")), "{rows:?}");
    assert!(metrics.is_empty());
}

#[test]
fn a_machine_without_controllers_says_so() {
    let machine = Machine::new("0", "");
    let reason = |machine: &Machine| {
        let (rows, metrics) = Bandwidth::open(&machine.roots()).found(1);
        assert!(metrics.is_empty() && rows.len() == 2);
        match &rows[1].count {
            Count::NotCounted(why) => why.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(reason(&machine).contains("uncore_imc, hisi_sccl*_ddrc, amd_umc"));
    machine.pmu("hisi_sccl1_ddrc0_0", 9, &[("cpumask", "0"), ("identifier", "0x00000030")]);
    assert!(reason(&machine).contains("unit is not published"));
}

#[test]
fn names_of_controllers() {
    let are: Vec<bool> =
        ["uncore_imc", "uncore_imc_11", "uncore_imc_free_running_0", "uncore_imc_x"].map(is_imc).into();
    assert_eq!(are, [true, true, false, false]);
    assert_eq!((kind_of("amd_umc_3"), kind_of("uncore_imc")), ("amd_umc", "uncore_imc"));
}
