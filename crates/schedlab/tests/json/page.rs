//! Writes `docs/json.md`, which `schedlab explain-json` prints, from the registry of outputs and the comments of the
//! printed types.

use crate::TRACE;
use crate::program::json;
use crate::shapes::Shapes;
use schedlab_analyze::trace::{AnalysisRequest, Reader};
use schedlab_plan::json::Room;
use schedlab_report::{ANALYSES, Form, RenderedOutput, TraceAnalysis};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

/// An output: its schema with the version, the command, and the crate and name of its type.
pub(crate) struct Answer {
    pub(crate) schema: String,
    pub(crate) command: String,
    pub(crate) of: (&'static str, String),
}

fn answer(schema: &str, command: &str, of: &'static str, name: &str) -> Answer {
    Answer { schema: schema.to_owned(), command: command.to_owned(), of: (of, name.to_owned()) }
}

/// The output for a row of [`ANALYSES`]: the analysis itself prints its schema, for any trace, and the type is named
/// like the row.
fn of_analysis(row: &TraceAnalysis) -> Answer {
    let mut reader = Reader::open("trace", Box::new(TRACE.as_bytes().to_vec()), (row.wanted)()).unwrap();
    let Ok(RenderedOutput::Json(line)) = (row.run)(&mut reader, &AnalysisRequest::default(), Form::Json(Room::All))
    else {
        panic!("{} has no JSON", row.name);
    };
    let schema = json(&line)["schema"].as_str().unwrap().to_owned();
    let (first, rest) = row.name.split_at(1);
    answer(&schema, &format!("trace {}", row.name), "analyze", &(first.to_uppercase() + rest))
}

/// All outputs of all commands; schemas that end in `-line` are printed one object per line, without a member `schema`.
pub(crate) static ANSWERS: LazyLock<Vec<Answer>> = LazyLock::new(|| {
    let mut all = vec![
        answer("schedlab/findings/2", "run, ab, report, compare, import", "analyze", "Findings"),
        answer("schedlab/search/1", "run, report (a plan with [[knob]])", "analyze", "SearchFindings"),
        answer("schedlab/outcome/1", "bench, record -- WORKLOAD", "plan", "TrialOutcome"),
        answer("schedlab/bench-sweep/1", "bench --sweep", "schedlab", "BenchSweep"),
        answer("schedlab/recording/1", "record", "report", "Recording"),
        answer("schedlab/doctor/1", "doctor", "schedlab", "Looked"),
        answer("schedlab/doctor-against/1", "doctor --against RUN", "schedlab", "Against"),
        answer("schedlab/list/1", "list", "schedlab", "Listed"),
        answer("schedlab/knobs/1", "tune show, tune catalog", "schedlab", "Knobs"),
        answer("schedlab/why/1", "why", "analyze", "WhyFindings"),
        answer("schedlab/why-kernels/1", "why --kernels", "analyze", "WhyKernelsFindings"),
        answer("schedlab/why-forecast/1", "why --dry-run", "schedlab", "WhyForecast"),
        answer("schedlab/bisect/1", "bisect", "analyze", "BisectFindings"),
        answer("schedlab/bisect-forecast/1", "bisect --dry-run", "schedlab", "BisectForecast"),
        answer("schedlab/pack/1", "pack", "plan", "Pack"),
        answer("schedlab/repeat-forecast/1", "repeat --dry-run", "schedlab", "RepeatForecast"),
        answer("schedlab/repeat/1", "repeat", "analyze", "Repetition"),
        answer("schedlab/profile/1", "profile", "analyze", "ProfileFindings"),
        answer("schedlab/vm-profile/1", "vm profile", "schedlab", "ProfileAnswer"),
        answer("schedlab/trace-latency/1", "trace latency", "analyze", "Latency"),
        answer("schedlab/trace-kworkers/1", "trace kworkers", "analyze", "Kworkers"),
        answer("schedlab/trace-kworkers-pooled/1", "trace kworkers RUN", "analyze", "PooledKworkers"),
        answer("schedlab/trace-map/1", "trace map", "analyze", "Overview"),
        answer("schedlab/trace-map-line/1", "trace map --switches", "analyze", "MapRow"),
        answer("schedlab/trace-timehist-line/2", "trace timehist", "analyze", "TimehistRow"),
        answer("schedlab/trace-slow/1", "trace slow", "analyze", "Slow"),
        answer("schedlab/trace-copies/1", "trace copies", "analyze", "Copies"),
        answer("schedlab/trace-copies-of-arms/1", "trace copies RUN", "analyze", "CopiesOfArms"),
        answer("schedlab/trace-diff/1", "trace diff", "analyze", "TraceDiff"),
    ];
    all.extend(ANALYSES.iter().map(of_analysis));
    all.extend([
        answer("schedlab/kernel-related/1", "kernel related", "report", "RelatedAnswer"),
        answer("schedlab/kernel-port-hunk-line/1", "kernel port (of a hunk)", "report", "PortHunk"),
        answer("schedlab/kernel-port-file-line/1", "kernel port (of a whole file)", "report", "PortFile"),
        answer("schedlab/kernel-port-skipped-line/1", "kernel port (of what was skipped)", "report", "PortSkipped"),
        answer("schedlab/kernel-port-build-line/1", "kernel port --build (of a patch)", "report", "PortBuilt"),
        answer("schedlab/dossier/1", "kernel dossier (dossier.json)", "schedlab", "DossierAnswer"),
        answer("schedlab/recorder-cost/1", "record --self-test (recorder-cost.json)", "analyze", "RecorderCost"),
    ]);
    all
});

const HEAD: &str = "# The JSON of all commands

`--json` prints one object; its first member, `schema`, names its type. `trace timehist`, `trace map
--switches` and `kernel port` instead print one such object per line, and as many lines as fit in 20
kB (`--top N` sets the number, `--top 0` prints all). `schedlab explain-json SCHEMA` prints the
tables of one schema from this page. A schema's number changes when a member is removed or changes
its meaning; members may be added.

The output stays below 20 kB. If it would be larger, lists are shortened: lists of more than 16
numbers are dropped whole, because half of a distribution misleads; lists of rows are cut at the
end; objects with arbitrary keys keep their largest entries; a text of more than 400 bytes that
takes more room than any list is cut, and ends in `…`. `shortened` then gives, for each list, how
many `entries` there were and how many are `kept`. `--top N` cuts each list of rows to N entries
instead, and drops lists of numbers only beyond 20 kB; `--top 0` cuts nothing. Analyses of traces
and profiles have a `--top` for their own rows; with it no other rows are cut. Files are always
written complete.

Times end in `_ns` and are whole nanoseconds; those *of the trace's clock* are instants, the others
durations. Missing values are `null`, or absent if a row says so; a number that is not finite is
`null`. The first table of a schema describes the whole object, the others the objects in it. Cells
of a histogram are those of [FORMAT.md](../FORMAT.md) (histogram_cells), so distributions of several
traces can be added cell by cell.

This page is generated from the comments of the printed types (`crates/schedlab/tests/json`) and
checked against real output.
";

/// The text of the page.
pub(crate) fn page(shapes: &Shapes) -> String {
    let (mut page, mut told) = (HEAD.to_owned(), BTreeMap::new());
    for answer in ANSWERS.iter() {
        let own = |text: &str| (answer.of.0.to_owned(), text.to_owned());
        let mut title = Some(format!("## `{}`: `{}`", answer.command, answer.schema));
        let mut left = vec![own(&answer.of.1)];
        while let Some((of, name)) = left.pop() {
            let title = title.take();
            if title.is_none()
                && let Some(known) = told.insert(name.clone(), of.clone())
            {
                assert_eq!(known, of, "two types are called {name}");
                continue;
            }
            let mut met = Vec::new();
            let title = title.unwrap_or_else(|| format!("### {name}"));
            write!(page, "\n{title}\n\n| field | type | meaning |\n|---|---|---|\n").unwrap();
            for (its, field) in shapes.members(&of, &name) {
                assert!(!field.means.is_empty(), "{name}.{} has no comment", field.name);
                let mut of = shapes.in_words(&its, &field.of, &mut met);
                of += if field.or_text { ", or \"NaN\", \"inf\", \"-inf\"" } else { "" };
                of += if field.optional { ", or absent" } else { "" };
                let means = if field.name == "schema" {
                    "The name and version of the schema.".into()
                } else {
                    plain(&field.means)
                };
                writeln!(page, "| `{}` | {of} | {means} |", field.name).unwrap();
            }
            left.extend(met.into_iter().rev());
        }
    }
    page
}

/// `[`Name`]` and `[`Name`](path)` are links only in rustdoc; `|` would end a cell.
fn plain(means: &str) -> String {
    let mut text = means.replace("[`", "`").replace('|', "\\|");
    while let Some(at) = text.find("`](") {
        let end = text[at..].find(')').map_or(text.len(), |end| at + end + 1);
        text.replace_range(at + 1..end, "");
    }
    text.replace("`]", "`")
}
