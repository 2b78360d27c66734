//! The build of an adapted series, patch after patch, and which of its functions ran.

use super::Rehearsal;
use super::hunks::lacks;
use super::json::lacking;
use super::lines::{PortBuilt, PortError, PortRan};
use schedlab_kernel::needs::{self, BuildError, Need};
use schedlab_plan::counted;
use std::io::{self, Write};

/// An adapted series that was compiled patch after patch, up to the first that failed.
#[derive(Debug, Default)]
pub struct Build {
    /// For each patch that was reached.
    pub steps: Vec<Step>,
    /// Requested options that the tree did not accept.
    pub dropped: Vec<String>,
    /// The kernel with all patches, as `build:NAME`.
    pub kernel: Option<String>,
    /// The result of booting it, if it was booted.
    pub proof: Option<Proof>,
}

/// The result of compiling the tree with a patch and those before it.
#[derive(Debug)]
pub enum Step {
    /// Nothing of the patch could be applied: the kernel is the previous one.
    Unchanged,
    /// It compiles.
    Compiled {
        /// Files of the patch that this configuration does not compile, so they were not checked.
        unused: Vec<String>,
    },
    /// It does not compile.
    Failed {
        /// Its errors.
        build_errors: Vec<BuildError>,
        /// The first lines of the output, if no error could be parsed.
        said: String,
    },
}

/// What was counted in a guest with the new kernel.
#[derive(Debug)]
pub struct Proof {
    /// The workload that ran in it.
    pub workload: String,
    /// A row for each function that the series changes or adds, and for each counter.
    pub counts: Vec<RunCount>,
}

/// One function or counter.
#[derive(Debug)]
pub struct RunCount {
    /// Index of the patch in the series, from 0.
    pub patch: usize,
    /// The function, or a counter such as `TcpExt.TCPAutoCorking`.
    pub name: String,
    /// How often it ran while the workload ran; otherwise why that is not known.
    pub count: Result<u64, String>,
}

impl Build {
    /// Whether every patch compiled and, if the kernel was booted, something of the series ran.
    pub fn is_good(&self) -> bool {
        let is_failed = self.steps.iter().any(|step| matches!(step, Step::Failed { .. }));
        !is_failed && self.proof.as_ref().is_none_or(|proof| proof.counts.iter().any(RunCount::ran))
    }
}

impl Step {
    /// What the tree lacks according to its errors.
    pub fn needs(&self) -> Vec<Need> {
        match self {
            Self::Failed { build_errors, .. } => needs::lacking(build_errors),
            _ => Vec::new(),
        }
    }
}

impl RunCount {
    fn ran(&self) -> bool {
        self.count.as_ref().is_ok_and(|count| *count > 0)
    }
}

/// Most errors shown for a patch; the JSON has all.
const SHOWN: usize = 8;

pub(super) fn write(rehearsal: &Rehearsal, build: &Build, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nbuilt patch after patch:")?;
    for (number, step) in build.steps.iter().enumerate() {
        let subject = rehearsal.subject(number);
        match step {
            Step::Unchanged => writeln!(out, "{:>5} nothing of it is taken  {subject}", number + 1)?,
            Step::Compiled { unused } if unused.is_empty() => writeln!(out, "{:>5} compiles  {subject}", number + 1)?,
            Step::Compiled { unused } => {
                writeln!(out, "{:>5} compiles  {subject}", number + 1)?;
                writeln!(out, "      not compiled by this configuration: {}", unused.join(", "))?;
            }
            Step::Failed { build_errors, said } => {
                writeln!(out, "{:>5} does not compile  {subject}", number + 1)?;
                failed(build_errors, said, out)?;
            }
        }
    }
    for option in &build.dropped {
        writeln!(out, "not taken by this tree: {option}")?;
    }
    let compiled = build.steps.iter().filter(|step| matches!(step, Step::Compiled { .. })).count();
    let left = rehearsal.patches.len() - build.steps.len();
    let left = if left > 0 { format!(", {left} not tried") } else { String::new() };
    writeln!(out, "built: {compiled} of {} compile{left}", counted(rehearsal.patches.len(), "patches"))?;
    build.kernel.as_ref().map_or(Ok(()), |kernel| writeln!(out, "the kernel is {kernel}"))?;
    build.proof.as_ref().map_or(Ok(()), |proof| ran(rehearsal, proof, out))
}

fn failed(build_errors: &[BuildError], said: &str, out: &mut dyn Write) -> io::Result<()> {
    for build_error in build_errors.iter().take(SHOWN) {
        let function = build_error.function.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let place = if build_error.file.is_empty() {
            "link".into()
        } else {
            format!("{}:{}", build_error.file, build_error.line)
        };
        writeln!(out, "      {place}{function}: {}", build_error.message)?;
    }
    if build_errors.len() > SHOWN {
        writeln!(out, "      {} more in the JSON", build_errors.len() - SHOWN)?;
    }
    if build_errors.is_empty() {
        said.lines().try_for_each(|line| writeln!(out, "      {line}"))?;
    }
    let needs = lacks(&needs::lacking(build_errors));
    if needs.is_empty() { Ok(()) } else { writeln!(out, "      it needs: {needs}") }
}

fn ran(rehearsal: &Rehearsal, proof: &Proof, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nin a guest with it, while `bench {}` ran:", proof.workload)?;
    for counted in &proof.counts {
        let RunCount { patch, name, count } = counted;
        match count {
            Ok(count) => writeln!(out, "{:>5} {count:>12}  {name}", patch + 1)?,
            Err(why) => writeln!(out, "{:>5} {:>12}  {name}: {why}", patch + 1, "unknown")?,
        }
    }
    let ran = |patch: &usize| proof.counts.iter().any(|counted| counted.patch == *patch && counted.ran());
    let (all, with): (Vec<usize>, Vec<usize>) =
        ((0..rehearsal.patches.len()).collect(), (0..rehearsal.patches.len()).filter(|patch| ran(patch)).collect());
    writeln!(
        out,
        "of {}, {} ran in part: a function or counter that it changes was counted",
        counted(all.len(), "patches"),
        with.len()
    )
}

/// A line for each patch that was compiled.
pub(super) fn lines(rehearsal: &Rehearsal, build: &Build) -> Vec<PortBuilt> {
    let line = |(number, step): (usize, &Step)| {
        let (state, unused, build_errors, said) = match step {
            Step::Unchanged => ("unchanged", &[][..], &[][..], None),
            Step::Compiled { unused } => ("compiled", &unused[..], &[][..], None),
            Step::Failed { build_errors, said } => ("failed", &[][..], &build_errors[..], Some(said)),
        };
        let errors = build_errors.iter().map(|build_error| PortError {
            file: build_error.file.clone(),
            line: build_error.line,
            function: build_error.function.clone(),
            message: build_error.message.clone(),
            need: build_error.need.as_ref().map(lacking),
        });
        let lacks = step.needs();
        let commits = rehearsal.prerequisites.iter().flat_map(|found| found.of_needs(&lacks));
        let counts = build.proof.iter().flat_map(|proof| &proof.counts).filter(|counted| counted.patch == number);
        let counts = counts.map(|counted| PortRan {
            name: counted.name.clone(),
            count: counted.count.as_ref().ok().copied(),
            unknown: counted.count.as_ref().err().cloned(),
        });
        PortBuilt {
            patch: rehearsal.patches[number].subject.clone(),
            from: rehearsal.from[number].display().to_string(),
            build: state,
            kernel: build.kernel.clone(),
            not_compiled: unused.to_vec(),
            errors: errors.collect(),
            needs: lacks.iter().map(lacking).chain(commits).collect(),
            said: said.cloned(),
            ran: counts.collect(),
        }
    };
    build.steps.iter().enumerate().map(line).collect()
}
