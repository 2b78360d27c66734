//! The stages that read all libraries again: the documentation, and the fuzz targets. rustdoc and rustc are called on
//! the results of the test build; `cargo doc` and `cargo check` would compile every dependency again.

use super::ledger::Outcome;
use crate::workspace::{Workspace, run_to_success};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The fuzz targets' manifest, relative to the root.
pub(super) const FUZZ: &str = "fuzz/Cargo.toml";

/// Replaces libfuzzer-sys, whose C++ would not be linked here: its macro, as our targets call it.
const LIBFUZZER: &str = "#[macro_export] macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:expr) => { pub fn target($bytes: &[u8]) { $body } };
}";

/// The libraries of a build, by cargo's package ids.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    files: BTreeMap<String, PathBuf>,
    /// The output directories of build scripts.
    out_dirs: BTreeMap<String, String>,
}

impl Libraries {
    /// Takes a library of the target `host` from one of cargo's messages; build scripts use other builds of the same
    /// crates.
    pub(super) fn take(&mut self, message: &Value, host: &str) {
        let Some(package) = message["package_id"].as_str() else { return };
        if let Some(dir) = message["out_dir"].as_str() {
            self.out_dirs.insert(package.to_owned(), dir.to_owned());
        }
        let files = list(&message["filenames"]).filter_map(Value::as_str).map(PathBuf::from);
        let is_of_host = |file: &PathBuf| file.iter().any(|part| part == host);
        if let Some(file) = files.filter(is_of_host).find(|file| file.extension().is_some_and(|end| end == "rlib")) {
            self.files.insert(package.to_owned(), file);
        }
    }

    /// Runs `program` on a crate: its root, with the libraries that it depends on. `metadata` is cargo's for its
    /// workspace.
    fn reads(
        &self,
        workspace: &Workspace,
        program: &str,
        metadata: &Value,
        package: &Value,
        target: &Value,
    ) -> Command {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut command = workspace.behind(Command::new(program));
        command.args(["--edition", &text(&target["edition"])]).arg(text(&target["src_path"]));
        command.args(["--crate-name", &text(&target["name"]).replace('-', "_")]);
        for place in [workspace.host.as_str(), ""] {
            let dependencies = workspace.target_dir.join(place).join("debug/deps");
            command.arg("-L").arg(format!("dependency={}", dependencies.display()));
        }
        let own = list(&metadata["resolve"]["nodes"]).filter(|node| node["id"] == package["id"]);
        for dependency in own.flat_map(|node| list(&node["deps"])) {
            let file = dependency["pkg"].as_str().and_then(|id| self.files.get(id));
            if let Some(file) = file {
                command.arg("--extern").arg(format!("{}={}", text(&dependency["name"]), file.display()));
            }
        }
        command.env("CARGO_PKG_VERSION", text(&package["version"]));
        let manifest = text(&package["manifest_path"]);
        command.env("CARGO_MANIFEST_DIR", Path::new(&manifest).parent().unwrap_or(Path::new("")));
        command.envs(self.out_dirs.get(&text(&package["id"])).map(|dir| ("OUT_DIR", dir)));
        command
    }

    /// Libraries only: the binary's doc comments are its help texts, written for the terminal. There are no examples.
    pub(super) fn documentation(&self, workspace: &Workspace) -> Result<Outcome> {
        let metadata = workspace.metadata(&["--locked"])?;
        let mut outcome = Outcome::default();
        for (package, target) in targets(&metadata, "lib") {
            let mut rustdoc = self.reads(workspace, "rustdoc", &metadata, package, target);
            rustdoc.args(["-D", "warnings", "-o"]).arg(workspace.target_dir.join("doc"));
            outcome.add_result(run_to_success(&mut rustdoc));
        }
        Ok(outcome)
    }

    /// The fuzz targets are a separate workspace, because libfuzzer-sys compiles C++, which must not be in the
    /// product's lock file. The tests run the bodies of the targets; here each target is type-checked, and its manifest
    /// and lock file are read.
    pub(super) fn fuzz_targets(&self, workspace: &Workspace) -> Result<Outcome> {
        if !workspace.root.join(FUZZ).exists() {
            return Ok(Outcome::skipped(format!("{FUZZ} does not exist")));
        }
        let metadata = workspace.metadata(&["--manifest-path", FUZZ, "--locked"])?;
        let place = workspace.target_dir.join("fuzz");
        std::fs::create_dir_all(&place).with_context(|| format!("{} cannot be made", place.display()))?;
        let libfuzzer = place.join("liblibfuzzer_sys.rmeta");
        libfuzzer_to(&libfuzzer)?;
        let mut outcome = Outcome::default();
        for (package, target) in targets(&metadata, "bin") {
            let mut rustc = self.reads(workspace, "rustc", &metadata, package, target);
            rustc.args(["--crate-type=lib", "--emit=metadata", "--cap-lints=allow", "--out-dir"]).arg(&place);
            rustc.arg("--extern").arg(format!("libfuzzer_sys={}", libfuzzer.display()));
            outcome.add_result(run_to_success(&mut rustc));
        }
        Ok(outcome)
    }
}

/// The targets of a kind in the workspace's own packages, each with its package.
fn targets<'a>(metadata: &'a Value, kind: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let is_own = |package: &&Value| list(&metadata["workspace_members"]).any(|id| *id == package["id"]);
    list(&metadata["packages"]).filter(is_own).flat_map(move |package| {
        let of_kind = move |target: &&Value| list(&target["kind"]).any(|one| one == kind);
        list(&package["targets"]).filter(of_kind).map(move |target| (package, target))
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn libfuzzer_to(file: &Path) -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--crate-type=lib", "--crate-name=libfuzzer_sys", "--emit=metadata", "-", "-o"]).arg(file);
    let mut child = rustc.stdin(Stdio::piped()).spawn().context("rustc cannot be started")?;
    child.stdin.take().context("standard input is piped")?.write_all(LIBFUZZER.as_bytes())?;
    anyhow::ensure!(child.wait()?.success(), "the stand-in for libfuzzer-sys does not compile");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn libraries_are_those_of_the_host_and_not_of_build_scripts() {
        let mut libraries = Libraries::default();
        let message = |dir: &str, file: &str| json!({ "package_id": "libc", "filenames": [format!("/t/{dir}{file}")] });
        libraries.take(&message("host/debug/deps/", "liblibc-1.rlib"), "host");
        libraries.take(&message("debug/deps/", "liblibc-2.rlib"), "host");
        libraries.take(&message("host/debug/deps/", "liblibc-3.rmeta"), "host");
        libraries.take(&json!({ "package_id": "vm", "out_dir": "/t/out" }), "host");
        libraries.take(&json!({ "reason": "build-finished" }), "host");
        assert_eq!(libraries.files, BTreeMap::from([("libc".into(), "/t/host/debug/deps/liblibc-1.rlib".into())]));
        assert_eq!(libraries.out_dirs, BTreeMap::from([("vm".into(), "/t/out".into())]));
    }

    #[test]
    fn targets_are_the_workspaces_own_of_that_kind() {
        let package = |id: &str, kind: &str| json!({ "id": id, "targets": [{ "name": id, "kind": [kind] }] });
        let packages = [package("run", "lib"), package("serde", "lib"), package("xtask", "bin")];
        let metadata = json!({ "workspace_members": ["run", "xtask"], "packages": packages });
        let names = |kind: &str| targets(&metadata, kind).map(|(_, t)| t["name"].to_string()).collect::<Vec<_>>();
        assert_eq!((names("lib"), names("bin")), (vec!["\"run\"".to_owned()], vec!["\"xtask\"".to_owned()]));
    }
}
