//! Plans whose samples start from saved states of their boots. Making a state takes as long as a boot, a sample a few
//! seconds.

mod program;

use program::guests::{KERNEL, can_boot};
use program::{Lab, trials_in};
use schedlab_plan::TrialOutcome;
use schedlab_run::{Run, RunReader};
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A directory with its own cache, which contains the user's kernels, and a QEMU that can be replaced.
struct Guests {
    lab: Lab,
}

impl Guests {
    fn new(name: &str, guest: &str) -> Self {
        let lab = Lab::new(name);
        let plan = format!(
            "trials = 6\nlatency = \"off\"\ncounters = \"basic\"\nseed = 7\n\
             [guest]\nkernel = \"{KERNEL}\"\nlane = \"virtual\"\ncpus = 1\n{guest}\n\
             [[workload]]\nrun = \"messaging:2x2,groups=1,loops=20\"\n\
             [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"debugfs:sched/wakeup_granularity_ns=20000000\"\n"
        );
        std::fs::write(lab.path("plan.toml"), plan).unwrap();
        std::fs::create_dir_all(lab.path("cache")).unwrap();
        std::fs::create_dir_all(lab.path("bin")).unwrap();
        // NAME  VERSION  ARCHITECTURE  PATH
        let listed = program::schedlab(&["vm", "list"]).success().stdout;
        let line = listed.lines().find(|line| line.starts_with(KERNEL)).unwrap();
        let kernels = Path::new(line.rsplit("  ").next().unwrap()).parent().unwrap();
        symlink(kernels, lab.path("cache/kernels")).unwrap();
        Self { lab }
    }

    /// Puts a shell script in front of this host's QEMU, which may behave differently.
    fn qemu(&self, script: &str) {
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|dir| dir.join("qemu-system-x86_64")).find(|file| file.exists());
        let file = self.lab.path("bin/qemu-system-x86_64");
        std::fs::write(&file, format!("#!/bin/sh\n{script}\nexec {} \"$@\"\n", real.unwrap().display())).unwrap();
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let path = format!("{}:{}", self.lab.path("bin"), std::env::var("PATH").unwrap());
        let mut command = program::command();
        command.args(["run", "plan.toml"]).args(arguments).current_dir(self.lab.path(""));
        command.env("TMPDIR", self.lab.path("")).env("SCHEDLAB_CACHE", self.lab.path("cache")).env("PATH", path);
        command
    }

    /// Runs until there are this many trials, then ends it by a signal; returns the output.
    fn until(&self, count: usize, arguments: &[&str], out: &str, signal: i32) -> String {
        let said = self.lab.path("said");
        let mut command = self.command(arguments);
        command.args(["-o", out]).stdout(Stdio::null()).stderr(std::fs::File::create(&said).unwrap());
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(900);
        while trials_in(&self.lab.path(out)) < count && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "{}", std::fs::read_to_string(&said).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        schedlab_sys::process::kill(child.id(), signal).unwrap();
        child.wait().unwrap();
        std::fs::read_to_string(said).unwrap()
    }

    fn read(&self, out: &str) -> Run {
        RunReader::open(Path::new(&self.lab.path(out))).unwrap()
    }

    fn states(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.lab.path("cache/states")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "state")).collect()
    }
}

/// The outcomes of the first trials, complete as the guest sent them.
fn outcomes(run: &Run, count: usize) -> Vec<TrialOutcome> {
    assert!(run.trials.len() >= count, "{:?}", run.problems);
    run.trials[..count]
        .iter()
        .map(|trial| trial.outcome.clone().unwrap_or_else(|| panic!("{:?}", trial.status)))
        .collect()
}

/// Up to the first sample of the second boot.
const SAMPLES: usize = 9;
/// Up to here a run that was killed and resumed is compared.
const GONE_ON: usize = 5;
const SIGKILL: i32 = 9;
const SIGINT: i32 = 2;

#[test]
fn samples_from_saved_states_repeat_to_the_byte_also_in_a_killed_run_that_goes_on() {
    let test = "samples_from_saved_states_repeat_to_the_byte_also_in_a_killed_run_that_goes_on";
    if !can_boot(test) {
        return;
    }
    let guests = Guests::new("vm-states", "boots = 6");
    guests.until(3, &[], "killed", SIGKILL);
    let said = guests.until(GONE_ON, &["--resume"], "killed", SIGINT);
    assert!(!said.contains("anew"), "{said}");
    // Four of the warm-up, and one block per boot.
    guests.until(SAMPLES, &[], "whole", SIGINT);
    let (killed, whole) = (guests.read("killed"), guests.read("whole"));
    let (a, b) = (outcomes(&killed, GONE_ON), outcomes(&whole, SAMPLES));
    assert!(a == b[..GONE_ON], "one seed, two outcomes");
    let different: BTreeSet<String> = b.iter().map(|outcome| format!("{:?}", outcome.metrics)).collect();
    assert!(different.len() > 5, "each sample has a seed of its own: {}", different.len());
    let boots =
        |run: &Run, count: usize| -> Vec<String> { run.trials[..count].iter().map(|t| t.boot_id.clone()).collect() };
    let ids = boots(&whole, SAMPLES);
    assert_eq!(boots(&killed, GONE_ON), ids[..GONE_ON], "the states of the first run are those of the second");
    assert!(
        ids[..8].iter().all(|id| *id == ids[0]) && ids[8..].iter().all(|id| *id == ids[8] && *id != ids[0]),
        "{ids:?}"
    );
    assert_eq!((whole.manifest.boots, guests.states().len()), (Some(6), 2), "a state that no sample wants is not made");
    let note = whole.manifest.warnings.iter().find(|note| note.contains("saved states of 6 boots"));
    assert!(note.is_some(), "{:?}", whole.manifest.warnings);
    for trial in whole.trials.iter().filter(|trial| trial.arm == Some(1)) {
        let applied = &trial.outcome.as_ref().unwrap().applied;
        assert!(applied.iter().any(|a| a.effective.contains("20000000")), "{applied:?}");
    }
    // A damaged state is not used, and a new one is made in its place.
    let state = whole.trials[0].boot_id.rsplit('-').next().unwrap().to_owned();
    let damaged = guests
        .states()
        .into_iter()
        .find(|path| std::fs::read_to_string(path.with_extension("txt")).unwrap().contains(&format!("CRC-32 {state}")));
    let file = std::fs::File::options().write(true).open(damaged.unwrap()).unwrap();
    file.set_len(1 << 20).unwrap();
    let said = guests.until(2, &[], "damaged", SIGINT);
    assert_eq!(said.matches("is damaged: creating it again").count(), 1, "{said}");
    let anew = guests.read("damaged");
    let made: Vec<&str> = anew.trials[..2].iter().map(|trial| trial.boot_id.as_str()).collect();
    assert!(made[0] == made[1] && made[0] != ids[0], "the boot that was made in its place has its own name: {made:?}");
    outcomes(&anew, 2);
    // A different QEMU has its own state.
    let before = guests.states().len();
    guests.qemu("if [ \"$1\" = --version ]; then echo 'QEMU emulator version 10.0.99'; exit; fi");
    guests.until(1, &[], "other", SIGINT);
    let other = guests.read("other").trials[0].boot_id.clone();
    assert!(guests.states().len() == before + 1 && other != ids[0] && other != made[0], "{other}");
}

#[test]
fn a_qemu_that_keeps_no_states_boots_each_guest_and_one_line_says_so() {
    let test = "a_qemu_that_keeps_no_states_boots_each_guest_and_one_line_says_so";
    if !can_boot(test) {
        return;
    }
    let guests = Guests::new("vm-stateless", "boots = 2");
    guests.qemu("if [ \"$1\" = --version ]; then echo 'QEMU emulator version 8.1.5'; exit; fi");
    let dry = guests.command(&["--dry-run"]).output().unwrap();
    let said = String::from_utf8_lossy(&dry.stderr);
    assert!(
        said.contains("QEMU 8.1.5 does not write a guest's state into a file") && said.lines().count() == 1,
        "{said}"
    );
    assert!(!String::from_utf8_lossy(&dry.stdout).contains("pvpanic"));
    // A QEMU that was built without the device.
    guests.qemu("case \"$*\" in *pvpanic*) echo \"'pvpanic' is not a valid device model name\" >&2; exit 1;; esac");
    let dry = guests.command(&["--dry-run"]).output().unwrap();
    assert!(String::from_utf8_lossy(&dry.stdout).contains("-device pvpanic"));
    let said = guests.until(2, &[], "out", SIGINT);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("no guest's state is saved")).collect();
    assert!(lines.len() == 1 && lines[0].contains("is not a valid device model name"), "{said}");
    let run = guests.read("out");
    assert_eq!(run.manifest.boots, None, "blocks are the units");
    assert!(
        run.manifest.warnings.iter().any(|note| note.contains("boots = 2 is ignored")),
        "{:?}",
        run.manifest.warnings
    );
    outcomes(&run, 2);
    assert_ne!(run.trials[0].boot_id, run.trials[1].boot_id);
    assert!(guests.states().is_empty());
}
