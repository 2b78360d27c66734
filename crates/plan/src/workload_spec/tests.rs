use super::*;

fn spec(text: &str) -> WorkloadSpec {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn a_spec_prints_as_it_is_read() {
    for text in [
        "messaging",
        "messaging/1:5x50,groups=10,transport=pipe",
        "pipe:copies=1,2,4,pin=same",
        "exec:fio --runtime=5 job.fio",
        "exec:taskset -c 0,1 true,unit=s",
        "exec:command='a,b=c',metric='tps = ([0-9.]+), '",
    ] {
        assert_eq!(spec(text).to_string(), text);
    }
}

#[test]
fn quotes_keep_commas_and_a_command_keeps_its_own_quotes() {
    let read = spec(r#"exec:sh -c 'a=1, "b"',metric="\"tps\": ([0-9.]+),\d",unit=1/s"#);
    assert_eq!(read.shorthand.as_deref(), Some(r#"sh -c 'a=1, "b"'"#));
    assert_eq!(read.args["metric"], r#""tps": ([0-9.]+),\d"#);
    assert_eq!(read.args["unit"], "1/s");
    assert_eq!(spec("exec:'pgbench -c 1,x=2'").shorthand.as_deref(), Some("pgbench -c 1,x=2"));
}

#[test]
fn whatever_a_value_holds_it_reads_back() {
    let pieces = ["a", "=", ",", "'", "\"", "\\", " ", "x=", "cpus=0-3", "$(", "µ", "/", ":"];
    let mut random = schedlab_stats::Random::new(7);
    let mut draw = |n: usize| random.below(n);
    for _ in 0..20_000 {
        let mut value = || (0..draw(7)).map(|_| pieces[draw(pieces.len())]).collect::<String>();
        let (shorthand, one, two) = (value(), value(), value());
        let made = WorkloadSpec {
            name: "exec".into(),
            version: Some(1),
            shorthand: (!shorthand.is_empty()).then_some(shorthand),
            args: [("command".to_owned(), one), ("metric".to_owned(), two)].into(),
        };
        assert_eq!(spec(&made.to_string()), made, "{made}");
    }
}

#[test]
fn a_label_tells_a_workload_from_its_namesakes() {
    let specs = ["pipe/1:copies=1,pin=same", "pipe/1:copies=2,pin=same", "messaging/1:groups=2"].map(spec);
    let label = |own: usize| specs[own].label_among((0..3).filter(|&other| other != own).map(|other| &specs[other]));
    assert_eq!([label(0), label(1), label(2)], ["pipe:copies=1", "pipe:copies=2", "messaging"]);
    assert_eq!(specs[0].label_among([specs[0].clone()].iter()), "pipe/1:copies=1,pin=same", "beside another load");
    let commands = ["exec:command=make -j2", "exec:command=make -j2,timeout=5s", "exec:command=true"].map(spec);
    assert_eq!(commands[0].label_among([&specs[0], &commands[2]].into_iter()), "make -j2");
    assert_eq!(commands[1].label_among([&commands[0]].into_iter()), "exec:timeout=5s");
    let script = |last: &str| spec(&format!("exec:command='for i in 1 2 3; do\n  seq 300 | sort -n | wc -l; {last}'"));
    let short = "for i in 1 2 3; do seq 300 | sort -n | …";
    assert_eq!(script("done").label_among([&commands[0]].into_iter()), short);
    assert!(script("done").label_among([&script("exit")].into_iter()).ends_with("; done"), "equal beginnings");
}

#[test]
fn an_arm_may_set_an_option() {
    let setting = |text: &str| text.parse::<Setting>().unwrap();
    let base = spec("pipe:copies=2,pin=free");
    let settings = [setting("option:pin=same"), setting("nice=1"), setting("option:bytes=64")];
    assert_eq!(base.with_options(&settings), spec("pipe:bytes=64,copies=2,pin=same"));
}

#[test]
fn repeats_missing_names_and_open_quotes_are_refused() {
    assert!(matches!("pipe:pin=a,pin=b".parse::<WorkloadSpec>(), Err(SpecError::Twice { .. })));
    assert!(matches!(":x".parse::<WorkloadSpec>(), Err(SpecError::NoName(_))));
    assert!(matches!("pipe/x".parse::<WorkloadSpec>(), Err(SpecError::BadVersion(_))));
    let error = "exec:echo it's".parse::<WorkloadSpec>().unwrap_err().to_string();
    assert!(error.contains("quote is not closed"), "{error}");
}
