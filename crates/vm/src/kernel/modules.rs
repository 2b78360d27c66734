//! Kernel modules as files: each one's own metadata, and the order in which several are loaded. A distribution's
//! `modules.dep` is generated when a kernel is installed, so it is not in the package; the module files contain the
//! same information. Source: modinfo(8), include/linux/module.h.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Such as `binder_linux`; with `_`, as the kernel names it.
    pub name: String,
    /// Modules whose symbols it uses.
    pub depends: Vec<String>,
    /// What the kernel asks for when it wants this module: patterns such as `rtnl-link-veth`.
    pub aliases: Vec<String>,
    /// The kernel it was built for, with options: `6.1.0-50-amd64 SMP preempt mod_unload modversions`.
    pub vermagic: String,
}

/// Why a file is not a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAModule {
    /// Not a 64-bit little-endian ELF file, or a truncated one.
    #[error("it is not a 64-bit ELF object")]
    Elf,
    /// No `.modinfo` section with a name in it.
    #[error("it has no .modinfo section with a name: no kernel module")]
    Modinfo,
}

impl Module {
    /// Reads an uncompressed `.ko` file.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, NotAModule> {
        let info = section(bytes, b".modinfo").ok_or(NotAModule::Elf)?.ok_or(NotAModule::Modinfo)?;
        let mut module = Self::default();
        for entry in info.split(|&byte| byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let Some((key, value)) = entry.split_once('=') else { continue };
            match key {
                "name" => module.name = canonical(value),
                "depends" => {
                    module.depends = value.split(',').filter(|name| !name.is_empty()).map(canonical).collect();
                }
                "alias" => module.aliases.push(value.to_owned()),
                "vermagic" => module.vermagic = value.trim().to_owned(),
                _ => {}
            }
        }
        if module.name.is_empty() { Err(NotAModule::Modinfo) } else { Ok(module) }
    }

    /// The release it was built for.
    pub fn release(&self) -> &str {
        self.vermagic.split(' ').next().unwrap_or_default()
    }
}

/// The kernel treats `-` and `_` in a module's name as equal.
pub fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

fn number(bytes: &[u8], from: usize, length: usize) -> Option<usize> {
    let field = bytes.get(from..from.checked_add(length)?)?;
    usize::try_from(field.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))).ok()
}

/// The outer `None`: not a complete ELF file; the inner one: no such section.
fn section<'a>(bytes: &'a [u8], wanted: &[u8]) -> Option<Option<&'a [u8]>> {
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, each, count) = (number(bytes, 40, 8)?, number(bytes, 58, 2)?, number(bytes, 60, 2)?);
    let header = |index: usize| index.checked_mul(each)?.checked_add(table);
    let content = |index: usize| {
        let header = header(index)?;
        let (from, length) = (number(bytes, header + 24, 8)?, number(bytes, header + 32, 8)?);
        bytes.get(from..from.checked_add(length)?)
    };
    let names = content(number(bytes, 62, 2)?)?;
    for index in 0..count {
        let name = names.get(number(bytes, header(index)?, 4)?..)?;
        if name.starts_with(wanted) && name.get(wanted.len()) == Some(&0) {
            return content(index).map(Some);
        }
    }
    Some(None)
}

/// Why modules cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no module `{wanted}`{needed_by}")]
pub struct MissingModule {
    /// Its name.
    pub wanted: String,
    /// `, which NAME needs`, or empty.
    needed_by: String,
}

/// The modules to load for `wanted`, each after its dependencies and none twice.
pub fn load_order<'a>(all: &'a [Module], wanted: &[String]) -> Result<Vec<&'a Module>, MissingModule> {
    let mut order = Vec::new();
    let mut visited = BTreeSet::new();
    for name in wanted {
        visit(all, &canonical(name), None, &mut visited, &mut order)?;
    }
    Ok(order)
}

fn visit<'a>(
    all: &'a [Module],
    name: &str,
    user: Option<&str>,
    visited: &mut BTreeSet<String>,
    order: &mut Vec<&'a Module>,
) -> Result<(), MissingModule> {
    // Marked before its dependencies: modules' symbols cannot form a cycle, but a damaged file must not make us hang.
    if !visited.insert(name.to_owned()) {
        return Ok(());
    }
    let Some(module) = all.iter().find(|module| module.name == name) else {
        let needed_by = user.map(|user| format!(", which `{user}` needs")).unwrap_or_default();
        return Err(MissingModule { wanted: name.to_owned(), needed_by });
    };
    for needed in &module.depends {
        visit(all, needed, Some(name), visited, order)?;
    }
    order.push(module);
    Ok(())
}

/// The modules that match a name the kernel asked for, by their own name or one of their aliases.
pub fn answering<'a>(all: &'a [Module], asked: &str) -> Vec<&'a Module> {
    let name = canonical(asked);
    all.iter()
        .filter(|m| m.name == name || m.aliases.iter().any(|a| matches(&canonical(a).into_bytes(), name.as_bytes())))
        .collect()
}

/// Shell patterns with `*` and `?`; the kernel's aliases use little else.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some(b'*'), _) => (0..=text.len()).any(|skipped| matches(&pattern[1..], &text[skipped..])),
        (Some(b'?'), Some(_)) => matches(&pattern[1..], &text[1..]),
        (Some(p), Some(t)) if p == t => matches(&pattern[1..], &text[1..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, depends: &[&str]) -> Module {
        let depends = depends.iter().map(|name| (*name).to_owned()).collect();
        Module { name: name.into(), depends, ..Module::default() }
    }

    fn order(all: &[Module], wanted: &[&str]) -> Result<String, String> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let order = load_order(all, &wanted).map_err(|error| error.to_string())?;
        Ok(order.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_module_is_loaded_after_what_it_needs_and_once() {
        let all = [module("a", &["b", "c"]), module("b", &["c"]), module("c", &[]), module("virtio_pci", &["c"])];
        assert_eq!(order(&all, &["a"]).unwrap(), "c b a");
        assert_eq!(order(&all, &["virtio-pci", "a"]).unwrap(), "c virtio_pci b a");
        assert_eq!(order(&all, &[]).unwrap(), "");
    }

    #[test]
    fn a_missing_one_and_a_circle_are_no_hang() {
        let all = [module("a", &["b"]), module("b", &["a", "z"])];
        assert_eq!(order(&all, &["a"]).unwrap_err(), "there is no module `z`, which `b` needs");
        assert_eq!(order(&all, &["y"]).unwrap_err(), "there is no module `y`");
        let circle = [module("a", &["b"]), module("b", &["a"])];
        assert_eq!(order(&circle, &["a"]).unwrap(), "b a");
    }

    #[test]
    fn what_the_kernel_asks_for_is_found_by_alias() {
        let mut veth = module("veth", &[]);
        veth.aliases = vec!["rtnl-link-veth".into()];
        let mut pci = module("virtio_pci", &[]);
        pci.aliases = vec!["pci:v00001AF4d*sv*sd*bc*sc*i*".into()];
        let all = [veth, pci];
        let asked = |name: &str| answering(&all, name).iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        assert_eq!(asked("rtnl-link-veth"), ["veth"]);
        assert_eq!(asked("pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00"), ["virtio_pci"]);
        assert_eq!(asked("veth"), ["veth"]);
        assert!(asked("sch_tbf").is_empty() && asked("").is_empty());
    }

    /// An ELF file with a section table, a name table and one section.
    fn elf(section: &str, content: &[u8]) -> Vec<u8> {
        let names = format!("\0{section}\0");
        let (names_at, content_at) = (64, 64 + names.len());
        let table = content_at + content.len();
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        bytes[58..64].copy_from_slice(&[64, 0, 2, 0, 0, 0]);
        bytes.extend_from_slice(names.as_bytes());
        bytes.extend_from_slice(content);
        for (name, at, length) in [(0u32, names_at, names.len()), (1, content_at, content.len())] {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(length as u64).to_le_bytes());
            bytes.extend_from_slice(&header);
        }
        bytes
    }

    #[test]
    fn a_file_says_what_it_is() {
        let info = b"license=GPL\0alias=rtnl-link-veth\0depends=virtio,virtio-ring\0name=veth\0\
                     vermagic=6.1.0-50-amd64 SMP preempt \0";
        let found = Module::of_bytes(&elf(".modinfo", info)).unwrap();
        assert_eq!((found.name.as_str(), found.release()), ("veth", "6.1.0-50-amd64"));
        assert_eq!(
            (found.depends, found.aliases),
            (vec!["virtio".into(), "virtio_ring".into()], vec!["rtnl-link-veth".into()])
        );
        assert_eq!(Module::of_bytes(&elf(".text", info)), Err(NotAModule::Modinfo));
        assert_eq!(Module::of_bytes(b"#!/bin/sh"), Err(NotAModule::Elf));
        let whole = elf(".modinfo", info);
        // The section's header is needed up to its length.
        for end in 0..whole.len() - 24 {
            assert!(Module::of_bytes(&whole[..end]).is_err(), "{end}");
        }
    }
}
