//! Names of system calls: `SYSCALL_DEFINE2(futex_wait, …)` defines `sys_futex_wait`. Calls of `futex_wait` go to
//! another function.

use crate::source::{Function, Unit};

const BY: &str = "SYSCALL_DEFINE";

/// Renames the system calls of a file to `sys_…`, which no other function is called.
pub(super) fn name(unit: &mut Unit) {
    for function in &mut unit.functions {
        let before = before(function);
        function.name.insert_str(0, before);
    }
}

/// The name that users know the system call by, if [`name`] has renamed this function.
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
