use super::super::{Export, SYSCTL, TUNED, UNIT, exports};
use crate::Roots;
use schedlab_plan::Setting;
use std::collections::BTreeMap;

const DEADLINE: [&str; 2] =
    ["/proc/sys/kernel/sched_deadline_period_min_us", "/proc/sys/kernel/sched_deadline_period_max_us"];
const THROTTLE: [&str; 2] = ["/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us"];
const SERVER: [&str; 2] =
    ["/sys/kernel/debug/sched/fair_server/cpu*/runtime", "/sys/kernel/debug/sched/fair_server/cpu*/period"];

/// A bounded file, its bound, and what the kernel accepts of the two values.
struct Kernel {
    pair: [&'static str; 2],
    accepts: fn(i64, i64) -> bool,
}

/// The root group has 95 %.
const RT_GROUPS: Kernel = Kernel {
    pair: THROTTLE,
    accepts: |runtime, period| runtime == -1 || runtime <= period && runtime * 100 >= period * 95,
};
const PERIODS: Kernel = Kernel { pair: DEADLINE, accepts: |least, most| least <= most };
/// Deadline tasks have a half.
const FAIR_SERVER: Kernel = Kernel { pair: SERVER, accepts: |runtime, period| runtime * 2 <= period };

impl Kernel {
    fn write(&self, files: &mut BTreeMap<String, i64>, file: &str, value: &str) {
        files.insert(file.to_owned(), value.parse().unwrap());
        let copy = file.split('/').find(|part| part.starts_with("cpu")).unwrap_or("*").to_owned();
        let [low, high] = self.pair.map(|path| files[&path.replace("cpu*", &copy)]);
        assert!((self.accepts)(low, high), "EINVAL: {file} = {value}");
    }

    fn write_all(&self, files: &mut BTreeMap<String, i64>, copies: usize, writes: &[(String, String)]) {
        for (file, value) in writes {
            match file.contains("cpu*") {
                true => (0..copies).for_each(|copy| self.write(files, &path(file, copy), value)),
                false => self.write(files, file, value),
            }
        }
    }
}

fn path(path: &str, copy: usize) -> String {
    path.replace("cpu*", &format!("cpu{copy}"))
}

fn made(files: &[(String, i64)], settings: &str) -> Vec<Export> {
    let tree = tempfile::tempdir().unwrap();
    for (file, value) in files {
        let path = tree.path().join(file.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{value}\n")).unwrap();
    }
    let settings: Vec<Setting> = settings.split(';').map(|text| text.parse().unwrap()).collect();
    exports(&Roots::below(tree.path()), &settings, &[]).files
}

/// The writes of the file and of its undo, as pairs of a file and a value.
fn writes(export: &Export) -> [Vec<(String, String)>; 2] {
    let sysctl = |name: &str| format!("/proc/sys/{}", name.trim().replace('.', "/"));
    let set = |text: &str| text.split_once('=').map(|(name, value)| (sysctl(name), value.trim().to_owned()));
    let of_unit = |key: &str| {
        let commands = export.text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix("/bin/sh -c \""));
        commands.flat_map(of_shell).collect()
    };
    match export.file {
        SYSCTL => {
            let lines = export.text.lines().filter(|line| !line.starts_with('#'));
            let undo = export.undo.split_once("sysctl -w ").unwrap().1;
            [lines.filter_map(set).collect(), undo.split(' ').filter_map(set).collect()]
        }
        _ => ["ExecStart=", "ExecStopPost=-"].map(of_unit),
    }
}

fn of_shell(command: &str) -> Vec<(String, String)> {
    let value = command.split_once("echo ").unwrap().1.split(' ').next().unwrap();
    let files = match command.strip_prefix("for file in ") {
        Some(rest) => rest.split_once(';').unwrap().0,
        None => command.rsplit_once("> ").unwrap().1.trim_end_matches('"'),
    };
    files.split(' ').map(|file| (file.to_owned(), value.to_owned())).collect()
}

/// Runs a file and its undo on the kernel, and gives the number of lines of the file. systemd runs the undo of a unit
/// also after a line that failed.
fn run(kernel: &Kernel, copies: &[(i64, i64)], settings: &str, file: &str) -> usize {
    let pairs = copies.iter().enumerate();
    let [low, high] = kernel.pair;
    let before: Vec<(String, i64)> =
        pairs.flat_map(|(at, values)| [(path(low, at), values.0), (path(high, at), values.1)]).collect();
    let made = made(&before, settings);
    let files: Vec<&str> = made.iter().map(|export| export.file).filter(|name| *name != TUNED).collect();
    assert_eq!(files, [file], "{settings}");
    let [forward, back] = writes(&made[0]);
    let before: BTreeMap<String, i64> = before.into_iter().collect();
    for done in 0..=forward.len() {
        if done == forward.len() || file == UNIT {
            let mut now = before.clone();
            kernel.write_all(&mut now, copies.len(), &forward[..done]);
            kernel.write_all(&mut now, copies.len(), &back);
            assert_eq!(now, before, "{settings}: {done} lines of {:?}", made[0].text);
        }
    }
    forward.len()
}

fn both_ways(low: &str, high: &str) -> [String; 2] {
    [format!("{low};{high}"), format!("{high};{low}")]
}

#[test]
fn a_pair_is_written_and_undone_in_an_order_that_the_kernel_accepts() {
    for (least, most) in [(5_000_000, 10_000_000), (1, 50), (200, 300), (100, 150)] {
        let settings = DEADLINE.map(|path| format!("sysctl:{}", path[10..].replace('/', ".")));
        let [low, high] = [format!("{}={least}", settings[0]), format!("{}={most}", settings[1])];
        for settings in both_ways(&low, &high) {
            assert_eq!(run(&PERIODS, &[(100, 4_194_304)], &settings, SYSCTL), 2);
        }
    }
}

/// systemd-sysctl would drop the first of two lines of a name.
#[test]
fn a_pair_without_an_order_is_lifted_by_the_unit() {
    for (runtime, period, lines) in [(1_950_000, 2_000_000, 3), (490_000, 500_000, 3)] {
        let [low, high] = [
            format!("sysctl:kernel.sched_rt_runtime_us={runtime}"),
            format!("sysctl:kernel.sched_rt_period_us={period}"),
        ];
        for settings in both_ways(&low, &high) {
            assert_eq!(run(&RT_GROUPS, &[(950_000, 1_000_000)], &settings, UNIT), lines);
        }
    }
    let [low, high] = ["sysctl:kernel.sched_rt_runtime_us=-1", "sysctl:kernel.sched_rt_period_us=500000"];
    for settings in both_ways(low, high) {
        assert_eq!(run(&RT_GROUPS, &[(950_000, 1_000_000)], &settings, SYSCTL), 2);
    }
}

#[test]
fn copies_that_differ_are_undone_each() {
    let server = |runtime: i64, period: i64| {
        let place = |file: &str, value: i64| format!("debugfs:sched/fair_server/cpu*/{file}={value}");
        both_ways(&place("runtime", runtime), &place("period", period))
    };
    for settings in server(20_000_000, 60_000_000) {
        assert_eq!(run(&FAIR_SERVER, &[(50_000_000, 1_000_000_000); 2], &settings, UNIT), 2);
    }
    // One copy asks for one order, the other for the other.
    for settings in server(3_000_000, 6_000_000) {
        assert_eq!(run(&FAIR_SERVER, &[(10_000_000, 20_000_000), (1_000_000, 2_000_000)], &settings, UNIT), 3);
    }
}

/// It restores in the order in which it writes.
#[test]
fn tuned_gets_a_pair_only_if_it_can_restore_it() {
    let files = |least: &str| {
        let before = [(DEADLINE[0].to_owned(), 100), (DEADLINE[1].to_owned(), 4_194_304)];
        let settings = format!(
            "sysctl:kernel.sched_deadline_period_min_us={least};sysctl:kernel.sched_deadline_period_max_us=10000000"
        );
        made(&before, &settings).iter().map(|export| export.file).collect::<Vec<_>>()
    };
    assert_eq!(files("200"), [SYSCTL, TUNED]);
    assert_eq!(files("5000000"), [SYSCTL]);
}

/// The kernel refuses other preferences under the performance governor.
#[test]
fn the_governor_is_first_there_and_back() {
    let place = |file: &str| format!("devices/system/cpu/cpufreq/policy*/{file}");
    let [governor, preference] = ["scaling_governor", "energy_performance_preference"].map(place);
    let before = [&governor, &preference].map(|path| (format!("/sys/{}", path.replace('*', "0")), 7));
    let [one, other] = [format!("sysfs:{governor}=1"), format!("sysfs:{preference}=2")];
    for settings in both_ways(&one, &other) {
        for writes in writes(&made(&before, &settings)[0]) {
            assert!(writes.len() == 2 && writes[0].0.ends_with("scaling_governor"), "{writes:?}");
        }
    }
}

/// Its own 0 is refused, and comes back with the partner.
#[test]
fn a_displaced_value_comes_back_with_its_partner() {
    let before = [("/proc/sys/vm/dirty_bytes".to_owned(), 0), ("/proc/sys/vm/dirty_ratio".to_owned(), 20)];
    let made = made(&before, "sysctl:vm.dirty_bytes=1073741824");
    assert!(made[0].undo.ends_with("sysctl -w vm.dirty_ratio=20"), "{}", made[0].undo);
    assert_eq!(made.len(), 1, "tuned would write 0: {made:?}");
}
