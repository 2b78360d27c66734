//! Unpacks the kernel in a bzImage on the host, if that is possible and QEMU can start it.

use super::program;
use crate::kernel::image::Image;
use crate::kernel::payload::Payload;
use schedlab_sys::pipe;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::Stdio;

/// The same for a file, which is read completely only if it begins like a bzImage.
pub fn of_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut image = Vec::new();
    Read::by_ref(&mut file).take(0x400).read_to_end(&mut image)?;
    if image.get(0x202..0x206) != Some(b"HdrS") {
        return Ok(None);
    }
    file.read_to_end(&mut image)?;
    Ok(vmlinux(&image))
}

/// The vmlinux inside; `None` if the unpacker is not installed, or the vmlinux has no entry point for QEMU: then the
/// bzImage itself is booted, which is only slower.
pub fn vmlinux(bzimage: &[u8]) -> Option<Vec<u8>> {
    let payload = Payload::of_bzimage(bzimage)?;
    let (name, arguments) = payload.unpacker.split_first()?;
    let mut command = program::command(name);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    // An unpacker that stops early reports that with its exit status.
    drop(pipe::feed(child.stdin.take()?, payload.bytes.to_vec()));
    let unpacked = child.wait_with_output().ok().filter(|output| output.status.success())?.stdout;
    Image::of_bytes(&unpacked).is_ok().then_some(unpacked)
}
