//! Statements about drawn surfaces whose truth is known: in how many runs any of seven is answered wrongly, and how often the
//! others are decided. 12 points of two parameters and the default, two trials each in six blocks, with errors of 5 % as
//! messaging has them in the virtual lane (docs/studies/cfs-granularity.md). About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, anyhow, ensure};
use schedlab_analyze::{Standing, compare};
use schedlab_benches::draws::t3;
use schedlab_benches::table;
use schedlab_plan::outcome::Direction;
use schedlab_plan::{Manifest, Metric, Plan, TrialOutcome, TrialRecord, TrialStatus};
use schedlab_stats::Random;
use std::time::Instant;

const RUNS: u64 = 250;
const BLOCKS: u32 = 6;
const NOISE: f64 = 0.05;
const BOOT: &str = "boot";
const RATE: &str = "rate_per_s";
/// Rates that differ by less do not matter, nor do spreads that differ by less than a quarter.
const OF_INTEREST: f64 = 0.03;
const SPREAD_OF_INTEREST: f64 = 1.25;
const MS: [f64; 2] = [1.0, 10.0];
const WS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

const PLAN: &str = r#"
trials = 6
sesoi = "3%"
[[workload]]
run = "pipe"
[[arm]]
name = "default"
[[grid]]
name = "m"
set = "slice"
values = ["1ms", "10ms"]
[[grid]]
name = "w"
set = "debugfs:w"
values = ["1ms", "2ms", "4ms", "8ms", "16ms", "30ms"]
"#;

/// A claim as in a plan, and whether it is true for a surface; `None` if neither answer would be wrong.
struct Claim {
    arms: &'static str,
    than: &'static str,
    is: &'static str,
    truth: fn(&Kind) -> Option<bool>,
}

const CLAIMS: [Claim; 7] = [
    Claim {
        arms: "w=16ms..30ms",
        than: "w=1ms..8ms",
        is: "better",
        truth: |k| larger(k.over(&WS[4..]) - k.over(&WS[..4])),
    },
    Claim { arms: "m=10ms w=8ms", than: "default", is: "better", truth: |k| larger(k.rate(10.0, 8.0)) },
    Claim {
        arms: "m=10ms",
        than: "m=1ms",
        is: "same",
        truth: |k| Some((k.along(10.0) - k.along(1.0)).abs() < interest()),
    },
    Claim { arms: "w=1ms..8ms", than: "", is: "level", truth: |k| Some(k.off_level(&WS[..4]) < interest()) },
    Claim { arms: "w=1ms..30ms", than: "", is: "rising", truth: |k| larger(k.rise(&WS)) },
    Claim {
        arms: "w=4ms..8ms",
        than: "w=16ms..30ms",
        is: "less-steady",
        truth: |k| less_steady((k.spread)(4.0) / (k.spread)(30.0)),
    },
    Claim { arms: "w=16ms..30ms", than: "", is: "best", truth: |k| k.best_is_in(&WS[4..]) },
];

fn interest() -> f64 {
    OF_INTEREST.ln_1p()
}

/// The answer *holds* says that the difference is above zero, *does not hold* that it is below what is of interest; in
/// between neither answer is wrong. Rounding errors in sums are ignored.
fn larger(by: f64) -> Option<bool> {
    match by {
        _ if by <= 1e-9 => Some(false),
        _ if by >= interest() - 1e-9 => Some(true),
        _ => None,
    }
}

fn less_steady(ratio: f64) -> Option<bool> {
    match ratio {
        _ if ratio <= 1.0 => Some(false),
        _ if ratio >= SPREAD_OF_INTEREST => Some(true),
        _ => None,
    }
}

/// A surface: the logarithm of the rate over that of the default, and the spread of a trial in units of the noise.
struct Kind {
    name: &'static str,
    rate: fn(f64, f64) -> f64,
    spread: fn(f64) -> f64,
    draw: fn(&mut Random) -> f64,
    /// The error that the trials of an arm share in a block, in units of the noise.
    shared: f64,
}

impl Kind {
    fn rate(&self, m: f64, w: f64) -> f64 {
        (self.rate)(m, w)
    }

    /// Mean over these values of w.
    fn over(&self, ws: &[f64]) -> f64 {
        mean(MS.iter().flat_map(|&m| ws.iter().map(move |&w| self.rate(m, w))))
    }

    fn along(&self, m: f64) -> f64 {
        mean(WS.iter().map(|&w| self.rate(m, w)))
    }

    fn off_level(&self, ws: &[f64]) -> f64 {
        ws.iter().map(|w| (self.over(&[*w]) - self.over(ws)).abs()).fold(0.0, f64::max)
    }

    /// The rise along the least-squares line, from the first value to the last.
    fn rise(&self, ws: &[f64]) -> f64 {
        let x = mean(ws.iter().map(|w| w.ln()));
        let slope = ws.iter().map(|&w| (w.ln() - x) * self.over(&[w])).sum::<f64>()
            / ws.iter().map(|w| (w.ln() - x).powi(2)).sum::<f64>();
        slope * (ws[ws.len() - 1].ln() - ws[0].ln())
    }

    /// If several points are equally good, any set with one of them contains the best.
    fn best_is_in(&self, ws: &[f64]) -> Option<bool> {
        let rates = |ws: &[f64]| {
            MS.iter()
                .flat_map(|&m| ws.iter().map(move |&w| (m, w)))
                .map(|(m, w)| self.rate(m, w))
                .fold(f64::MIN, f64::max)
        };
        let rest: Vec<f64> = WS.iter().copied().filter(|w| !ws.contains(w)).collect();
        match rates(ws) - rates(&rest).max(0.0) {
            over if over > 0.0 => Some(true),
            over if over < 0.0 => Some(false),
            _ => None,
        }
    }
}

fn mean(xs: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = xs.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
    sum / f64::from(n)
}

fn beyond(at: f64, w: f64) -> f64 {
    if w > at { 1.0 } else { 0.0 }
}

const NOTHING: Kind =
    Kind { name: "nothing matters", rate: |_, _| 0.0, spread: |_| 1.0, draw: Random::normal, shared: 0.0 };

const KINDS: [Kind; 9] = [
    NOTHING,
    Kind { name: "nothing matters, heavy tails (t with 3 df)", draw: t3, ..NOTHING },
    Kind { name: "nothing matters, an arm's trials of a block share ± 5 %", shared: 1.0, ..NOTHING },
    Kind {
        name: "all as large as is of interest",
        rate: |m, w| interest() * (beyond(9.0, w) + beyond(5.0, m)),
        spread: |w| if w > 9.0 { 1.0 } else { SPREAD_OF_INTEREST },
        ..NOTHING
    },
    Kind {
        name: "the same, heavy tails",
        rate: |m, w| interest() * (beyond(9.0, w) + beyond(5.0, m)),
        spread: |w| if w > 9.0 { 1.0 } else { SPREAD_OF_INTEREST },
        draw: t3,
        ..NOTHING
    },
    Kind {
        name: "a hump of what is of interest within the level",
        rate: |_, w| if w == 4.0 { 4.0 / 3.0 * interest() } else { 0.0 },
        ..NOTHING
    },
    Kind { name: "a step of 30 % at 9 ms (the study's)", rate: |_, w| 0.3 * beyond(9.0, w), ..NOTHING },
    Kind {
        name: "a step of 10 %, and three times the spread before it",
        rate: |_, w| 0.1 * beyond(9.0, w),
        spread: |w| if w > 9.0 { 1.0 } else { 3.0 },
        ..NOTHING
    },
    Kind { name: "a step down of 10 %", rate: |_, w| -0.1 * beyond(9.0, w), ..NOTHING },
];

fn main() -> Result<()> {
    let started = Instant::now();
    let template = Template::new()?;
    let rows = std::thread::scope(|scope| {
        let all = KINDS.each_ref().map(|kind| scope.spawn(|| row(kind, &template)));
        all.into_iter().map(|one| one.join().map_err(|_| anyhow!("a thread panicked"))?).collect::<Result<Vec<_>>>()
    })?;
    let mut header = vec!["surface", "runs with a wrong answer", "≤ 5 %"];
    let claims: Vec<String> = CLAIMS.iter().map(|claim| format!("{} {}", claim.arms, claim.is)).collect();
    header.extend(claims.iter().map(String::as_str));
    table::print("Statements about drawn surfaces", &header, &rows);
    println!("\nA cell: true, false or neither; the share of runs that say holds / does not hold.");
    table::closing("statements", started.elapsed());
    Ok(())
}

fn row(kind: &Kind, template: &Template) -> Result<Vec<String>> {
    let truths: Vec<Option<bool>> = CLAIMS.iter().map(|claim| (claim.truth)(kind)).collect();
    let (mut wrong, mut said) = (0, [[0u64; 2]; CLAIMS.len()]);
    for seed in 0..RUNS {
        let answers = template.run(kind, seed)?;
        ensure!(answers.len() == CLAIMS.len(), "a statement is missing");
        let is_wrong = |(answer, truth): (&Standing, &Option<bool>)| match answer {
            Standing::Holds => *truth == Some(false),
            Standing::DoesNotHold => *truth == Some(true),
            Standing::NotDecided => false,
        };
        wrong += u64::from(answers.iter().zip(&truths).any(is_wrong));
        for (answer, said) in answers.iter().zip(&mut said) {
            said[0] += u64::from(*answer == Standing::Holds);
            said[1] += u64::from(*answer == Standing::DoesNotHold);
        }
    }
    let share = |count: u64| 100.0 * count as f64 / RUNS as f64;
    let mut cells = vec![kind.name.to_owned(), format!("{:.1} %", share(wrong)), table::met(share(wrong) <= 5.0)];
    cells.extend(truths.iter().zip(said).map(|(truth, [holds, not])| {
        let truth = truth.map_or("neither", |truth| if truth { "true" } else { "false" });
        format!("{truth}: {:.0} / {:.0} %", share(holds), share(not))
    }));
    Ok(cells)
}

/// What all drawn runs have in common.
struct Template(Manifest);

impl Template {
    fn new() -> Result<Self> {
        let of = |claim: &Claim| {
            let Claim { arms, than, is, .. } = claim;
            let than = if than.is_empty() { String::new() } else { format!("than = \"{than}\"\n") };
            format!("[[statement]]\nsays = \"{is}\"\narms = \"{arms}\"\n{than}is = \"{is}\"\n")
        };
        let plan_toml = PLAN.to_owned() + &CLAIMS.iter().map(of).collect::<String>();
        let plan = Plan::parse(&plan_toml)?;
        // From a run that is kept for fuzzing the reader.
        let mut manifest: Manifest =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_reader/manifest.json"))?;
        (manifest.arms, manifest.plan_toml, manifest.sesoi) = (plan.arms, plan_toml, OF_INTEREST);
        manifest.primary = vec![vec![RATE.into()]];
        manifest.environment.kernel_release = "6.1.0".into();
        manifest.environment.boot_id = BOOT.into();
        Ok(Self(manifest))
    }

    fn run(&self, kind: &Kind, seed: u64) -> Result<Vec<Standing>> {
        let mut random = Random::new(seed + 1);
        let mut trials: Vec<TrialRecord> = Vec::new();
        let arms = self.0.arms.len() as u32;
        for block in 0..BLOCKS {
            let of_block = 0.1 * random.normal();
            let shared: Vec<f64> = (0..arms).map(|_| kind.shared * random.normal()).collect();
            for (position, arm) in (0..arms).chain((0..arms).rev()).enumerate() {
                let (rate, spread) = match point(&self.0.arms[arm as usize].name) {
                    Some((m, w)) => (kind.rate(m, w), (kind.spread)(w)),
                    None => (0.0, 1.0),
                };
                let error = NOISE * (shared[arm as usize] + spread * (kind.draw)(&mut random));
                let value = 1000.0 * (of_block + rate + error).exp();
                trials.push(trial(trials.len() as u64, arm, block, position as u32, value));
            }
        }
        let found = compare(&self.0, &trials);
        let workload = found.workloads.first().context("no workload")?;
        Ok(workload.statements.iter().map(|said| said.answer).collect())
    }
}

fn trial(trial: u64, arm: u32, block: u32, position: u32, value: f64) -> TrialRecord {
    let metric = Metric { name: RATE.into(), value, unit: "1/s".into(), direction: Direction::HigherIsBetter };
    TrialRecord {
        trial,
        workload: 0,
        arm: Some(arm),
        block,
        position,
        repeats_block: None,
        warm_up: false,
        status: TrialStatus::Ok,
        marks: Vec::new(),
        started_unix_ns: 1_700_000_000_000_000_000 + trial * 1_000_000_000,
        wall_ns: 500_000_000,
        boot_id: BOOT.into(),
        outcome: Some(TrialOutcome { operations: 1000, metrics: vec![metric], ..TrialOutcome::default() }),
    }
}

/// m and w of an arm, `None` for the default.
fn point(arm: &str) -> Option<(f64, f64)> {
    let at =
        |axis: &str| arm.split_whitespace().find_map(|word| word.strip_prefix(axis)?.strip_suffix("ms")?.parse().ok());
    Some((at("m=")?, at("w=")?))
}
