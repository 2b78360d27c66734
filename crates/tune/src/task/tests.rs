use super::*;

/// Attributes belong to threads: they end with this one.
fn on_own_thread(specs: &'static [&'static str]) -> Vec<Applied> {
    let settings: Vec<Setting> = specs.iter().map(|s| s.parse().unwrap()).collect();
    std::thread::spawn(move || apply_to_self(&settings)).join().unwrap()
}

fn knows_slices() -> bool {
    sched_attr::get(0).unwrap().runtime_ns != 0
}

#[test]
fn what_needs_no_rights_is_in_force_and_the_plant_is_not_listed() {
    let applied = on_own_thread(&["policy=batch", "nice=5", "cpus=0", "timer_slack=1us", "plant=spin:5ns"]);
    let words: Vec<&str> = applied.iter().map(|a| a.effective.as_str()).collect();
    assert_eq!(words, ["policy=batch", "nice=5", "cpus=0", "timer_slack=1us"]);
    assert!(applied.iter().all(|a| a.not_applied.is_none()), "{applied:?}");
}

#[test]
fn a_slice_is_in_force_or_the_kernels_age_is_the_reason() {
    let applied = &on_own_thread(&["slice=3ms"])[0];
    if knows_slices() {
        assert_eq!((applied.effective.as_str(), &applied.not_applied), ("slice=3ms", &None));
    } else {
        assert!(applied.not_applied.as_ref().unwrap().contains("6.12"));
    }
    let default = &on_own_thread(&["slice=default"])[0];
    assert!(default.not_applied.is_none() && default.effective.contains("default"), "{default:?}");
}

#[test]
fn a_slack_of_0_is_the_default_and_the_read_back_says_which() {
    let applied = std::thread::spawn(|| {
        let default = timer_slack::own_ns().unwrap();
        let asked: Vec<Setting> = ["timer_slack=7us", "timer_slack=0"].map(|s| s.parse().unwrap()).into();
        apply_to_self(&asked[..1]);
        (default, apply_to_self(&asked[1..]).remove(0))
    });
    let (default, applied) = applied.join().unwrap();
    assert_eq!(applied.setting.to_string(), "timer_slack=default");
    assert!(applied.effective.starts_with(&Setting::TimerSlack { ns: default }.to_string()), "{applied:?}");
    assert!(applied.effective.contains("the least is 1ns") && applied.not_applied.is_none(), "{applied:?}");
    let real_time = on_own_thread(&["policy=fifo:1", "timer_slack=0"]);
    let why = &real_time[1].not_applied;
    assert!(real_time[0].not_applied.is_some() || why.as_ref().unwrap().contains("real-time"), "{real_time:?}");
}

#[test]
fn a_clamped_slice_is_not_applied() {
    let applied = &on_own_thread(&["slice=10us"])[0];
    let why = applied.not_applied.as_ref().unwrap();
    if knows_slices() {
        assert_eq!(applied.effective, "slice=100us");
        assert!(why.contains("clamps"), "{why}");
    } else {
        assert!(why.contains("6.12"), "{why}");
    }
}

#[test]
fn a_cpu_beyond_the_machine_names_those_there_are() {
    let applied = &on_own_thread(&["cpus=9999"])[0];
    let why = applied.not_applied.as_ref().unwrap();
    assert!(why.contains("CPU 9999 is not online here: there are 0"), "{why}");
    // A mask that exists only in part is accepted and trimmed: only the read-back shows it.
    let applied = &on_own_thread(&["cpus=0,9999"])[0];
    assert_eq!(applied.effective, "cpus=0");
    assert!(applied.not_applied.as_ref().unwrap().contains("9999"));
}

#[test]
fn a_slice_for_a_task_under_policy_idle_names_the_policy() {
    let later = || {
        apply_to_self(&["policy=idle".parse().unwrap()]);
        apply_to_self(&["slice=3ms".parse().unwrap()]).remove(0)
    };
    let applied = std::thread::spawn(later).join().unwrap();
    let why = applied.not_applied.as_ref().unwrap();
    assert!(why.contains(if knows_slices() { "under policy idle takes no slice" } else { "6.12" }), "{applied:?}");
}

#[test]
fn a_slice_is_set_before_policy_idle_and_after_the_others() {
    let order = |text: &str| {
        let settings: Vec<Setting> = text.split(';').map(|one| one.parse().unwrap()).collect();
        in_their_order(&settings).iter().map(|one| one.key()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order("policy=idle;nice=3;slice=2ms"), "slice policy nice");
    assert_eq!(order("slice=2ms;policy=batch;nice=3"), "policy nice slice");
    for specs in [&["policy=idle", "slice=2ms"], &["slice=2ms", "policy=idle"], &["slice=2ms", "policy=batch"]] {
        let applied = on_own_thread(specs);
        let is_whole = applied.iter().all(|one| one.not_applied.is_none());
        assert!(is_whole || !knows_slices(), "{applied:?}");
    }
}

/// As a workload pins its own tasks: no cpuset is to blame.
#[test]
fn a_task_that_narrows_itself_is_told_from_a_cpuset() {
    let all = affinity::allowed_cpus(0).unwrap();
    let (first, asked) = (CpuList::new(vec![all[0]]), CpuList::new(all.clone()));
    assert!(cpus_missing(&CpuList::new(vec![9999]), &first, 1).contains("not online"));
    if all.len() > 1 {
        assert!(cpus_missing(&asked, &first, 1).contains("puts itself"));
        assert!(cpus_missing(&asked, &first, 0).contains("cpuset"));
    }
}

#[test]
fn a_slice_under_a_real_time_policy_is_explained() {
    let applied = on_own_thread(&["policy=fifo:1", "slice=3ms"]);
    if applied[0].not_applied.is_some() {
        assert!(applied[0].not_applied.as_ref().unwrap().contains("CAP_SYS_NICE"));
        return;
    }
    assert!(applied[1].not_applied.as_ref().unwrap().contains("fair policies"), "{applied:?}");
}

#[test]
fn defaults_are_what_the_caller_has() {
    let back = |spec: &str| default_of(&spec.parse().unwrap()).to_string();
    assert_eq!(back("slice=1ms"), "slice=default");
    assert_eq!(back("plant=spin:9ns"), "plant=spin:0ns");
    let nice = std::thread::spawn(move || {
        sched_attr::set_nice(0, 3).unwrap();
        default_of(&Setting::Nice(9))
    });
    assert_eq!(nice.join().unwrap(), Setting::Nice(3));
    let cpus = default_of(&"cpus=0".parse().unwrap());
    assert_eq!(cpus, Setting::Cpus(CpuList::new(affinity::allowed_cpus(0).unwrap())));
}

#[test]
fn another_thread_is_read_back() {
    let (send, receive) = std::sync::mpsc::channel();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        send.send(schedlab_sys::thread::current_tid()).unwrap();
        let _ = wait.recv();
    });
    let tid = receive.recv().unwrap();
    let asked = [Setting::Nice(4)];
    assert!(read_back(tid, &asked)[0].not_applied.is_some());
    assert!(apply_to_tid(tid, &asked)[0].not_applied.is_none());
    assert_eq!(read_back(tid, &asked)[0].effective, "nice=4");
    drop(end);
    other.join().unwrap();
}
