use super::*;

const PLAN: &str = "trials = 6\n[guest]\nkernel = \"debian:6.1\"\nlane = \"virtual\"\ncpus = 4\nmemory = \"2g\"\nsd_llc_size = 4\nquantum = \"50us\"\ndither = \"6ms\"\nboot_timeout = \"30m\"\n\
                    per = \"block\"\nadd = [\"/a:/b\"]\nmodule = [\"zram\"]\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"6.1\"\n\
                    [[arm]]\nname = \"6.12\"\nset = \"kernel:debian:6.12;boot:preempt=full;topology:sockets=2,nodes=2\"\n";

fn error(plan: &str) -> String {
    Plan::parse(plan).unwrap_err().to_string()
}

#[test]
fn a_plan_with_guests_is_read_and_written_alike() {
    let plan = Plan::parse(PLAN).unwrap();
    let guest = plan.guest.clone().unwrap();
    assert_eq!(
        (guest.lane, guest.memory_bytes, guest.quantum_ns, guest.dither_ns, guest.sd_llc_size),
        (GuestLane::Virtual, Some(2 << 30), Some(50_000), Some(6_000_000), Some(4))
    );
    assert_eq!((guest.per, guest.add, guest.module), (GuestPer::Block, vec!["/a:/b".into()], vec!["zram".into()]));
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    let translated = Plan::parse(&PLAN.replace("cpus = 4", "cpus = 4\naccelerator = \"tcg\"")).unwrap();
    assert_eq!(translated.guest.as_ref().unwrap().accelerator, WantedAccelerator::Tcg);
    assert_eq!(Plan::parse(&translated.to_toml()).unwrap(), translated);
    assert!(plan.arms[1].settings.iter().all(Setting::is_of_guest));
}

#[test]
fn boots_divide_the_blocks_of_the_virtual_lane() {
    let plan = Plan::parse(&PLAN.replace("cpus = 4", "cpus = 4\nboots = 3")).unwrap();
    assert_eq!(plan.guest.as_ref().unwrap().boots, Some(3));
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    for boots in [0, 7] {
        let refused = error(&PLAN.replace("cpus = 4", &format!("cpus = 4\nboots = {boots}")));
        assert!(refused.contains("give 1 to 6"), "{refused}");
    }
    let boots = PLAN.replace("cpus = 4", "cpus = 4\nboots = 3");
    let open = error(&boots.replace("trials = 6", "until_decided = true"));
    assert!(open.contains("say `trials = N` beside it"), "{open}");
    let real =
        error(&boots.replace("\"virtual\"\n", "\"real\"\n").replace("quantum = \"50us\"\ndither = \"6ms\"\n", ""));
    assert!(real.contains("boots belongs to"), "{real}");
}

#[test]
fn a_round_of_a_search_has_no_more_boots_than_blocks() {
    const SEARCH: &str = "strategy = \"grid\"\nbudget = \"1h\"\n[guest]\nkernel = \"debian:6.1\"\n\
                          lane = \"virtual\"\nboots = 6\n[[workload]]\nrun = \"pipe\"\n\
                          [[knob]]\nset = \"nice\"\nvalues = [1, 2]\n";
    let plan = Plan::parse(SEARCH).unwrap();
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    for (blocks, boots) in [(1, 1), (2, 2), (9, 6)] {
        let round = plan.round(1, vec![crate::Arm::parse("default", "").unwrap()], blocks, 7);
        assert_eq!(round.guest.unwrap().boots, Some(boots));
    }
    assert!(error(&SEARCH.replace("boots = 6", "boots = 0")).contains("give 1"));
}

#[test]
fn rounds_of_a_study_share_no_seed() {
    let plan = Plan::parse(&PLAN.replace("cpus = 4", "cpus = 4\nboots = 6")).unwrap();
    let [first, second] = [1, 2].map(|number| plan.round(number, plan.arms.clone(), 4, 7));
    let seeds = [&first, &second].map(|round| round.guest.as_ref().unwrap().first_seed.unwrap());
    assert!(seeds[0] > 1 && seeds[1] >= seeds[0] + 900, "{seeds:?}");
    assert_eq!(first.guest.as_ref().unwrap().boots, Some(4), "not more than blocks");
    assert_eq!(Plan::parse(&first.to_toml()).unwrap(), first);
}

#[test]
fn what_needs_a_guest_says_so_and_what_it_forbids_too() {
    let without = PLAN.replace(
        "[guest]\nkernel = \"debian:6.1\"\nlane = \"virtual\"\ncpus = 4\nmemory = \"2g\"\nsd_llc_size = 4\nquantum = \"50us\"\ndither = \"6ms\"\nboot_timeout = \"30m\"\nper = \"block\"\nadd = [\"/a:/b\"]\nmodule = [\"zram\"]\n",
        "",
    );
    assert!(error(&without).contains("add a `[guest]` table"), "{}", error(&without));
    assert!(error(&PLAN.replace("kernel = \"debian:6.1\"\n", "")).contains("arm `6.1` has no kernel"));
    assert!(error(&PLAN.replace("lane = \"virtual\"\n", "")).contains("belong to"));
    let by_kvm = error(&PLAN.replace("sd_llc_size = 4", "accelerator = \"kvm\""));
    assert!(by_kvm.contains("accelerator = \"kvm\" counts no instructions"), "{by_kvm}");
    assert!(error(&PLAN.replace("sd_llc_size = 4", "accelerator = \"hvf\"")).contains("hvf"));
    assert!(error(&PLAN.replace("sd_llc_size = 4", "shift = 40")).contains("shift = 40 is over 10"));
    assert!(error(&PLAN.replace("sd_llc_size = 4", "first_seed = 0")).contains("give 1 to 999999"));
    assert!(error(&PLAN.replace("sd_llc_size = 4", "sd_llc_size = 0")).contains("at least one CPU"));
    let alike = PLAN.replace(";topology:sockets=2,nodes=2", "").replace("sd_llc_size = 4", "sd_llc_size = 5");
    assert!(error(&alike).contains("sd_llc_size = 5 is more than its 4 CPUs"));
    let without_unit = error(&PLAN.replace("\"30m\"", "\"30\""));
    assert!(without_unit.starts_with("line 10: `30`"), "{without_unit}");
    assert!(error(&PLAN.replace("cpus = 4", "cpu = 4")).contains("unknown key `cpu` (did you mean `cpus`?)"));
    let traced = error(&PLAN.replace("boot:preempt=full", "trace=on"));
    assert!(traced.contains("would record this host"), "{traced}");
    assert!(error(&PLAN.replace("trials = 6", "trials = 6\ndesign = \"switchback\"")).contains("blocks alone"));
}

#[test]
fn words_of_the_command_line_are_factors_and_a_kernel_is_none() {
    const FACTORS: &str = "trials = 6\n[guest]\nkernel = \"debian:6.1\"\n[[workload]]\nrun = \"pipe\"\n\
        [[factor]]\nname = \"audit\"\nhigh = \"boot:audit=1\"\n[[factor]]\nname = \"nice\"\nhigh = \"nice=1\"\n";
    let plan = Plan::parse(FACTORS).unwrap();
    let (in_arms, factorial) = plan.in_arms().unwrap();
    let specs: Vec<String> = in_arms.arms.iter().map(crate::Arm::spec).collect();
    assert_eq!(specs, ["", "boot:audit=1", "nice=1", "boot:audit=1;nice=1"]);
    assert!(in_arms.factors.is_empty() && factorial.unwrap().levels.len() == 4);
    assert_eq!(Plan::parse(&in_arms.to_toml()).unwrap().arms, in_arms.arms, "as a guest reads it");
    for (from, to, needle) in [
        ("kernel = \"debian:6.1\"\n", "cpus = 1\n", "a factorial has one kernel"),
        ("nice=1", "kernel:debian:6.12", "a factorial has one kernel"),
        ("nice=1", "trace=on", "would record this host"),
        ("[guest]\nkernel = \"debian:6.1\"\n", "", "add a `[guest]` table"),
    ] {
        assert!(error(&FACTORS.replace(from, to)).contains(needle), "{to}: {}", error(&FACTORS.replace(from, to)));
    }
}
