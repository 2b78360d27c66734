//! Builds a kernel from a source tree, small, out of the tree, into the cache: `build:NAME`. The objects stay beside the
//! cache, so the next build of that name, or with another patch of that tree, compiles only what changed.

use super::patched::patched;
use super::program::{self, command, not_started};
use super::unpack;
use crate::error::VmError;
use crate::kernel::cache::{Cache, Entry, Package, Writer, wait_for};
use crate::kernel::image::{Architecture, Image};
use crate::kernel::own_architecture;
use crate::kernel::small::{self, Request};
use schedlab_sys::places;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kernel to be built.
#[derive(Debug, Clone)]
pub struct Build {
    /// The source tree.
    pub tree: PathBuf,
    /// Applied to a copy of it in this order, `patch -p1`.
    pub patches: Vec<PathBuf>,
    /// Lines of configuration on top of ours.
    pub options: Vec<String>,
    /// For which machines.
    pub architecture: Architecture,
    /// `build:NAME` is how it is named.
    pub name: String,
    /// Compilers at once.
    pub jobs: usize,
}

/// What a build of the user's is called when nobody names it: the tree's directory, and the patches.
pub fn usual_name(tree: &Path, patches: &[PathBuf]) -> String {
    let last = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A version is no extension.
    let tree = tree.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "linux".into());
    patches.iter().fold(tree, |name, patch| format!("{name}+{}", last(patch)))
}

/// Builds it; `say` gets a line at each step. Returns the entry, and the requested options that the tree did not take.
pub fn build(
    cache: &Cache,
    build: &Build,
    say: &mut dyn FnMut(&str),
) -> Result<(Entry, PathBuf, Vec<String>), VmError> {
    let tree = source_tree(&build.tree)?;
    let requests = small::requests(build.architecture, &build.options).map_err(VmError::Refused)?;
    cache.make()?;
    has_tools(build.architecture)?;
    let place = place(cache, build, &tree);
    let objects = place.join("objects");
    fs::create_dir_all(&objects).map_err(VmError::file("making", &objects))?;
    let lock_file = place.join("lock");
    let lock = places::lock_file(&lock_file).map_err(VmError::file("locking", &lock_file))?;
    wait_for(&lock, &lock_file, say)?;
    is_of_one_tree(&place, &tree, &build.name)?;
    let (source, patches) = match build.patches.as_slice() {
        [] => (tree, Vec::new()),
        patches => patched(&tree, patches, &place, say)?,
    };
    let make = Make { build, source, patches, objects };
    say("configuring");
    let config = make.configure(&requests)?;
    let dropped = small::dropped(&requests, &config);
    say(&format!("compiling, {} at once", build.jobs));
    make.compile()?;
    let (entry, path) = make.keep(cache, &config, say)?;
    Ok((entry, path, dropped))
}

/// Where a build's objects are: its own, or those that all patches of a tree share.
fn place(cache: &Cache, build: &Build, tree: &Path) -> PathBuf {
    let name = match build.patches.is_empty() {
        true if build.architecture == own_architecture() => build.name.clone(),
        // These begin like no name of a build.
        true => format!(".{}-{}", build.architecture, build.name),
        false => format!(".patched-{:08x}-{}", crc32fast::hash(tree.as_os_str().as_bytes()), build.architecture),
    };
    cache.builds().join(name)
}

/// Its absolute path, if it is one.
fn source_tree(tree: &Path) -> Result<PathBuf, VmError> {
    let absolute = fs::canonicalize(tree).map_err(VmError::file("finding the source tree", tree))?;
    let is_one = ["Makefile", "Kconfig", "kernel/sched/core.c"].iter().all(|file| absolute.join(file).is_file());
    if is_one {
        return Ok(absolute);
    }
    Err(VmError::Refused(format!(
        "{} is no kernel source tree; Debian's: apt-get install linux-source-6.1, then tar xf /usr/src/linux-source-6.1.tar.xz",
        tree.display()
    )))
}

/// Programs of a kernel build and their packages.
const TOOLS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("xz", "xz-utils"),
];

fn has_tools(architecture: Architecture) -> Result<(), VmError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let cross = format!("{}gcc", cross_prefix(architecture));
    let mut missing: Vec<(&str, &str)> = TOOLS.iter().filter(|(name, _)| !is_there(name)).copied().collect();
    if !is_there(&cross) {
        missing.push((&cross, "gcc-aarch64-linux-gnu"));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (names, packages): (Vec<&str>, Vec<&str>) = missing.into_iter().unzip();
    let mend = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    Err(VmError::NoProgram { program: names.join(", "), mend })
}

fn cross_prefix(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Aarch64 if own_architecture() != architecture => "aarch64-linux-gnu-",
        _ => "",
    }
}

fn has_ccache() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("ccache").is_file())
}

/// A name stands for one tree: objects of another would be taken for its own.
fn is_of_one_tree(place: &Path, tree: &Path, name: &str) -> Result<(), VmError> {
    let file = place.join("tree");
    let own = tree.display().to_string();
    match fs::read_to_string(&file) {
        Ok(other) if other != own => {
            Err(VmError::Refused(format!("build:{name} is a kernel of {other}; give this one another name: --name")))
        }
        Ok(_) => Ok(()),
        Err(_) => fs::write(&file, own).map_err(VmError::file("writing", &file)),
    }
}

struct Make<'a> {
    build: &'a Build,
    source: PathBuf,
    /// As they were applied.
    patches: Vec<Vec<u8>>,
    objects: PathBuf,
}

impl Make<'_> {
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
        // Who built it and where is no part of it: equal sources give equal kernels.
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

    /// The configuration that came out.
    fn configure(&self, requests: &[Request]) -> Result<String, VmError> {
        run("configuring the kernel", self.command().arg("tinyconfig"))?;
        let file = self.objects.join(".config");
        let tiny = fs::read_to_string(&file).map_err(VmError::file("reading", &file))?;
        let asked: Vec<&str> = requests.iter().map(|(option, _)| option.as_str()).collect();
        fs::write(&file, without(&tiny, &asked) + &small::fragment(requests))
            .map_err(VmError::file("writing", &file))?;
        run("configuring the kernel", self.command().arg("olddefconfig"))?;
        fs::read_to_string(&file).map_err(VmError::file("reading", &file))
    }

    fn image(&self) -> (&'static str, &'static str) {
        match self.build.architecture {
            Architecture::X86_64 => ("bzImage", "arch/x86/boot/bzImage"),
            Architecture::Aarch64 => ("Image", "arch/arm64/boot/Image"),
        }
    }

    fn compile(&self) -> Result<(), VmError> {
        run("compiling the kernel", self.command().arg(format!("-j{}", self.build.jobs)).arg(self.image().0))
    }

    /// Into the cache, with its configuration and symbols.
    fn keep(&self, cache: &Cache, config: &str, say: &mut dyn FnMut(&str)) -> Result<(Entry, PathBuf), VmError> {
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

/// A configuration without what is asked for anew: twice the same option is a warning of Kconfig's.
fn without(config: &str, options: &[&str]) -> String {
    let option = |line: &str| {
        let name = line.strip_prefix("# ").unwrap_or(line);
        name.split(['=', ' ']).next().unwrap_or_default().to_owned()
    };
    let kept = config.lines().filter(|line| !options.contains(&option(line).as_str()));
    kept.map(|line| format!("{line}\n")).collect()
}

/// Runs make; its error is the compiler's lines.
fn run(step: &'static str, make: &mut Command) -> Result<(), VmError> {
    make.env("LC_ALL", "C").stdout(Stdio::null());
    let output = make.output().map_err(|e| not_started(step, make, &e, "apt-get install make"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = complaints(&String::from_utf8_lossy(&output.stderr));
    let target = make.get_args().last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    Err(VmError::Program { step, command: format!("make … {target}"), said })
}

/// The first lines that are errors, and what usually mends them.
fn complaints(stderr: &str) -> String {
    let is_error = |line: &&str| line.contains("error:") || line.contains("Error ") || line.contains("***");
    let errors: Vec<&str> = stderr.lines().map(str::trim).filter(is_error).take(6).collect();
    let said = if errors.is_empty() { program::last_lines(stderr, 4) } else { errors.join("\n") };
    let mends = [
        ("gelf.h", "apt-get install libelf-dev"),
        ("libelf", "apt-get install libelf-dev"),
        ("openssl/", "apt-get install libssl-dev"),
        ("mrproper", "the tree was built in: make mrproper in it, or give another"),
    ];
    match mends.iter().find(|(part, _)| stderr.contains(part)) {
        Some((_, mend)) => format!("{said}\n{mend}"),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_after_its_tree_and_patch() {
        let name = |tree: &str, patches: &[&str]| {
            usual_name(Path::new(tree), &patches.iter().map(PathBuf::from).collect::<Vec<_>>())
        };
        assert_eq!(name("/usr/src/linux-source-6.1", &[]), "linux-source-6.1");
        assert_eq!(name("linux-6.1/", &["a/no-wake-wide.patch"]), "linux-6.1+no-wake-wide");
        assert_eq!(name("linux-6.1", &["0001-a.patch", "0002-b.patch"]), "linux-6.1+0001-a+0002-b");
    }

    #[test]
    fn what_is_no_source_tree_says_where_one_is() {
        let directory = tempfile::tempdir().unwrap();
        let why = source_tree(directory.path()).unwrap_err().to_string();
        assert!(why.contains("no kernel source tree") && why.contains("linux-source-6.1"), "{why}");
        assert!(source_tree(Path::new("/nowhere")).unwrap_err().to_string().contains("/nowhere"));
    }

    #[test]
    fn a_name_is_of_one_tree() {
        let directory = tempfile::tempdir().unwrap();
        let check = |tree: &str| is_of_one_tree(directory.path(), Path::new(tree), "a");
        check("/src/a").unwrap();
        check("/src/a").unwrap();
        assert!(check("/other/a").unwrap_err().to_string().contains("--name"));
    }

    #[test]
    fn complaints_are_the_compilers_lines_and_the_mend() {
        let stderr = "  warning: x\nkernel/sched/fair.c:12:3: error: 'x' undeclared\nmake[2]: *** [a.o] Error 1\n";
        assert!(complaints(stderr).starts_with("kernel/sched/fair.c:12:3: error: 'x' undeclared\n"));
        assert!(complaints("fatal error: gelf.h: No such file\n").ends_with("libelf-dev"));
        assert_eq!(complaints("killed\n"), "killed");
    }

    #[test]
    fn an_option_that_is_asked_for_anew_is_taken_out() {
        let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_BB=1\n# Compiler: gcc\n";
        assert_eq!(without(config, &["CONFIG_A", "CONFIG_B"]), "CONFIG_BB=1\n# Compiler: gcc\n");
    }
}
