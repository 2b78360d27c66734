//! A system call is no function of its bare name: `SYSCALL_DEFINE2(futex_wait, …)` is `sys_futex_wait`, and not what
//! calls of `futex_wait` go to.

use crate::source::{Function, Unit};

const BY: &str = "SYSCALL_DEFINE";

/// Gives those of a file the names that nothing else has.
pub(super) fn name(unit: &mut Unit) {
    for function in &mut unit.functions {
        let before = before(function);
        function.name.insert_str(0, before);
    }
}

/// The name that users know a function by, if it is one and [`name`] has named it.
pub(super) fn bare(function: &Function) -> Option<&str> {
    let before = before(function);
    function.name.strip_prefix(before).filter(|_| !before.is_empty())
}

fn before(function: &Function) -> &'static str {
    match function.by.as_deref().and_then(|by| by.split_once(BY)) {
        None => "",
        Some((kind, _)) if kind.contains("COMPAT") => "compat_sys_",
        Some(_) => "sys_",
    }
}
