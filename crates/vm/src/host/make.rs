//! Kbuild: `make` with the arguments of our builds, and its messages when it fails.

use super::build::Build;
use super::program::{self, command};
use super::unpack;
use crate::error::{VmError, ends_for_want};
use crate::kernel::cache::{Cache, Entry, Package, Writer};
use crate::kernel::image::{Architecture, Image};
use crate::kernel::own_architecture;
use crate::kernel::small::{self, Request};
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// `make` with everything that a build needs.
#[derive(Debug)]
pub(super) struct Make {
    pub(super) build: Build,
    pub(super) source: PathBuf,
    /// The patches as they were applied.
    pub(super) patches: Vec<Vec<u8>>,
    pub(super) objects: PathBuf,
}

impl Make {
    fn command(&self) -> Command {
        let mut make = command("make");
        let (arch, prefix) = match self.build.architecture {
            Architecture::X86_64 => ("x86", ""),
            Architecture::Aarch64 => ("arm64", cross_prefix(Architecture::Aarch64)),
        };
        make.arg("-C").arg(&self.source).arg(format!("O={}", self.objects.display()));
        make.arg(format!("ARCH={arch}"))
            .arg(format!("CROSS_COMPILE={prefix}"))
            .args(["-s", "KBUILD_BUILD_TIMESTAMP=0"]);
        // Who built it and where must not be part of the kernel, so that equal sources give equal kernels.
        make.args([
            "KBUILD_BUILD_USER=schedlab",
            "KBUILD_BUILD_HOST=schedlab",
            "KBUILD_BUILD_VERSION=1",
            "LOCALVERSION=",
        ]);
        if has_ccache() {
            make.arg(format!("CC=ccache {prefix}gcc"));
        }
        make
    }

    /// Configures the tree; returns the resulting configuration.
    pub(super) fn configure(&self, requests: &[Request]) -> Result<String, VmError> {
        self.run("configuring the kernel", "tinyconfig")?;
        let file = self.objects.join(".config");
        let tiny = fs::read_to_string(&file).map_err(VmError::file("reading", &file))?;
        let asked: Vec<&str> = requests.iter().map(|(option, _)| option.as_str()).collect();
        fs::write(&file, without(&tiny, &asked) + &small::fragment(requests))
            .map_err(VmError::file("writing", &file))?;
        self.run("configuring the kernel", "olddefconfig")?;
        fs::read_to_string(&file).map_err(VmError::file("reading", &file))
    }

    fn image(&self) -> (&'static str, &'static str) {
        match self.build.architecture {
            Architecture::X86_64 => ("bzImage", "arch/x86/boot/bzImage"),
            Architecture::Aarch64 => ("Image", "arch/arm64/boot/Image"),
        }
    }

    pub(super) fn compile(&self) -> Result<(), VmError> {
        self.run("compiling the kernel", self.image().0)
    }

    /// Makes a target; an error contains the compiler's messages, or what the machine lacks.
    fn run(&self, step: &'static str, target: &'static str) -> Result<(), VmError> {
        let mut make = self.command();
        make.arg(format!("-j{}", self.build.jobs)).arg(target).env("LC_ALL", "C");
        let (status, log) = program::step(step, &mut make, "apt-get install make")?;
        if status.success() {
            return Ok(());
        }
        let said = complaints(&log);
        if is_of_machine(&log) {
            return Err(VmError::Resources { step, said });
        }
        Err(VmError::Make { step, target: target.to_owned(), said, log })
    }

    /// The files of the tree that the objects were made from, according to Kbuild's `.x.o.cmd` files.
    pub(super) fn sources(&self) -> Result<HashSet<String>, VmError> {
        let prefix = format!("{}/", self.source.display());
        let (mut out, mut open) = (HashSet::new(), vec![self.objects.clone()]);
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).map_err(VmError::file("reading", &directory))?.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let kind = entry.file_type().map_err(VmError::file("reading", &path))?;
                if kind.is_dir() {
                    open.push(path);
                } else if kind.is_file() && name.to_string_lossy().ends_with(".o.cmd") {
                    let said = fs::read_to_string(&path).map_err(VmError::file("reading", &path))?;
                    let words = said.split([' ', '\n', '\\']).filter_map(|word| word.strip_prefix(&prefix));
                    out.extend(words.map(str::to_owned));
                }
            }
        }
        Ok(out)
    }

    /// Puts the kernel into the cache, with its configuration and symbols.
    pub(super) fn keep(
        &self,
        cache: &Cache,
        config: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Entry, PathBuf), VmError> {
        let file = self.objects.join(self.image().1);
        let kernel = fs::read(&file).map_err(VmError::file("reading", &file))?;
        let name = format!("build:{}", self.build.name);
        let image = Image::of_bytes(&kernel).map_err(|why| VmError::Refused(format!("{}: {why}", file.display())))?;
        let kernel = unpack::vmlinux(&kernel).unwrap_or(kernel);
        let symbols = self.objects.join("System.map");
        let symbols = fs::read(&symbols).map_err(VmError::file("reading", &symbols))?;
        let _lock = cache.lock(say)?;
        let part = cache.begin()?;
        let package = Package {
            name: self.build.tree.display().to_string(),
            version: image.release.clone(),
            checksum: format!("{:08x}", crc32fast::hash(&kernel)),
        };
        let mut writer = Writer::new(&part, &name, image, &kernel, Some(config.as_bytes()))?;
        writer.symbols(&symbols)?;
        self.patches.iter().try_for_each(|patch| writer.patch(patch))?;
        let entry = writer.entry(vec![package]);
        cache.finish(&part, &entry).map(|path| (entry, path))
    }
}

/// A configuration without the options that are requested anew, because Kconfig warns about duplicates.
fn without(config: &str, options: &[&str]) -> String {
    let option = |line: &str| {
        let name = line.strip_prefix("# ").unwrap_or(line);
        name.split(['=', ' ']).next().unwrap_or_default().to_owned()
    };
    let kept = config.lines().filter(|line| !options.contains(&option(line).as_str()));
    kept.map(|line| format!("{line}\n")).collect()
}

/// Whether the build stopped because of too little disk space or memory, which says nothing about its sources. It looks
/// for libc's messages at the end of a line, gcc's for ENOMEM, and the messages of gcc and make about a process that
/// the kernel killed. A line of source code, or an error at a place in it, may contain such words, as in mm/oom_kill.c.
fn is_of_machine(stderr: &str) -> bool {
    let is_killed = |line: &str| {
        line.contains("Killed signal terminated program")
            || line.contains("terminated with signal 9 [Killed]")
            || line.starts_with("make") && (line.ends_with("Error 137") || line.ends_with("] Killed"))
            || line.contains(": out of memory allocating ")
            || line.starts_with("virtual memory exhausted")
    };
    ends_for_want(stderr) || stderr.lines().any(is_killed)
}

/// The first error lines, and what usually fixes them.
fn complaints(stderr: &str) -> String {
    let is_error = |line: &&str| line.contains("error:") || line.contains("Error ") || line.contains("***");
    let errors: Vec<&str> = stderr.lines().map(str::trim).filter(is_error).take(6).collect();
    let said = if errors.is_empty() { program::last_lines(stderr, 4) } else { errors.join("\n") };
    let fixes = [
        ("gelf.h", "apt-get install libelf-dev"),
        ("libelf", "apt-get install libelf-dev"),
        ("openssl/", "apt-get install libssl-dev"),
        ("mrproper", "the tree was built in: make mrproper in it, or give another"),
    ];
    match fixes.iter().find(|(part, _)| stderr.contains(part)) {
        Some((_, fix)) => format!("{said}\n{fix}"),
        None => said,
    }
}

/// Prefix of the compiler for an architecture; empty for this machine's own.
pub(super) fn cross_prefix(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Aarch64 if own_architecture() != architecture => "aarch64-linux-gnu-",
        _ => "",
    }
}

fn has_ccache() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("ccache").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_the_compilers_lines_and_the_fix() {
        let stderr = "  warning: x\nkernel/sched/fair.c:12:3: error: 'x' undeclared\nmake[2]: *** [a.o] Error 1\n";
        assert!(complaints(stderr).starts_with("kernel/sched/fair.c:12:3: error: 'x' undeclared\n"));
        assert!(complaints("fatal error: gelf.h: No such file\n").ends_with("libelf-dev"));
        assert_eq!(complaints("killed\n"), "killed");
    }

    #[test]
    fn a_full_disk_and_a_killed_compiler_are_the_machines() {
        assert!(is_of_machine("/tmp/ccX.s: Assembler messages:\nError: can't close a.o: No space left on device\n"));
        assert!(is_of_machine("gcc: fatal error: Killed signal terminated program cc1\n"));
        assert!(is_of_machine("collect2: fatal error: ld terminated with signal 9 [Killed]\n"));
        assert!(is_of_machine("make[1]: *** [vmlinux] Error 137\n"));
        assert!(is_of_machine("cc1: out of memory allocating 65536 bytes after a total of 1 bytes\n"));
        for error in ["941 |  pr_err(\"%s: Killed process %d\", x);", "g.c:2:2: error: #error out of memory"] {
            assert!(!is_of_machine(&format!("mm/oom_kill.c:12:3: error: 'Killed' undeclared\n{error}\n")));
        }
    }

    #[test]
    fn an_option_that_is_asked_for_anew_is_taken_out() {
        let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_BB=1\n# Compiler: gcc\n";
        assert_eq!(without(config, &["CONFIG_A", "CONFIG_B"]), "CONFIG_BB=1\n# Compiler: gcc\n");
    }
}
