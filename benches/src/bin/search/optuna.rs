//! Optuna's TPE, from its package, driven through a pipe: one trial per point, and the best single value wins, as in
//! its `study.best_params`.

use crate::Named;
use crate::lab::Lab;
use crate::surface::Surface;
use anyhow::{Context, Result, bail};
use schedlab_tune::search::Scale;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Reads `SEED TRIALS KIND:COUNT…` for each study, prints the levels of each point, reads its value, and at the end
/// prints `best LEVELS`.
const DRIVER: &str = r#"
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
for line in sys.stdin:
    seed, trials, *knobs = line.split()
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=int(seed)))
    for _ in range(int(trials)):
        trial, levels = study.ask(), []
        for name, knob in enumerate(knobs):
            kind, count = knob.split(":")
            if kind == "words":
                levels.append(trial.suggest_categorical(str(name), list(range(int(count)))))
            else:
                levels.append(trial.suggest_int(str(name), 0, int(count) - 1))
        print(*levels, flush=True)
        study.tell(trial, float(sys.stdin.readline()))
    print("best", *[study.best_params[str(name)] for name in range(len(knobs))], flush=True)
"#;

/// A Python interpreter that has the package.
pub(crate) struct Python(String);

impl Python {
    pub(crate) fn find(python: &str) -> Result<Self> {
        let asked = Command::new(python).args(["-c", "import optuna; print(optuna.__version__)"]).output();
        let asked = asked.with_context(|| format!("{python} cannot be started"))?;
        if !asked.status.success() {
            bail!("{python} has no package optuna (pip install optuna, --python PYTHON)");
        }
        eprintln!("Optuna {}", String::from_utf8_lossy(&asked.stdout).trim());
        Ok(Self(python.to_owned()))
    }

    /// The points that it names on a surface, one for each seed.
    pub(crate) fn tpe(&self, surface: &Surface, budget: u64, seeds: u64) -> Result<Vec<Named>> {
        let mut child = Command::new(&self.0)
            .args(["-c", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be started", self.0))?;
        let mut to = child.stdin.take().context("a pipe")?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
        let kind = |scale: &Scale| if *scale == Scale::Words { "words" } else { "int" };
        let knobs: Vec<String> =
            surface.knobs.iter().map(|(scale, values)| format!("{}:{}", kind(scale), values.len())).collect();
        let mut found = Vec::new();
        for seed in 0..seeds {
            let mut lab = Lab::new(surface, seed);
            writeln!(to, "{seed} {budget} {}", knobs.join(" "))?;
            loop {
                let line = lines.next().context("Optuna ended early")??;
                let levels = line.trim_start_matches("best ").split(' ').map(str::parse);
                let point = surface.number(&levels.collect::<Result<_, _>>().with_context(|| line.clone())?);
                if line.starts_with("best") {
                    found.push(Named { point, trials: budget, held: None });
                    break;
                }
                writeln!(to, "{}", lab.sample(point))?;
            }
        }
        drop(to);
        child.wait()?;
        Ok(found)
    }
}
