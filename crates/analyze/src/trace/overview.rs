//! The task on each CPU over the time of a trace, in slices that fit on a line: the task that ran most of a slice.

use super::facts::{Definition, TraceFacts};
use super::filter::TaskFilter;
use super::follow::{AfterEvent, Analysis, follow};
use super::request::AnalysisRequest;
use super::slices::Slicing;
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Counts, Engine};
use schedlab_trace::{Cpu, Event, Name, Names, Reader, Tid, TraceError, What};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-map/1";

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[Definition {
    id: "map/1",
    means: "a CPU's time between switches, interrupts included, in slices of equal length: the name that had most of \
            each slice, all its threads together, or idle, or not known (before the first switch and over missing events)",
}];

/// Signs for names, assigned in the order of their time.
const SIGNS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An idle CPU.
pub const IDLE: char = '.';
/// Not known.
pub const UNKNOWN: char = '?';
/// A thread that the filter excludes.
pub const OTHER: char = '-';
/// A name without a sign of its own.
pub const MANY: char = '*';

/// A name with its sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignRow {
    /// The sign.
    pub sign: char,
    /// The name.
    pub comm: String,
    /// Time on all CPUs, ns.
    pub ns: u64,
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuMap {
    /// Its number.
    pub cpu: u16,
    /// The sign of each slice: [`IDLE`], [`UNKNOWN`], [`OTHER`], [`MANY`] or a name's.
    pub signs: String,
    /// The busy part of each slice, of what is known of it.
    pub busy: Vec<f64>,
    /// Time of threads, ns.
    pub busy_ns: u64,
    /// Time of the idle thread, ns.
    pub idle_ns: u64,
    /// The rest, ns.
    pub unknown_ns: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// Where the first slice begins, ns of the trace's clock.
    pub start_ns: u64,
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// CPUs, by number.
    pub cpus: Vec<CpuMap>,
    /// Names with signs, by time, largest first.
    pub signs: Vec<SignRow>,
    /// Names without a sign of their own.
    pub more_names: u64,
}

/// Reads a trace to its end.
/// The scope selects the tasks that get signs, the time, priorities and CPUs; states belong to waits, and select
/// nothing here. The result has at least four fifths of the requested slices, except for a very short trace.
pub fn overview(reader: &mut Reader, request: &AnalysisRequest) -> Result<Overview, TraceError> {
    let mut painter = Painter::new(request);
    let engine = follow(reader, &request.scope.tasks, &mut [&mut painter])?;
    Ok(findings(painter, &engine, reader, request))
}

/// The findings, after the trace was read.
pub(super) fn findings(
    mut painter: Painter<'_>,
    engine: &Engine,
    reader: &Reader,
    request: &AnalysisRequest,
) -> Overview {
    let end = request.scope.window.to_ns.map_or(painter.last, |to| to.min(painter.last));
    for cpu in 0..painter.cpus.len() {
        painter.paint(cpu, end);
    }
    // The events read here may not include wakings, so counts about these are left out.
    let Counts { events, gaps, tasks, cpus, .. } = engine.counts();
    let counts = Counts { events, gaps, tasks, cpus, ..Counts::default() };
    let met = |tid| engine.may_have_met(tid);
    let trace = TraceFacts::new(reader, (&counts, engine.span(reader.noted_in_all())), &met, &request.scope);
    painter.group(end);
    painter.overview(trace, reader.names(), (end, request.top.unwrap_or(usize::MAX).min(SIGNS.len())))
}

/// What a CPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Unknown,
    Idle,
    Other,
    Task(Name),
}

/// Time by what the CPU did.
#[derive(Debug, Clone, Default)]
struct Slice(Vec<(Who, u64)>);

impl Slice {
    fn add(&mut self, who: Who, ns: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == who) {
            Some((_, sum)) => *sum += ns,
            None => self.0.push((who, ns)),
        }
    }
}

#[derive(Debug)]
struct Row {
    since: u64,
    who: Who,
    slices: Vec<Slice>,
    seen: bool,
}

#[derive(Debug)]
pub(super) struct Painter<'a> {
    request: &'a AnalysisRequest,
    /// Starts at the first switch, or at the start of the requested time; so it does not depend on which other events
    /// are read.
    slicing: Slicing,
    /// Time of the last switch.
    last: u64,
    cpus: Vec<Row>,
}

impl<'a> Painter<'a> {
    pub(super) fn new(request: &'a AnalysisRequest) -> Self {
        Self { request, slicing: Slicing::new(request.slices), last: 0, cpus: Vec::new() }
    }

    fn row(&mut self, cpu: Cpu) -> usize {
        let at = usize::from(cpu.0);
        let since = self.slicing.start.unwrap_or(0);
        if at >= self.cpus.len() {
            self.cpus.resize_with(at + 1, || Row { since, who: Who::Unknown, slices: Vec::new(), seen: false });
        }
        at
    }

    /// Adds the time up to `now` to the task on a CPU. CPU numbers that do not occur have no row.
    fn paint(&mut self, cpu: usize, now: u64) {
        let Some(start) = self.slicing.start.filter(|_| self.cpus[cpu].seen) else { return };
        let window = &self.request.scope.window;
        let end = window.to_ns.map_or(now, |to| now.min(to));
        let join = self.slicing.fit(end);
        self.join(join);
        let row = &mut self.cpus[cpu];
        let from = row.since.max(start);
        row.since = row.since.max(now);
        self.slicing.divide(from, end, |at, ns| {
            if at >= row.slices.len() {
                row.slices.resize_with(at + 1, Slice::default);
            }
            row.slices[at].add(row.who, ns);
        });
    }

    /// Reduces the number of slices to the requested one, or a few less.
    fn group(&mut self, end: u64) {
        let join = self.slicing.fit_line(end);
        self.join(join);
    }

    /// Joins each `number` slices into one.
    fn join(&mut self, number: usize) {
        if number > 1 {
            self.cpus.iter_mut().for_each(|row| row.join(number));
        }
    }

    fn change(&mut self, event: &Event, who: Who) {
        let at = self.row(event.cpu);
        self.cpus[at].seen = true;
        self.paint(at, event.ts);
        self.cpus[at].who = who;
    }

    fn overview(self, trace: TraceFacts, names: &Names, (end, most): (u64, usize)) -> Overview {
        let mut times: BTreeMap<Name, u64> = BTreeMap::new();
        let scope = &self.request.scope;
        let has_time = self.slicing.start.is_some_and(|start| start < end);
        let wanted = |cpu: usize| {
            let cpus = scope.window.cpus.as_ref();
            has_time && cpus.is_none_or(|cpus| cpus.contains(&Cpu(cpu as u16)))
        };
        let mut rows: Vec<(usize, &Row)> =
            self.cpus.iter().enumerate().filter(|(cpu, row)| row.seen && wanted(*cpu)).collect();
        for (who, ns) in rows.iter().flat_map(|(_, row)| row.slices.iter().flat_map(|slice| &slice.0)) {
            if let Who::Task(comm) = who {
                *times.entry(*comm).or_default() += ns;
            }
        }
        if times.is_empty() && (scope.tasks != TaskFilter::default() || !scope.prios.is_empty()) {
            // No selected task ran: a map of the other tasks alone shows nothing.
            rows.clear();
        }
        let mut times: Vec<(Name, u64)> = times.into_iter().collect();
        times.in_order_by_key(|(comm, ns)| (std::cmp::Reverse(*ns), *comm));
        let signs: Vec<(Name, char, u64)> =
            times.iter().zip(SIGNS.chars()).take(most).map(|((comm, ns), sign)| (*comm, sign, *ns)).collect();
        let number = self.slicing.number(end);
        let sign_row = |(comm, sign, ns): &(Name, char, u64)| {
            let comm = match names.text(*comm) {
                "" => "(no name)".to_owned(),
                name => name.to_owned(),
            };
            SignRow { sign: *sign, comm, ns: *ns }
        };
        Overview {
            schema: SCHEMA,
            trace,
            definitions: DEFINITIONS,
            start_ns: self.slicing.start.unwrap_or(0),
            slice_ns: self.slicing.slice_ns,
            cpus: rows.iter().map(|(cpu, row)| row.map(*cpu as u16, &signs, number)).collect(),
            signs: signs.iter().map(sign_row).collect(),
            more_names: times.len().saturating_sub(signs.len()) as u64,
        }
    }
}

impl Row {
    fn join(&mut self, number: usize) {
        let slices = std::mem::take(&mut self.slices);
        for (at, slice) in slices.into_iter().enumerate() {
            match at % number {
                0 => self.slices.push(slice),
                _ => slice.0.into_iter().for_each(|(who, ns)| self.slices[at / number].add(who, ns)),
            }
        }
    }

    fn map(&self, cpu: u16, signs: &[(Name, char, u64)], number: usize) -> CpuMap {
        let mut map = CpuMap { cpu, signs: String::new(), busy: Vec::new(), busy_ns: 0, idle_ns: 0, unknown_ns: 0 };
        let empty = Slice::default();
        for at in 0..number {
            let slice = self.slices.get(at).unwrap_or(&empty);
            let most =
                slice.0.iter().max_by_key(|(who, ns)| (*ns, std::cmp::Reverse(*who))).map_or(Who::Unknown, |m| m.0);
            map.signs.push(match most {
                Who::Unknown => UNKNOWN,
                Who::Idle => IDLE,
                Who::Other => OTHER,
                Who::Task(comm) => signs.iter().find(|(name, ..)| *name == comm).map_or(MANY, |(_, sign, _)| *sign),
            });
            let of = |wanted: fn(&Who) -> bool| slice.0.iter().filter(|(who, _)| wanted(who)).map(|s| s.1).sum::<u64>();
            let (idle, unknown) = (of(|who| *who == Who::Idle), of(|who| *who == Who::Unknown));
            let busy = of(|who| matches!(who, Who::Task(_) | Who::Other));
            map.busy.push(if busy + idle == 0 { 0.0 } else { busy as f64 / (busy + idle) as f64 });
            map.busy_ns += busy;
            map.idle_ns += idle;
            map.unknown_ns += unknown;
        }
        map
    }
}

impl Analysis for Painter<'_> {
    #[inline]
    fn take(&mut self, after: &AfterEvent<'_>) {
        let event = after.event;
        match event.what {
            What::Switch { next, next_comm, next_prio, .. } => {
                self.slicing.start.get_or_insert(event.ts.max(self.request.scope.window.from_ns));
                self.last = self.last.max(event.ts);
                let is_chosen = after.next.is_some_and(|task| after.known.get(task).chosen);
                let is_chosen = is_chosen && self.request.scope.has_prio(next_prio);
                let who = match next {
                    Tid::IDLE => Who::Idle,
                    _ if is_chosen => Who::Task(next_comm),
                    _ => Who::Other,
                };
                self.change(event, who);
            }
            What::GapBegin if event.cpu == Cpu::ANY => {
                for cpu in 0..self.cpus.len() {
                    self.paint(cpu, event.ts);
                    self.cpus[cpu].who = Who::Unknown;
                }
            }
            What::GapBegin => self.change(event, Who::Unknown),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_number_of_a_cpu_takes_no_room_for_those_below_it() {
        let request = AnalysisRequest::default();
        let mut painter = Painter::new(&request);
        painter.slicing.start = Some(0);
        for (ts, cpu) in [(0, 0), (1_000_000, Cpu::MAX_COUNT - 1), (2_000_000_000, 0)] {
            let event = Event { ts, cpu: Cpu(cpu), what: What::GapBegin };
            painter.change(&event, Who::Idle);
        }
        (0..painter.cpus.len()).for_each(|cpu| painter.paint(cpu, 3_000_000_000));
        let with_slices: Vec<usize> =
            (0..painter.cpus.len()).filter(|cpu| !painter.cpus[*cpu].slices.is_empty()).collect();
        assert_eq!(with_slices, [0, usize::from(Cpu::MAX_COUNT) - 1]);
    }
}
