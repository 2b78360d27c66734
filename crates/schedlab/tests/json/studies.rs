//! Outputs of studies that boot guests or switch kernel features, made from a run that needs neither: measured values
//! stand in for the difference, and a screen is constructed.

use crate::page::ANSWERS;
use schedlab_analyze::{Difference, WhyFactor, WhyFindings, WhyKernelsFindings, recorder_cost};
use schedlab_plan::factorial;
use schedlab_plan::json::{Room, answer};
use schedlab_stats::screen::{Screen, Sought};
use std::path::Path;

/// The outputs of `why`, `why --kernels` and `record --self-test` for a run of two arms and one of three.
pub(crate) fn answers(two: &Path, three: &Path) -> [String; 3] {
    let run = schedlab_run::RunReader::open(two).unwrap();
    let difference = Difference::of(&run.manifest, &run.trials).unwrap();
    let kernels = ["debian:6.1", "debian:6.12"].map(|kernel| (kernel.to_owned(), Ok(difference.clone())));
    let kernels = [&kernels[..], &[("debian:6.6".into(), Err("its guest does not boot".into()))]].concat();
    let on_kernels = WhyKernelsFindings::new(
        "two",
        0.05,
        &kernels,
        &["debian:6.1", "debian:6.12", "debian:6.6", "debian:6.18"].map(str::to_owned),
    );
    let screen = screened();
    let factor = |name: &str| WhyFactor { name: name.into(), specs: [format!("feature:{name}"), String::new()] };
    let (factors, left_out) = (["NO_A", "NO_B"].map(factor).to_vec(), vec!["numa_balancing: not here".into()]);
    let why = WhyFindings::new("two", difference, 0.05, factors, left_out, Some(&screen));
    assert!(why.finished && why.named == ["NO_A"], "{why:?}");
    let run = schedlab_run::RunReader::open(three).unwrap();
    let outcome = run.trials.iter().find_map(|trial| trial.outcome.as_ref()).unwrap();
    let cost = recorder_cost(&run.trials, &outcome.metrics[0].name).unwrap();
    [
        printed("schedlab/why/1", &why),
        printed("schedlab/why-kernels/1", &on_kernels),
        printed("schedlab/recorder-cost/1", &cost),
    ]
}

/// A full screen of two factors, of which the first removes the difference.
fn screened() -> Screen {
    let sought = Sought { factors: 2, size: 0.2, sd: 0.01, alpha: 0.05, seed: 1, fraction: factorial::levels };
    let mut screen = Screen::new(sought);
    while let Some(request) = screen.ask() {
        let blocks = |row: &Vec<bool>| {
            let mean = if row[0] { 0.0 } else { -0.2 };
            (0..request.blocks).map(|block| mean + 0.001 * (block % 3) as f64).collect()
        };
        let values: Vec<Vec<f64>> = request.rows.iter().map(blocks).collect();
        screen.tell(&values).unwrap();
    }
    screen
}

fn printed<T: serde::Serialize>(schema: &str, found: &T) -> String {
    assert!(ANSWERS.iter().any(|answer| answer.schema == schema), "{schema}");
    answer(schema, found, Room::Bytes(schedlab_plan::json::USUAL_BYTES)).unwrap()
}
