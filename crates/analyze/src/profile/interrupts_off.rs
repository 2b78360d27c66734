//! Functions that are charged with time spent with interrupts off: a pending timer interrupt fires where they re-enable
//! interrupts. Source: kernel/sched/core.c (`finish_lock_switch`), include/linux/spinlock_api_smp.h, kernel/softirq.c,
//! arch/*/entry.

use super::tally::plain;

/// Kernel functions that re-enable interrupts, with names as returned by `tally::plain`.
const TURNS_INTERRUPTS_ON: &[&str] = &[
    // The switch itself, and everything under a run queue's lock.
    "finish_task_switch",
    "__schedule",
    "raw_spin_rq_unlock_irq",
    "schedule_tail",
    // Ends of critical sections.
    "_raw_spin_unlock_irq",
    "_raw_spin_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "_raw_write_unlock_irqrestore",
    "__wake_up_common_lock",
    "__wake_up",
    "__wake_up_sync_key",
    "try_to_wake_up",
    "___slab_alloc",
    "__slab_free",
    // Ends of interrupts; softirqs begin by re-enabling interrupts.
    "handle_softirqs",
    "__do_softirq",
    "do_softirq",
    "__local_bh_enable_ip",
    "irqentry_exit",
    // Entry into the kernel and exit from it.
    "do_syscall_64",
    "entry_SYSCALL_64_after_hwframe",
    "syscall_enter_from_user_mode",
    "syscall_exit_to_user_mode",
    "exit_to_user_mode_loop",
    "exc_page_fault",
    "do_user_addr_fault",
    "el0_svc",
    "el0_da",
    "el0_ia",
    // Out of idle.
    "do_idle",
    "cpuidle_idle_call",
    "cpuidle_enter_state",
    "default_idle_call",
    "pv_native_safe_halt",
];

/// Whether samples in a kernel function may belong to earlier code that ran with interrupts off.
pub(super) fn turns_interrupts_on(name: &str) -> bool {
    TURNS_INTERRUPTS_ON.contains(&plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_made_by_the_compiler_are_known_too() {
        for name in ["finish_task_switch", "finish_task_switch.isra.0", "__schedule.part.0", "do_idle.cold"] {
            assert!(turns_interrupts_on(name), "{name}");
        }
        for name in ["pipe_read", "finish_task_switchboard", "", "_raw_spin_lock_irqsave"] {
            assert!(!turns_interrupts_on(name), "{name}");
        }
    }
}
