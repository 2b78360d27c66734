//! A run directory returns what was stored in it, before and after sealing.

mod records;

use records::{Draw, Lab, manifest, records};
use schedlab_plan::*;
use schedlab_run::*;

#[test]
fn a_trial_read_from_its_file_or_from_tables_is_the_trial_that_was_stored() {
    for seed in 0..12 {
        let lab = Lab::new(seed, 1 + seed * 2, false);
        let open = RunReader::open(&lab.dir).unwrap();
        assert_eq!((open.trials, open.sealed, open.problems), (lab.records, false, vec![]), "seed {seed}");
        let lab = Lab::new(seed, 1 + seed * 2, true);
        let sealed = RunReader::open(&lab.dir).unwrap();
        assert_eq!(sealed.manifest, manifest());
        assert_eq!((sealed.trials, sealed.sealed, sealed.problems), (lab.records, true, vec![]), "seed {seed}");
        assert!(!lab.dir.join("trials").exists() && !lab.dir.join("tables.part").exists());
    }
}

#[test]
fn a_long_run_is_several_row_groups_and_reads_alike() {
    let lab = Lab::new(40, 230, true);
    assert_eq!(RunReader::open(&lab.dir).unwrap().trials, lab.records);
}

#[test]
fn a_run_of_no_trials_seals_too() {
    let lab = Lab::new(0, 0, true);
    assert_eq!(RunReader::open(&lab.dir).unwrap().trials, []);
}

#[test]
fn the_same_trials_make_the_same_bytes() {
    let bytes = |lab: &Lab| -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = std::fs::read_dir(lab.dir.join("tables")).unwrap().flatten().collect();
        files.sort_by_key(|f| f.path());
        files.iter().map(|f| (f.file_name().into_string().unwrap(), std::fs::read(f.path()).unwrap())).collect()
    };
    assert_eq!(bytes(&Lab::new(3, 9, true)), bytes(&Lab::new(3, 9, true)));
}

#[test]
fn a_number_that_is_none_does_not_lose_its_trial() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut all = records(5, 8);
        let record = all.iter_mut().find(|r| r.outcome.is_some()).unwrap();
        let unit = "1/s".to_owned();
        let metric = Metric { name: "rate".into(), value, unit, direction: Direction::HigherIsBetter };
        record.outcome.as_mut().unwrap().metrics = vec![metric];
        record.marks = vec![Mark::Steal { share: value }];
        for seal in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let dir = temp.path().join("run");
            let mut writer = RunWriter::create(&dir, &manifest()).unwrap();
            all.iter().for_each(|r| drop(writer.append(r).unwrap()));
            if seal {
                writer.seal().unwrap();
            }
            let run = RunReader::open(&dir).unwrap();
            assert_eq!(run.problems, Vec::<String>::new());
            assert_eq!(format!("{:?}", run.trials), format!("{all:?}"), "NaN is not equal to itself, its print is");
        }
    }
}

#[test]
fn a_setting_is_stored_to_the_nanosecond() {
    let mut draw = Draw::new(11);
    for _ in 0..2_000 {
        let setting = draw.setting();
        assert_eq!(setting.to_string().parse(), Ok(setting));
    }
}
