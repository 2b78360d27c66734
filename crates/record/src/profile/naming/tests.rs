use super::super::gather::InOrder;
use super::super::records::{Address, Task, written};
use super::*;
use std::path::PathBuf;

const TASK: Task = Task { pid: 7, tid: 7 };

/// A /proc with these files, removed on drop.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let dir = std::env::temp_dir().join(format!("schedlab-naming-{name}-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("sys/kernel")).unwrap();
        files.iter().for_each(|(file, text)| std::fs::write(dir.join(file), text).unwrap());
        Self(dir)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two samples: one in the kernel, called from the kernel; one in a program whose file does not exist.
fn named(tree: &Tree) -> Profile {
    let at = |address, is_kernel| Address { address, is_kernel };
    let mut order = InOrder::default();
    order.buffer().extend(written::mmap2(TASK, [0x1000, 0x1000, 0x200], "/no/such/program", 1));
    order.buffer().extend(written::mmap2(TASK, [0x4000, 0x1000, 0], "", 1));
    let kernel = [at(0xffff_ffff_8100_0010, true), at(0xffff_ffff_8100_0100, true), at(0x1010, false)];
    order.buffer().extend(written::sample(TASK, 2, 1, &kernel));
    order.buffer().extend(written::sample(TASK, 3, 1, &[at(0x1020, false), at(0x4000, false), at(0x9000, false)]));
    let mut gathered = Gathered::new(0, 99);
    order.hand_over(u64::MAX, &mut gathered);
    let mut profile = Profile::default();
    let roots = Roots { proc: tree.0.clone(), sys: "/sys".into() };
    name_all(gathered, &roots, &mut profile);
    profile
}

/// `name image +offset` of each chain's frames, the innermost first.
fn told(profile: &Profile) -> Vec<Vec<String>> {
    let frame = |number: &u32| {
        let frame = profile.frames[*number as usize];
        let function = &profile.functions[frame.function as usize];
        format!("{} {} +{:#x}", function.name, profile.images[function.image as usize].name, frame.offset)
    };
    profile.chains.iter().map(|chain| chain.frames.iter().map(frame).collect()).collect()
}

#[test]
fn addresses_have_the_names_of_their_tables_or_their_image() {
    let table = "ffffffff81000000 T leaf\nffffffff81000080 T caller\nffffffff81000100 T next_one\n";
    let profile = named(&Tree::new("table", &[("kallsyms", table)]));
    let expected = [
        // A call at the end of `caller` returns to the first byte of the function after it.
        vec!["leaf [kernel] +0x10", "caller [kernel] +0x80", " /no/such/program +0x210"],
        vec![" /no/such/program +0x220", " [not mapped] +0x0", " [not mapped] +0x0"],
    ];
    assert_eq!(told(&profile), expected);
    assert_eq!(profile.notes.len(), 1, "{:?}", profile.notes);
    assert!(profile.notes[0].contains("/no/such/program: No such file"), "{:?}", profile.notes);
    assert!(profile.images[0].is_kernel && !profile.images[1].is_kernel);
}

#[test]
fn libraries_that_name_only_what_they_export_are_told_those_most_met_first() {
    assert_eq!(exported_note(Vec::new()), None);
    let lacking = [(1, "a"), (9, "libc"), (2, "b"), (2, "c"), (1, "d")];
    let note = exported_note(lacking.map(|(met, name)| (met, name.to_owned())).to_vec()).unwrap();
    assert!(
        note.starts_with("only functions that are exported have names in libc; b; c; and 2 more; a debug"),
        "{note}"
    );
}

#[test]
fn hidden_and_missing_tables_are_said_with_the_fix() {
    let files = [
        ("kallsyms", "0000000000000000 T leaf\n"),
        ("sys/kernel/kptr_restrict", "1\n"),
        ("sys/kernel/perf_event_paranoid", "2\n"),
    ];
    let hidden = named(&Tree::new("hidden", &files));
    let why = "kernel functions have no names: the kernel hides their addresses from this user (kernel.kptr_restrict is 1, \
               kernel.perf_event_paranoid 2); run as root, or set kernel.kptr_restrict=0";
    assert!(hidden.notes[0].starts_with(why), "{:?}", hidden.notes);
    assert_eq!(told(&hidden)[0][0], " [kernel] +0xffffffff81000010");
    let missing = named(&Tree::new("missing", &[]));
    assert!(missing.notes[0].contains("/proc/kallsyms cannot be read"), "{:?}", missing.notes);
    let odd = named(&Tree::new("odd", &[("kallsyms", "what is this\n")]));
    assert!(odd.notes[0].contains("line 1: expected address, found `what`"), "{:?}", odd.notes);
}
