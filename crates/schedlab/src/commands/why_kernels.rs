//! `schedlab why PLAN --kernels A,B,C`: the plan on one kernel after the other: where its difference came, and where it went.

use super::report::write_file;
use super::{rounds, why};
use crate::cli::why::Why as Args;
use crate::exit::{self, usage};
use crate::output::{print_line, to_stdout};
use crate::session;
use anyhow::Result;
use schedlab_run::{Plan, Setting, counted};
use schedlab_trial::why_kernels::WhyKernels;
use std::path::PathBuf;

pub(super) fn run(args: &Args, plan: &Plan, dir: PathBuf) -> Result<u8> {
    if plan.guest.is_none() {
        usage!("--kernels boots guests: give the plan a `[guest]` table (docs/vm.md)");
    }
    if plan.arms.iter().flat_map(|arm| &arm.settings).any(|setting| matches!(setting, Setting::Kernel(_))) {
        usage!(
            "--kernels changes the kernel of both arms, and an arm of this plan names one itself: leave one of them out"
        );
    }
    if args.kernels.len() < 2 {
        usage!("--kernels takes two or more, in their order: --kernels debian:6.1,debian:6.12");
    }
    let mut study = WhyKernels::new(plan, &args.kernels)?;
    if args.dry_run {
        let line = format!("{}, in {} of both arms each", args.kernels.join(", "), counted(study.blocks(), "blocks"));
        print_line(line)?;
        return Ok(exit::DONE);
    }
    let dir = if args.out.is_none() && !args.resume { session::unused(dir) } else { dir };
    let ended = rounds::study(&mut study, &dir, args.resume)?;
    let found = study.findings();
    write_file(&dir.join("why.json"), |out| writeln!(out, "{}", schedlab_run::json::pretty(&found)?))?;
    if args.json {
        print_line(schedlab_run::json::pretty(&found)?)?;
    } else {
        let width = super::report::terminal_width();
        to_stdout(|out| schedlab_report::why_kernels(&found).text(width, false, out))?;
    }
    Ok(why::code(&ended))
}
