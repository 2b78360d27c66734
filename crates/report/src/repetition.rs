//! A pack, and the result of repeating it, on a terminal.

use crate::document::{Block, Document, Remark, Tone};
use crate::labels::capital;
use crate::number::effect_text;
use crate::table::{Align, Cell, Table};
use schedlab_analyze::{Answer, Change, Effect, RepeatedEffect, Repetition, Scale, metric_name};
use schedlab_plan::pack::{ExpectedEffect, ExpectedScale, Pack, Said};
use schedlab_plan::{BootedKernel, KernelSource, WorkloadSpec, counted};

/// Differences that are shown; the JSON has all.
const DIFFERENCES_SHOWN: usize = 12;

/// The answer with its numbers.
pub fn repetition(found: &Repetition) -> Document {
    let mut page = Document::default();
    let tone = |answer| match answer {
        Answer::Reproduced => Tone::Good,
        Answer::Contradicted => Tone::Bad,
        Answer::CannotTell => Tone::Open,
    };
    let headline = format!("{}: {}", capital(found.answer.words()), found.because);
    page.add("", vec![Block::Headline(headline, tone(found.answer)), Block::Text(found.title.clone())]);
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("arm", Align::Left),
        ("metric", Align::Left),
        ("in the pack", Align::Right),
        ("here", Align::Right),
        ("units", Align::Right),
        ("answer", Align::Left),
    ]);
    let specs: Vec<WorkloadSpec> = found.effects.iter().filter_map(|effect| effect.workload.parse().ok()).collect();
    for effect in &found.effects {
        table.push(row(effect, &specs, tone));
    }
    if let Some(table) = Block::table(table) {
        page.add("", vec![table]);
    }
    let more = found.differences.len().saturating_sub(DIFFERENCES_SHOWN);
    let shown = found.differences.iter().take(DIFFERENCES_SHOWN).map(difference);
    let rest = (more > 0).then(|| format!("{more} more, see --json"));
    if let Some(list) = Block::list(shown.chain(rest)) {
        page.add("Other than in the pack", vec![list]);
    }
    page
}

fn difference(change: &Change) -> String {
    format!("{}: `{}`, in the pack `{}`", change.what, change.after, change.before)
}

fn row(effect: &RepeatedEffect, specs: &[WorkloadSpec], tone: impl Fn(Answer) -> Tone) -> Vec<Cell> {
    let answer = match effect.answer {
        Some(answer) => Cell::toned(answer.words(), tone(answer)),
        None => "was open".into(),
    };
    vec![
        effect.workload.parse().map_or_else(|_| effect.workload.clone(), |spec| label(&spec, specs)).into(),
        effect.arm.clone().into(),
        metric_name(&effect.metric).into(),
        effect_text(&effect.there, &effect.unit).into(),
        effect.here.map_or_else(|| "–".to_owned(), |here| effect_text(&here, &effect.unit)).into(),
        format!("{} · {}", effect.units_there, effect.units_here).into(),
        answer,
    ]
}

/// A workload's shortest unique label.
fn label(spec: &WorkloadSpec, all: &[WorkloadSpec]) -> String {
    spec.label_among(all.iter().filter(|other| *other != spec))
}

/// The contents of a pack of `bytes` bytes.
pub fn pack(pack: &Pack, bytes: usize) -> Document {
    let mut page = Document::default();
    let cpus = counted(pack.machine.cpus, "CPUs");
    let machine = &pack.machine;
    let where_it_ran = format!(
        "{}, {cpus} of {}, Linux {} ({})",
        machine.machine,
        if machine.cpu_model.is_empty() { "unknown model" } else { &machine.cpu_model },
        machine.kernel_release,
        machine.kernel_version
    );
    let mut terms = vec![("measured on".to_owned(), where_it_ran)];
    terms.extend(pack.kernels.iter().map(|kernel| (format!("kernel {}", kernel.name), source(kernel))));
    let shared =
        format!("{} and {}", counted(machine.conditions.len(), "conditions"), counted(machine.knobs.len(), "knobs"));
    terms.push(("known of it".to_owned(), shared));
    terms.push(("file".to_owned(), format!("{bytes} bytes, format {}", pack.pack_version)));
    page.add(pack.title.clone(), vec![Block::Terms(terms)]);
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("arm", Align::Right),
        ("metric", Align::Left),
        ("effect", Align::Right),
        ("units", Align::Right),
        ("said", Align::Left),
    ]);
    for effect in &pack.effects {
        table.push(vec![
            label(&pack.workloads[effect.workload as usize], &pack.workloads).into(),
            effect.arm.to_string().into(),
            metric_name(&effect.metric).into(),
            effect_text(&of_expected(effect), &effect.unit).into(),
            format!("{} {}", effect.units, effect.unit_name).into(),
            match effect.said {
                Said::Differs => "differs",
                Said::Equivalent => "equivalent",
                Said::Open => "was open",
            }
            .into(),
        ]);
    }
    page.add("Expected", vec![Block::Table(table)]);
    page.add("Plan", pack.plan_toml.lines().map(|line| Block::Verbatim(line.to_owned())).collect());
    page
}

fn source(kernel: &BootedKernel) -> String {
    let of = match &kernel.source {
        KernelSource::Debian { packages } => {
            packages.first().map(|package| format!("{} {}", package.name, package.version)).unwrap_or_default()
        }
        KernelSource::Build { version, config, patches } => format!(
            "Linux {version}, a configuration of {}, {}",
            counted(config.lines().count(), "lines"),
            counted(patches.len(), "patches")
        ),
        KernelSource::File => "a file".into(),
    };
    format!("{of}; image CRC-32 {}", kernel.crc32)
}

fn of_expected(effect: &ExpectedEffect) -> Effect {
    let scale = if effect.scale == ExpectedScale::Ratio { Scale::Ratio } else { Scale::Difference };
    Effect { scale, value: effect.value, lo: effect.lo, hi: effect.hi, level: effect.level }
}

/// The actions of a pack that the user has to allow.
pub fn pack_asks(asks: &[String]) -> Document {
    let mut page = Document::default();
    page.add("Only with --trust", Block::remarks(asks.iter().map(Remark::warning)).into_iter().collect());
    page
}
