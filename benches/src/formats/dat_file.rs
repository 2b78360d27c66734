//! A trace.dat 6 around raw pages of the kernel, as `trace-cmd record` lays it out (trace-cmd.dat.v6.5): where recording
//! with that needs the top-level tracefs, which not every host has.

use super::instance::{Instance, PAGE};
use anyhow::Result;

/// TRACECMD_OPTION_TRACECLOCK: the list of clocks lies after the table of CPUs.
const OPTION_TRACECLOCK: u16 = 4;

/// The file as bytes: `pages` of each CPU, traced by the instance's clock of now.
pub fn version_6(instance: &Instance, pages: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut file = b"\x17\x08\x44tracing6\0".to_vec();
    file.extend([u8::from(cfg!(target_endian = "big")), size_of::<usize>() as u8]);
    file.extend((PAGE as u32).to_ne_bytes());
    for name in ["header_page", "header_event"] {
        file.extend_from_slice(name.as_bytes());
        file.push(0);
        sized(&mut file, &instance.root_file(&format!("events/{name}"))?);
    }
    // No format of ftrace's own events; one system.
    file.extend(0u32.to_ne_bytes());
    file.extend(1u32.to_ne_bytes());
    file.extend(b"sched\0");
    let formats = instance.formats()?;
    file.extend((formats.len() as u32).to_ne_bytes());
    formats.iter().for_each(|format| sized(&mut file, format));
    // No kernel symbols and no strings of printk.
    file.extend(0u32.to_ne_bytes());
    file.extend(0u32.to_ne_bytes());
    sized(&mut file, &instance.read("saved_cmdlines").or_else(|_| instance.root_file("saved_cmdlines"))?);
    file.extend((pages.len() as u32).to_ne_bytes());
    file.extend(b"options  \0");
    file.extend(OPTION_TRACECLOCK.to_ne_bytes());
    file.extend(0u32.to_ne_bytes());
    file.extend(0u16.to_ne_bytes());
    file.extend(b"flyrecord\0");
    let clocks = instance.read("trace_clock")?;
    let behind = file.len() + 16 * pages.len() + 8 + clocks.len();
    let mut at = behind.next_multiple_of(PAGE);
    for cpu in pages {
        file.extend((at as u64).to_ne_bytes());
        file.extend((cpu.len() as u64).to_ne_bytes());
        at += cpu.len().next_multiple_of(PAGE);
    }
    sized(&mut file, &clocks);
    for cpu in pages {
        file.resize(file.len().next_multiple_of(PAGE), 0);
        file.extend_from_slice(cpu);
    }
    Ok(file)
}

fn sized(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_ne_bytes());
    file.extend_from_slice(text.as_bytes());
}
