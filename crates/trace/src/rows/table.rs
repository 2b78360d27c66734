//! The events that are read. To add one, add a row here: its fields and what they contain, their names in the kernel's
//! format, their numbers in Perfetto's message (`ftrace/*.proto`) and their columns in the table of events.

use super::{Bits, Field, Holds, Row, Values, values};
use crate::event::{Cpu, Missing, Prio, Tid, Wake, Wide};
use crate::names::Name;
use crate::prev_state::StateId;
use crate::syscall::Syscall;
use crate::tables::{NO_COLUMN, column};
use schedlab_plan::EventGroup;
use schedlab_plan::EventGroup::{Cgroup, Full, Idle, Irq, Pi, Softirq, Workqueue};

events! {
    by_hand: {
        SchedSwitch "sched" "sched_switch", Min, op 0, perfetto 4;
        SchedWaking "sched" "sched_waking", Min, op 1, perfetto 20;
        SchedWakeup "sched" "sched_wakeup", Full, op 2, perfetto 17;
        SchedWakeupNew "sched" "sched_wakeup_new", Full, op 3, perfetto 114;
        SysEnter "raw_syscalls" "sys_enter", Syscalls, op 24, perfetto 329;
        SysExit "raw_syscalls" "sys_exit", Syscalls, op 25, perfetto 330;
    }
    variants: {
        /// `sched_switch`.
        Switch {
            /// The thread that leaves the CPU.
            prev: Tid,
            /// Who gets it.
            next: Tid,
            /// Name of `prev`.
            prev_comm: Name,
            /// Name of `next`.
            next_comm: Name,
            /// Priority of `prev`.
            prev_prio: Prio,
            /// Priority of `next`.
            next_prio: Prio,
            /// Why `prev` leaves, in the source's own letters.
            prev_state: StateId,
        },
        /// `sched_waking`: in the waker's context, before a CPU is chosen.
        Waking(Wake),
        /// `sched_wakeup`: on a runqueue now.
        Wakeup(Wake),
        /// `sched_wakeup_new`: a new thread, on a runqueue now.
        WakeupNew(Wake),
        /// `sys_enter`. Of the six arguments, an event has room for the first, and for the second if it is small.
        SysEnter {
            /// Who calls.
            tid: Tid,
            /// What.
            number: Syscall,
            /// The first argument.
            arg0: Wide,
            /// The second; `u32::MAX` if it is not smaller, or unknown.
            arg1: u32,
        },
        /// `sys_exit`.
        SysExit {
            /// Who called.
            tid: Tid,
            /// What.
            number: Syscall,
            /// Its return value: an `i64`, negative for an errno.
            ret: Wide,
        },
        /// From here on, events of this CPU are missing. A reader that looks ahead inserts it where the gap begins.
        GapBegin,
        /// The events of this CPU are complete again.
        GapEnd {
            /// Why some were missing.
            missing: Missing,
            /// Number of lost events; 0 if they were not counted.
            lost: u32,
        },
        /// Whatever waits or sleeps before `until` may have run in between, on a CPU on which it was never seen: some
        /// CPU's ring had not begun, or lost events at an unknown time. Runs are known if their own CPU has no gap.
        WaitsUnknown {
            /// Up to when, ns.
            until: Wide,
        },
    }
    rows: {
        /// `sched_migrate_task`.
        Migrate: SchedMigrateTask "sched" "sched_migrate_task", Some(Full), op 4, perfetto 491,
        ["comm={comm} pid={tid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"] => {
            /// Who moves.
            tid: Tid = Thread ["pid"], [2], "tid";
            /// Its name.
            comm: Name = Comm ["comm"], [1], "comm";
            /// Its priority.
            prio: Prio = Prio ["prio"], [3], "prio";
            /// From this CPU.
            orig_cpu: Cpu = Cpu ["orig_cpu"], [4], "from_cpu";
            /// To this one.
            dest_cpu: Cpu = Cpu ["dest_cpu"], [5], "to_cpu";
        }
        /// `sched_stat_runtime`: CPU time since the thread's last such event, ns.
        StatRuntime: SchedStatRuntime "sched" "sched_stat_runtime", None, op 5, perfetto 0,
        ["comm={comm} pid={tid} runtime={runtime} [ns]"] => {
            /// Who ran.
            tid: Tid = Thread ["pid"], [], "tid";
            /// Its name.
            comm: Name = Comm ["comm"], [], "comm";
            /// For how long, ns.
            runtime: Wide = Long ["runtime"], [], "runtime_ns";
        }
        /// `sched_pi_setprio`: priority inheritance.
        PiSetprio: SchedPiSetprio "sched" "sched_pi_setprio", Some(Pi), op 6, perfetto 353,
        ["comm={comm} pid={tid} oldprio={oldprio} newprio={newprio}"] => {
            /// The thread whose priority changes.
            tid: Tid = Thread ["pid"], [4], "tid";
            /// Its name.
            comm: Name = Comm ["comm"], [1], "comm";
            /// Before.
            oldprio: Prio = Prio ["oldprio"], [3], "old_prio";
            /// After.
            newprio: Prio = Prio ["newprio"], [2], "prio";
        }
        /// `sched_process_fork`, `task_newtask` or perf's FORK record.
        Fork: SchedProcessFork "sched" "sched_process_fork", Some(Full), op 7, perfetto 239, [
            "comm={comm:<...>} pid={parent} child_comm={comm} child_pid={child}",
            "parent_comm={comm:} parent_pid={parent} child_comm={comm} child_pid={child}",
        ] => {
            /// Who forks.
            parent: Tid = Thread ["parent_pid"], [2], "by_tid";
            /// Who begins.
            child: Tid = Thread ["child_pid"], [4], "tid";
            /// The child's first name.
            comm: Name = Comm ["child_comm"], [3], "comm";
        }
        /// `sched_process_exit` or perf's EXIT record: the thread will switch out once more.
        Exit: SchedProcessExit "sched" "sched_process_exit", Some(Full), op 8, perfetto 238,
        ["comm={comm} pid={tid} prio={number:-2}"] => {
            /// Who ends.
            tid: Tid = Thread ["pid"], [2], "tid";
            /// Its name.
            comm: Name = Comm ["comm"], [1], "comm";
        }
        /// `sched_process_exec`.
        Exec: SchedProcessExec "sched" "sched_process_exec", Some(Full), op 9, perfetto 237,
        ["filename={text:?} pid={tid} old_pid={old_tid}"] => {
            /// The thread that continues.
            tid: Tid = Thread ["pid"], [2], "tid";
            /// Its previous id; a different one if a thread of a group called exec.
            old_tid: Tid = Thread ["old_pid"], [3], "old_tid";
        }
        /// `task_rename` or perf's COMM record. At time 0: the name of a thread when the recording began.
        // Linux 6.14 removed the thread's id, and 6.18.44 has it again. It need not be the thread that traced: a write
        // to /proc/PID/task/TID/comm renames another thread of the group. That thread's next switch has the new name.
        Comm: TaskRename "task" "task_rename", Some(Full), op 10, perfetto 236, [
            "pid={tid} oldcomm={comm:<...>} newcomm={comm} oom_score_adj={number:0}",
            "oldcomm={comm:} newcomm={comm} oom_score_adj={number:}",
        ] => {
            /// Whose name.
            tid: Tid = ThreadIfSaid ["pid"], [1], "tid";
            /// The name from now on.
            comm: Name = Comm ["newcomm"], [3], "comm";
        }
        /// `irq_handler_entry`.
        IrqEntry: IrqHandlerEntry "irq" "irq_handler_entry", Some(Irq), op 11, perfetto 36, ["irq={irq} name={name}"] => {
            /// Number of the line.
            irq: u32 = Number ["irq"], [1], "number";
            /// Name of the handler.
            name: Name = Text ["name"], [2], "function";
        }
        /// `irq_handler_exit`.
        IrqExit: IrqHandlerExit "irq" "irq_handler_exit", Some(Irq), op 12, perfetto 37, ["irq={irq} ret=handled"] => {
            /// Number of the line.
            irq: u32 = Number ["irq"], [1], "number";
        }
        /// `softirq_raise`.
        SoftirqRaise: SoftirqRaise "irq" "softirq_raise", Some(Softirq), op 13, perfetto 26, ["vec={vec}"] => {
            /// Number of the vector.
            vec: u32 = Number ["vec"], [1], "number";
        }
        /// `softirq_entry`.
        SoftirqEntry: SoftirqEntry "irq" "softirq_entry", Some(Softirq), op 14, perfetto 24, ["vec={vec}"] => {
            /// Number of the vector.
            vec: u32 = Number ["vec"], [1], "number";
        }
        /// `softirq_exit`.
        SoftirqExit: SoftirqExit "irq" "softirq_exit", Some(Softirq), op 15, perfetto 25, ["vec={vec}"] => {
            /// Number of the vector.
            vec: u32 = Number ["vec"], [1], "number";
        }
        /// `workqueue_queue_work`.
        WorkQueued: WorkqueueQueueWork "workqueue" "workqueue_queue_work", Some(Workqueue), op 16, perfetto 59,
        ["work struct={work} function={function} workqueue={workqueue} req_cpu={cpu} cpu={cpu}"] => {
            /// Address of the work item.
            work: Wide = Address ["work"], [1], "work";
            /// Its function.
            function: Name = Function ["function"], [2], "function";
            /// The workqueue.
            workqueue: Name = Text ["workqueue"], [6], "workqueue";
            /// The CPU whose pool it goes to; [`Cpu::ANY`] for an unbound queue.
            cpu: Cpu = Pool ["cpu"], [5], "to_cpu";
        }
        /// `workqueue_activate_work`: within the queue's limit of active items.
        WorkActivated: WorkqueueActivateWork "workqueue" "workqueue_activate_work", Some(Workqueue), op 17, perfetto 56,
        ["work struct {work} function={function}"] => {
            /// Address of the work item.
            work: Wide = Address ["work"], [1], "work";
            /// Its function, if the source has it.
            function: Name = Function ["function"], [2], "function";
        }
        /// `workqueue_execute_start`, traced by the kworker.
        WorkStarted: WorkqueueExecuteStart "workqueue" "workqueue_execute_start", Some(Workqueue), op 18, perfetto 58,
        ["work struct {work}: function {function}"] => {
            /// Address of the work item.
            work: Wide = Address ["work"], [1], "work";
            /// Its function.
            function: Name = Function ["function"], [2], "function";
            /// The kworker.
            worker: Tid = Thread ["common_pid"], [], "tid";
        }
        /// `workqueue_execute_end`.
        WorkEnded: WorkqueueExecuteEnd "workqueue" "workqueue_execute_end", Some(Workqueue), op 19, perfetto 57,
        ["work struct {work}: function {function}"] => {
            /// Address of the work item, which may have been freed by now.
            work: Wide = Address ["work"], [1], "work";
            /// Its function, if the source has it.
            function: Name = Function ["function"], [2], "function";
            /// The kworker.
            worker: Tid = Thread ["common_pid"], [], "tid";
        }
        /// `cpu_idle`.
        CpuIdle: CpuIdle "power" "cpu_idle", Some(Idle), op 20, perfetto 13, ["state={state} cpu_id={cpu}"] => {
            /// The state entered; `u32::MAX` means leaving idle.
            state: u32 = Number ["state"], [1], "number";
            /// Which CPU.
            cpu: Cpu = Cpu ["cpu_id"], [2], "to_cpu";
        }
        /// `cgroup_attach_task`: traced for a process with its first thread, and for a thread that was moved alone.
        // The first text is the event as far as the model has it. Perfetto's field 5 was the group's own name before 7
        // was its path.
        CgroupAttach: CgroupAttachTask "cgroup" "cgroup_attach_task", Some(Cgroup), op 26, perfetto 67, [
            "dst_root={dst_root} dst_path={dst_path} pid={tid} comm={comm}",
            "dst_root={dst_root} dst_id={number:} dst_level={number:} dst_path={dst_path} pid={tid} comm={comm}",
        ] => {
            /// The thread that is moved.
            tid: Tid = Thread ["pid"], [3], "tid";
            /// Its name.
            comm: Name = Comm ["comm"], [4], "comm";
            /// The hierarchy's number, as in /proc/PID/cgroup.
            dst_root: u32 = Number ["dst_root"], [1], "";
            /// The group to which it is moved.
            dst_path: Name = Text ["dst_path"], [7, 5], "cgroup";
        }
    }
    also: {
        TaskNewtask as Fork: "task" "task_newtask", None, op 7, perfetto 235,
        ["pid={child} comm={comm} clone_flags={word:} oom_score_adj={number:}"] => {
            parent = Thread ["common_pid"], [];
            child = Thread ["pid"], [1];
            comm = Comm ["comm"], [2];
        }
    }
}
