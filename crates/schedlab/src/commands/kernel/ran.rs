//! Which functions ran: counts from a profile, or from the kernel's function tracer.

use crate::input;
use anyhow::{Context, Result, bail};
use schedlab_report::Hits;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn read(file: &Path) -> Result<Hits> {
    let text = input::bytes(file)?;
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let text = String::from_utf8_lossy(&text);
    let (what, counts) = match text.trim_start().starts_with('{') {
        true => profile(&text).with_context(|| format!("--hits {}", file.display()))?,
        false => (CALLS, traced(&text)),
    };
    if counts.is_empty() {
        bail!(
            "--hits {}: no function in it; give JSON of `vm profile --json` or `profile --json`, or lines `FUNCTION <-CALLER` \
             of the function tracer",
            file.display()
        );
    }
    Ok(Hits { source: format!("{name}: {what}"), counts: of_functions(counts, what == CALLS) })
}

const CALLS: &str = "calls, by the function tracer";

/// Copies made by the compiler, such as `f.isra.0` and `f.constprop.0.cold`, count for their function, and the
/// functions that implement a system call count for the call. These call one another, so of their calls the maximum is
/// taken; of their samples the sum.
fn of_functions(counts: BTreeMap<String, u64>, are_calls: bool) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for (name, count) in counts {
        let function = name.split('.').next().filter(|name| !name.is_empty()).unwrap_or(&name);
        let (function, is_part) = match system_call(function) {
            Some(call) => (call, true),
            None => (function, false),
        };
        let sum = out.entry(function.to_owned()).or_insert(0);
        *sum = if is_part && are_calls { count.max(*sum) } else { *sum + count };
    }
    out
}

/// `sys_futex` for `__x64_sys_futex`, `__do_sys_futex` and `__se_sys_futex`; `compat_sys_futex` for
/// `__ia32_compat_sys_futex`. 32-bit programs on a 64-bit kernel use `__ia32_sys_futex`, which is the same call.
fn system_call(function: &str) -> Option<&str> {
    const OF: [&str; 9] = ["x64", "ia32", "x32", "arm64", "riscv", "s390", "s390x", "se", "do"];
    let (of, call) = function.strip_prefix("__")?.split_once('_')?;
    let is_call = call.starts_with("sys_") || call.starts_with("compat_sys_");
    (OF.contains(&of) && is_call).then_some(call)
}

/// Of several profiles the last one is taken, which is the one that was requested.
fn profile(text: &str) -> Result<(&'static str, BTreeMap<String, u64>)> {
    let whole: serde_json::Value = serde_json::from_str(text).context("it is not JSON")?;
    let last = whole.get("profiles").and_then(|all| all.as_array()?.last());
    if let Some(functions) = last.and_then(|one| one.get("functions")?.as_object()) {
        let counts = functions.iter().filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
        return Ok(("instructions", counts.collect()));
    }
    let sampled = whole.get("functions").and_then(|functions| functions.as_array());
    let mut out = BTreeMap::new();
    for one in sampled.context("it is not a profile of `vm profile --json` or `profile --json`")? {
        let of = |key: &str| one.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        // `[kernel]`, or the name of a module; a program is a path.
        if of("image").starts_with('[') {
            let samples = one.get("samples").and_then(serde_json::Value::as_u64).unwrap_or(0);
            *out.entry(of("name").to_owned()).or_default() += samples;
        }
    }
    Ok(("samples", out))
}

/// `… 12.3: schedule <-worker_thread`; trace-cmd writes `schedule <-- worker_thread`.
fn traced(text: &str) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for line in text.lines() {
        let function = line.split_once(" <-").and_then(|(before, _)| before.split_whitespace().last());
        if let Some(name) = function.filter(|_| !line.trim_start().starts_with('#')) {
            *out.entry(name.to_owned()).or_default() += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_is_told_by_its_form() {
        let traced = traced(
            "# a <-b\n <idle>-0 [001] d..2. 12.3: schedule <-worker_thread\n x-1 [000] 1.0: function: schedule <-- do_x\n x-1 y\n",
        );
        assert_eq!(traced, BTreeMap::from([("schedule".to_owned(), 2)]));
        let counted = r#"{"profiles": [{"functions": {"old": 1}}, {"functions": {"tcp_push": 7}}]}"#;
        assert_eq!(profile(counted).unwrap(), ("instructions", BTreeMap::from([("tcp_push".to_owned(), 7)])));
        let sampled = r#"{"functions": [{"name": "f", "image": "[kernel]", "samples": 3}, {"name": "main", "image": "/bin/x", "samples": 9}]}"#;
        assert_eq!(profile(sampled).unwrap(), ("samples", BTreeMap::from([("f".to_owned(), 3)])));
        let counts =
            ["futex_wait", "__x64_sys_futex_wait", "__do_sys_futex_wait.isra.0", "__ia32_compat_sys_x", "__dont_sys_y"];
        let counts: BTreeMap<String, u64> = counts.into_iter().zip(1..).map(|(name, n)| (name.to_owned(), n)).collect();
        let of = |are_calls| of_functions(counts.clone(), are_calls).into_iter().collect::<Vec<_>>();
        let wanted = |n| [("__dont_sys_y", 5), ("compat_sys_x", 4), ("futex_wait", 1), ("sys_futex_wait", n)];
        assert_eq!(of(true), wanted(3).map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(of(false), wanted(5).map(|(name, n)| (name.to_owned(), n)));
        assert!(profile("{}").unwrap_err().to_string().contains("not a profile"));
    }
}
