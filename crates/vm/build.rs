//! Builds the plugin that `vm profile` loads into QEMU: `crates/plugin` as a shared library of a few kB, without std,
//! embedded as bytes that are compressed to half its size. It calls the compiler directly, because our flags make
//! everything static, which a shared library cannot be.

use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = "../plugin/src";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ROOT}");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let plugin = PathBuf::from(variable("OUT_DIR")).join("plugin.so");
    let packed = plugin.with_extension("so.packed");
    let target = variable("TARGET");
    // On other targets QEMU is not for the architecture of this binary, and `vm profile` reports that.
    if target != variable("HOST") || !target.ends_with("-linux-gnu") {
        std::fs::write(packed, "").expect("OUT_DIR can be written");
        return;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=schedlab_plugin", "--cfg=plugin"]);
    rustc.args(["-Cpanic=abort", "-Copt-level=s", "-Cstrip=symbols", "-Clink-arg=-nostdlib", "-o"]);
    let status = rustc.arg(&plugin).arg(format!("{ROOT}/lib.rs")).status().expect("rustc can be started");
    assert!(status.success(), "the plugin does not compile");
    let bytes = std::fs::read(&plugin).expect("the plugin is there");
    // As `packed.rs` unpacks it.
    let length = (bytes.len() as u32).to_le_bytes();
    let block = lz4_flex::block::compress(&bytes);
    std::fs::write(packed, [&length[..], &block].concat()).expect("OUT_DIR can be written");
}
