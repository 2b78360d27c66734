//! Where a setting is applied: by whom, when, and for how long follow from it.

use super::Setting;

/// Where a setting is applied; each is applied in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On tasks: inherited over fork, changeable while they run.
    Task,
    /// In the workload, which gets it as an option: no task and no host is changed.
    Workload,
    /// In the network namespace of the trial.
    Namespace,
    /// On the host: set before a trial and undone after it.
    Host,
    /// In the guest's machine: it is booted with the setting.
    Guest,
    /// During the trial: whoever runs the trial starts and ends the trace.
    Trace,
}

impl Setting {
    /// Where it is applied.
    pub fn place(&self) -> Place {
        match self {
            Self::Slice { .. }
            | Self::Policy(_)
            | Self::Nice(_)
            | Self::Cpus(_)
            | Self::TimerSlack { .. }
            | Self::PlantSpin { .. }
            | Self::PlantStall { .. } => Place::Task,
            Self::WorkloadOption { .. } => Place::Workload,
            Self::Kernel(_) | Self::BootArgument(_) | Self::Topology(_) => Place::Guest,
            Self::Trace(_) => Place::Trace,
            Self::Sysctl { name, .. } if name.starts_with("net.") => Place::Namespace,
            Self::Autogroup(_)
            | Self::Sysctl { .. }
            | Self::CpuWeight(_)
            | Self::CpuQuota { .. }
            | Self::Debugfs { .. }
            | Self::Feature { .. }
            | Self::Sysfs { .. }
            | Self::Thp(_)
            | Self::HaltPoll { .. }
            | Self::Cpuidle(_)
            | Self::Audit(_) => Place::Host,
        }
    }

    /// Whether it is applied to tasks.
    pub fn is_per_task(&self) -> bool {
        self.place() == Place::Task
    }

    /// Whether it is an option of the workload.
    pub fn is_workload_option(&self) -> bool {
        self.place() == Place::Workload
    }

    /// Whether it needs a guest of its own.
    pub fn is_of_guest(&self) -> bool {
        self.place() == Place::Guest
    }

    /// Whether it is in force before a trial begins, on the host or its guest, and not applied by the trial itself.
    pub fn is_host_wide(&self) -> bool {
        matches!(self.place(), Place::Host | Place::Guest)
    }

    /// Whether it is a trace during the trial.
    pub fn is_trace(&self) -> bool {
        self.place() == Place::Trace
    }

    /// Whether it is a sysctl of a network namespace.
    pub fn is_net_sysctl(&self) -> bool {
        self.place() == Place::Namespace
    }
}
