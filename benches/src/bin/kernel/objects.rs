//! The functions in compiled objects, from `objdump`: their code with names instead of addresses.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A function of an object: its code without addresses, and what it calls or jumps to by name.
#[derive(Default, Clone)]
pub(crate) struct Code {
    /// Instructions, each followed by the name, or the text, that it refers to.
    pub(crate) lines: Vec<String>,
    pub(crate) calls: BTreeSet<String>,
    /// Those of `calls` of which only a part is called, because the rest was inlined.
    pub(crate) parts: BTreeSet<String>,
    /// The objects that contain it.
    pub(crate) files: BTreeSet<String>,
}

impl Code {
    fn call(&mut self, name: &str) {
        self.calls.insert(plain(name).to_owned());
        if name.contains(".part.") {
            self.parts.insert(plain(name).to_owned());
        }
    }
}

/// The objects in these folders of a build: each function by name. Functions of the same name in several objects are
/// merged.
pub(crate) fn objects(build: &Path, folders: &[String]) -> Result<BTreeMap<String, Code>> {
    let mut out: BTreeMap<String, Code> = BTreeMap::new();
    for folder in folders {
        let folder = build.join(folder);
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "o"));
        files.sort();
        for file in files {
            let places = Places::read(&objdump(&file, &["-t"])?, &objdump(&file, &["-s"])?);
            let name = file.strip_prefix(build).unwrap_or(&file).display().to_string();
            read(&objdump(&file, &["-dr", "--no-show-raw-insn"])?, &places, &name, &mut out);
        }
    }
    Ok(out)
}

fn objdump(file: &Path, options: &[&str]) -> Result<String> {
    let run = Command::new("objdump").args(options).arg(file).output();
    let run = run.context("the program objdump (apt-get install binutils)")?;
    if !run.status.success() {
        bail!("objdump {}: {}", file.display(), String::from_utf8_lossy(&run.stderr));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// The positions in an object: for local symbols, relocations name a section and an offset.
#[derive(Default)]
struct Places {
    symbols: HashMap<String, BTreeMap<i64, String>>,
    texts: HashMap<String, Vec<u8>>,
}

impl Places {
    fn read(symbols: &str, contents: &str) -> Self {
        let mut out = Self::default();
        // `ADDRESS FLAGS SECTION\tSIZE NAME`; the flags are seven characters, `d` for sections and files.
        for line in symbols.lines() {
            let Some((left, right)) = line.split_once('\t') else { continue };
            let (Some(at), Some(flags), Some(section)) = (left.get(..16), left.get(17..24), left.get(25..)) else {
                continue;
            };
            let (Ok(at), Some(name)) = (i64::from_str_radix(at, 16), right.split_whitespace().next_back()) else {
                continue;
            };
            if !flags.contains('d') {
                out.symbols.entry(section.trim().to_owned()).or_default().insert(at, name.to_owned());
            }
        }
        let mut section = None;
        for line in contents.lines() {
            if let Some(name) = line.strip_prefix("Contents of section ") {
                section = Some(name.trim_end_matches(':'))
                    .filter(|name| name.starts_with(".rodata") && name.contains(".str1."));
            } else if let (Some(section), Some((_, rest))) = (section, line.trim_start().split_once(' ')) {
                let hex: Vec<u8> = rest.bytes().take(35).filter(|byte| *byte != b' ').collect();
                let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
                out.texts.entry(section.to_owned()).or_default().extend(hex.chunks(2).filter_map(byte));
            }
        }
        out
    }

    /// What a relocation refers to: `.rodata.str1.1+0x20` is that text, `.text.f-0x4` is `f`.
    fn named(&self, kind: &str, to: &str) -> String {
        let cut = to.rfind("+0x").or_else(|| to.rfind("-0x")).unwrap_or(to.len());
        let (base, addend) = to.split_at(cut);
        let digits = addend.get(3..).and_then(|digits| i64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        let addend = if addend.starts_with('-') { -digits } else { digits };
        // On x86 these are relative to the end of the instruction.
        let is_relative = ["R_X86_64_PC32", "R_X86_64_PLT32"].contains(&kind);
        let at = addend + if is_relative { 4 } else { 0 };
        if let Some(text) = self.texts.get(base) {
            let begun = usize::try_from(at).ok().and_then(|at| text.get(at..)).unwrap_or_default();
            let end = begun.iter().position(|&byte| byte == 0).unwrap_or(begun.len());
            return format!("{:?}", String::from_utf8_lossy(&begun[..end]));
        }
        let (name, offset) = match self.symbols.get(base).and_then(|all| all.range(..=at).next_back()) {
            Some((begins, name)) => (name.as_str(), at - begins),
            None if base.starts_with('.') => (base, 0),
            None => (base, at),
        };
        if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") }
    }
}

/// `ADDRESS <NAME>:` begins a function. A relocation is on the line below its instruction, whose own target is then
/// meaningless.
fn read(said: &str, places: &Places, file: &str, out: &mut BTreeMap<String, Code>) {
    let (mut name, mut target): (Option<String>, Option<&str>) = (None, None);
    for line in said.lines() {
        if let Some(begun) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")).map(|(_, name)| name) {
            // Not a label of the assembler.
            if begun.starts_with('.') {
                continue;
            }
            leads_to(&name, target.take(), out);
            name = Some(plain(begun).to_owned());
            out.entry(plain(begun).to_owned()).or_default().files.insert(file.to_owned());
            continue;
        }
        let Some(code) = name.as_ref().and_then(|name| out.get_mut(name)) else { continue };
        if let Some((_, relocation)) = line.split_once(": R_") {
            target = None;
            let mut parts = relocation.split_whitespace();
            let kind = format!("R_{}", parts.next().unwrap_or_default());
            let to = places.named(&kind, parts.next().unwrap_or_default());
            if ["PLT32", "CALL26", "JUMP26"].iter().any(|end| kind.ends_with(end)) {
                code.call(to.split('+').next().unwrap_or_default());
            }
            code.lines.push(unnumbered(&to, name.as_deref().unwrap_or_default()));
        } else if let Some((_, text)) = line.split_once(":\t") {
            // `# 38 <f+0x38>` repeats the target of a relative address.
            let text = text.split("  # ").next().unwrap_or_default().trim();
            let operation = text.split_whitespace().next().unwrap_or_default();
            let is_jump = operation.starts_with('j') || ["call", "b", "bl"].contains(&operation);
            // Padding up to an aligned address.
            let is_filler = operation.starts_with("nop") || text.starts_with("data16") || text == "xchg   %ax,%ax";
            if !is_filler {
                code.lines.push(if is_jump { operation.to_owned() } else { text.to_owned() });
            }
            leads_to(&name, target.take(), out);
            // The target of a jump within the section is shown with a name, which matters only if it is another
            // function's.
            let named = text.split_once('<').and_then(|(_, rest)| rest.split('>').next());
            target = named.filter(|named| is_jump && !named.contains('+'));
        }
    }
    leads_to(&name, target, out);
}

fn leads_to(name: &Option<String>, target: Option<&str>, out: &mut BTreeMap<String, Code>) {
    let code = name.as_ref().and_then(|name| out.get_mut(name));
    if let (Some(code), Some(target)) = (code, target) {
        code.call(target);
    }
}

/// A name that is referred to, without the numbers that the compiler and the kernel's macros add; a place in the
/// function itself has no name.
fn unnumbered(to: &str, own: &str) -> String {
    if to.starts_with('"') {
        return to.to_owned();
    }
    let (name, offset) = to.split_once('+').unwrap_or((to, ""));
    if plain(name) == own && !offset.is_empty() {
        return own.to_owned();
    }
    let name = match name.starts_with('.') {
        true => name,
        false => plain(name),
    };
    let name = if name.starts_with("__UNIQUE_ID") { name.trim_end_matches(|c: char| c.is_ascii_digit()) } else { name };
    if offset.is_empty() { name.to_owned() } else { format!("{name}+{offset}") }
}

/// A name without what the compiler adds for a copy or a part of a function, and `SYSCALL_DEFINE` for a system call.
pub(crate) fn plain(name: &str) -> &str {
    let name = name.split('.').next().unwrap_or(name);
    let entries = ["__x64_", "__ia32_", "__arm64_", "__se_", "__do_"];
    let bare = entries.iter().find_map(|before| name.strip_prefix(before));
    match bare.filter(|bare| bare.starts_with("sys_") || bare.starts_with("compat_sys_")) {
        Some(bare) => bare,
        None => name.strip_prefix("____").filter(|rest| rest.starts_with("bpf_")).unwrap_or(name),
    }
}
