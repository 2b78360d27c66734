//! Calls of kernel functions, counted with kprobes on every CPU while a trial runs: whether a patched path is taken,
//! and how often. A function that the compiler inlined has no symbol and cannot be counted; this is reported, and never
//! becomes a count of 0.

use crate::Roots;
use crate::event_source::Pmu;
use crate::per_cpu::online_cpus;
use schedlab_plan::require::CALLS;
use schedlab_plan::{Count, Counter};
use schedlab_sys::perf_event::{Group, Reading};
use std::ffi::CString;
use std::io;

/// The probes of one trial.
#[derive(Debug, Default)]
pub struct Calls(Vec<Function>);

#[derive(Debug)]
struct Function {
    name: String,
    /// One group for each CPU, or why there are none.
    probes: Result<Vec<Group>, String>,
}

impl Calls {
    /// Opens the probes; they do not count yet.
    pub fn open(roots: &Roots, functions: &[String]) -> Self {
        Self(functions.iter().map(|name| Function { name: name.clone(), probes: probes(roots, name) }).collect())
    }

    /// Starts counting.
    pub fn enable(&mut self) {
        self.switch(Group::enable);
    }

    /// Stops counting.
    pub fn disable(&mut self) {
        self.switch(Group::disable);
    }

    fn switch(&mut self, act: fn(&Group) -> io::Result<()>) {
        for function in &mut self.0 {
            let Ok(probes) = &function.probes else { continue };
            if let Err(error) = probes.iter().try_for_each(act) {
                function.probes = Err(format!("its kprobe could not be switched on or off: {error}"));
            }
        }
    }

    /// A row for each function, also for one that was never called.
    pub fn counters(&self) -> Vec<Counter> {
        self.0.iter().map(Function::counter).collect()
    }
}

impl Function {
    fn counter(&self) -> Counter {
        let count = match self.calls() {
            Ok(calls) => Count::Exact(calls),
            Err(why) => Count::NotCounted(why),
        };
        Counter { name: format!("{CALLS}{}", self.name), scope: "host".into(), source: "perf kprobe".into(), count }
    }

    fn calls(&self) -> Result<u64, String> {
        let mut readings: Vec<Reading> = Vec::new();
        for probe in self.probes.as_ref().map_err(Clone::clone)? {
            probe.read(&mut readings).map_err(|error| format!("its probe could not be read: {error}"))?;
        }
        Ok(readings.iter().map(|reading| reading.value).sum())
    }
}

fn probes(roots: &Roots, name: &str) -> Result<Vec<Group>, String> {
    let pmu = Pmu::read(roots, "kprobe").map_err(|_| "this kernel has no probes (CONFIG_KPROBE_EVENTS)".to_owned())?;
    let function = CString::new(name).map_err(|_| format!("`{name}` is not a name of a function"))?;
    let cpus = online_cpus(roots);
    let open = |&cpu: &u32| Group::open_calls(pmu.type_number(), &function, cpu).map_err(|e| refusal(roots, name, &e));
    cpus.as_slice().iter().map(open).collect()
}

fn refusal(roots: &Roots, name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "a probe in the kernel needs CAP_PERFMON".into(),
        io::ErrorKind::NotFound => absent(roots, &[name]).unwrap_or_else(|| format!("`{name}` cannot be found")),
        io::ErrorKind::InvalidInput => format!("`{name}` is a function that the kernel does not let be probed"),
        _ => format!("a probe at `{name}`: {error}"),
    }
}

/// A sentence about the first of these functions that has no symbol here; `None` also if the symbols cannot be read.
pub fn absent(roots: &Roots, functions: &[&str]) -> Option<String> {
    if functions.is_empty() {
        return None;
    }
    absent_from(&std::fs::read_to_string(roots.proc.join("kallsyms")).ok()?, functions)
}

fn absent_from(symbols: &str, functions: &[&str]) -> Option<String> {
    let names = || symbols.lines().filter_map(|line| line.split_ascii_whitespace().nth(2));
    let missing = functions.iter().find(|function| !names().any(|name| name == **function))?;
    let copy = names().find(|name| name.strip_prefix(*missing).is_some_and(|rest| rest.starts_with('.')));
    Some(match copy {
        Some(copy) => format!(
            "`{missing}` is in this kernel only as `{copy}`, which the compiler made of it: mark it noinline and \
             __noclone in every arm, or count `{copy}`"
        ),
        None => format!(
            "`{missing}` has no symbol in this kernel: it is inlined, or not there, and its calls cannot be counted; \
             mark it noinline in every arm"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_a_symbol_is_inlined_and_not_0_calls() {
        let symbols = "ffffffff81000000 T schedule\nffffffff81000100 t wake_affine.isra.0\nffffffffc0000000 t x\t[m]\n";
        let absent = |functions: &[&str]| absent_from(symbols, functions);
        assert_eq!(absent(&["schedule", "x"]), None);
        assert_eq!(absent(&[]), None);
        assert!(absent(&["schedule", "wake_wide"]).unwrap().contains("`wake_wide` has no symbol"));
        assert!(absent(&["wake_affine"]).unwrap().contains("count `wake_affine.isra.0`"));
        assert!(absent(&["wake_af"]).unwrap().contains("inlined"));
    }

    #[test]
    fn what_cannot_be_probed_is_a_row_with_its_reason() {
        let roots = Roots { proc: "/proc".into(), sys: "/nonexistent".into() };
        let rows = Calls::open(&roots, &["schedule".into()]).counters();
        assert_eq!(rows[0].name, "calls.schedule");
        assert!(rows[0].count.why_not().is_some_and(|why| why.contains("CONFIG_KPROBE_EVENTS")), "{rows:?}");
    }

    #[test]
    fn calls_are_counted_while_they_are_wanted() {
        let roots = Roots::default();
        // Every new process calls this function, and little else does.
        let mut calls = Calls::open(&roots, &["wake_up_new_task".into(), "schedlab_no_such_function".into()]);
        let missing = calls.counters().remove(1).count;
        assert!(missing.why_not().is_some(), "{missing:?}");
        if let Err(why) = &calls.0[0].probes {
            use std::io::Write;
            let _ =
                writeln!(io::stderr(), "schedlab-skip: calls_are_counted_while_they_are_wanted: needs kprobes ({why})");
            return;
        }
        let thread = || std::thread::spawn(|| ()).join().unwrap();
        thread();
        assert_eq!(calls.counters()[0].count.value(), Some(0), "not before it is enabled");
        calls.enable();
        (0..3).for_each(|_| thread());
        calls.disable();
        let counted = calls.counters()[0].count.value().unwrap();
        assert!(counted >= 3, "{counted}");
        thread();
        assert_eq!(calls.counters()[0].count.value(), Some(counted), "not after");
    }
}
