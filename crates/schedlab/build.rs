//! Compresses `docs/json.md`, which `schedlab explain-json` reads, to a fifth of its 100 kB.
//!
//! Keeps the released binary small at link time, if Rust's own linker is the default. Identical functions are merged,
//! including those whose address is taken: Rust does not promise that functions have different addresses, and we
//! compare none. The relocations of a static-pie are packed, which its start code supports since glibc 2.36: this saves
//! 200 kB. The tables for unwinding, which the compiler and the prebuilt standard library emit although a panic aborts,
//! are left out: this saves 900 kB. A backtrace would have no names anyway.

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

/// `glibc 2.36`, as linked in from the host.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
