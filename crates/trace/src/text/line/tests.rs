//! Lines from each tool, and lines that only look like them.

use super::*;

fn check(line: &str, tid: u32, cpu: u16, ts: u64, event: &str) {
    let Said::Event(found) = Said::parse(line) else { panic!("`{line}` is an event") };
    assert_eq!((found.tid.0, found.cpu.0, found.ts, found.event), (tid, cpu, ts, event), "{line}");
    assert_eq!(found.payload, "a=1 b:2");
}

#[test]
fn lines_of_all_tools_are_read() {
    check("   <...>-1701  [001]    76.211513: sched_switch:          a=1 b:2", 1701, 1, 76_211_513_000, "sched_switch");
    check(
        "     bash-1977 [000] d..2. 17284.993652: sched_waking: a=1 b:2",
        1977,
        0,
        17_284_993_652_000,
        "sched_waking",
    );
    check(
        " my-app-7 (  7) [003] dNh3  1.000000001: irq_handler_entry: a=1 b:2\\n\\",
        7,
        3,
        1_000_000_001,
        "irq_handler_entry",
    );
    check("  <idle>-0 (-----) [010] d.h.   5.5: sched_wakeup: a=1 b:2", 0, 10, 5_500_000_000, "sched_wakeup");
    check("swapper     0 [001] 14359.361110: sched:sched_switch: a=1 b:2", 0, 1, 14_359_361_110_000, "sched_switch");
    check(" kworker/u8:1-[x] 9-31 [002] .... 1.000002: cpu_idle: a=1 b:2", 31, 2, 1_000_002_000, "cpu_idle");
    check("migratio-18        0d..3. 27006us+: sched_waking: a=1 b:2", 18, 0, 27_006_000, "sched_waking");
    check("  <idle>-0        12dNs1    5us : sched_switch: a=1 b:2", 0, 12, 5_000, "sched_switch");
    check("a-1 2d.-3       1dNh1.    5us!: sched_switch: a=1 b:2", 3, 1, 5_000, "sched_switch");
}

#[test]
fn flags_show_interrupts() {
    let context = |line| match Said::parse(line) {
        Said::Event(line) => line.context,
        other => panic!("{other:?}"),
    };
    assert_eq!(context("a-1 [000] 1.0: e: x"), None);
    let context = |line| context(line).expect("flags");
    assert!(context("a-1 [000] d.h2. 1.0: e: x").is_hard());
    assert!(context("a-1 [000] d.s2. 1.0: e: x").is_interrupt());
    assert!(!context("a-1 [000] d..2. 1.0: e: x").is_interrupt());
}

/// The columns of 5.15-rt: irqs-off, need-resched, need-resched-lazy, hardirq/softirq, preempt-depth,
/// preempt-lazy-depth, migrate-disable.
#[test]
fn flags_of_patched_kernels_show_interrupts() {
    let bits = |flags: &str| match Said::parse(&format!("a-1 [000] {flags} 1.0: e: x")) {
        Said::Event(Line { context: Some(context), .. }) => (context.is_hard(), context.is_interrupt()),
        other => panic!("{other:?}"),
    };
    for flags in ["d..h2..", "dNLh2..", "d..h...", "d..H212", "d..z2..", "dN.h3."] {
        assert_eq!(bits(flags), (true, true), "{flags}");
    }
    assert_eq!(bits("d..s3.."), (false, true));
    for flags in ["d...2..", "dNL.2..", ".....11", "d..2.", "dN.3"] {
        assert_eq!(bits(flags), (false, false), "{flags}");
    }
    let Said::Event(latency) = Said::parse("  <idle>-0         0d..h2.. 1000022us : sched_wakeup: x") else { panic!() };
    assert!(latency.context.is_some_and(Context::is_hard));
}

/// As perf script of 6.1 prints it, with and without `-F +pid`.
#[test]
fn a_thread_past_its_exit_is_not_thread_1() {
    for who in ["             :-1    -1", ":-1    -1/-1   "] {
        check(
            &format!("{who} [000]  9140.046321: sched:sched_waking: a=1 b:2"),
            0,
            0,
            9_140_046_321_000,
            "sched_waking",
        );
    }
    check("     :-1-1 [000] 1.000000001: e: a=1 b:2", 1, 0, 1_000_000_001, "e");
    check("  systemd     1 [000] 1.000000001: e: a=1 b:2", 1, 0, 1_000_000_001, "e");
    // trace-cmd report -t --ts-diff, and -l.
    check("  pipe-8891  [000]  4672.636739420: (+25457) e:  a=1 b:2", 8891, 0, 4_672_636_739_420, "e");
    check("    pipe-8891    0d..3.  4672.636714: e:         a=1 b:2", 8891, 0, 4_672_636_714_000, "e");
}

#[test]
fn losses_are_reported_in_five_forms() {
    let lost = |cpu, lost| Said::Lost { cpu: Cpu(cpu), lost };
    assert_eq!(Said::parse("CPU:1 [LOST 123 EVENTS]"), lost(1, 123));
    assert_eq!(Said::parse("CPU:2 [7 EVENTS DROPPED]"), lost(2, 7));
    assert_eq!(Said::parse("CPU:0 [EVENTS DROPPED]"), lost(0, 0));
    assert_eq!(Said::parse("CPU:0 [LOST EVENTS]"), lost(0, 0));
    let named_alike = "CPU:1 [LOST 9-77 [000] 5.000000: sched_switch: CPU:1 [LOST 9:77 [120] S ==> x:3 [120]";
    assert!(
        matches!(Said::parse(named_alike), Said::Event(line) if line.tid == Tid(77) && line.event == "sched_switch")
    );
    let of_perf =
        |cpu: &str, kind: &str| format!("   perf 23001 [{cpu}] 17945.230538246: PERF_RECORD_LOST{kind} lost 40");
    assert_eq!(Said::parse(&of_perf("001", "")), lost(1, 40));
    assert_eq!(Said::parse(&of_perf("-01", "_SAMPLES")), Said::Lost { cpu: Cpu::ANY, lost: 40 });
    assert_eq!(Said::parse(&of_perf("001", "_OTHER")), Said::Nothing);
    assert_eq!(Said::parse("##### CPU 12 buffer started ####"), Said::Started(Cpu(12)));
    let entries = Said::Entries { there: 140, written: 250, online: Some(4) };
    assert_eq!(Said::parse("# entries-in-buffer/entries-written: 140/250   #P:4"), entries);
    let latency = "# latency: 12 us, #140/250, CPU#1 | (M:PREEMPT(none) VP:0, KP:0, SP:0 HP:0 #P:4)";
    assert_eq!(Said::parse(latency), entries);
    assert_eq!(Said::parse("cpus=6"), Said::Cpus(6));
}

#[test]
fn numbers_that_no_machine_has_are_reported() {
    for (line, number) in [
        ("a-1 [65535] 1.0: e: x", "65535"),
        ("a-1 [8192] 1.0: e: x", "8192"),
        ("a-1 [4294967295] d..2. 1.0: e: x", "4294967295"),
        ("a-1 [99999999999999999999] 1.0: e: x", "99999999999999999999"),
        ("a-4294967296 [000] 1.0: e: x", "4294967296"),
    ] {
        assert_eq!(Said::parse(line), Said::Impossible(number), "{line}");
    }
}

#[test]
fn counts_are_no_times() {
    for (line, count) in [
        ("            grep-20211   [000] d..4.          656: sched_wakeup: comm=tail", "656"),
        ("            tail-20268   [000] d..2. 3499010924798: sched_switch: x", "3499010924798"),
        ("       trace-cmd-6973  [002]259445106953100: bprint:               x", "259445106953100"),
        ("   rustc-25314     0d.h1.    1: sched_stat_runtime: comm=rustc", "1"),
        ("a-1 [000] 1.0.1: e: x", "1.0.1"),
    ] {
        assert_eq!(Said::parse(line), Said::Untimed(count), "{line}");
    }
}

#[test]
fn no_comm_hides_the_columns_after_it() {
    for comm in
        ["0 [001] 1.2: b:", "-1 [001] 1.2: b", "a-1 [1] 1.2: b:", "[000] 1.0: e: ", "a-5 (   5) [000", "x-7 [0", "="]
    {
        assert!(comm.len() <= 15);
        check(
            &format!("{comm:>16}-79      [003] d..2.  1.450000: sched_waking: a=1 b:2"),
            79,
            3,
            1_450_000_000,
            "sched_waking",
        );
        check(
            &format!("{comm:>16}-79   (   79) [003] d..2.  1.450000: sched_waking: a=1 b:2"),
            79,
            3,
            1_450_000_000,
            "sched_waking",
        );
    }
}

#[test]
fn damaged_lines_are_reported() {
    for line in [
        "a-1 [0p0] d..2. 1.000000: sched_waking: comm=x pid=5",
        "a=1 [000] d..2. 1.000000: sched_waking: comm=x pid=5",
        "a-1 [000] d..2. 1.0x0000: sched_waking: comm=x pid=5",
        "a-1 [000] d..2. 1.000000: sched_wak\u{fffd}ng: comm=x pid=5",
        "swapper     0 (000] 14359.361110: sched:sched_switch: prev_comm=x",
        "  <idle>=0         0d.h2. 1000022us : sched_wakeup: comm=A",
        // Two halves.
        "a-1 [000] 1.0: sched_wakeup: comm=a pid= [001] 1.1: sched_wakeup: comm=b pid=5 prio=120 target_cpu=000",
        "a-1 [000] 1.0: print: 0xff: [001] d..2. 1.1: sched:sched_waking: comm=b pid=5 prio=120 target_cpu=000",
    ] {
        assert_eq!(Said::parse(line), Said::Damaged, "{line}");
    }
}

#[test]
fn what_is_left_of_an_event_is_distinguished_from_other_words() {
    let called = |length| format!("a-1 [000] 1.0: {}: x", "e".repeat(length));
    assert!(matches!(Said::parse(&called(100)), Said::Event(_)) && Said::parse(&called(101)) == Said::Damaged);
    assert!(is_rest("a-1 [000] 1.0: sche  state=4096 next_comm=b next_pid=46 next_prio=120"));
    assert!(is_rest("a-1 [00 120 success=1 target_cpu=1"));
    let others = ["a-1 [000] d... 1.0: do_fork <-sys_fork", "version = 6", " => schedule", "# prev_state=R"];
    let graph = " 0)               |  /* sched_waking: comm=x pid=5 prio=120 target_cpu=000 */";
    for line in others.into_iter().chain([graph]) {
        assert!(!is_rest(line) && !is_overwritten(line) && !has_zero(line), "{line}");
    }
    assert!(has_zero("a\0b"));
    let row = format!("a-1 [000] 1.0: print: {}", "-".repeat(100));
    let rows = [1, 3].map(|n| row.replace('-', &"-".repeat(n)));
    assert_eq!(rows.map(|row| is_overwritten(&row)), [false, true]);
}

#[test]
fn other_lines_say_nothing() {
    for line in ["", "version = 6", "a-1 [000] x", "[1] 1.0: e: x", "CPU:1 x", "a-1 [1] 1.0:", "é-1 [1] é..2 1.0: e: x"]
    {
        assert_eq!(Said::parse(line), Said::Nothing, "{line}");
    }
}
