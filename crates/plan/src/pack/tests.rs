use super::*;
use crate::kernel::KernelPackage;
use crate::outcome::Direction;

const PLAN: &str = "trials = 12\n[[workload]]\nrun = \"pipe:pin=same,duration=20ms\"\n[[arm]]\nname = \"a\"\n\
                    [[arm]]\nname = \"b\"\nset = \"nice=5\"\n";
const GUESTS: &str = "trials = 12\n[guest]\nkernel = \"build:a\"\ncpus = 2\n[[workload]]\nrun = \"pipe:pin=same,duration=20ms\"\n\
                      [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"kernel:build:b\"\n";

fn pack(plan: &str) -> Pack {
    Pack {
        pack_version: PACK_VERSION,
        schedlab_version: "0.1.0".into(),
        title: "drawn".into(),
        plan_toml: plan.into(),
        workloads: vec!["pipe:pin=same,duration=20ms".parse().unwrap()],
        workload_ids: vec!["pipe/1".into()],
        machine: PackedMachine {
            machine: "x86_64".into(),
            cpu_model: "made up".into(),
            cpus: 2,
            kernel_release: "6.1.0".into(),
            kernel_version: "#1 SMP".into(),
            program_crc32: String::new(),
            conditions: BTreeMap::from([("hz".into(), "250".into())]),
            knobs: BTreeMap::new(),
        },
        kernels: Vec::new(),
        effects: vec![ExpectedEffect {
            workload: 0,
            arm: 1,
            metric: "round_trips_per_s".into(),
            unit: "1/s".into(),
            direction: Direction::HigherIsBetter,
            scale: ExpectedScale::Ratio,
            value: 0.9,
            lo: 0.88,
            hi: 0.92,
            level: 0.95,
            units: 12,
            unit_name: "blocks".into(),
            control_mean: 1e5,
            said: Said::Differs,
        }],
    }
}

fn built(name: &str, patch: &str) -> BootedKernel {
    let source = KernelSource::Build {
        version: "6.1.192".into(),
        config: "CONFIG_HZ=250\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\n".into(),
        patches: vec![patch.into()],
    };
    BootedKernel { arms: vec![0], name: name.into(), release: "6.1.192".into(), crc32: "0badcafe".into(), source }
}

fn of_guests(kernels: Vec<BootedKernel>) -> Pack {
    Pack { kernels, ..pack(GUESTS) }
}

fn refusal(pack: &Pack) -> String {
    pack.to_bytes().unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_back() {
    let of_host = pack(PLAN);
    assert_eq!(Pack::parse(&of_host.to_bytes().unwrap()).unwrap(), of_host);
    let mailed = String::from_utf8(of_host.to_bytes().unwrap()).unwrap().replace('\n', "\r\n") + "\r\n";
    assert_eq!(Pack::parse(mailed.as_bytes()).unwrap(), of_host);
    let packages = vec![KernelPackage { name: "linux-image".into(), version: "6.1.1-1".into(), sha256: "ab".into() }];
    let debian = BootedKernel { source: KernelSource::Debian { packages }, ..built("debian:6.1", "") };
    let kernels = vec![debian, built("build:b", "--- a/x\n+++ b/x\n")];
    let guests = Pack { kernels, ..pack(&GUESTS.replace("build:a", "debian:6.1")) };
    assert_eq!(Pack::parse(&guests.to_bytes().unwrap()).unwrap(), guests);
}

#[test]
fn no_byte_of_it_can_change_unseen() {
    let bytes = pack(PLAN).to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(Pack::parse(&changed).is_err(), "byte {at}");
    }
    assert!(Pack::parse(&[&bytes[..bytes.len() - 20], b"}"].concat()).is_err());
    let unchecked = json::pretty(&pack(PLAN)).unwrap();
    assert_eq!(Pack::parse(unchecked.as_bytes()), Err(PackError::Changed));
    let mut member_more = pack(PLAN);
    member_more.title = "x".into();
    let object = json::pretty(&member_more).unwrap().replacen("{", "{\n  \"more\": 1,", 1);
    let why = Pack::parse(&self_checked::with_crc(&object)).unwrap_err().to_string();
    assert!(why.contains("unknown field `more`"), "{why}");
}

#[test]
fn a_newer_format_and_too_many_bytes_are_said_before_anything_is_read() {
    let newer = format!("{{\"pack_version\": {}, \"shape\": 1}}", PACK_VERSION + 1);
    assert!(Pack::parse(newer.as_bytes()).unwrap_err().to_string().contains("use a newer schedlab"));
    assert_eq!(Pack::parse(&vec![b' '; MAX_PACK_BYTES + 1]), Err(PackError::TooLong));
    assert!(matches!(Pack::parse(b"[[arm]]"), Err(PackError::NoPack(_))));
    let many = of_guests(vec![built("build:a", &"+x\n".repeat(400_000))]);
    assert!(refusal(&many).contains("fewer kernels"), "{}", refusal(&many));
    let titled = Pack { title: "x".repeat(LONGEST_TITLE + 1), ..pack(PLAN) };
    assert!(refusal(&titled).contains("shorten `title`"), "{}", refusal(&titled));
}

#[test]
fn what_leads_to_one_machine_is_refused_both_ways() {
    let exec = |command: &str| pack(&PLAN.replace("pipe:pin=same,duration=20ms", &format!("exec:command='{command}'")));
    for (of, needle) in [
        (exec("/home/me/bench"), "/home/me/bench"),
        (exec("../../x"), "../../x"),
        (pack(&GUESTS.replace("build:b", "/boot/vmlinuz")), "is a file of one machine"),
        (pack(&GUESTS.replace("cpus = 2", "add = [\"/etc/passwd:/x\"]")), "/etc/passwd"),
        (of_guests(vec![built("build:../../x", "")]), "names no kernel"),
        (of_guests(vec![built("build:a", "--- /etc/passwd\n+++ /etc/passwd\n")]), "/etc/passwd"),
        (of_guests(vec![built("build:a", "--- a/x\n+++ b/../../x\n")]), "b/../../x"),
        (of_guests(vec![BootedKernel { source: KernelSource::File, ..built("build:a", "") }]), "how to get it"),
        (of_guests(Vec::new()), "do not fit its plan"),
        (of_guests(vec![built("build:c", "")]), "its plan does not boot build:c"),
    ] {
        assert!(refusal(&of).contains(needle), "{needle}: {}", refusal(&of));
        // A hostile pack, as another program would write it.
        let written = self_checked::with_crc(&json::pretty(&of).unwrap());
        assert_eq!(Pack::parse(&written).unwrap_err().to_string(), refusal(&of));
    }
}

#[test]
fn numbers_and_indices_that_nothing_stands_behind_are_refused() {
    let spoils: [fn(&mut Pack); 9] = [
        |p| p.effects[0].workload = 1,
        |p| p.effects[0].arm = 0,
        |p| p.effects[0].arm = 2,
        |p| p.effects[0].lo = 0.0,
        |p| p.effects[0].lo = 0.95,
        |p| p.effects[0].level = 1.0,
        |p| p.effects[0].units = 1,
        |p| p.effects.clear(),
        |p| p.workload_ids.clear(),
    ];
    for (number, spoil) in spoils.iter().enumerate() {
        let mut spoilt = pack(PLAN);
        spoil(&mut spoilt);
        assert!(spoilt.to_bytes().is_err(), "spoilt {number}");
    }
}

#[test]
fn a_pack_that_contradicts_itself_is_refused() {
    let versioned = || {
        let mut of_plan = pack(&PLAN.replace("pipe:", "pipe/1:"));
        of_plan.workloads = vec!["pipe/1:pin=same,duration=20ms".parse().unwrap()];
        of_plan
    };
    versioned().to_bytes().unwrap();
    let equivalent = |p: &mut Pack, scale, lo, value, hi| {
        let effect = &mut p.effects[0];
        (effect.said, effect.scale, effect.control_mean) = (Said::Equivalent, scale, 1000.0);
        (effect.lo, effect.value, effect.hi) = (lo, value, hi);
    };
    let refused = |spoil: &dyn Fn(&mut Pack), needle: &str| {
        let mut spoilt = versioned();
        spoil(&mut spoilt);
        assert!(refusal(&spoilt).contains(needle), "{needle}: {}", refusal(&spoilt));
    };
    refused(&|p| p.workload_ids[0] = "pipe/9".into(), "is not a workload pipe/9");
    refused(&|p| p.workloads[0] = "burn/1:load=50%".parse().unwrap(), "its plan runs pipe/1");
    refused(&|p| p.workloads[0] = "pipe/1:duration=20ms".parse().unwrap(), "its list of workloads has pipe/1");
    refused(
        &|p| {
            p.plan_toml =
                p.plan_toml.replace("\n[[arm]]\nname = \"a\"", "\n[[workload]]\nrun = \"burn\"\n[[arm]]\nname = \"a\"")
        },
        "more workloads than its list",
    );
    refused(&|p| p.effects.push(ExpectedEffect { value: 0.91, ..p.effects[0].clone() }), "of arm 1 it is 0.9");
    refused(&|p| p.effects[0].hi = 1.01, "calls round_trips_per_s Differs");
    refused(&|p| p.effects[0].said = Said::Equivalent, "Equivalent, which contradicts the interval [0.88, 0.92]");
    refused(&|p| equivalent(p, ExpectedScale::Difference, -48.0, -20.0, -6.0), "Equivalent");
    for (scale, lo, value, hi) in
        [(ExpectedScale::Difference, -9.0, -4.0, 2.0), (ExpectedScale::Ratio, 1.0 / 1.01, 1.0, 1.01)]
    {
        let mut sound = versioned();
        equivalent(&mut sound, scale, lo, value, hi);
        sound.to_bytes().unwrap();
    }
}

#[test]
fn a_sweep_lists_each_of_its_values() {
    let mut swept = pack(&PLAN.replace("pin=same,duration=20ms\"", "duration=20ms\"\nsweep = \"copies=1,2\""));
    swept.workloads = ["pipe:copies=1,duration=20ms", "pipe:copies=2,duration=20ms"].map(|s| s.parse().unwrap()).into();
    swept.workload_ids = vec!["pipe/1".into(); 2];
    swept.to_bytes().unwrap();
    swept.workloads.swap(0, 1);
    assert!(refusal(&swept).contains("its plan runs"), "{}", refusal(&swept));
}

#[test]
fn what_a_stranger_should_not_decide_is_listed() {
    assert!(pack(PLAN).asks_for_trust(|_| true).unwrap().is_empty());
    let asks = |plan: &str| pack(plan).asks_for_trust(|_| true).unwrap().join("; ");
    let exec = asks(&PLAN.replace("pipe:pin=same,duration=20ms", "exec:command='rm x'"));
    assert!(exec.contains("runs `exec:command") && exec.contains("rm x"), "{exec}");
    assert_eq!(asks(&PLAN.replace("nice=5", "sysctl:kernel.core_pattern=|x")), "writes sysctl:kernel.core_pattern=|x");
    for setting in ["autogroup=off", "thp=never", "feature:NO_WA_IDLE"] {
        assert_eq!(asks(&PLAN.replace("nice=5", setting)), format!("writes {setting}"));
    }
    assert_eq!(asks(&PLAN.replace("nice=5", "policy=fifo:99")), "runs under policy=fifo:99");
    assert!(asks(&PLAN.replace("nice=5", "option:command=x")).contains("runs"));
    // A guest's settings stay in the guest, but a command in it is still a command.
    assert!(asks(&GUESTS.replace("kernel:build:b", "kernel:build:b;feature:NO_WA_IDLE;policy=fifo:99")).is_empty());
    assert!(asks(&GUESTS.replace("kernel:build:b", "option:command=x")).contains("runs"));
    let pack = of_guests(vec![built("build:a", "")]);
    let asked = pack.asks_for_trust(|_| true).unwrap();
    assert!(asked[0].contains("builds build:a"), "{asked:?}");
    assert!(pack.asks_for_trust(|_| false).unwrap().is_empty(), "one that is replaced is not built");
    let twice = of_guests(vec![built("build:a", ""), built("build:a", "")]).to_bytes();
    assert!(twice.unwrap_err().to_string().contains("two of its kernels are named build:a"));
}
