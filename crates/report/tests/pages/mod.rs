//! The pages of golden traces, a file for each analysis.

use super::*;
use schedlab_report::{ANALYSES, Form, RenderedOutput};

/// Columns of a page.
const WIDTH: usize = 80;

/// Every page of an analysis: the name of its file, and a function from a golden trace to its text.
pub(crate) type Pages = (&'static str, Box<dyn Fn(&str) -> String>);

/// Those of the analyses in rows, except `explain`, which combines others, and of those with options of their own.
pub(crate) fn all() -> Vec<Pages> {
    let rows = ANALYSES.iter().filter(|row| row.name != "explain");
    let of_row = |row: &'static schedlab_report::TraceAnalysis| -> Pages {
        let page =
            |name: &str| match (row.run)(&mut open(name, (row.wanted)()), &AnalysisRequest::default(), Form::Page) {
                Ok(RenderedOutput::Page(page)) => of_document(&page),
                _ => panic!("{} of {name} is not readable to its end", row.name),
            };
        (row.name, Box::new(page))
    };
    let own: [Pages; 6] = [
        ("latency", Box::new(|name| of_document(&trace_latency(&latencies(name))))),
        ("latency-perf", Box::new(as_perf)),
        ("timehist", Box::new(times)),
        ("map", Box::new(|name| of_document(&trace_overview(&mapped(name))))),
        ("map-switches", Box::new(switches)),
        ("kworkers", Box::new(|name| of_document(&trace_kworkers(&worked(name))))),
    ];
    rows.map(of_row).chain(own).collect()
}

/// The lines of a page that are wider than a terminal, except for those in another tool's format.
pub(crate) fn wide<'p>(name: &str, page: &'p str) -> Option<&'p str> {
    let is_page = !["latency-perf", "timehist", "map-switches"].contains(&name);
    page.lines().find(|line| is_page && line.chars().count() > WIDTH)
}

fn of_document(page: &schedlab_report::Document) -> String {
    written(|out| page.text(WIDTH, false, out))
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a Vec takes every byte");
    String::from_utf8(out).expect("pages are UTF-8")
}

fn times(name: &str) -> String {
    written(|out| {
        timehist_header(120, out)?;
        let mut each = |row: &_| timehist_line(row, 120, out).is_ok();
        timehist(&mut open(name, timehist::wanted()), &Scope::default(), &mut each).expect("readable");
        Ok(())
    })
}

fn switches(name: &str) -> String {
    written(|out| {
        let mut each = |row: &_| map_line(row, out).is_ok();
        map(&mut open(name, map::wanted()), &Scope::default(), &mut each).expect("readable");
        Ok(())
    })
}

fn as_perf(name: &str) -> String {
    let found = perf_latency(&mut open(name, schedlab_analyze::trace::perf_latency::wanted()), false);
    written(|out| perf_latency_text(&found.expect("readable"), out))
}
