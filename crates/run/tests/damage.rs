//! Crashes, bit flips and foreign files: no finished trial is lost, nothing panics, and every problem is reported.

mod records;

use records::{Draw, Lab, manifest};
use schedlab_plan::manifest::FORMAT_VERSION;

use schedlab_run::*;
use std::fs;
use std::path::PathBuf;

fn trial_files(lab: &Lab) -> Vec<PathBuf> {
    let entries = fs::read_dir(lab.dir.join("trials")).unwrap().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|x| x == "rec")).collect();
    files.sort();
    files
}

#[test]
fn a_torn_last_trial_is_named_and_the_others_stay() {
    let lab = Lab::new(1, 5, false);
    let last = trial_files(&lab).pop().unwrap();
    let bytes = fs::read(&last).unwrap();
    for keep in [0, 7, 19, 20, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&last, &bytes[..keep]).unwrap();
        let run = RunReader::open(&lab.dir).unwrap();
        assert_eq!(run.trials, lab.records[..4], "cut to {keep} bytes");
        let name = last.file_name().unwrap().to_str().unwrap();
        assert!(run.problems.len() == 1 && run.problems[0].contains(name), "{:?}", run.problems);
    }
}

#[test]
fn a_resumed_run_goes_on_behind_the_last_whole_trial() {
    let lab = Lab::new(1, 5, false);
    let last = trial_files(&lab).pop().unwrap();
    fs::write(&last, b"SLTRIAL1").unwrap();
    fs::write(lab.dir.join("trials/00000005.rec.part"), b"half").unwrap();
    let mut writer = RunWriter::resume(&lab.dir).unwrap();
    writer.append(&lab.records[4]).unwrap();
    writer.seal().unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!((run.trials, run.sealed), (lab.records.clone(), true));
    let error = RunWriter::resume(&lab.dir).unwrap_err().to_string();
    assert!(error.contains("complete"), "{error}");
}

#[test]
fn nothing_is_written_or_moved_through_a_link_that_a_run_came_with() {
    for name in ["trials", "unreadable"] {
        let lab = Lab::new(1, 5, false);
        fs::write(&trial_files(&lab)[2], b"junk").unwrap();
        let (place, elsewhere) = (lab.dir.join(name), lab.dir.join("elsewhere"));
        if place.exists() {
            fs::rename(&place, &elsewhere).unwrap()
        } else {
            fs::create_dir(&elsewhere).unwrap()
        }
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        let before = walk(&elsewhere);
        let refused = RunWriter::resume(&lab.dir).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains("not a directory of the run's own"), "{refused}");
        assert_eq!(walk(&elsewhere), before);
    }
}

#[test]
fn what_cannot_be_read_is_set_aside_and_never_deleted() {
    let lab = Lab::new(1, 5, false);
    let foreign = b"a trial of a later schedlab, for all this one knows";
    fs::write(&trial_files(&lab)[2], foreign).unwrap();
    RunWriter::resume(&lab.dir).unwrap().seal().unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!(run.trials.len(), 4);
    let everywhere: Vec<PathBuf> = walk(&lab.dir);
    assert!(everywhere.iter().any(|f| fs::read(f).unwrap() == foreign), "{everywhere:?}");
    assert!(fs::read_to_string(lab.dir.join("log.txt")).unwrap().contains("00000002"));
}

fn walk(dir: &std::path::Path) -> Vec<PathBuf> {
    let (dirs, files): (Vec<_>, Vec<_>) =
        fs::read_dir(dir).unwrap().flatten().map(|e| e.path()).partition(|p| p.is_dir());
    dirs.iter().flat_map(|d| walk(d)).chain(files).collect()
}

#[test]
fn what_lies_where_the_tables_are_written_does_not_keep_a_run_from_being_sealed() {
    use std::os::unix::fs::symlink;
    let traps: [fn(&std::path::Path) -> std::io::Result<()>; 3] =
        [|part| symlink("precious", part), |part| symlink("nowhere", part), |part| fs::write(part, b"a file")];
    for trap in traps {
        let lab = Lab::new(1, 3, false);
        fs::create_dir(lab.dir.join("precious")).unwrap();
        fs::write(lab.dir.join("precious/trials.parquet"), b"mine").unwrap();
        trap(&lab.dir.join("tables.part")).unwrap();
        RunWriter::resume(&lab.dir).unwrap().seal().unwrap();
        assert_eq!(RunReader::open(&lab.dir).unwrap().trials, lab.records);
        assert_eq!(fs::read(lab.dir.join("precious/trials.parquet")).unwrap(), b"mine");
    }
}

#[test]
fn a_crash_while_the_tables_are_written_is_an_unsealed_run() {
    let lab = Lab::new(2, 4, false);
    fs::create_dir(lab.dir.join("tables.part")).unwrap();
    fs::write(lab.dir.join("tables.part/trials.parquet"), b"PAR1 and no more").unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!((&run.trials, run.sealed), (&lab.records, false));
    RunWriter::resume(&lab.dir).unwrap().seal().unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!((run.trials, run.sealed), (lab.records, true));
}

#[test]
fn a_crash_between_the_rename_and_the_cleaning_is_a_sealed_run() {
    let lab = Lab::new(2, 4, false);
    let copy: Vec<(PathBuf, Vec<u8>)> =
        trial_files(&lab).into_iter().map(|p| (p.clone(), fs::read(p).unwrap())).collect();
    RunWriter::resume(&lab.dir).unwrap().seal().unwrap();
    fs::create_dir_all(lab.dir.join("trials")).unwrap();
    copy.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    fs::create_dir(lab.dir.join("tables.part")).unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!((run.trials, run.sealed), (lab.records, true));
}

#[test]
fn flipped_bits_and_cuts_never_panic_and_are_always_found() {
    let lab = Lab::new(4, 6, true);
    let mut draw = Draw::new(99);
    for table in fs::read_dir(lab.dir.join("tables")).unwrap().flatten().map(|e| e.path()) {
        let bytes = fs::read(&table).unwrap();
        for round in 0..40 {
            let mut damaged = bytes.clone();
            if round % 4 == 0 {
                damaged.truncate(draw.below(bytes.len() as u64) as usize);
            } else {
                // The last bytes are the footer, where lengths and offsets live: half of the flips go there.
                let reach = if round % 2 == 0 { bytes.len() } else { bytes.len().min(64) };
                damaged[bytes.len() - 1 - draw.below(reach as u64) as usize] ^= 1 << draw.below(8);
            }
            fs::write(&table, &damaged).unwrap();
            let error = RunReader::open(&lab.dir).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(".parquet") || error.contains("checksums"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        fs::write(&table, &bytes).unwrap();
    }
    assert_eq!(RunReader::open(&lab.dir).unwrap().trials, lab.records);
}

#[test]
fn a_trial_file_of_any_bytes_is_read_or_named() {
    let lab = Lab::new(6, 3, false);
    let bytes = fs::read(&trial_files(&lab)[1]).unwrap();
    let mut draw = Draw::new(5);
    for _ in 0..2_000 {
        let mut damaged = bytes.clone();
        for _ in 0..=draw.below(3) {
            let at = draw.below(bytes.len() as u64) as usize;
            damaged[at] ^= 1 << draw.below(8);
        }
        if damaged != bytes {
            assert!(schedlab_run::frame::decode(&damaged).is_err());
        }
    }
}

#[test]
fn a_manifest_of_any_bytes_is_read_or_refused() {
    let text = serde_json::to_vec(&manifest()).unwrap();
    let mut draw = Draw::new(8);
    for round in 0..3_000 {
        let mut damaged = text.clone();
        damaged[draw.below(text.len() as u64) as usize] = draw.next() as u8;
        damaged.truncate(if round % 3 == 0 { draw.below(text.len() as u64) as usize } else { text.len() });
        // Not panicking is the assertion. Whatever is accepted must have lists of equal length where later code indexes
        // them in parallel.
        if let Ok(manifest) = schedlab_run::reader::parse_manifest(&damaged) {
            assert_eq!(manifest.load.len(), manifest.workloads.len());
        }
    }
}

#[test]
fn a_newer_format_says_what_to_use() {
    let lab = Lab::new(1, 1, true);
    let path = lab.dir.join("manifest.json");
    // A newer manifest may have any form: only the version is read.
    let newer = FORMAT_VERSION + 1;
    fs::write(&path, format!("{{\"format_version\": {newer}, \"shape\": \"unheard of\"}}")).unwrap();
    let error = RunReader::open(&lab.dir).unwrap_err().to_string();
    let (is, reads) = (format!("format {newer}"), format!("reads up to {FORMAT_VERSION}"));
    assert!(error.contains(&is) && error.contains(&reads) && error.contains("newer schedlab"), "{error}");
}

#[test]
fn a_run_of_version_2_has_no_slow_operations_and_is_read() {
    let lab = Lab::new(5, 6, true);
    let (table, sums) = (lab.dir.join("tables/slow_operations.parquet"), lab.dir.join("tables/checksums.txt"));
    fs::remove_file(&table).unwrap();
    let missing = RunReader::open(&lab.dir).unwrap_err().to_string();
    assert!(missing.contains("slow_operations.parquet"), "one that is listed must be there: {missing}");
    let listed = fs::read_to_string(&sums).unwrap();
    let older: String =
        listed.lines().filter(|l| !l.ends_with("slow_operations.parquet")).map(|l| format!("{l}\n")).collect();
    fs::write(&sums, older).unwrap();
    let unlisted = RunReader::open(&lab.dir).unwrap_err().to_string();
    assert!(unlisted.contains("does not list slow_operations.parquet"), "not of this version: {unlisted}");
    let mut of_version_2 = manifest();
    of_version_2.format_version = 2;
    fs::write(lab.dir.join("manifest.json"), serde_json::to_vec(&of_version_2).unwrap()).unwrap();
    let mut expected = lab.records.clone();
    expected.iter_mut().filter_map(|r| r.outcome.as_mut()).for_each(|o| o.slowest.clear());
    assert_eq!(RunReader::open(&lab.dir).unwrap().trials, expected);
}

#[test]
fn a_design_beyond_its_workloads_or_arms_is_refused() {
    let refused = |damage: fn(&mut schedlab_plan::Manifest)| {
        let mut damaged = manifest();
        damage(&mut damaged);
        schedlab_run::reader::parse_manifest(&serde_json::to_vec(&damaged).unwrap()).is_err()
    };
    assert!(!refused(|_| {}));
    assert!(refused(|m| m.sweeps[0].workloads[0] = 1));
    assert!(refused(|m| m.sweeps[0].values.clear()));
    assert!(refused(|m| m.factorial.as_mut().unwrap().levels.truncate(1)));
    assert!(refused(|m| m.factorial.as_mut().unwrap().levels[1].clear()));
}

#[test]
fn rules_that_no_plan_may_have_and_a_table_that_is_missing_are_damage() {
    for rule in ["alpha", "sesoi"] {
        let mut damaged = serde_json::to_value(manifest()).unwrap();
        damaged[rule] = 7.into();
        let error = schedlab_run::reader::parse_manifest(damaged.to_string().as_bytes()).unwrap_err();
        assert!(format!("{error:?}").contains(&format!("{rule} 7")), "{error:?}");
    }
    let lab = Lab::new(5, 6, true);
    fs::remove_file(lab.dir.join("tables/metrics.parquet")).unwrap();
    let error = RunReader::open(&lab.dir).unwrap_err().to_string();
    assert!(error.contains("metrics.parquet") && error.contains("it is missing; restore it"), "{error}");
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let lab = Lab::new(1, 1, false);
    let error = RunWriter::create(&lab.dir, &manifest()).unwrap_err().to_string();
    assert!(error.contains("--resume"), "{error}");
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "x").unwrap();
    let error = RunWriter::create(other.path(), &manifest()).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    assert!(matches!(RunReader::open(other.path()), Err(RunError::NotARun { .. })));
}

#[test]
fn a_run_has_one_writer_at_a_time() {
    let lab = Lab::new(1, 1, false);
    let first = RunWriter::resume(&lab.dir).unwrap();
    assert!(matches!(RunWriter::resume(&lab.dir), Err(RunError::Busy { .. })));
    drop(first);
    assert!(RunWriter::resume(&lab.dir).is_ok(), "the lock goes with its holder");
}

#[test]
fn a_row_of_an_arm_that_is_not_there_is_damage() {
    let lab = Lab::new(1, 0, false);
    let mut writer = RunWriter::resume(&lab.dir).unwrap();
    let mut record = Draw::new(1).record(0);
    record.arm = Some(9);
    writer.append(&record).unwrap();
    assert_eq!(RunReader::open(&lab.dir).unwrap().problems.len(), 1);
}

/// Files of a run directory that a report reads.
fn files_of_report(dir: &std::path::Path) -> Vec<PathBuf> {
    walk(dir).into_iter().filter(|file| !file.ends_with("log.txt")).collect()
}

/// What opening reports: the error, or the problems.
fn message(dir: &std::path::Path) -> String {
    RunReader::open(dir).map_or_else(|error| error.to_string(), |run| run.problems.join("\n"))
}

#[test]
fn every_byte_of_a_sealed_run_counts_and_so_does_every_file() {
    let lab = Lab::new(4, 2, true);
    assert_eq!(message(&lab.dir), "");
    let files = files_of_report(&lab.dir);
    assert!(files.len() >= 18, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        // Every byte of the text files; every seventh byte of the tables, because their checksums cover all bytes
        // alike.
        let stride = if file.extension().is_some_and(|x| x == "parquet") { 7 } else { 1 };
        for at in (0..bytes.len()).step_by(stride) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&file, &flipped).unwrap();
            assert_ne!(message(&lab.dir), "", "{} byte {at}", file.display());
        }
        fs::remove_file(&file).unwrap();
        assert_ne!(message(&lab.dir), "", "without {}", file.display());
        fs::write(&file, &bytes).unwrap();
    }
    assert_eq!(message(&lab.dir), "");
    fs::remove_dir_all(lab.dir.join("tables")).unwrap();
    assert!(message(&lab.dir).contains("neither tables nor trial files"), "{}", message(&lab.dir));
}

#[test]
fn every_file_of_an_unsealed_run_is_missed() {
    let lab = Lab::new(4, 5, false);
    for file in files_of_report(&lab.dir) {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let said = message(&lab.dir);
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(name), "without {name}: {said:?}");
        fs::write(&file, &bytes).unwrap();
    }
    assert_eq!(message(&lab.dir), "");
}

#[test]
fn what_was_missing_is_told_by_the_sealed_run_as_well() {
    let lab = Lab::new(4, 5, false);
    fs::remove_file(&trial_files(&lab)[4]).unwrap();
    RunWriter::resume(&lab.dir).unwrap().seal().unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert!(
        run.sealed && run.manifest.warnings.iter().any(|w| w.contains("00000004.rec")),
        "{:?}",
        run.manifest.warnings
    );
}

#[test]
fn a_torn_list_of_trial_files_is_no_damage_and_is_made_whole() {
    let lab = Lab::new(4, 5, false);
    let list = lab.dir.join("trials/stored.txt");
    let whole = fs::read_to_string(&list).unwrap();
    fs::write(&list, &whole[..whole.len() - 4]).unwrap();
    assert_eq!(message(&lab.dir), "");
    RunWriter::resume(&lab.dir).unwrap().append(&Draw::new(7).record(5)).unwrap();
    assert!(fs::read_to_string(&list).unwrap().ends_with("00000003.rec\n00000005.rec\n"));
    assert_eq!(message(&lab.dir), "");
}

#[test]
fn a_run_of_before_there_were_checksums_is_read_and_says_so() {
    let lab = Lab::new(5, 6, true);
    let mut older = manifest();
    older.format_version = 3;
    fs::write(lab.dir.join("manifest.json"), serde_json::to_vec(&older).unwrap()).unwrap();
    fs::remove_file(lab.dir.join("tables/checksums.txt")).unwrap();
    let run = RunReader::open(&lab.dir).unwrap();
    assert_eq!((&run.trials, run.manifest), (&lab.records, older));
    assert!(run.problems.len() == 1 && run.problems[0].contains("checksums.txt is missing"), "{:?}", run.problems);
}

#[test]
fn pipes_devices_and_endless_files_are_refused_and_not_waited_for() {
    let trap = |file: &std::path::Path, make: &dyn Fn(&std::path::Path)| {
        fs::remove_file(file).unwrap();
        make(file);
    };
    let pipe = |path: &std::path::Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let device = |path: &std::path::Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let endless = |path: &std::path::Path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    let directory = |path: &std::path::Path| fs::create_dir(path).unwrap();
    let traps: [&dyn Fn(&std::path::Path); 4] = [&pipe, &device, &endless, &directory];
    for make in traps {
        for name in ["manifest.json", "tables/checksums.txt"] {
            let lab = Lab::new(5, 6, true);
            trap(&lab.dir.join(name), make);
            let error = RunReader::open(&lab.dir).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("restore it"), "{error}");
        }
        let lab = Lab::new(5, 6, false);
        trap(&trial_files(&lab)[2], make);
        let run = RunReader::open(&lab.dir).unwrap();
        assert!(run.trials.len() == 5 && run.problems[0].contains("00000002.rec"), "{:?}", run.problems);
    }
    for make in traps {
        let lab = Lab::new(5, 6, true);
        trap(&lab.dir.join("tables/counters.parquet"), make);
        let error = RunReader::open(&lab.dir).unwrap_err().to_string();
        assert!(error.contains("counters.parquet") && error.contains("restore it"), "{error}");
    }
}
