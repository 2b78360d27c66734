//! A machine that schedules at random: its events as ftrace text, and the truth, computed by adding up the state of
//! each task from one event to the next. It does not use the rules by which a trace is analysed.

use super::task::{After, At, Task, Truth, Turn, Waiting};
use schedlab_stats::Random;

/// Reproducible choices.
pub(crate) struct Draw(Random);

impl Draw {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0.below(most)
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn one(&mut self, of: &[usize]) -> Option<usize> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    current: Option<usize>,
    hard: bool,
    soft: bool,
}

/// The parameters of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) cpus: usize,
    pub(crate) tasks: usize,
    pub(crate) steps: usize,
    /// Whether `sched_wakeup`, `sched_migrate_task`, forks and interrupts are traced as well.
    pub(crate) full: bool,
    /// Whether threads are woken onto other queues than that of the CPU on which they ran.
    pub(crate) moves: bool,
}

pub(crate) struct Machine {
    draw: Draw,
    pub(crate) shape: Shape,
    now: u64,
    cpus: Vec<Cpu>,
    pub(crate) tasks: Vec<Task>,
    /// CPU and line of each event.
    pub(crate) lines: Vec<(usize, String)>,
}

const HARD: &str = "(irq 27 eth0)";
const SOFT: &str = "(softirq NET_RX)";

impl Machine {
    /// Runs a machine.
    pub(crate) fn run(seed: u64, shape: Shape) -> Self {
        let draw = Draw(Random::new(seed));
        let cpus = vec![Cpu::default(); shape.cpus];
        let mut machine = Self { draw, shape, now: 5_000_000_000, cpus, tasks: Vec::new(), lines: Vec::new() };
        for number in 0..shape.cpus + shape.tasks {
            let prio = if machine.draw.chance(80) { 120 } else { 49 };
            machine.new_task(format!("t{number}"), prio, number % shape.cpus);
        }
        // The first switch on each CPU shows what runs there.
        for cpu in 0..shape.cpus {
            machine.tasks[cpu].at = At::Queued;
            machine.switch(cpu, "R", Some(cpu));
            machine.advance();
            machine.switch(cpu, "S", None);
            machine.advance();
        }
        for _ in 0..shape.steps {
            machine.step();
        }
        for cpu in 0..shape.cpus {
            machine.end_interrupts(cpu);
            if machine.cpus[cpu].current.is_some() {
                machine.switch(cpu, "S", None);
                machine.advance();
            }
        }
        for task in machine.tasks.iter_mut().filter(|task| task.waiting.is_some()) {
            task.truth.unfinished += 1;
        }
        machine
    }

    /// All events.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| line.as_str()).collect()
    }

    /// Loses some consecutive events of one CPU; the next event there reports the loss. Also returns the threads that
    /// ran there for the first time in that gap, because to a reader of the trace they do not exist.
    pub(crate) fn with_a_loss(&mut self) -> (String, Vec<u32>) {
        let cpu = self.draw.below(self.shape.cpus);
        // Not in the first lines, because before the first waking it is not known that wakings are recorded.
        let from = 40 + self.draw.below(self.lines.len() - 40);
        let of_cpu = |number: &usize| self.lines[*number].0 == cpu;
        // The last event stays, because without an event that reports it a loss is not noticed.
        let mut lost: Vec<usize> = (from..self.lines.len()).filter(of_cpu).take(2 + from % 20).collect();
        let next = lost.pop();
        let mut text = String::new();
        for (number, (_, line)) in self.lines.iter().enumerate().filter(|(number, _)| !lost.contains(number)) {
            if next == Some(number) {
                text += &format!("CPU:{cpu} [LOST {} EVENTS]\n", lost.len());
            }
            text += line;
        }
        let runs = |tid: u32, number: usize| self.lines[number].1.contains(&format!("next_pid={tid} "));
        let is_new = |tid: &u32| {
            lost.iter().any(|number| runs(*tid, *number)) && !(0..from).filter(of_cpu).any(|number| runs(*tid, number))
        };
        let new = self.tasks.iter().map(|task| task.tid).filter(is_new).collect();
        (text, new)
    }

    /// Adds an event at the present time, in the kernel's format.
    fn emit(&mut self, cpu: usize, event: &str) {
        let Cpu { current, hard, soft } = self.cpus[cpu];
        let flags = ["d..2.", "d.s2.", "d.h2.", "d.H2."][usize::from(soft) + 2 * usize::from(hard)];
        let (comm, tid) = current.map_or(("<idle>", 0), |task| (&self.tasks[task].comm, self.tasks[task].tid));
        let (s, ns) = (self.now / 1_000_000_000, self.now % 1_000_000_000);
        self.lines.push((cpu, format!("{comm}-{tid} [{cpu:03}] {flags} {s}.{ns:09}: {event}\n")));
    }

    /// Lets time pass, and adds it to whatever each task is doing.
    fn advance(&mut self) {
        let scale = [1, 100, 10_000, 1_000_000][self.draw.below(4)];
        let ns = (1 + self.draw.below(90)) as u64 * scale + self.draw.below(100) as u64;
        let does: Vec<(String, bool)> = self.cpus.iter().map(|cpu| self.does(cpu)).collect();
        for task in &mut self.tasks {
            match task.at {
                At::Running => task.turn.run_ns += ns,
                At::Asleep => task.asleep.iter_mut().for_each(|(_, slept)| *slept += ns),
                At::Placing | At::Queued | At::Gone => {}
            }
            let Some(waiting) = &mut task.waiting else { continue };
            waiting.ns += ns;
            if task.at == At::Placing {
                waiting.placing_ns += ns;
                *waiting.by.entry("(placing)".into()).or_default() += ns;
                continue;
            }
            let (what, idle) = &does[task.cpu];
            *waiting.by.entry(what.clone()).or_default() += ns;
            if !idle && does.iter().any(|(_, idle)| *idle) {
                waiting.idle_elsewhere_ns += ns;
            }
        }
        self.now += ns;
    }

    /// What a CPU does, and whether it is idle.
    fn does(&self, cpu: &Cpu) -> (String, bool) {
        match *cpu {
            Cpu { hard: true, .. } => (HARD.into(), false),
            Cpu { soft: true, .. } => (SOFT.into(), false),
            Cpu { current: Some(task), .. } => (self.tasks[task].comm.clone(), false),
            Cpu { current: None, .. } => ("(idle)".into(), true),
        }
    }

    fn new_task(&mut self, comm: String, prio: i32, cpu: usize) -> usize {
        let number = self.tasks.len();
        self.tasks.push(Task {
            tid: 100 + number as u32,
            comm,
            prio,
            at: At::Asleep,
            cpu,
            ran_on: None,
            asleep: None,
            waiting: None,
            pending: false,
            turn: Turn::default(),
            truth: Truth::default(),
        });
        number
    }

    fn all(&self, is: impl Fn(&Task) -> bool) -> Vec<usize> {
        (0..self.tasks.len()).filter(|number| is(&self.tasks[*number])).collect()
    }

    fn queue(&self, cpu: usize) -> Vec<usize> {
        self.all(|task| task.at == At::Queued && task.cpu == cpu)
    }

    /// Adds one event, or none if the random choice is impossible.
    fn step(&mut self) {
        self.advance();
        let cpu = self.draw.below(self.shape.cpus);
        match self.draw.below(100) {
            0..30 => self.wake(cpu),
            30..50 => self.place(cpu),
            50..85 => self.schedule(cpu),
            _ if !self.shape.full => {}
            85..90 => self.migrate(cpu),
            90..96 => self.interrupt(cpu),
            96..98 => self.fork(cpu),
            _ => self.exit(cpu),
        }
    }

    fn wake(&mut self, cpu: usize) {
        let Shape { full, moves, cpus, .. } = self.shape;
        let sleepers = self.all(|task| task.at == At::Asleep || full && task.at == At::Running && !task.pending);
        let Some(number) = self.draw.one(&sleepers).filter(|task| self.cpus[cpu].current != Some(*task)) else {
            return;
        };
        let moved = moves && self.draw.chance(40);
        let target = if moved { self.draw.below(cpus) } else { self.tasks[number].cpu };
        let task = &mut self.tasks[number];
        // The kernel reports the CPU where the thread was, and chooses another one afterwards.
        let (comm, tid, prio, was_on) = (&task.comm, task.tid, task.prio, task.cpu);
        let event = format!("sched_waking: comm={comm} pid={tid} prio={prio} target_cpu={was_on:03}");
        if task.at == At::Running {
            task.pending = true;
        } else {
            if let Some((letter, slept_ns)) = task.asleep.take() {
                *task.truth.slept_ns.entry(letter).or_default() += slept_ns;
                task.turn.slept_ns = Some(slept_ns);
            }
            task.waiting = Some(Waiting::new(After::Waking));
            // Without sched_wakeup, as far as the trace shows, the thread is enqueued at once.
            (task.at, task.cpu) = (if full { At::Placing } else { At::Queued }, target);
        }
        self.emit(cpu, &event);
    }

    /// Enqueues a thread that was woken; a thread that was woken while it ran does not go to sleep.
    fn place(&mut self, cpu: usize) {
        let woken = self.all(|task| task.at == At::Placing || task.pending);
        let Some(number) = self.draw.one(&woken) else { return };
        let task = &mut self.tasks[number];
        if task.pending {
            task.pending = false;
        } else {
            task.at = At::Queued;
            task.waiting.as_mut().expect("it waits").reported = true;
        }
        let (comm, tid, prio, on) = (&task.comm, task.tid, task.prio, task.cpu);
        let event = format!("sched_wakeup: comm={comm} pid={tid} prio={prio} target_cpu={on:03}");
        self.emit(cpu, &event);
    }

    fn schedule(&mut self, cpu: usize) {
        if self.cpus[cpu].hard || self.cpus[cpu].soft {
            return;
        }
        let queued = self.queue(cpu);
        let next = self.draw.one(&queued);
        match (self.cpus[cpu].current, next) {
            (Some(_), _) if self.draw.chance(50) => {
                let letter = ["S", "S", "D"][self.draw.below(3)];
                self.switch(cpu, letter, next);
            }
            (Some(_), Some(_)) => {
                let letter = ["R", "R+"][self.draw.below(2)];
                self.switch(cpu, letter, next);
            }
            (None, Some(_)) => self.switch(cpu, "R", next),
            (_, None) => {}
        }
    }

    fn switch(&mut self, cpu: usize, letter: &str, next: Option<usize>) {
        let idle = (format!("swapper/{cpu}"), 0, 120);
        let named = |task: Option<usize>, tasks: &[Task]| {
            task.map_or(idle.clone(), |task| (tasks[task].comm.clone(), tasks[task].tid, tasks[task].prio))
        };
        let prev = self.cpus[cpu].current;
        let ((p, ptid, pprio), (n, ntid, nprio)) = (named(prev, &self.tasks), named(next, &self.tasks));
        self.emit(
            cpu,
            &format!(
                "sched_switch: prev_comm={p} prev_pid={ptid} prev_prio={pprio} prev_state={letter} ==> next_comm={n} \
                 next_pid={ntid} next_prio={nprio}"
            ),
        );
        self.cpus[cpu].current = next;
        let (now, full) = (self.now, self.shape.full);
        if let Some(prev) = prev {
            self.tasks[prev].leave(now, letter, full);
        }
        if let Some(next) = next {
            self.tasks[next].enter(cpu);
        }
    }

    fn migrate(&mut self, by: usize) {
        let queued = self.all(|task| task.at == At::Queued);
        let Some(number) = self.draw.one(&queued) else { return };
        let (to, task) = (self.draw.below(self.shape.cpus), &mut self.tasks[number]);
        let (comm, tid, prio, from) = (&task.comm, task.tid, task.prio, task.cpu);
        let event = format!("sched_migrate_task: comm={comm} pid={tid} prio={prio} orig_cpu={from} dest_cpu={to}");
        task.cpu = to;
        self.emit(by, &event);
    }

    /// Hard interrupts may interrupt soft ones; nothing interrupts hard ones.
    fn interrupt(&mut self, cpu: usize) {
        match self.cpus[cpu] {
            Cpu { hard: true, .. } => self.end_interrupts(cpu),
            Cpu { soft: true, .. } if self.draw.chance(60) => self.end_interrupts(cpu),
            Cpu { soft: false, .. } if self.draw.chance(50) => {
                self.cpus[cpu].soft = true;
                self.emit(cpu, "softirq_entry: vec=3 [action=NET_RX]");
            }
            _ => {
                self.cpus[cpu].hard = true;
                self.emit(cpu, "irq_handler_entry: irq=27 name=eth0");
            }
        }
    }

    fn end_interrupts(&mut self, cpu: usize) {
        if self.cpus[cpu].hard {
            self.emit(cpu, "irq_handler_exit: irq=27 ret=handled");
            self.cpus[cpu].hard = false;
            self.advance();
        }
        if self.cpus[cpu].soft {
            self.emit(cpu, "softirq_exit: vec=3 [action=NET_RX]");
            self.cpus[cpu].soft = false;
            self.advance();
        }
    }

    fn fork(&mut self, cpu: usize) {
        let Cpu { current: Some(parent), hard: false, soft: false } = self.cpus[cpu] else { return };
        let (comm, tid, prio) = (self.tasks[parent].comm.clone(), self.tasks[parent].tid, self.tasks[parent].prio);
        let on = self.draw.below(self.shape.cpus);
        let child = self.new_task(comm.clone(), prio, on);
        let pid = self.tasks[child].tid;
        self.emit(cpu, &format!("sched_process_fork: comm={comm} pid={tid} child_comm={comm} child_pid={pid}"));
        self.advance();
        self.tasks[child].at = At::Queued;
        self.tasks[child].waiting = Some(Waiting::new(After::Birth));
        self.emit(cpu, &format!("sched_wakeup_new: comm={comm} pid={pid} prio={prio} target_cpu={on:03}"));
    }

    fn exit(&mut self, cpu: usize) {
        let Cpu { current: Some(number), hard: false, soft: false } = self.cpus[cpu] else { return };
        if self.tasks[number].pending {
            return;
        }
        let (comm, tid, prio) = (&self.tasks[number].comm, self.tasks[number].tid, self.tasks[number].prio);
        let event = format!("sched_process_exit: comm={comm} pid={tid} prio={prio}");
        self.emit(cpu, &event);
        self.advance();
        let queued = self.queue(cpu);
        let next = self.draw.one(&queued);
        self.switch(cpu, "X", next);
    }
}
