//! The copies of a workload of pairs: a table and a timeline for each on a terminal, and a picture of the partners'
//! CPUs.

use super::basis::basis;
use super::{more, remarks};
use crate::chart::{Draw, PlacementRow, Places};
use crate::document::{Block, Document};
use crate::number::{count, percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::copies::{CopiesOfArm, CopySlice, TracedCopy};
use schedlab_analyze::trace::{Copies, CopiesOfArms};
use schedlab_plan::counted;

/// The findings as a page, with the single copies for at most `most` trials of each arm.
pub fn trace_copies(found: &CopiesOfArms, most: usize) -> Document {
    let mut page = Document::default();
    for arm in &found.arms {
        page.add(claim(arm), Vec::new());
        for trial in arm.trials.iter().take(most) {
            let copies =
                trial.copies.iter().map(|row| Block::Hanging(format!("  {:>4}  ", row.copy), line(&row.slices)));
            let key = "over time: # together on one CPU, + in part, . on two, ? not known";
            let key = [Block::Hanging("        ".into(), key.into())].into_iter();
            let end = key.chain(Block::remarks(remarks(&trial.trace)));
            page.add("", [Block::Table(table(trial))].into_iter().chain(copies).chain(end).collect());
        }
        let trials = more(arm.trials.len().saturating_sub(most) as u64, "trials");
        let correlations = arm.correlations.iter().map(|found| {
            let r = match found.r {
                Some(r) => format!("r {r:+.2}, r² {:.2}", r * r),
                None if found.copies < 3 => "too few copies".to_owned(),
                None => "does not vary".to_owned(),
            };
            Block::Text(format!("score and {}: {r}, over {}", words(found.of), counted(found.copies, "copies")))
        });
        page.add("", Block::remarks(trials).into_iter().chain(correlations).collect());
    }
    let lacking = found.arms.iter().flat_map(|arm| &arm.trials).map(|trial| &trial.lacking[..]).max_by_key(|l| l.len());
    page.ends(basis(lacking.unwrap_or(&[]), found.definitions))
}

fn words(field: &str) -> &'static str {
    match field {
        "co_located_share" => "time with both partners on one CPU",
        "queue_delay_ns_per_op" => "run-queue delay an operation",
        "switches_per_op" => "switches an operation",
        _ => "migrations",
    }
}

fn claim(arm: &CopiesOfArm) -> String {
    let copies = arm.trials.first().map_or(0, |trial| trial.copies.len());
    let spread = match arm.spread {
        Some(spread) => format!("the copies of a trial spread by {} (standard deviation)", percent(spread)),
        None => "one copy has no spread".to_owned(),
    };
    let best = arm.correlations.first().and_then(|found| Some((found.of, found.r?)));
    let with = best.map_or_else(String::new, |(of, r)| format!("; {} goes with it most, r {r:+.2}", words(of)));
    format!(
        "{}: {}, {} each: {spread}{with}.",
        arm.arm,
        counted(arm.trials.len() as u64, "trials"),
        counted(copies as u64, "copies")
    )
}

fn table(trial: &Copies) -> Table {
    let header = ["copy", "ops/s", "of mean", "together", "flips", "delay/op", "waits", "switches/op", "moves"];
    let mut table = Table::new(&header.map(|name| (name, Align::Right)));
    for row in &trial.copies {
        let TracedCopy { copy, score_per_s, relative, flips, waits, switches_per_op, migrations, .. } = row;
        let together = row.co_located_share.map_or_else(|| "?".to_owned(), percent);
        let cells: [Cell; 9] = [
            copy.to_string().into(),
            quantity(*score_per_s, "").trim().to_owned().into(),
            format!("{relative:.3}").into(),
            together.into(),
            count(*flips).into(),
            quantity(row.queue_delay_ns_per_op, "ns").into(),
            count(*waits).into(),
            format!("{switches_per_op:.2}").into(),
            count(*migrations).into(),
        ];
        table.push(cells.into());
    }
    table
}

/// A letter for each slice.
fn line(slices: &[CopySlice]) -> String {
    let letter = |slice: &CopySlice| match slice.together {
        None => '?',
        Some(share) if share >= 0.95 => '#',
        Some(share) if share <= 0.05 => '.',
        Some(_) => '+',
    };
    slices.iter().map(letter).collect()
}

/// The CPUs of the partners of each copy over the steady phase of the first trial of each arm, as a file. `place`: of
/// which trace, on which machine, when.
pub fn trace_copies_svg(found: &CopiesOfArms, place: &str) -> String {
    let lane = |row: &TracedCopy| PlacementRow {
        name: format!("copy {}", row.copy),
        value: format!("{:.2} of the mean", row.relative),
        aside: row.co_located_share.map_or_else(|| "?".to_owned(), |share| format!("{} on one CPU", percent(share))),
        cpus: [0, 1].map(|partner| row.slices.iter().map(|slice| slice.cpus[partner]).collect()),
    };
    let group = |arm: &CopiesOfArm| {
        let lanes: Vec<PlacementRow> =
            arm.trials.first().into_iter().flat_map(|trial| trial.copies.iter().map(lane)).collect();
        (arm.arm.clone(), lanes)
    };
    let groups: Vec<(String, Vec<PlacementRow>)> = found.arms.iter().map(group).collect();
    let numbers: Vec<String> = groups
        .iter()
        .flat_map(|(arm, lanes)| lanes.iter().map(move |l| format!("{arm}, {}: {}, {}", l.name, l.value, l.aside)))
        .collect();
    let length = found.arms.iter().flat_map(|arm| arm.trials.first()).map(|trial| trial.steady_ns).max().unwrap_or(0);
    let title = "Which CPU each partner was on, over time";
    let description = format!("Two bands a copy, the parent above. {}.", numbers.join("; "));
    Places { length: quantity(length as f64, "ns"), groups }.draw(super::WIDTH).standalone(title, place, &description)
}
