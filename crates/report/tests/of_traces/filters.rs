//! The output contains what the filters ask for.

use crate::*;

#[test]
fn filters_leave_out_tasks_times_and_cpus() {
    let of = |options: &AnalysisRequest| {
        let found = latency(&mut open("lost_cpu_window", latency::wanted()), options).expect("readable");
        (found.rows.iter().map(|r| r.comm.clone()).collect::<Vec<_>>(), found.total.wakeup.count)
    };
    let tasks =
        |comms: &[&str]| TaskFilter { comms: comms.iter().map(|c| (*c).to_owned()).collect(), ..TaskFilter::default() };
    let scoped = |scope: Scope| of(&AnalysisRequest { scope, ..AnalysisRequest::default() });
    assert_eq!(scoped(Scope { tasks: tasks(&["B"]), ..Scope::default() }), (vec!["B".into()], 1));
    assert_eq!(scoped(Scope { tasks: tasks(&["A"]), ..Scope::default() }), (vec!["A".into()], 0));
    let members = TaskFilter { within: Some([11].into()), ..TaskFilter::default() };
    assert_eq!(scoped(Scope { tasks: members, ..Scope::default() }), (vec!["B".into()], 1));
    let late = TimeWindow { from_ns: 32_000, ..TimeWindow::default() };
    assert_eq!(scoped(Scope { window: late, ..Scope::default() }).1, 0);
    let cpu_1 = TimeWindow { cpus: Some(vec![schedlab_trace::Cpu(1)]), ..TimeWindow::default() };
    assert_eq!(scoped(Scope { window: cpu_1, ..Scope::default() }).1, 1);
    let one_row = AnalysisRequest { top: Some(1), ..AnalysisRequest::default() };
    let found = latency(&mut open("lost_cpu_window", latency::wanted()), &one_row).expect("readable");
    assert_eq!((found.rows.len(), found.more_rows), (1, 1));
}

#[test]
fn states_and_priorities_select_what_each_page_says() {
    const TRACE: &str = "rt_inversion";
    let scope = |state: &str, prio: &str| {
        let mut scope = Scope::default();
        let states = if state.is_empty() { Ok(()) } else { scope.set_states(state) };
        let prios = if prio.is_empty() { Ok(()) } else { scope.set_prios(prio) };
        states.and(prios).expect("a filter");
        scope
    };
    let waits = |state, prio| {
        let options = AnalysisRequest { scope: scope(state, prio), ..AnalysisRequest::default() };
        let found = latency(&mut open(TRACE, latency::wanted()), &options).expect("readable");
        (found.total.wakeup.count, found.total.preempt.count, found.rows.len())
    };
    assert_eq!(
        [waits("R", ""), waits("R+", ""), waits("D", ""), waits("S", "")],
        [(0, 2, 1), (0, 1, 1), (1, 0, 1), (0, 0, 0)]
    );
    assert_eq!([waits("", "rt"), waits("", "fair"), waits("R", "rt")], [(1, 0, 1), (0, 2, 1), (0, 0, 0)]);
    let lines = |state, prio| {
        let mut comms = String::new();
        let mut each = |row: &schedlab_analyze::trace::TimehistRow| {
            comms.push_str(&row.comm);
            true
        };
        timehist(&mut open(TRACE, timehist::wanted()), &scope(state, prio), &mut each).expect("readable");
        comms
    };
    assert_eq!([lines("S", ""), lines("R", ""), lines("R+", ""), lines("", "rt")], ["MHL", "LL", "L", "MH"]);
    let rows = |state, prio| {
        let found = states(
            &mut open(TRACE, states::wanted()),
            &AnalysisRequest { scope: scope(state, prio), ..AnalysisRequest::default() },
        )
        .expect("readable");
        found.rows.iter().map(|row| row.comm.clone()).collect::<String>()
    };
    assert_eq!([rows("D", ""), rows("S", ""), rows("R", ""), rows("", "rt")], ["H", "", "LH", "MH"]);
    let mut letters = Vec::new();
    let mut each = |row: &schedlab_analyze::trace::MapRow| {
        letters.push(row.letters.clone());
        true
    };
    map(&mut open(TRACE, map::wanted()), &scope("", "rt"), &mut each).expect("readable");
    assert_eq!(letters, ["-", "A0", "-", "B0", "-", "."]);
    let options = AnalysisRequest { scope: scope("", "fair"), ..AnalysisRequest::default() };
    let found = overview(&mut open(TRACE, map::wanted()), &options).expect("readable");
    assert_eq!(found.signs.iter().map(|sign| sign.comm.as_str()).collect::<Vec<_>>(), ["L"]);
}
