//! What the host asks a guest to do: a file in its initramfs, so that nothing has to be sent in over a port.

use serde::{Deserialize, Serialize};

/// Where the guest finds it.
pub const JOB_FILE: &str = "/schedlab/job.json";
/// Where the guest finds the description of its modules.
pub const MODULES_FILE: &str = "/schedlab/modules.json";

/// The guest's job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Arguments of the schedlab command, without the program's name; empty with `shell`, and where they are handed.
    pub arguments: Vec<String>,
    /// Current directory of the command; made when it is not there. The host's own, so that paths mean the same.
    pub directory: String,
    /// Added to the command's environment.
    pub environment: Vec<(String, String)>,
    /// The guest's name.
    pub hostname: String,
    /// The device over which frames leave.
    pub port: String,
    /// Modules to load before the command starts; others are loaded when the kernel asks for them.
    pub modules: Vec<String>,
    /// Files, and directories with all they hold, that the host wants after the command has ended: absolute paths.
    pub collect: Vec<String>,
    /// The machine that was asked for, which its kernel has to see.
    pub machine: Arranged,
    /// What a seed of the virtual lane does before the command starts.
    pub perturbation: Perturbation,
    /// A shell on the console instead of a command.
    pub shell: bool,
    /// It stops once it is up, so that its state can be saved; when restored it is handed what to do ([`RestoredJob`]).
    pub stops: bool,
}

/// What a guest restored from a saved state is given. The guest reads it at a fixed point of its execution, whatever
/// the host does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoredJob {
    /// What the sample's seed changes before the command starts.
    pub perturbation: Perturbation,
    /// A file of the guest that the command reads.
    pub path: String,
    /// Its content; if the job has no command, the command's arguments as a JSON array.
    pub content: String,
}

impl RestoredJob {
    /// As it is passed to the guest: a line, and the content.
    pub fn to_text(&self) -> String {
        let Perturbation { forks, spin_tick_millionths } = self.perturbation;
        format!("{forks} {spin_tick_millionths} {}\n{}", self.path, self.content)
    }

    /// `None` if no host of this version would send it.
    pub fn parse(text: &str) -> Option<Self> {
        let (line, content) = text.split_once('\n')?;
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next()?.parse().ok();
        let perturbation = Perturbation { forks: number()?, spin_tick_millionths: number()? };
        Some(Self { perturbation, path: words.next()?.to_owned(), content: content.to_owned() })
    }
}

/// How many CPUs, sockets, threads of a core and nodes a machine has; all 0 where nothing is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arranged {
    /// CPUs that run.
    pub cpus: u32,
    /// Packages of them.
    pub sockets: u32,
    /// Hardware threads of a core.
    pub threads: u32,
    /// NUMA nodes.
    pub nodes: u32,
}

/// Harmless differences between two boots of the virtual lane, which would otherwise be equal to the last instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbation {
    /// Processes forked and reaped.
    pub forks: u32,
    /// Time spent spinning, in millionths of the guest's tick: moves the command's start against the tick.
    pub spin_tick_millionths: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_is_handed_is_read_as_it_was_written() {
        let perturbation = Perturbation { forks: 3, spin_tick_millionths: 999_999 };
        let restored_job = RestoredJob { perturbation, path: "/a b/task".into(), content: "{\n}\n".into() };
        assert_eq!(RestoredJob::parse(&restored_job.to_text()), Some(restored_job));
        assert_eq!(["", "3\n", "3 x /a\n", "1 2\n"].map(RestoredJob::parse), [const { None }; 4]);
    }
}
