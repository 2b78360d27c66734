//! Which plans are read, written and refused.

use super::*;

const SMALL: &str = "trials = 6\n[[workload]]\nrun = \"pipe:pin=same\"\nload = [\"burn:2\"]\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"slice=0.1ms;policy=batch\"\n";

#[test]
fn a_plan_and_its_canonical_text_are_the_same_plan() {
    for text in [
        SMALL,
        &SMALL.replace("trials = 6", "budget = \"90s\"\nsesoi = \"5%\"\nseed = 7\ntitle = \"a \\\"b\\\"\""),
        &SMALL.replace(
            "run = \"pipe:pin=same\"",
            "run = \"exec:unit=1/s\"\ncommand = [\"sh\", \"-c\", \"echo 'a, b'\"]\noptions = { metric = 'tps = ([0-9.]+), \"', warmup = 1 }",
        ),
        &SMALL.replace("run = \"pipe:pin=same\"", "run = \"pipe:pin=same\"\nsweep = \"copies=1, 2,ncpu\""),
        &SMALL.replace("trials = 6", "until_decided = true\ndesign = \"switchback\"\ntrial = \"1s\""),
    ] {
        let plan = Plan::parse(text).unwrap();
        assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    }
}

#[test]
fn a_command_is_a_line_or_its_words_and_options_need_no_quotes() {
    let with = |keys: &str| {
        let text = SMALL.replace("run = \"pipe:pin=same\"", &format!("run = \"exec\"\n{keys}"));
        Plan::parse(&text).map(|plan| plan.workloads[0].run.clone())
    };
    let words = with("command = [\"sh\", \"-c\", \"a, b\"]").unwrap();
    assert_eq!(words, with("command = \"sh -c 'a, b'\"").unwrap());
    assert_eq!(words.args["command"], "sh -c 'a, b'");
    let options = with("options = { metric = '([0-9]+), \"x\"', warmup = 2 }").unwrap();
    assert_eq!((options.args["metric"].as_str(), options.args["warmup"].as_str()), ("([0-9]+), \"x\"", "2"));
    let twice = with("command = \"a\"\noptions = { command = \"b\" }").unwrap_err().to_string();
    assert!(twice.contains("given twice"), "{twice}");
}

#[test]
fn a_mistyped_key_is_named_with_its_line_and_the_nearest() {
    let error = Plan::parse("title = \"x\"\ntrails = 6\n").unwrap_err().to_string();
    assert!(error.starts_with("line 2: unknown key `trails` (did you mean `trials`?)"), "{error}");
    let pack = Plan::parse("{\n  \"pack_version\": 1\n}").unwrap_err().to_string();
    assert!(pack.contains("if it is a pack, `schedlab repeat FILE` runs its plan"), "{pack}");
}

#[test]
fn what_cannot_be_run_is_refused_in_one_sentence() {
    for (change, to, expected) in [
        ("trials = 6", "trials = 5", "below 6 blocks"),
        ("trials = 6", "until_decided = true\nmax_blocks = 5", "below 6 blocks"),
        ("trials = 6", "trials = 6\nbudget = \"1min\"", "not several"),
        ("trials = 6", "trials = 6\nlooks = 3", "looks belong"),
        ("name = \"b\"", "name = \"a\"", "named `a`"),
        ("slice=0.1ms", "slice=5", "slice"),
        ("trials = 6", "trials = 6\ntrial = \"0\"", "zero"),
        ("trials = 6", "trials = 6\ntrial = \"2500000h\"", "at most 86400s"),
        ("trials = 6", "trials = 6\nsesoi = \"200%\"", "sesoi"),
        ("trials = 6", "trials = 6\nsesoi = \"0\"", "sesoi must be above 0 and below 100 %"),
        ("trials = 6", "trials = 6\ndesign = \"latin\"", "latin"),
        ("load = [\"burn:2\"]", "sweep = \"copies\"", "copies=1,2,4,ncpu"),
        ("trials = 6", "trials = 6\nmax_arms = 8", "no `[[factor]]`"),
    ] {
        let error = Plan::parse(&SMALL.replace(change, to)).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    let one_arm = SMALL.split("[[arm]]\nname = \"b\"").next().unwrap();
    assert!(Plan::parse(one_arm).unwrap_err().to_string().contains("one arm"));
}

const FACTORIAL: &str = "trials = 6\nmax_arms = 4\n[[workload]]\nrun = \"pipe\"\n[[factor]]\nname = \"thp\"\nlow = \"thp=never\"\nhigh = \"thp=always\"\n[[factor]]\nname = \"pin\"\nhigh = \"option:pin=same\"\n[[factor]]\nname = \"group\"\nhigh = \"autogroup=off\"\n";

#[test]
fn a_factorial_makes_its_arms_when_the_machine_is_known() {
    let plan = Plan::parse(FACTORIAL).unwrap();
    assert!(plan.arms.is_empty());
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
    let settled = plan.settle(&[None, None, Some("no autogroups".into())]).unwrap();
    assert_eq!(settled.arms.iter().map(Arm::spec).collect::<Vec<_>>()[3], "thp=always;option:pin=same");
    assert_eq!(settled.to_toml(), plan.to_toml(), "a resumed run knows its plan again");
    assert_eq!(plan.settle(&[]).unwrap().arms.len(), 4, "half of the eight");
}

#[test]
fn a_factorial_that_cannot_be_is_refused_in_one_sentence() {
    for (change, to, expected) in [
        ("trials = 6", "budget = \"90s\"", "fixed number of blocks"),
        ("max_arms = 4", "max_arms = 3", "too few"),
        ("name = \"pin\"", "name = \"thp\"", "named `thp`"),
        ("high = \"autogroup=off\"", "high = \"thp=madvise\"", "both set thp"),
        ("high = \"autogroup=off\"", "high = \"\"", "are the same"),
        ("high = \"autogroup=off\"", "high = \"autogroup=of\"", "autogroup"),
        ("max_arms = 4", "max_arms = 4\ndesign = \"switchback\"", "use blocks"),
        ("[[workload]]", "[[arm]]\nname = \"a\"\n[[workload]]", "leave out `[[arm]]`"),
        ("[[workload]]", "[[require]]\narm = \"thp\"\nmetric = \"index\"\nabove = 0\n[[workload]]", "leave out `arm`"),
    ] {
        let error = Plan::parse(&FACTORIAL.replace(change, to)).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_switchback_refuses_settings_with_memory_and_more_than_two_arms() {
    let with =
        |set: &str| SMALL.replace("trials = 6", "trials = 6\ndesign = \"switchback=20ms\"").replace("slice=0.1ms", set);
    assert_eq!(Plan::parse(&with("slice=0.1ms")).unwrap().switchback_window_ns, Some(20_000_000));
    assert!(Plan::parse(&with("cpu_weight=200")).unwrap_err().to_string().contains("memory"));
    assert!(Plan::parse(&with("plant=stall:1ms/1s")).unwrap_err().to_string().contains("memory"));
    assert!(
        Plan::parse(&(with("slice=1ms") + "[[arm]]\nname = \"c\"\n")).unwrap_err().to_string().contains("two arms")
    );
}
