//! Worked examples that were published with counts and percentages, the tables' own consistency, and machines made of
//! files.

use super::*;
use crate::fake_pmu::{ARM_FORMAT, Machine, X86_FORMAT, kernel};
use schedlab_sys::perf_event::RawEvent;
use std::collections::BTreeMap;

/// Shares in percent by path, from counts by event; groups with a missing event are not counted.
fn percent(table: &Table, slots: f64, counts: &[(&str, f64)]) -> BTreeMap<&'static str, f64> {
    let of = |name: &str| counts.iter().find(|c| c.0 == name).map(|c| c.1);
    let group = |g: &table::Group| {
        let values: Option<Vec<f64>> = g.events.iter().map(|e| of(e.name)).collect();
        values.map(|values| Counts { values, is_estimate: false })
    };
    let counted: Vec<Option<Counts>> = table.groups.iter().map(group).collect();
    evaluate(table, slots, &counted).into_iter().map(|s| (s.path, s.value * 100.0)).collect()
}

/// Agreement to the decimal that was printed.
fn assert_printed(found: &BTreeMap<&'static str, f64>, printed: &[(&str, f64)], decimals: i32) {
    for (path, percent) in printed {
        let value = found.get(path).unwrap_or_else(|| panic!("no {path} in {found:?}"));
        let half = 0.5000001 * 10_f64.powi(-decimals);
        assert!((value - percent).abs() <= half, "{path}: {value}, printed {percent}");
    }
}

#[test]
fn every_formula_knows_its_names_and_every_path_its_parent() {
    for table in TABLES {
        let mut before: Vec<&str> = Vec::new();
        for group in table.groups {
            assert!(group.events.len() <= schedlab_sys::perf_event::MAX_EVENTS, "{} {}", table.id, group.name);
            for node in group.nodes {
                for name in formula::names(node.formula) {
                    let is_event = group.events.iter().any(|e| e.name == name);
                    let is_known = is_event || name == "SLOTS" || before.contains(&name.as_str());
                    assert!(is_known, "{}: {} uses {name}", table.id, node.path);
                }
                assert!(!before.contains(&node.path), "{}: {} twice", table.id, node.path);
                before.push(node.path);
            }
        }
        for path in table.paths() {
            let parent = path.rsplit_once('.').map(|(parent, _)| parent);
            assert!(parent.is_none_or(|p| table.paths().any(|q| q == p)), "{}: {path} has no parent", table.id);
        }
        for top in ["frontend_bound", "bad_speculation", "retiring", "backend_bound"] {
            assert!(table.paths().any(|p| p == top), "{}: {top}", table.id);
        }
    }
}

/// Kan Liang, "perf stat: Add Topdown metrics L2 events as default events", LKML, 9 July 2021, `perf stat sleep 1` on
/// Sapphire Rapids.
#[test]
fn intel_metrics_of_two_levels() {
    let counts = [
        ("slots", 8_431_908.0),
        ("topdown_retiring", 1_554_116.0),
        ("topdown_bad_spec", 1_289_585.0),
        ("topdown_fe_bound", 2_810_636.0),
        ("topdown_be_bound", 2_810_636.0),
        ("topdown_heavy_ops", 231_464.0),
        ("topdown_br_mispredict", 1_223_453.0),
        ("topdown_fetch_lat", 1_884_779.0),
        ("topdown_mem_bound", 1_454_917.0),
    ];
    let printed = [
        ("retiring", 18.4),
        ("bad_speculation", 15.2),
        ("frontend_bound", 33.2),
        ("backend_bound", 33.2),
        ("retiring.heavy_operations", 2.7),
        ("retiring.light_operations", 15.6),
        ("bad_speculation.branch_mispredicts", 14.5),
        ("bad_speculation.machine_clears", 0.8),
        ("frontend_bound.fetch_latency", 22.3),
        ("frontend_bound.fetch_bandwidth", 10.9),
        ("backend_bound.memory_bound", 17.2),
        ("backend_bound.core_bound", 16.0),
    ];
    assert_printed(&percent(&intel::SAPPHIRE_RAPIDS, 6.0, &counts), &printed, 1);
    assert_printed(&percent(&intel::SLOTS_ONLY, 6.0, &counts), &printed, 1);
    assert_printed(&percent(&intel::ICE_LAKE, 5.0, &counts), &printed[..4], 1);
}

/// Arm learning path "Measure cross-platform performance with topdown-tool and Perf PMU counters", `perf stat -M
/// topdownl1` of a chain of divisions on an Intel core of four slots: the raw events behind the kernel's `topdown-*`.
#[test]
fn intel_events_of_one_level() {
    let (cycles, issued, retired, bubbles, recovery) =
        (19_206_823_557.0, 7_030_153_262.0, 7_026_625_438.0, 26_956_040.0, 1_111_503.0);
    let counts = [
        ("topdown_total_slots", 4.0 * cycles),
        ("topdown_slots_issued", issued),
        ("topdown_slots_retired", retired),
        ("topdown_fetch_bubbles", bubbles),
        ("topdown_recovery_bubbles", 4.0 * recovery),
    ];
    let printed = [("retiring", 9.0), ("bad_speculation", 0.0), ("frontend_bound", 0.0), ("backend_bound", 91.0)];
    assert_printed(&percent(&intel::SKYLAKE, 4.0, &counts), &printed, 0);
}

/// Splitting Intel's formula for memory_bound by its common denominator must not change it; below it the vendor's
/// identities hold: what is subtracted from L2 for a full fill buffer is added to DRAM.
#[test]
fn intel_memory_bound_is_the_formula_of_five_events() {
    let (total, mem_any, stores, one, two) = (900.0, 600.0, 50.0, 120.0, 80.0);
    let counts = [
        ("topdown_total_slots", 4000.0),
        ("topdown_slots_issued", 1300.0),
        ("topdown_slots_retired", 1200.0),
        ("topdown_fetch_bubbles", 400.0),
        ("topdown_recovery_bubbles", 100.0),
        ("CYCLE_ACTIVITY.STALLS_TOTAL", total),
        ("CYCLE_ACTIVITY.STALLS_MEM_ANY", mem_any),
        ("CYCLE_ACTIVITY.STALLS_L1D_MISS", 500.0),
        ("CYCLE_ACTIVITY.STALLS_L2_MISS", 300.0),
        ("CYCLE_ACTIVITY.STALLS_L3_MISS", 200.0),
        ("EXE_ACTIVITY.BOUND_ON_STORES", stores),
        ("EXE_ACTIVITY.1_PORTS_UTIL", one),
        ("EXE_ACTIVITY.2_PORTS_UTIL", two),
        ("CYCLES", 1000.0),
        ("MEM_LOAD_RETIRED.L2_HIT", 30.0),
        ("MEM_LOAD_RETIRED.FB_HIT", 20.0),
        ("MEM_LOAD_RETIRED.L1_MISS", 40.0),
        ("L1D_PEND_MISS.FB_FULL", 15.0),
    ];
    let found = percent(&intel::SKYLAKE, 4.0, &counts);
    let (retiring, backend) = (0.3, 1.0 - 0.1 - 0.05 - 0.3);
    let memory = (mem_any + stores) / (total + (one + retiring * two) + stores) * backend;
    let l2_share = 45.0 / (45.0 + 15.0);
    for (path, value) in [
        ("backend_bound", backend),
        ("backend_bound.memory_bound", memory),
        ("backend_bound.core_bound", backend - memory),
        ("backend_bound.memory_bound.l1_bound", 0.1),
        ("backend_bound.memory_bound.l2_bound", 0.2 * l2_share),
        ("backend_bound.memory_bound.l3_bound", 0.1),
        ("backend_bound.memory_bound.dram_bound", 0.2 + 0.2 * (1.0 - l2_share)),
        ("backend_bound.memory_bound.store_bound", 0.05),
    ] {
        assert!((found[path] / 100.0 - value).abs() < 1e-12, "{path}: {} {value}", found[path]);
    }
}

/// loonatick-src.github.io, "Vectorized copy_if analysis": `perf stat -M PipelineL1` on a Zen 4.
#[test]
fn amd_zen4() {
    let counts = [
        ("ls_not_halted_cyc", 30_857_165_236.0),
        ("de_src_op_disp.all", 62_366_721_033.0),
        ("ex_ret_ops", 62_341_441_785.0),
        ("de_no_dispatch_per_slot.no_ops_from_frontend", 120_535_278_946.0),
        ("de_no_dispatch_per_slot.backend_stalls", 2_266_091_111.0),
    ];
    let printed = [("bad_speculation", 0.0), ("retiring", 33.7), ("frontend_bound", 65.1), ("backend_bound", 1.2)];
    assert_printed(&percent(&amd::ZEN4, 6.0, &counts), &printed, 1);
    // With the same counts, an 8-wide core did three quarters of that.
    let zen5 = percent(&amd::ZEN5, 8.0, &counts);
    assert!((zen5["retiring"] - 33.67 * 0.75).abs() < 0.01, "{zen5:?}");
}

/// `perf stat -M PipelineL1,PipelineL2 -I` on a Zen 4, one interval.
#[test]
fn amd_zen4_second_level() {
    let counts = [
        ("ls_not_halted_cyc", 4_895_089_444.0),
        ("de_src_op_disp.all", 20_284_275_971.0),
        ("ex_ret_ops", 18_657_737_631.0),
        ("de_no_dispatch_per_slot.no_ops_from_frontend", 5_460_578_458.0),
        ("de_no_dispatch_per_slot.backend_stalls", 3_602_363_546.0),
        ("ex_no_retire.load_not_complete", 681_847_357.0),
        ("ex_no_retire.not_complete", 1_068_036_530.0),
        ("ex_ret_ucode_ops", 8_854_312.0),
    ];
    let printed = [
        ("bad_speculation", 5.5),
        ("retiring", 63.5),
        ("frontend_bound", 18.6),
        ("backend_bound", 12.3),
        ("backend_bound.memory_bound", 7.8),
        ("backend_bound.core_bound", 4.4),
        ("retiring.microcode", 0.0),
    ];
    assert_printed(&percent(&amd::ZEN4, 6.0, &counts), &printed, 1);
}

/// Jing Zhang, "Add metrics for neoverse-n2" (cover letter, LKML 2022-23): `perf stat -M TopDownL1 false_sharing 2` on
/// a Neoverse N2 of five slots, early revision. perf multiplexed; each figure has the counts of its own turn.
#[test]
fn arm_neoverse_n2_with_its_extra_stall_slot() {
    let turn = |cycles: f64, event: &'static str, count: f64| {
        let others = ["stall_slot", "stall_slot_frontend", "stall_slot_backend", "op_retired", "op_spec"];
        let mut counts: Vec<(&str, f64)> = others.iter().map(|e| (*e, 0.0)).collect();
        counts.retain(|c| c.0 != event);
        counts.extend([("cpu_cycles", cycles), (event, count)]);
        percent(&arm::NEOVERSE_N2_R0P2, 5.0, &counts)
    };
    let frontend = turn(4_330_308_058.0, "stall_slot_frontend", 10_207_186_460.0);
    assert_printed(&frontend, &[("frontend_bound", 27.1)], 1);
    let backend = turn(4_316_583_673.0, "stall_slot_backend", 14_979_136_808.0);
    assert_printed(&backend, &[("backend_bound", 69.4)], 1);
    let counts = [
        ("cpu_cycles", 4_310_905_590.0),
        ("stall_slot", 25_009_763_735.0),
        ("stall_slot_frontend", 0.0),
        ("stall_slot_backend", 0.0),
        ("op_spec", 855_659_327.0),
        ("op_retired", 854_335_288.0),
    ];
    let printed = [("retiring", 4.0), ("bad_speculation", 0.0)];
    assert_printed(&percent(&arm::NEOVERSE_N2_R0P2, 5.0, &counts), &printed, 1);
}

/// John Garry, "perf arm64 metricgroup support", LKML, 25 March 2021: `perf stat -v -M core_bound sleep 1` on a D06
/// board.
#[test]
fn kunpeng_core_bound() {
    let counts = [
        ("cpu_cycles", 989_433.0),
        ("r7005", 19_207.0),
        ("exe_stall_cycle", 900_825.0),
        ("mem_stall_anyload", 253_516.0),
        ("mem_stall_l1miss", 200_000.0),
        ("mem_stall_l2miss", 150_000.0),
        ("r7002", 0.0),
        ("r7003", 0.0),
    ];
    // perf computes only this group; so does the table, without its first group, if the back-end's share is known.
    let mut all = counts.to_vec();
    all.extend([("fetch_bubble", 0.0), ("inst_spec", 0.0), ("inst_retired", 0.0), ("r201d", 0.0)]);
    all.extend([("br_mis_pred", 1.0), ("r2013", 1.0)]);
    let found = percent(&hisi::HIP08, 4.0, &all);
    assert_printed(&found, &[("backend_bound.core_bound", 63.0), ("backend_bound.memory_bound", 28.0)], 0);
    let parts = ["l1_bound", "l2_bound", "mem_bound", "store_bound"];
    let sum: f64 = parts.iter().map(|p| found[format!("backend_bound.memory_bound.{p}").as_str()]).sum();
    assert!((sum - found["backend_bound.memory_bound"]).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_group_that_was_not_counted_takes_only_its_own_nodes_along() {
    let counts = |values: &[f64], is_estimate| Some(Counts { values: values.to_vec(), is_estimate });
    // Zen 4: slots, fetch (missing), restarts (0/0), microcode, backend (an estimate).
    let counted = [
        counts(&[100.0, 60.0, 300.0, 260.0, 240.0], false),
        None,
        counts(&[0.0, 0.0], false),
        counts(&[240.0, 24.0], false),
        counts(&[30.0, 60.0], true),
    ];
    let shares = evaluate(&amd::ZEN4, 6.0, &counted);
    let found: Vec<(&str, bool)> = shares.iter().map(|s| (s.path, s.is_estimate)).collect();
    assert_eq!(
        found,
        [
            ("frontend_bound", false),
            ("bad_speculation", false),
            ("retiring", false),
            ("retiring.fastpath", false),
            ("retiring.microcode", false),
            ("backend_bound", false),
            ("backend_bound.memory_bound", true),
            ("backend_bound.core_bound", true),
        ]
    );
}

const ZEN4_CPU: &str = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n\n\
                        processor : 1\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n";

/// What a fake Zen 4 counts on each CPU, by the bits of the event.
fn zen4_counts(event: RawEvent, cpu: u32) -> Option<u64> {
    let value = match event.config[0] {
        0x76 => 1000,          // cycles
        0x1_0000_01a0 => 900,  // no_ops_from_frontend
        0x1_0000_1ea0 => 3000, // backend_stalls
        0x7aa => 2000,         // ops dispatched
        0xc1 => 1800,          // ops retired
        0x1_0000_60a0 => 100,  // smt contention
        0x1_0600_01a0 => 50,   // cycles without any op from the front-end
        0xc3 => 9,             // mispredicts
        0x96 => 1,             // resyncs
        0x1_0000_00c2 => 180,  // microcode ops
        0xa2d6 => 400,         // load not complete
        0x2d6 => 500,          // not complete
        other => panic!("an event that Zen 4 was not asked for: {other:#x} on CPU {cpu}"),
    };
    // CPU 1 was idle for half the time.
    Some(if cpu == 0 { value } else { value / 2 })
}

#[test]
fn a_machine_of_files_is_counted_on_every_cpu() {
    let machine = Machine::new("0-1", ZEN4_CPU);
    machine.pmu("cpu", 4, &X86_FORMAT);
    machine.pmu("software", 1, &[]);
    let mut topdown = TopDown::open_with(&machine.roots(), &kernel(zen4_counts, 1.0));
    assert!(topdown.is_counted() && !TopDown::open_with(&machine.roots(), &kernel(|_, _| None, 1.0)).is_counted());
    topdown.enable();
    topdown.disable();
    let found = topdown.found();
    let share = |path: &str| found.metrics.iter().find(|m| m.name == format!("topdown.{path}")).map(|m| m.value);
    assert_eq!(share("frontend_bound"), Some(1350.0 / 9000.0));
    assert_eq!(share("backend_bound.memory_bound"), Some(0.5 * 0.8));
    // 1 resync and 13 mispredicts; on CPU 1, half of 1 resync is 0.
    assert_eq!(
        share("bad_speculation.pipeline_restarts").map(|v| (v * 1e9).round()),
        Some((1e9_f64 / 30.0 / 14.0).round())
    );
    let cycles = found.counters.iter().find(|c| c.name == "topdown.slots.ls_not_halted_cyc").unwrap();
    assert_eq!((cycles.count.clone(), cycles.scope.as_str()), (Count::Exact(1500), "host"));
    assert!(found.notes[0].contains("amd-zen4") && found.notes[1].contains("cache level"), "{:?}", found.notes);
    assert!(!found.notes.iter().any(|n| n.contains("estimates")));
}

#[test]
fn a_shared_pmu_makes_every_share_an_estimate() {
    let machine = Machine::new("0-1", ZEN4_CPU);
    machine.pmu("cpu", 4, &X86_FORMAT);
    let found = TopDown::open_with(&machine.roots(), &kernel(zen4_counts, 0.25)).found();
    assert!(found.counters.iter().all(|c| matches!(c.count, Count::Scaled { .. })), "{:?}", found.counters);
    assert!(found.notes.iter().any(|n| n.contains("for 25 % of the time")), "{:?}", found.notes);
    let never = TopDown::open_with(&machine.roots(), &kernel(zen4_counts, 0.0)).found();
    assert!(never.metrics.is_empty() && never.notes.is_empty());
    assert!(matches!(&never.counters[0].count, Count::NotCounted(why) if why.contains("NMI watchdog")));
}

#[test]
fn aliases_of_the_kernel_come_with_their_scale() {
    let cpu = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n";
    let machine = Machine::new("0", cpu);
    machine.pmu("cpu", 4, &X86_FORMAT);
    for (name, terms, scale) in [
        ("topdown-total-slots", "event=0x3c,umask=0x0", Some("4")),
        ("topdown-slots-issued", "event=0xe,umask=0x1", None),
        ("topdown-slots-retired", "event=0xc2,umask=0x2", None),
        ("topdown-fetch-bubbles", "event=0x9c,umask=0x1", None),
        ("topdown-recovery-bubbles", "event=0xd,umask=0x3,cmask=1", Some("4")),
    ] {
        machine.pmu("cpu", 4, &[(&format!("events/{name}"), terms)]);
        if let Some(scale) = scale {
            machine.pmu("cpu", 4, &[(&format!("events/{name}.scale"), scale)]);
        }
    }
    let value = |event: RawEvent, _| match event.config[0] {
        0x3c => Some(1000),
        0x10e => Some(1300),
        0x2c2 => Some(1200),
        0x19c => Some(400),
        0x100_030d => Some(25),
        _ => None, // A VM that shows a part of the PMU.
    };
    let found = TopDown::open_with(&machine.roots(), &kernel(value, 1.0)).found();
    let shares: Vec<(&str, f64)> = found.metrics.iter().map(|m| (m.name.as_str(), m.value)).collect();
    assert_eq!(
        shares,
        [
            ("topdown.frontend_bound", 0.1),
            ("topdown.bad_speculation", 0.05),
            ("topdown.retiring", 0.3),
            ("topdown.backend_bound", 1.0 - 0.1 - 0.05 - 0.3),
        ]
    );
    let stalls = found.counters.iter().find(|c| c.name.ends_with("STALLS_TOTAL")).unwrap();
    assert!(matches!(&stalls.count, Count::NotCounted(why) if why == NO_PMU), "{stalls:?}");
}

#[test]
fn an_arm_core_tells_its_slots() {
    let cpu = "processor : 0\nCPU implementer : 0x41\nCPU variant : 0x0\nCPU part : 0xd4f\nCPU revision : 1\n";
    let machine = Machine::new("0-3", cpu);
    machine.pmu("armv8_pmuv3_0", 8, &ARM_FORMAT);
    let none = TopDown::open(&machine.roots()).found();
    assert!(matches!(&none.counters[0].count, Count::NotCounted(why) if why.contains("caps/slots")), "{none:?}");
    machine.pmu("armv8_pmuv3_0", 8, &[("caps/slots", "0x00000008"), ("cpus", "2-3")]);
    let value = |event: RawEvent, cpu: u32| {
        assert!(cpu >= 2, "the PMU is of CPUs 2 and 3");
        Some(match event.config[0] {
            0x11 => 1000,
            0x3f => 6000,
            0x3e => 2000,
            0x3d => 4000,
            0x3a => 1900,
            0x3b => 2000,
            0x24 => 500,
            0x4005 => 400,
            other => panic!("{other:#x}"),
        })
    };
    let found = TopDown::open_with(&machine.roots(), &kernel(value, 1.0)).found();
    let share = |path: &str| found.metrics.iter().find(|m| m.name == format!("topdown.{path}")).unwrap().value;
    assert_eq!((share("frontend_bound"), share("backend_bound")), (0.25, 0.5));
    assert!((share("retiring") + share("bad_speculation") - 0.25).abs() < 1e-12);
    assert!((share("backend_bound.memory_bound") - 0.4).abs() < 1e-12);
}

#[test]
fn what_cannot_be_counted_says_why() {
    let reason = |machine: &Machine| match &TopDown::open(&machine.roots()).found().counters[..] {
        [Counter { name, count: Count::NotCounted(why), .. }] if name == "topdown" => why.clone(),
        other => panic!("{other:?}"),
    };
    let machine = Machine::new("0-1", ZEN4_CPU);
    assert_eq!(reason(&machine), NO_PMU);
    machine.pmu("cpu_core", 4, &[]);
    machine.pmu("cpu_atom", 10, &[]);
    assert!(reason(&machine).contains("cpu_atom, cpu_core"));
    let zen3 = Machine::new("0", &ZEN4_CPU.replace("model : 17", "model : 1"));
    zen3.pmu("cpu", 4, &X86_FORMAT);
    let why = reason(&zen3);
    assert!(why.contains("AuthenticAMD family 25 model 0x1") && why.contains("amd-zen4"), "{why}");
    assert_eq!(table_of(&zen3.roots()).map(|t| t.id), Err(why));
}
