//! The instructions of a sampled function, from objdump(1) if it is installed: it reads the program's file or, for the
//! kernel, /proc/kcore. A disassembler of our own would make up a thirtieth of the whole program.

use crate::Roots;
use schedlab_plan::profile::{Instruction, Profile};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Longer functions are truncated: nobody reads more, and a wrong length must not cost memory.
const MAX_BYTES: u64 = 64 << 10;

/// The instructions of a function in the profile, or why they are not available.
pub fn instructions(profile: &Profile, function: usize, roots: &Roots) -> Result<Vec<Instruction>, String> {
    let of = profile.functions.get(function).ok_or("there is no such function")?;
    let image = profile.images.get(of.image as usize).ok_or("its image is not known")?;
    let file = if image.is_kernel { roots.proc.join("kcore") } else { PathBuf::from(&image.name) };
    // Checked first, because objdump's own message names no fix.
    std::fs::File::open(&file).map_err(|error| match image.is_kernel {
        true => format!("{} holds the kernel's code, and cannot be read ({error})", file.display()),
        false => format!("{}: {error}", file.display()),
    })?;
    let end = of.start.saturating_add(of.length.min(MAX_BYTES));
    let output = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn"])
        .args([format!("--start-address={:#x}", of.start), format!("--stop-address={end:#x}")])
        .arg(&file)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("objdump cannot be started ({error}): install binutils"))?;
    let found = parse(&String::from_utf8_lossy(&output.stdout), of.start, end);
    if found.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("nothing").to_owned();
        return Err(format!("objdump finds no code at {:#x} of {} (it says: {said})", of.start, file.display()));
    }
    Ok(found)
}

/// Lines `  addr:<tab>text` of objdump's output; the others are headings.
fn parse(text: &str, start: u64, end: u64) -> Vec<Instruction> {
    let line = |line: &str| {
        let (address, text) = line.split_once(":\t")?;
        let address = u64::from_str_radix(address.trim(), 16).ok().filter(|at| (start..end).contains(at))?;
        Some(Instruction { offset: address - start, text: text.replace('\t', " ").trim_end().to_owned() })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::profile::{Function, Image};

    #[test]
    fn lines_of_objdump_become_instructions_at_their_offsets() {
        let text = "\n/bin/x:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n\
                    0000000000001000 <f>:\n    1000:\tpush   %rbp\n    1001:\tcall   1100 <g+0x10>\n    \
                    1006:\tret\n    1007:\tnop\nffff:\n";
        let rows: Vec<String> =
            parse(text, 0x1000, 0x1007).iter().map(|i| format!("{} {}", i.offset, i.text)).collect();
        assert_eq!(rows, ["0 push   %rbp", "1 call   1100 <g+0x10>", "6 ret"]);
        assert!(parse("", 0, 10).is_empty());
    }

    fn profile_of(image: Image) -> Profile {
        let function = Function { name: "schedule".into(), start: 1 << 40, length: 64, image: 0 };
        Profile { images: vec![image], functions: vec![function], ..Profile::default() }
    }

    #[test]
    fn why_there_is_no_code_is_said() {
        let tree = Roots { proc: "/no/such/tree".into(), sys: "/sys".into() };
        let kernel = profile_of(Image { name: "[kernel]".into(), is_kernel: true });
        let why = instructions(&kernel, 0, &tree).unwrap_err();
        assert!(why.starts_with("/no/such/tree/kcore holds the kernel's code, and cannot be read"), "{why}");
        assert!(instructions(&kernel, 1, &tree).is_err());
        let own = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let elsewhere = profile_of(Image { name: own, is_kernel: false });
        let why = instructions(&elsewhere, 0, &tree).unwrap_err();
        assert!(why.contains("objdump"), "{why}");
    }
}
