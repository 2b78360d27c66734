//! A sampled profile: where the CPUs were found executing, and through which call chains. It has recorded facts with
//! names, no shares and no verdicts, in tables of rows that refer to each other by number, because a call chain repeats
//! thousands of times.

use serde::{Deserialize, Serialize};

/// A sampled profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// What set the pace: `cpu-clock` or `cycles`.
    pub pace: String,
    /// Unit of a sample's weight: `ns` or `cycles`.
    pub unit: String,
    /// The pace cannot see code that runs with interrupts off: its samples are taken where they come back on.
    pub blind_with_interrupts_off: bool,
    /// Samples asked for, a second of CPU time.
    pub frequency_hz: u32,
    /// Whose samples: `the whole machine`, `the command and its children`.
    pub of: String,
    /// CPUs that were sampled.
    pub cpus: u32,
    /// CLOCK_MONOTONIC at which sampling began, ns.
    pub start_ns: u64,
    /// How long it lasted, ns.
    pub length_ns: u64,
    /// Programs, libraries, the kernel and its modules.
    pub images: Vec<Image>,
    /// Functions that were met.
    pub functions: Vec<Function>,
    /// Places in functions that were met.
    pub frames: Vec<Frame>,
    /// Names of tasks that were met.
    pub comms: Vec<String>,
    /// Tasks that were met, whatever they were called at the time.
    pub tasks: Vec<TaskIds>,
    /// Call chains that were met.
    pub chains: Vec<CallChain>,
    /// The samples, in order of time, except for those of different CPUs within a drain.
    pub samples: Vec<Sample>,
    /// Samples lost because a ring buffer was full.
    pub lost: u64,
    /// Times the kernel lowered the rate, because sampling took too much time.
    pub throttled: u64,
    /// Samples of the process that sampled, which are left out.
    pub of_the_sampler: u64,
    /// What the reader of the profile must know.
    pub notes: Vec<String>,
}

/// What code is from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// `[kernel]`, `[nf_tables]`, `/usr/lib/x86_64-linux-gnu/libc.so.6`, `[vdso]`, `[anonymous]`.
    pub name: String,
    /// Runs in the kernel.
    pub is_kernel: bool,
}

/// A function, or what is left of an image when a name is not available.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Its symbol; empty for the code of an image that has none.
    pub name: String,
    /// Index of its image.
    pub image: u32,
    /// Its first address: the kernel's own, or the image's (`st_value`); 0 without a name.
    pub start: u64,
    /// Bytes; 0 without a name.
    pub length: u64,
}

/// A place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index of its function.
    pub function: u32,
    /// Bytes from the function's start; for a caller, of the instruction after the call.
    pub offset: u64,
}

/// Who was found where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallChain {
    /// Index of the task's name.
    pub comm: u32,
    /// The task is a CPU's idle task.
    pub idle_task: bool,
    /// Indices of frames, the innermost first.
    pub frames: Vec<u32>,
}

/// A thread and its process, as the kernel numbers them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskIds {
    /// Its process, the number of its first thread.
    pub pid: u32,
    /// Its own.
    pub tid: u32,
}

/// One sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// µs after the start.
    pub at_us: u32,
    /// Its weight, in the profile's unit.
    pub weight: u32,
    /// Index of its call chain.
    pub chain: u32,
    /// Index of its task.
    pub task: u32,
    /// Where it ran.
    pub cpu: u32,
}

/// One machine instruction of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Bytes from the function's start.
    pub offset: u64,
    /// Its text; empty where no disassembler is at hand.
    pub text: String,
}
