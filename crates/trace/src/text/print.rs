//! The words behind an event's name, as the kernel's print formats have them; [`payload`](super::payload) reads them.

use crate::event::{Cpu, Prio, Wake, What};
use crate::names::{Name, Names};
use crate::prev_state::PrevStates;
use crate::syscall::Syscall;

/// Name and words of an event; `None` for what is no event of the kernel.
pub(crate) fn payload_of(what: &What, names: &Names, states: &PrevStates) -> Option<(&'static str, String)> {
    match *what {
        What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
            let (prev_comm, prev_prio) = (name(prev_comm, names), number(prev_prio));
            let (next_comm, next_prio) = (name(next_comm, names), number(next_prio));
            let (prev, next, state) = (prev.0, next.0, states.letters(prev_state));
            let words = format!(
                "prev_comm={prev_comm} prev_pid={prev} prev_prio={prev_prio} prev_state={state} ==> next_comm={next_comm} \
                 next_pid={next} next_prio={next_prio}"
            );
            Some(("sched_switch", words))
        }
        What::Waking(wake) => Some(("sched_waking", of_wake(&wake, names))),
        What::Wakeup(wake) => Some(("sched_wakeup", of_wake(&wake, names))),
        What::WakeupNew(wake) => Some(("sched_wakeup_new", of_wake(&wake, names))),
        What::Migrate { .. }
        | What::StatRuntime { .. }
        | What::PiSetprio { .. }
        | What::Fork { .. }
        | What::Exit { .. }
        | What::Exec { .. }
        | What::Comm { .. } => of_thread(what, names),
        What::WorkQueued { .. } | What::WorkActivated { .. } | What::WorkStarted { .. } | What::WorkEnded { .. } => {
            of_work(what, names)
        }
        What::IrqEntry { .. }
        | What::IrqExit { .. }
        | What::SoftirqRaise { .. }
        | What::SoftirqEntry { .. }
        | What::SoftirqExit { .. }
        | What::CpuIdle { .. } => of_interrupt(what, names),
        What::SysEnter { .. } | What::SysExit { .. } | What::CgroupAttach { .. } => of_call(what, names),
        What::GapBegin | What::GapEnd { .. } | What::WaitsUnknown { .. } => None,
    }
}

fn name(name: Name, names: &Names) -> &str {
    Some(names.text(name)).filter(|text| !text.is_empty()).unwrap_or("<...>")
}

/// No priority is −2: it is read back as unknown.
fn number(prio: Prio) -> i16 {
    prio.get().unwrap_or(-2)
}

fn on(cpu: Cpu) -> i32 {
    if cpu == Cpu::ANY { -1 } else { i32::from(cpu.0) }
}

fn of_wake(wake: &Wake, names: &Names) -> String {
    let (comm, prio, cpu) = (name(wake.comm, names), number(wake.prio), on(wake.target_cpu));
    format!("comm={comm} pid={} prio={prio} target_cpu={cpu:03}", wake.tid.0)
}

/// What happens to a thread beside switches and wakeups.
fn of_thread(what: &What, names: &Names) -> Option<(&'static str, String)> {
    let name = |of: Name| name(of, names);
    Some(match *what {
        What::Migrate { tid, comm, prio, orig_cpu, dest_cpu } => {
            let (comm, prio, orig, dest) = (name(comm), number(prio), on(orig_cpu), on(dest_cpu));
            ("sched_migrate_task", format!("comm={comm} pid={} prio={prio} orig_cpu={orig} dest_cpu={dest}", tid.0))
        }
        What::StatRuntime { tid, comm, runtime } => {
            ("sched_stat_runtime", format!("comm={} pid={} runtime={} [ns]", name(comm), tid.0, runtime.get()))
        }
        What::PiSetprio { tid, comm, oldprio, newprio } => {
            let (old, new) = (number(oldprio), number(newprio));
            ("sched_pi_setprio", format!("comm={} pid={} oldprio={old} newprio={new}", name(comm), tid.0))
        }
        What::Fork { parent, child, comm } => {
            let words = format!("comm=<...> pid={} child_comm={} child_pid={}", parent.0, name(comm), child.0);
            ("sched_process_fork", words)
        }
        What::Exit { tid, comm } => ("sched_process_exit", format!("comm={} pid={} prio=-2", name(comm), tid.0)),
        What::Exec { tid, old_tid } => {
            ("sched_process_exec", format!("filename=? pid={} old_pid={}", tid.0, old_tid.0))
        }
        What::Comm { tid, comm } => {
            let words = format!("pid={} oldcomm=<...> newcomm={} oom_score_adj=0", tid.0, name(comm));
            ("task_rename", words)
        }
        _ => return None,
    })
}

fn of_work(what: &What, names: &Names) -> Option<(&'static str, String)> {
    let name = |of: Name| name(of, names);
    Some(match *what {
        What::WorkQueued { work, function, workqueue, cpu } => {
            let (work, function, queue, cpu) = (work.get(), name(function), name(workqueue), on(cpu));
            let words =
                format!("work struct={work:016x} function={function} workqueue={queue} req_cpu={cpu} cpu={cpu}");
            ("workqueue_queue_work", words)
        }
        What::WorkActivated { work, function } => {
            ("workqueue_activate_work", format!("work struct {:016x} function={}", work.get(), name(function)))
        }
        What::WorkStarted { work, function, .. } => {
            ("workqueue_execute_start", format!("work struct {:016x}: function {}", work.get(), name(function)))
        }
        What::WorkEnded { work, function, .. } => {
            ("workqueue_execute_end", format!("work struct {:016x}: function {}", work.get(), name(function)))
        }
        _ => return None,
    })
}

fn of_interrupt(what: &What, names: &Names) -> Option<(&'static str, String)> {
    Some(match *what {
        What::IrqEntry { irq, name: of } => ("irq_handler_entry", format!("irq={irq} name={}", name(of, names))),
        What::IrqExit { irq } => ("irq_handler_exit", format!("irq={irq} ret=handled")),
        What::SoftirqRaise { vec } => ("softirq_raise", format!("vec={vec}")),
        What::SoftirqEntry { vec } => ("softirq_entry", format!("vec={vec}")),
        What::SoftirqExit { vec } => ("softirq_exit", format!("vec={vec}")),
        What::CpuIdle { state, cpu } => ("cpu_idle", format!("state={state} cpu_id={}", on(cpu))),
        _ => return None,
    })
}

/// What a thread asks of the kernel, and where it is put. Of the arguments stand there those that an event has.
fn of_call(what: &What, names: &Names) -> Option<(&'static str, String)> {
    let number = |number: Syscall| if number == Syscall::OTHER { -1 } else { i64::from(number.0) };
    Some(match *what {
        What::SysEnter { number: nr, arg0, arg1, .. } => {
            let arg1 = if arg1 == u32::MAX { String::new() } else { format!(", {arg1:x}") };
            ("sys_enter", format!("NR {} ({:x}{arg1})", number(nr), arg0.get()))
        }
        What::SysExit { number: nr, ret, .. } => ("sys_exit", format!("NR {} = {}", number(nr), ret.get() as i64)),
        What::CgroupAttach { tid, comm, dst_root, dst_path } => {
            let (comm, path) = (name(comm, names), names.text(dst_path));
            ("cgroup_attach_task", format!("dst_root={dst_root} dst_path={path} pid={} comm={comm}", tid.0))
        }
        _ => return None,
    })
}
