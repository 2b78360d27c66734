//! `schedlab exec`: execs a command with settings that end with its tasks. They are all read back first: the command
//! runs with the requested settings, or not at all.

use crate::cli::exec::Exec;
use crate::exit::{self, usage};
use crate::output::{print_line, say};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Applied, Arm, shell_words};
use schedlab_tune::{Roots, check, needs, task};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(super) fn run(args: &Exec) -> Result<u8> {
    let settings = Arm::parse("exec", &args.spec())?.settings;
    if settings.is_empty() {
        usage!("nothing is set; give one of --slice, --policy, --nice, --cpus and --timer-slack");
    }
    check(&Roots::default(), &settings)?;
    if args.dry_run {
        needs(&Roots::default(), &settings).iter().try_for_each(print_line)?;
        print_line(shell_words::join(args.command.iter().map(String::as_str)))?;
        return Ok(exit::DONE);
    }
    let applied = task::apply_to_self(&settings);
    let why = |one: &Applied| Some(format!("{}: {}", one.setting, one.not_applied.as_ref()?));
    let failed: Vec<String> = applied.iter().filter_map(why).collect();
    if !failed.is_empty() {
        bail!("{}; the command was not run", failed.join("; "));
    }
    for one in applied.iter().filter(|one| one.effective != one.setting.to_string()) {
        say(format_args!("schedlab: {}: {}", one.setting, one.effective));
    }
    let error = Command::new(&args.command[0]).args(&args.command[1..]).exec();
    Err(error).with_context(|| format!("`{}` cannot be run", args.command[0]))
}
