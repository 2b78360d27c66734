use super::*;

const PLAN: &str = "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"default\"\n\
    [[grid]]\nname = \"m\"\nset = \"debugfs:sched/min_granularity_ns\"\nvalues = [\"1ms\", \"10ms\"]\n\
    [[grid]]\nname = \"w\"\nset = \"debugfs:sched/wakeup_granularity_ns\"\nvalues = [\"1ms\", \"2ms\", \"4ms\", \"8ms\"]\n";

fn plan(table: &str) -> Result<Plan, String> {
    Plan::parse(&format!("{PLAN}[[statement]]\nsays = \"x\"\n{table}\n")).map_err(|error| error.to_string())
}

fn names(table: &str) -> Vec<[Vec<String>; 2]> {
    let plan = plan(table).unwrap();
    let of = |points: &[Point]| points.iter().map(|p| plan.arms[p.arm as usize].name.clone()).collect::<Vec<_>>();
    let matched = plan.statements[0].matched(&plan.arms).unwrap();
    matched.iter().map(|m| [of(&m.arms), of(&m.than)]).collect()
}

#[test]
fn spans_are_held_against_spans_at_the_same_other_values() {
    let found = names("arms = \"w=4ms..\"\nthan = \"w=..1ms\"\nis = \"better\"");
    let row = |m: &str| [vec![format!("m={m} w=4ms"), format!("m={m} w=8ms")], vec![format!("m={m} w=1ms")]];
    assert_eq!(found, [row("10ms"), row("1ms")]);
    let named = names("arms = \"m=10ms w=4ms..8ms\"\nis = \"worse\"");
    assert_eq!(named, [[vec!["m=10ms w=4ms".to_owned(), "m=10ms w=8ms".into()], vec!["default".into()]]]);
}

#[test]
fn a_statement_reads_back_from_the_canonical_plan() {
    let read = plan("arms = \"m=1ms..10ms w=1ms..2ms\"\nis = \"best\"").unwrap();
    assert_eq!(Plan::parse(&read.to_toml()).unwrap(), read);
    let points = read.statements[0].matched(&read.arms).unwrap();
    assert!(points.iter().flat_map(|m| &m.arms).all(|point| point.at.is_none()), "two settings vary");
    let trend = plan("arms = \"w=1ms..4ms\"\nis = \"rising\"").unwrap();
    let points = trend.statements[0].matched(&trend.arms).unwrap();
    assert_eq!(points[0].arms.iter().map(|p| p.at.unwrap()).collect::<Vec<_>>(), [1e6, 2e6, 4e6]);
}

#[test]
fn a_trend_is_along_the_one_setting_that_varies() {
    let read = plan("arms = \"m=1ms w=1ms..4ms\"\nis = \"level\"").unwrap();
    let points = read.statements[0].matched(&read.arms).unwrap();
    assert_eq!(points[0].arms.iter().map(|p| p.at.unwrap()).collect::<Vec<_>>(), [1e6, 2e6, 4e6]);
}

#[test]
fn what_no_run_could_judge_is_refused() {
    for (table, expected) in [
        ("arms = \"w=4ms\"\nis = \"beter\"", "did you mean `better`"),
        ("arms = \"defaultt\"\nis = \"worse\"", "did you mean `default`"),
        (
            "arms = \"w=5ms..7ms\"\nis = \"worse\"",
            "no arm lies in `w=5ms..7ms`; the values of `w` are 1ms, 2ms, 4ms, 8ms",
        ),
        ("arms = \"w=8ms..1ms\"\nis = \"worse\"", "runs backwards; write `w=1ms..8ms`"),
        ("arms = \"w=4..\"\nis = \"worse\"", "in another unit"),
        ("arms = \"w=\"\nis = \"worse\"", "neither an arm"),
        ("arms = \"v=4ms\"\nis = \"worse\"", "no arm has a setting `v` (did you mean"),
        ("arms = \"w=1ms w=4ms\"\nis = \"worse\"", "names `w` twice"),
        ("arms = \"m=.. w=..\"\nis = \"level\"", "spans m and w"),
        ("arms = \"w=1ms..2ms\"\nis = \"level\"", "no curve has 3 values"),
        ("arms = \"w=1ms..4ms\"\nthan = \"w=4ms..\"\nis = \"same\"", "on both sides"),
        ("arms = \"w=1ms..4ms\"\nthan = \"w=8ms\"\nis = \"rising\"", "leave out `than`"),
        ("arms = \"m=1ms w=1ms..1ms\"\nthan = \"w=8ms\"\nis = \"same\"", "no two arms of the two sides agree"),
    ] {
        let error = plan(table).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{table}: {error}");
    }
}
