//! Random results, printed as each tool prints them, are read back unchanged, whatever the locale, the form, the number
//! of runs and the order of lines.

use crate::lab::{Draw, no_options, source, values};
use schedlab_import::{Imported, Kind, import};

const ROUNDS: u64 = 60;

fn read(kind: Kind, text: &str) -> Imported {
    import(Some(kind), &[source("a", text), source("b", text)], &no_options())
        .unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

fn of_first_arm(run: &Imported, metric: &str) -> Vec<f64> {
    values(run, metric).iter().filter(|v| v.1 == 0).map(|v| v.2).collect()
}

/// A locale's group mark and decimal point.
const LOCALES: [(&str, char); 6] =
    [("", '.'), (",", '.'), (".", ','), ("\u{202f}", ','), ("\u{2019}", '.'), ("\u{a0}", ',')];

/// A whole number as printf's `%'18.0f` has it.
fn whole(n: u64, group: &str) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push_str(group);
        }
        out.push(c);
    }
    out
}

/// Hundredths as `%'18.2f`; perf leaves the fraction off when it is 0.
fn hundredths(n: u64, (group, point): (&str, char)) -> String {
    if n.is_multiple_of(100) {
        whole(n / 100, group)
    } else {
        format!("{}{point}{:02}", whole(n / 100, group), n % 100)
    }
}

/// Event, unit as perf prints it, and the count in hundredths; `None` for `<not counted>`.
type Drawn = Vec<(&'static str, &'static str, Option<u64>)>;

fn draw_counts(draw: &mut Draw) -> Drawn {
    let events = [
        ("task-clock", "msec"),
        ("context-switches", ""),
        ("cycles:u", ""),
        ("power/energy-pkg/", "Joules"),
        ("cpu/event=0x3c/", ""),
    ];
    let mut count = |unit: &str| {
        let hundredths = draw.next() >> (20 + draw.below(44));
        let value = if unit.is_empty() { hundredths / 100 * 100 } else { hundredths };
        (draw.below(8) > 0).then_some(value)
    };
    events.iter().map(|&(event, unit)| (event, unit, count(unit))).collect()
}

/// What a metric should be: hundredths over 100, only where it was counted.
fn expected(runs: &[Drawn], event: &str) -> Vec<f64> {
    let of_run = |run: &Drawn| run.iter().find(|c| c.0 == event).and_then(|c| c.2).map(|n| n as f64 / 100.0);
    runs.iter().filter_map(of_run).collect()
}

fn assert_read(run: &Imported, runs: &[Drawn], text: &str) {
    for (event, ..) in &runs[0] {
        assert_eq!(of_first_arm(run, event), expected(runs, event), "{event} in\n{text}");
    }
}

#[test]
fn perf_stat_for_people() {
    let mut draw = Draw::new(1);
    for _ in 0..ROUNDS {
        let (group, point) = *draw.of(&LOCALES);
        let runs: Vec<Drawn> = (0..1 + draw.below(3)).map(|_| draw_counts(&mut draw)).collect();
        let mut text = String::new();
        for run in &runs {
            text += "noise of the command\n\n Performance counter stats for './a --b=1,2':\n\n";
            for (event, unit, count) in run {
                let value = count.map_or("<not counted>".into(), |n| hundredths(n, (group, point)));
                let tail =
                    *draw.of(&["", "   #    0.250 CPUs utilized  ", "  ( +-  1.25% )", "   # 1,5 K/sec   (75,00%)"]);
                text += &format!("{value:>18} {unit:<6} {event:<24} {tail}\n");
            }
            text += &format!(
                "\n       0{point}052730152 seconds time elapsed\n\n       0{point}050000000 seconds user\n\n"
            );
        }
        let read = read(Kind::PerfStat, &text);
        assert_read(&read, &runs, &text);
        assert_eq!(of_first_arm(&read, "elapsed_s"), vec![0.052730152; runs.len()], "{text}");
        assert_eq!(of_first_arm(&read, "user_s"), vec![0.05; runs.len()], "{text}");
    }
}

#[test]
fn perf_stat_for_programs() {
    let mut draw = Draw::new(2);
    for _ in 0..ROUNDS {
        // A decimal point with any separator, a decimal comma with any separator but a comma.
        let (point, separator) = *draw.of(&[('.', ","), ('.', ";"), ('.', "\t"), (',', ";"), (',', "|"), ('.', "@")]);
        let scope = *draw.of(&[&["", ""][..0], &["CPU3"], &["S0", "8"], &["S0-D1-C2", "2"], &["tool-123"]]);
        let runs: Vec<Drawn> = (0..1 + draw.below(3)).map(|_| draw_counts(&mut draw)).collect();
        let repeated = draw.below(2) == 0;
        let (mut csv, mut json) = (String::new(), String::new());
        for (event, unit, count) in runs.iter().flatten() {
            let value = count.map_or("<not counted>".into(), |n| hundredths(n, ("", point)));
            let mut fields: Vec<String> = scope.iter().map(|s| (*s).to_owned()).collect();
            fields.extend([value.clone(), (*unit).to_owned(), (*event).to_owned()]);
            fields.extend(repeated.then(|| format!("1{point}25%")));
            fields.extend([("1000000".to_owned()), format!("100{point}00"), format!("0{point}4"), "K/sec".into()]);
            csv += &format!("{}\n", fields.join(separator));
            json += &format!("{{\"counter-value\" : \"{value}\", \"unit\" : \"{unit}\", \"event\" : \"{event}\", ");
            json += &format!("\"event-runtime\" : 1000000, \"pcnt-running\" : 100{point}00}}\n");
        }
        // A run without any count has no row of numbers.
        if runs.iter().all(|run| run.iter().any(|c| c.2.is_some())) {
            assert_read(&read(Kind::PerfStat, &csv), &runs, &csv);
            assert_read(&read(Kind::PerfStat, &json), &runs, &json);
        }
    }
}

#[test]
fn perf_stat_intervals_add_up() {
    let mut draw = Draw::new(3);
    for _ in 0..ROUNDS {
        let parts: Vec<u64> = (0..1 + draw.below(6)).map(|_| draw.below(1 << 30)).collect();
        let (mut human, mut csv) = (String::from("#           time             counts unit events\n"), String::new());
        for (n, part) in parts.iter().enumerate() {
            let time = format!("{:>6}.{:09}", n, 100_000_000 + draw.below(100));
            human += &format!("{time} {part:>18}      cs     #  1.0 K/sec\n");
            csv += &format!("{time},{part},,cs,1000,100.00,,\n");
        }
        for text in [human, csv] {
            let run = read(Kind::PerfStat, &text);
            assert_eq!(of_first_arm(&run, "cs"), [parts.iter().sum::<u64>() as f64], "{text}");
            let series = &run.trials[0].outcome.as_ref().unwrap().series;
            assert_eq!(series.iter().map(|p| p.delta as u64).collect::<Vec<_>>(), parts, "{text}");
        }
    }
}

#[test]
fn perf_bench_and_hackbench() {
    let mut draw = Draw::new(4);
    for _ in 0..ROUNDS {
        let times: Vec<u64> = (0..1 + draw.below(5)).map(|_| draw.below(1 << 24)).collect();
        let (mut bench, mut hack) = (String::new(), String::new());
        for ms in &times {
            let seconds = format!("{}.{:03}", ms / 1000, ms % 1000);
            bench += "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver processes per group\n";
            bench += &format!("# 10 groups == 400 processes run\n\n     Total time: {seconds} [sec]\n");
            hack += &format!("$ hackbench\nTime: {seconds}\n");
        }
        let expected: Vec<f64> = times.iter().map(|ms| format!("{}e-3", ms).parse().unwrap()).collect();
        for (kind, text) in [(Kind::PerfBench, bench), (Kind::Hackbench, hack)] {
            assert_eq!(of_first_arm(&read(kind, &text), "time_s"), expected, "{text}");
        }
    }
}

#[test]
fn unixbench_passes() {
    let mut draw = Draw::new(5);
    for _ in 0..ROUNDS {
        let (copies, passes) = (1 + draw.below(4), 1 + draw.below(4));
        let base = *draw.of(&[0, 1, 60]);
        let mut text = format!("Some Test -- {copies} {}\n==> x\n\n", if copies == 1 { "copy" } else { "copies" });
        let mut expected = Vec::new();
        for pass in 1..=passes {
            text += &format!("#### Pass {pass}\n\n\n");
            let counts: Vec<u64> = (0..copies).map(|_| 1 + draw.below(1 << 40)).collect();
            for count in &counts {
                text += &format!(
                    "# COUNT0: {count}\n# COUNT1: {base}\n# COUNT2: lpm\n# elapsed: 8.000\n# pid: 7\n# status: 0\n\n"
                );
            }
            let sum = counts.iter().sum::<u64>() as f64;
            expected.push(if base == 0 { sum } else { sum / 8.0 * base as f64 });
        }
        assert_eq!(of_first_arm(&read(Kind::UnixBench, &text), "score"), expected, "{text}");
    }
}

#[test]
fn google_benchmark_times() {
    let mut draw = Draw::new(6);
    for _ in 0..ROUNDS {
        let (unit, factor) = *draw.of(&[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]);
        let times: Vec<f64> = (0..1 + draw.below(5)).map(|_| draw.below(1 << 50) as f64 / 1024.0).collect();
        let run = |t: &f64| {
            format!(
                r#"{{"name": "B/{unit},8", "run_type": "iteration", "iterations": 3, "real_time": {t:e}, "cpu_time": NaN, "time_unit": "{unit}"}}"#
            )
        };
        let runs: Vec<String> = times.iter().map(|t| run(t).replace("NaN", "0")).collect();
        let text = format!("{{\"context\": {{}}, \"benchmarks\": [{}]}}", runs.join(","));
        let expected: Vec<f64> = times.iter().map(|t| t * factor).collect();
        assert_eq!(of_first_arm(&read(Kind::GoogleBenchmark, &text), "real_time_ns"), expected, "{text}");
    }
}

#[test]
fn hwbinder_raw_data() {
    let mut draw = Draw::new(7);
    for _ in 0..ROUNDS {
        let samples: Vec<u64> = (0..1 + draw.below(40)).map(|_| draw.next() >> (24 + draw.below(40))).collect();
        let list = samples.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let class = r#"{"avg":0.5,"wst":1,"bst":0.25,"miss":0,"meetR":1}"#;
        let all = format!(r#"{{"SYNC":"GOOD","S":1,"I":2,"R":0.5,"other_ms":{class},"fifo_ms":{class}}}"#);
        let text =
            format!(r#"{{"cfg":{{"pair":1,"iterations":1,"deadline_us":2500}},"fifo_0_data":[{list}],"ALL":{all}}}"#);
        let run = read(Kind::Hwbinder, &text);
        let fifo = &run.trials[0].outcome.as_ref().unwrap().histograms[0].histogram;
        assert_eq!((fifo.count(), fifo.sum_ns), (samples.len() as u64, samples.iter().sum()), "{text}");
        assert_eq!((Some(&fifo.min_ns), Some(&fifo.max_ns)), (samples.iter().min(), samples.iter().max()));
    }
}
