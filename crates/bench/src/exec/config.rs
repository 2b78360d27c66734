//! The options of `exec/1`, from their written form to a script that can be run.

use super::INFO;
use super::extract::{MetricSource, Pick, Wanted, pattern};
use super::script::Script;
use crate::error::BenchError;
use crate::options::Arguments;
use schedlab_plan::{Direction, WorkloadSpec, shell_words, units};
use schedlab_sys::rlimit::{self, Resource};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Which streams are searched for the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Stdout,
    Stderr,
    /// Both, as they were written.
    Both,
}

/// A validated configuration.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) script: Script,
    pub(super) wanted: Option<Wanted>,
    pub(super) output: Output,
    /// As a background load: how long it runs before the workload starts.
    pub(crate) settle_ns: u64,
    /// Every argument spelled out.
    pub(crate) spec: WorkloadSpec,
}

const DIRECTIONS: &[(&str, Direction)] =
    &[("higher", Direction::HigherIsBetter), ("lower", Direction::LowerIsBetter), ("neutral", Direction::Neutral)];

/// Reads and validates an `exec` spec (also for background loads).
pub(crate) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let command = match (args.shorthand(), args.get("command")) {
        (Some(text), None) => line(&args, "COMMAND", text)?,
        (None, Some(text)) => line(&args, "command", text)?,
        (Some(text), Some(_)) => {
            return Err(args.conflict(format!("`{text}` already is the command; leave out command=")));
        }
        (None, None) => {
            return Err(
                args.conflict("there is no command; write it after `--`, as `exec:COMMAND`, or as a plan's `command`")
            );
        }
    };
    let words = |key: &str| args.get(key).map_or(Ok(Vec::new()), |text| line(&args, key, text));
    let output = args.choice(
        "output",
        Output::Stdout,
        &[("stdout", Output::Stdout), ("stderr", Output::Stderr), ("both", Output::Both)],
    )?;
    let open_files = rlimit::read(Resource::OpenFiles).map_err(BenchError::io("reading RLIMIT_NOFILE"))?.soft;
    let script = Script {
        setup: words("setup")?,
        cleanup: words("cleanup")?,
        warmup: args.number_or("warmup", 0, 0, 1000)? as u32,
        dir: args.get("dir").map(PathBuf::from),
        timeout_ns: duration(&args, "timeout", 600_000_000_000, 10_000_000)?,
        merged: output == Output::Both,
        new_session: false,
        open_files,
        command,
    };
    let settle_ns = duration(&args, "settle", 200_000_000, 0)?;
    let wanted = wanted(&args)?;
    let spec = spelled_out(spec, &script);
    Ok(Config { script, wanted, output, settle_ns, spec })
}

/// A command line as words.
fn line(args: &Arguments<'_>, key: &str, text: &str) -> Result<Vec<String>, BenchError> {
    let words = shell_words::split(text).map_err(|e| args.bad(key, text, e.to_string()))?;
    if words.iter().any(|word| word.contains('\0')) {
        return Err(args.bad(key, text, "holds a NUL byte, which no argument can"));
    }
    if words.is_empty() && key.eq_ignore_ascii_case("command") {
        return Err(args.bad(key, text, "is an empty command"));
    }
    Ok(words)
}

fn duration(args: &Arguments<'_>, key: &str, default_ns: u64, least_ns: u64) -> Result<u64, BenchError> {
    let Some(text) = args.get(key) else { return Ok(default_ns) };
    let ns = units::parse_duration_ns(text).map_err(|e| args.bad(key, text, e.to_string()))?;
    if (least_ns..=86_400_000_000_000).contains(&ns) {
        return Ok(ns);
    }
    Err(args.bad(key, text, format!("must be from {} to 24h", units::format_ns(least_ns))))
}

fn wanted(args: &Arguments<'_>) -> Result<Option<Wanted>, BenchError> {
    let place = match (args.get("metric"), args.get("pointer")) {
        (Some(_), Some(_)) => {
            return Err(args.conflict("give metric (a regular expression) or pointer (JSON), not both"));
        }
        (Some(text), None) => MetricSource::Pattern {
            pattern: pattern(text).map_err(|why| args.bad("metric", text, why))?,
            pick: args.choice(
                "pick",
                Pick::Only,
                &[("only", Pick::Only), ("first", Pick::First), ("last", Pick::Last)],
            )?,
        },
        (None, Some(text)) if text.is_empty() || text.starts_with('/') => MetricSource::Pointer(text.to_owned()),
        (None, Some(text)) => {
            return Err(args.bad("pointer", text, "is not a JSON pointer; they begin with a slash: /jobs/0/read/iops"));
        }
        (None, None) => {
            let idle = ["name", "unit", "direction", "pick", "output"].into_iter().find(|key| args.get(key).is_some());
            return match idle {
                Some(key) => Err(args.conflict(format!("{key} describes a metric; give metric= or pointer= too"))),
                None => Ok(None),
            };
        }
    };
    if args.get("pick").is_some() && matches!(place, MetricSource::Pointer(_)) {
        return Err(args.conflict("pick chooses among the matches of metric=; a pointer has one"));
    }
    if args.get("direction").is_none() {
        return Err(args.conflict("which direction is better? give direction=higher, lower or neutral"));
    }
    let name = args.get("name").unwrap_or("value");
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(args.bad("name", name, "must be a word of letters, digits and _"));
    }
    if super::outcome::OWN_METRICS.contains(&name) {
        return Err(args.bad("name", name, "is the name of a metric that exec reports anyway; choose another"));
    }
    Ok(Some(Wanted {
        place,
        name: name.to_owned(),
        unit: args.get("unit").unwrap_or_default().to_owned(),
        direction: args.choice("direction", Direction::Neutral, DIRECTIONS)?,
    }))
}

/// The canonical spec: the command under its key, and the defaults that decide what is measured.
fn spelled_out(written: &WorkloadSpec, script: &Script) -> WorkloadSpec {
    let mut spec = written.clone();
    (spec.version, spec.shorthand) = (Some(INFO.version), None);
    let mut set = |key: &str, value: String| spec.args.insert(key.to_owned(), value);
    set("command", shell_words::join(script.command.iter().map(String::as_str)));
    set("warmup", script.warmup.to_string());
    set("timeout", units::format_ns_exact(script.timeout_ns));
    spec
}

impl Script {
    /// Whether the programs of all steps and the directory exist.
    pub(crate) fn check(&self) -> Result<(), BenchError> {
        let impossible = |reason: String| Err(BenchError::NotPossibleHere { workload: INFO.name, reason });
        if let Some(dir) = self.dir.as_ref().filter(|dir| !dir.is_dir()) {
            return impossible(format!("dir={} is not a directory", dir.display()));
        }
        for (step, words) in [("command", &self.command), ("setup", &self.setup), ("cleanup", &self.cleanup)] {
            let Some(program) = words.first() else { continue };
            if !self.finds(program) {
                let where_ = if program.contains('/') { "there" } else { "in PATH" };
                return impossible(format!("the program of {step}, `{program}`, is not {where_}, or not executable"));
            }
        }
        Ok(())
    }

    fn finds(&self, program: &str) -> bool {
        let executable =
            |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        let base = self.dir.clone().unwrap_or_default();
        if program.contains('/') {
            return executable(&base.join(program));
        }
        // As execvp(3) does without PATH; the current directory is not searched either.
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path).any(|dir| executable(&base.join(dir).join(program)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, String> {
        read(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_command_is_the_same_however_it_is_written() {
        let by_shorthand = config("exec:sh -c 'echo a, b'").unwrap();
        let by_key = config(r#"exec:command="sh -c 'echo a, b'""#).unwrap();
        assert_eq!(by_shorthand.script, by_key.script);
        assert_eq!(by_shorthand.script.command, ["sh", "-c", "echo a, b"]);
        let canonical = by_shorthand.spec.to_string();
        assert_eq!(config(&canonical).unwrap().spec, by_shorthand.spec, "{canonical}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_fix() {
        for (text, expected) in [
            ("exec", "no command"),
            ("exec:''", "empty command"),
            ("exec:true,command=false", "already is the command"),
            ("exec:true > log", "sh -c"),
            ("exec:true,metric=tps", "no group"),
            ("exec:true,metric=(x),pointer=/x", "not both"),
            ("exec:true,metric=(x)", "direction=higher"),
            ("exec:true,unit=s", "metric= or pointer="),
            ("exec:true,pointer=x,direction=lower", "begin with a slash"),
            ("exec:true,metric=(x),direction=up", "higher"),
            ("exec:true,metric=(x),direction=lower,name=time_s", "anyway"),
            ("exec:true,timeout=1ms", "10ms"),
            ("exec:true,loops=3", "no option `loops`"),
        ] {
            let error = config(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_program_or_directory_that_is_not_there_is_found_before_anything_runs() {
        let check = |text: &str| config(text).unwrap().script.check().map_err(|e| e.to_string());
        assert_eq!(check("exec:sh -c true"), Ok(()));
        assert!(check("exec:no-such-program-7").unwrap_err().contains("not in PATH"));
        assert!(check("exec:true,cleanup=/no/such").unwrap_err().contains("cleanup"));
        assert!(check("exec:true,dir=/no/such").unwrap_err().contains("not a directory"));
        assert!(check("exec:./stat,dir=/proc/self").unwrap_err().contains("not executable"));
    }
}
