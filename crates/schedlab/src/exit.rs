//! Exit codes; scripts rely on them.

use schedlab_analyze::trace::ScopeError;
use schedlab_bench::BenchError;
use schedlab_plan::units::UnitError;
use schedlab_plan::{PlanError, SettingError, SpecError};
use schedlab_trace::TimeWindowError;
use schedlab_vm::VmError;
use std::fmt;

/// Done.
pub(crate) const DONE: u8 = 0;
/// Error; a line on standard error describes it.
pub(crate) const ERROR: u8 = 1;
/// Usage error: the command line or the plan is invalid on every machine.
const USAGE: u8 = 2;
/// With `--fail-on`: a primary metric is worse.
pub(crate) const WORSE: u8 = 3;
/// With `--fail-on`: there is no verdict.
pub(crate) const INCONCLUSIVE: u8 = 4;
/// The run is void.
pub(crate) const VOID: u8 = 5;
// 3 worse, 4 inconclusive and, where the machine changed, 5 come from `schedlab_analyze::exit_status`.

/// 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP: the code that a shell reports for a program ended by the
/// signal.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(ERROR)
}

/// The message for an invalid command line.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns a [`Usage`] error from the function, like `bail!` for other errors.
macro_rules! usage {
    ($($words:tt)*) => { return Err($crate::exit::Usage(format!($($words)*)).into()) };
}
pub(crate) use usage;

/// Prints clap's message where it belongs: help and version on standard output.
pub(crate) fn of_the_command_line(error: &anyhow::Error) -> u8 {
    let Some(error) = error.downcast_ref::<clap::Error>() else { return ERROR };
    // The reader of the output may be gone.
    let _ = error.print();
    if error.use_stderr() { USAGE } else { DONE }
}

/// 2 if the words (command line, SPEC, WORKLOAD, plan) are invalid on every machine, 1 for everything else.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    let is_of_words = |cause: &(dyn std::error::Error + 'static)| {
        let of_workload = cause.downcast_ref::<BenchError>().is_some_and(|error| {
            use BenchError::{BadValue, Conflict, UnknownOption, UnknownWorkload, WrongVersion};
            matches!(
                error,
                UnknownWorkload { .. } | WrongVersion { .. } | UnknownOption { .. } | BadValue { .. } | Conflict { .. }
            )
        });
        of_workload
            || cause.is::<Usage>()
            || cause.is::<PlanError>()
            || cause.is::<SpecError>()
            || cause.is::<SettingError>()
            || cause.is::<UnitError>()
            || cause.is::<ScopeError>()
            || cause.is::<TimeWindowError>()
            || matches!(cause.downcast_ref::<VmError>(), Some(VmError::Words(_)))
    };
    if error.chain().any(is_of_words) { USAGE } else { ERROR }
}
