use super::super::records::written;
use super::*;

const PARENT: Task = Task { pid: 5, tid: 5 };
const CHILD: Task = Task { pid: 7, tid: 7 };

fn user(address: u64) -> Address {
    Address { address, is_kernel: false }
}

/// Comm and spots of a sample, the innermost first.
fn told(gathered: &Gathered, sample: &Sample) -> String {
    let chain = &gathered.chains.all()[sample.chain as usize];
    let spot = |number: &u32| match gathered.spots.all()[*number as usize].code {
        Code::Kernel(address) => format!("{address:#x}"),
        Code::File(at) => format!("{}+{}", gathered.spaces.images()[at.image as usize], at.offset),
        Code::Unmapped => "?".into(),
    };
    let places: Vec<String> = chain.spots.iter().map(spot).collect();
    format!("{}: {}", gathered.comms.all()[chain.comm as usize], places.join(" "))
}

#[test]
fn a_sample_of_one_ring_waits_for_the_exec_on_another() {
    let mut order = InOrder::default();
    let mut gathered = Gathered::new(1_000, 99);
    gathered.take(Record::Comm { task: PARENT, exec: true, name: b"sh" });
    // The ring of CPU 0 is read first, but the process was created, and exec'd its program, on CPU 1.
    order.buffer().extend(written::sample(CHILD, 9_000, 10, &[user(150), user(200)]));
    order.buffer().extend(written::sample(CHILD, 30_000, 10, &[user(150)]));
    order.buffer().extend(written::fork(CHILD, PARENT, 5_000));
    order.buffer().extend(written::comm(CHILD, true, "prog", 6_000));
    order.buffer().extend(written::mmap2(CHILD, [100, 100, 4000], "/bin/prog", 7_000));
    order.hand_over(20_000, &mut gathered);
    assert_eq!(gathered.samples.len(), 1, "the other is not old enough");
    let sample = gathered.samples[0];
    // 200 is the end of the mapping: the call before it is inside.
    assert_eq!(told(&gathered, &sample), "prog: /bin/prog+4050 /bin/prog+4100");
    assert_eq!((sample.at_us, sample.weight), (8, 10));
    let TaskIds { pid, tid } = gathered.tasks.all()[sample.task as usize];
    assert_eq!((pid, tid), (CHILD.pid, CHILD.tid));
    order.hand_over(u64::MAX, &mut gathered);
    order.hand_over(u64::MAX, &mut gathered);
    assert_eq!(gathered.samples.len(), 2, "handed over once");
    assert_eq!(told(&gathered, &gathered.samples[1]), "prog: /bin/prog+4050");
}

#[test]
fn equal_chains_are_one_and_the_samplers_own_are_none() {
    let mut gathered = Gathered::new(0, 99);
    let sampler = Task { pid: 99, tid: 100 };
    let idle = Task { pid: 0, tid: 0 };
    let kernel = Address { address: 1 << 40, is_kernel: true };
    for task in [PARENT, PARENT, sampler, idle] {
        let bytes = written::sample(task, 1, u64::MAX, &[kernel, user(1)]);
        gathered.take(next(&bytes).unwrap().record.unwrap());
    }
    assert_eq!((gathered.samples.len(), gathered.chains.all().len(), gathered.of_the_sampler), (3, 2, 1));
    assert_eq!(told(&gathered, &gathered.samples[0]), "pid 5: 0x10000000000 ?");
    assert_eq!(told(&gathered, &gathered.samples[2]), "swapper: 0x10000000000 ?");
    assert!(gathered.chains.all()[1].idle_task);
    assert_eq!(gathered.samples[0].weight, u32::MAX, "a weight that does not fit is the largest");
}

#[test]
fn of_all_tasks_the_descendants_are_kept() {
    let (sampler, child, grandchild) = (Task { pid: 99, tid: 99 }, CHILD, Task { pid: 8, tid: 8 });
    let bytes = [
        written::sample(child, 1, 1, &[user(1)]),
        written::fork(child, sampler, 2),
        written::fork(Task { pid: 99, tid: 100 }, sampler, 3),
        written::fork(grandchild, child, 4),
        written::sample(grandchild, 5, 1, &[user(2)]),
        written::sample(sampler, 6, 1, &[user(3)]),
        written::sample(Task { pid: 0, tid: 0 }, 7, 1, &[user(4)]),
        written::sample(PARENT, 8, 1, &[user(5)]),
        written::sample(Task { pid: 7, tid: 70 }, 9, 2, &[user(6)]),
        written::fork(child, PARENT, 10),
        written::sample(child, 11, 1, &[user(7)]),
    ];
    let mut order = InOrder::default();
    bytes.iter().for_each(|b| order.buffer().extend(b));
    let mut gathered = Gathered::of_descendants(0, 99);
    order.hand_over(u64::MAX, &mut gathered);
    let weights: Vec<u32> = gathered.samples.iter().map(|sample| sample.weight).collect();
    assert_eq!(weights, [1, 2], "the grandchild's, and a thread's of the child; not those of before and after it");
    assert_eq!(gathered.of_the_sampler, 0);
}

#[test]
fn threads_have_their_makers_name_until_they_take_their_own() {
    let mut gathered = Gathered::new(0, 99);
    let thread = Task { pid: 5, tid: 6 };
    let bytes = [
        written::comm(PARENT, false, "main", 1),
        written::fork(thread, PARENT, 2),
        written::sample(thread, 3, 1, &[user(1)]),
        written::comm(thread, false, "helper", 4),
        written::sample(thread, 5, 1, &[user(1)]),
        written::lost(40, 6),
    ];
    let mut order = InOrder::default();
    bytes.iter().for_each(|b| order.buffer().extend(b));
    order.hand_over(u64::MAX, &mut gathered);
    let names: Vec<String> = gathered.samples.iter().map(|s| told(&gathered, s)).collect();
    assert_eq!(names, ["main: ?", "helper: ?"]);
    assert_eq!((gathered.lost, gathered.unreadable_bytes), (40, 0));
    order.buffer().extend([0; 20]);
    order.hand_over(u64::MAX, &mut gathered);
    assert_eq!(gathered.unreadable_bytes, 20, "a record of no length ends the reading");
}

#[test]
fn damaged_rings_are_gathered_as_far_as_they_can_be_read() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/profile_records");
    let mut draw = schedlab_stats::Random::new(1);
    for file in std::fs::read_dir(dir).unwrap() {
        let whole = std::fs::read(file.unwrap().path()).unwrap();
        for round in 0..200 {
            let mut bytes = whole.clone();
            for _ in 0..round % 9 {
                let at = draw.below(bytes.len());
                bytes[at] = draw.below(256) as u8;
            }
            let mut order = InOrder::default();
            let mut gathered = Gathered::new(u64::MAX, 99);
            order.buffer().extend(&bytes);
            order.hand_over(1 << draw.below(63), &mut gathered);
            order.hand_over(u64::MAX, &mut gathered);
            order.hand_over(u64::MAX, &mut gathered);
            assert!(round > 0 || gathered.samples.len() > 3, "the whole ring");
            for chain in gathered.chains.all() {
                assert!(chain.spots.iter().all(|spot| (*spot as usize) < gathered.spots.all().len()));
            }
        }
    }
}
