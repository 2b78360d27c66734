use super::*;

const SEARCH: &str = "strategy = \"halving\"\nbudget = \"90s\"\nobjective = [\"a\", \"b\"]\n[[workload]]\nrun = \"pipe\"\n\
    [[knob]]\nset = \"slice\"\nrange = [\"0.1ms\", \"100ms\"]\nsteps = 4\n\
    [[knob]]\nset = \"policy\"\nvalues = [\"other\", \"batch\"]\n\
    [[knob]]\nname = \"idle\"\nvalues = [\"\", \"feature:NO_WA_IDLE\"]\n";

fn error(plan: &str) -> String {
    Plan::parse(plan).unwrap_err().to_string()
}

#[test]
fn knobs_have_values_a_scale_and_arms() {
    let plan = Plan::parse(SEARCH).unwrap();
    let search = plan.search.as_ref().unwrap();
    assert_eq!((search.strategy, search.points()), (SearchStrategy::Halving, 16));
    let slice = &search.knobs[0];
    assert_eq!((slice.scale, slice.values.join(" ").as_str()), (KnobScale::Log, "0.1ms 1ms 10ms 100ms"));
    assert_eq!(search.knobs[1].scale, KnobScale::Words);
    let arm = search.arm(&[1, 1, 1], &Arm { name: String::new(), settings: Vec::new() }).unwrap();
    assert_eq!(arm.name, "slice=1ms policy=batch idle=feature:NO_WA_IDLE");
    assert_eq!(arm.spec(), "slice=1ms;policy=batch;feature:NO_WA_IDLE");
    assert_eq!(plan.workloads[0].primary, ["a", "b"]);
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan, "{}", plan.to_toml());
}

#[test]
fn a_knob_takes_the_place_of_what_the_control_sets() {
    let plan = Plan::parse(&format!("{SEARCH}[[arm]]\nname = \"today\"\nset = \"policy=batch;nice=1\"\n")).unwrap();
    let arm = plan.search.as_ref().unwrap().arm(&[0, 0, 0], &plan.arms[0]).unwrap();
    assert_eq!(arm.spec(), "nice=1;slice=100us;policy=other");
    assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan);
}

#[test]
fn ranges_are_cut_on_their_scale() {
    let values = |range: &str| {
        let plan = format!("{}[[knob]]\nset = \"nice\"\n{range}\n", SEARCH.split("[[knob]]").next().unwrap());
        Plan::parse(&plan).unwrap().search.unwrap().knobs[0].values.join(" ")
    };
    assert_eq!(values("range = [\"-10\", \"10\"]\nsteps = 5"), "-10 -5 0 5 10");
    assert_eq!(values("range = [\"1\", \"4\"]\nsteps = 8"), "1 2 3 4", "whole numbers, each once");
    assert_eq!(values("range = [-10, 10]\nsteps = 5"), "-10 -5 0 5 10", "a number needs no quotes");
    assert_eq!(values("values = [1, \"4\"]"), "1 4");
}

#[test]
fn what_is_no_search_is_refused() {
    let with = |from: &str, to: &str| error(&SEARCH.replace(from, to));
    assert!(with("halving", "halvign").contains("did you mean `halving`"));
    assert!(with("set = \"policy\"", "set = \"polcy\"").contains("did you mean `policy`"));
    assert!(with("steps = 4", "stpes = 4").contains("did you mean `steps`"));
    assert!(with("\"batch\"", "\"bath\"").contains("knob `policy`, value `bath`"));
    assert!(with("\"batch\"", "\"other\"").contains("twice"));
    assert!(with("range = [\"0.1ms\", \"100ms\"]\nsteps = 4", "values = [\"1ms\", \"1000us\"]").contains("as `1ms`"));
    assert!(with("feature:NO_WA_IDLE", "nice=1;policy=idle").contains("`policy` and `idle` both set policy"));
    assert!(with("name = \"idle\"", "name = \"slice\"").contains("two knobs are named `slice`"));
    assert!(with("set = \"policy\"", "set = \"slice\"").contains("slice"));
    assert!(with("[\"a\", \"b\"]", "[\"a\", \"a\"]").contains("`objective` names `a` twice"));
    assert!(with("budget = \"90s\"", "trials = 6").contains("as long as its budget"));
    assert!(with("\"0.1ms\", \"100ms\"", "\"10ms\", \"1ms\"").contains("a range rises"));
    assert!(with("\"0.1ms\", \"100ms\"", "true, 1").contains("a number, or text in quotes"));
    assert!(with("steps = 4", "scale = \"logarithmic\"").contains("is not `log`"));
    assert!(error("strategy = \"grid\"\n[[workload]]\nrun = \"pipe\"\n").contains("add `[[knob]]`"));
    assert!(
        error(&format!("{SEARCH}[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n")).contains("one `[[arm]]` at most")
    );
    assert!(
        error("objective = [\"a\"]\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname=\"a\"\n[[arm]]\nname=\"b\"\n")
            .contains("objective")
    );
}
