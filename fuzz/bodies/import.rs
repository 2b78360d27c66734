//! What must hold for any text given to the importers; shared by the fuzz target and the replay of its corpus. The text
//! is tried as every kind, alone and as two logs.

use schedlab_import::{Kind, Options, Source, import};
use schedlab_plan::Direction;
use schedlab_run::frame::{decode, encode};

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let one = Source { name: "fuzz".into(), file: "fuzz".into(), text: text.to_owned() };
    let two = [one.clone(), one.clone()];
    for kind in std::iter::once(None).chain(Kind::ALL.map(Some)) {
        for sources in [std::slice::from_ref(&one), &two] {
            check_as(kind, sources);
        }
    }
}

fn check_as(kind: Option<Kind>, sources: &[Source]) {
    let options = Options { metric: None, unit: None, direction: Direction::LowerIsBetter, sesoi: 0.01 };
    match import(kind, sources, &options) {
        Ok(imported) => {
            assert!(imported.manifest.arms.len() >= 2 && !imported.trials.is_empty());
            let (arms, workloads) = (imported.manifest.arms.len(), imported.manifest.workloads.len());
            for trial in &imported.trials {
                assert!((trial.workload as usize) < workloads && trial.arm.is_some_and(|a| (a as usize) < arms));
            }
            // A few are enough: they have one shape, and a long import would slow the fuzzer down.
            for trial in imported.trials.iter().take(3) {
                assert_eq!(decode(&encode(trial)).as_ref(), Ok(trial));
                let metrics = trial.outcome.iter().flat_map(|o| &o.metrics);
                assert!(metrics.clone().all(|m| m.value.is_finite()), "{trial:?}");
            }
            let written = schedlab_run::writer::manifest_bytes(&imported.manifest);
            let read = schedlab_run::reader::parse_manifest(&written).expect("an imported manifest can be read");
            assert_eq!(read, imported.manifest);
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
