//! The pages of all analyses of a golden trace, one after the other.

use super::*;

/// Every page of every analysis of a trace.
pub(crate) fn pages(name: &str) -> String {
    let mut out = Vec::new();
    let title = |out: &mut Vec<u8>, text: &str| out.extend(format!("=== {text}\n").as_bytes());
    title(&mut out, "latency");
    trace_latency(&latencies(name)).text(140, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "states");
    let scope = Scope::default();
    let found = states(&mut open(name, states::wanted()), &Asked { scope: scope.clone(), ..Asked::default() })
        .expect("readable");
    trace_states(&found).text(140, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "timehist");
    timehist_header(&mut out).expect("a Vec takes every byte");
    let mut reader = open(name, timehist::wanted());
    let mut each = |row: &_| timehist_line(row, &mut out).is_ok();
    timehist(&mut reader, &scope, &mut each).expect("readable");
    title(&mut out, "map");
    let mut each = |row: &_| map_line(row, &mut out).is_ok();
    map(&mut open(name, map::wanted()), &scope, &mut each).expect("readable");
    title(&mut out, "blame");
    trace_blame(&blames(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "chains");
    trace_chains(&chained(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "inversions");
    trace_inversions(&inverted(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "kworkers");
    trace_kworkers(&worked(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "affine");
    let found = affine(&mut open(name, affine::wanted()), &Asked::default()).expect("readable");
    trace_affine(&found).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "map, in slices");
    trace_overview(&mapped(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "queues");
    trace_queues(&queued(name)).text(80, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "check");
    trace_check(&check(&mut open(name, check::wanted())).expect("readable"))
        .text(140, false, &mut out)
        .expect("written");
    title(&mut out, "latency --compat perf");
    let found =
        perf_latency(&mut open(name, schedlab_analyze::trace::perf_latency::wanted()), false).expect("readable");
    perf_latency_text(&found, &mut out).expect("a Vec takes every byte");
    String::from_utf8(out).expect("pages are UTF-8")
}
