//! Packs `docs/json.md`, which `schedlab explain-json` reads: a fifth of its 100 kB.
//!
//! Keeps the released binary small at link time, where Rust's own linker is the default: equal functions once (also those
//! whose address is taken: Rust promises no function an address of its own, and we compare none), and the relocations of a static-pie packed, which its start code understands since
//! glibc 2.36: 200 kB less. And no tables for unwinding, which the compiler and the prebuilt standard library bring though
//! a panic aborts: 900 kB less. A backtrace would have no names anyway.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

const PAGE: &str = "../../docs/json.md";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PAGE}");
    pack_page();
    link_small();
}

fn pack_page() {
    let packed = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("json.md.gz");
    let page = std::fs::read(PAGE).expect("docs/json.md can be read");
    let file = std::fs::File::create(packed).expect("OUT_DIR can be written");
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    out.write_all(&page).and_then(|()| out.finish().map(drop)).expect("OUT_DIR can be written");
}

fn link_small() {
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|found| found == value);
    if !is("TARGET", "x86_64-unknown-linux-gnu") || !is("PROFILE", "release") {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    if let Ok(here) = std::env::var("CARGO_MANIFEST_DIR") {
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        println!("cargo::rustc-link-arg-bins={here}/no-unwind-tables.ld");
        println!("cargo::rerun-if-changed=no-unwind-tables.ld");
    }
    if is("HOST", "x86_64-unknown-linux-gnu") && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// `glibc 2.36`, as the host links it in.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
