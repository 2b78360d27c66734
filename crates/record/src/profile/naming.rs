//! From addresses to names: the kernel's from /proc/kallsyms, a program's from its file. An address without a name
//! keeps its image.

use super::gather::{Code, Gathered, Numbered, Spot};
use super::image::{ImageSymbol, ImageSymbols};
use super::kallsyms::KernelSymbols;
use crate::Roots;
use schedlab_plan::InOrder;
use schedlab_plan::profile::{CallChain, Frame, Function, Image, Profile};
use std::path::Path;

/// Where distributions put separate debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Fills the tables of a profile whose other fields are set.
pub(super) fn name_all(gathered: Gathered, roots: &Roots, profile: &mut Profile) {
    let met_kernel = gathered.spots.all().iter().any(|spot| matches!(spot.code, Code::Kernel(_)));
    let text = if met_kernel { std::fs::read_to_string(roots.proc.join("kallsyms")) } else { Ok(String::new()) };
    let parsed = match &text {
        Ok(text) => KernelSymbols::parse(text).map_err(|error| error.to_string()),
        Err(error) => Err(format!("/proc/kallsyms cannot be read ({error})")),
    };
    let parsed =
        parsed.and_then(|kernel| if met_kernel && kernel.is_hidden() { Err(hidden(roots)) } else { Ok(kernel) });
    let kernel = parsed.unwrap_or_else(|why| {
        profile.notes.push(format!("kernel functions have no names: {why}"));
        KernelSymbols::default()
    });
    let mut names = Names {
        kernel,
        users: gathered
            .spaces
            .images()
            .iter()
            .map(|name| User { name: name.clone(), symbols: None, unnamed: 0 })
            .collect(),
        images: Numbered::default(),
        functions: Numbered::default(),
        frames: Numbered::default(),
    };
    let frame_of: Vec<u32> = gathered.spots.all().iter().map(|spot| names.frame(spot)).collect();
    let chains = gathered.chains.into_all().into_iter();
    profile.chains = chains
        .map(|chain| CallChain {
            comm: chain.comm,
            idle_task: chain.idle_task,
            frames: chain.spots.iter().map(|spot| frame_of[*spot as usize]).collect(),
        })
        .collect();
    profile.notes.extend(names.without_symbols());
    if gathered.unreadable_bytes > 0 {
        let bytes = gathered.unreadable_bytes;
        profile
            .notes
            .push(format!("{bytes} bytes of samples could not be read: this kernel's records are new to schedlab"));
    }
    profile.images = names.images.into_all();
    profile.functions = names.functions.into_all();
    profile.frames = names.frames.into_all();
    profile.comms = gathered.comms.into_all();
    profile.samples = gathered.samples;
    profile.tasks = gathered.tasks.into_all();
    (profile.lost, profile.throttled) = (gathered.lost, gathered.throttled);
    profile.of_the_sampler = gathered.of_the_sampler;
}

fn hidden(roots: &Roots) -> String {
    let value = |name: &str| std::fs::read_to_string(roots.proc.join("sys/kernel").join(name)).unwrap_or_default();
    format!(
        "the kernel hides their addresses from this user (kernel.kptr_restrict is {}, kernel.perf_event_paranoid {}); run as \
         root, or set kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1",
        value("kptr_restrict").trim(),
        value("perf_event_paranoid").trim()
    )
}

/// A program or library.
struct User {
    name: String,
    /// Read when the image first appears in a chain.
    symbols: Option<Result<ImageSymbols, String>>,
    /// Addresses in it that appeared in a chain and that none of its symbols covers.
    unnamed: u32,
}

impl User {
    fn symbols(&mut self) -> Result<&ImageSymbols, &String> {
        let read = || match self.name.as_str() {
            "[vdso]" => vdso(),
            name if name.starts_with('/') => ImageSymbols::read(Path::new(name), Path::new(DEBUG_ROOT)),
            _ => Err("it is not a file".into()),
        };
        self.symbols.get_or_insert_with(read).as_ref()
    }
}

/// The kernel maps the same vDSO into every process of our kind, and so also into this one.
fn vdso() -> Result<ImageSymbols, String> {
    use std::os::unix::fs::FileExt;
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|error| error.to_string())?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).ok_or("this process has none")?;
    let range = line.split(' ').next().and_then(|range| range.split_once('-'));
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) =
        range.and_then(|(start, end)| Some((hex(start)?, hex(end)?))).ok_or("its range is unreadable")?;
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).map_err(|error| error.to_string())?];
    let memory = std::fs::File::open("/proc/self/mem").map_err(|error| error.to_string())?;
    memory.read_exact_at(&mut bytes, start).map_err(|error| error.to_string())?;
    Ok(ImageSymbols::parse(&bytes)?.0)
}

struct Names<'k> {
    kernel: KernelSymbols<'k>,
    /// Indexed by the number of the image among the mapped ones.
    users: Vec<User>,
    images: Numbered<Image>,
    functions: Numbered<Function>,
    frames: Numbered<Frame>,
}

impl Names<'_> {
    fn frame(&mut self, spot: &Spot) -> u32 {
        let back = u64::from(spot.is_caller);
        let (function, offset) = match spot.code {
            Code::Kernel(address) => self.kernel_function(address, back),
            Code::File(place) => self.user_function(place.image, place.offset, back),
            Code::Unmapped => (self.unnamed("[not mapped]", false), 0),
        };
        self.frames.number(Frame { function, offset })
    }

    fn kernel_function(&mut self, address: u64, back: u64) -> (u32, u64) {
        let Some(symbol) = self.kernel.at(address.wrapping_sub(back)).copied() else {
            return (self.unnamed("[kernel]", true), address);
        };
        let image = format!("[{}]", symbol.module.unwrap_or("kernel"));
        let image = self.images.number(Image { name: image, is_kernel: true });
        let (start, length) = (symbol.start, symbol.end - symbol.start);
        let function = Function { name: symbol.name.to_owned(), image, start, length };
        (self.functions.number(function), address - symbol.start)
    }

    fn user_function(&mut self, image: u32, file_offset: u64, back: u64) -> (u32, u64) {
        let user = &mut self.users[image as usize];
        let found = user.symbols().ok().and_then(|symbols| {
            let address = symbols.address_of(file_offset.wrapping_sub(back))?.wrapping_add(back);
            let ImageSymbol { start, length, name } = symbols.at(address.wrapping_sub(back))?.clone();
            Some((Function { name, image: 0, start, length }, address - start))
        });
        let name = user.name.clone();
        let Some((function, offset)) = found else {
            user.unnamed += 1;
            return (self.unnamed(&name, false), file_offset);
        };
        let image = self.images.number(Image { name, is_kernel: false });
        (self.functions.number(Function { image, ..function }), offset)
    }

    /// The entry for code of an image that no symbol covers.
    fn unnamed(&mut self, image: &str, is_kernel: bool) -> u32 {
        let image = self.images.number(Image { name: image.to_owned(), is_kernel });
        self.functions.number(Function { image, ..Function::default() })
    }

    /// Files that appeared in chains but could not be read, or have no symbols.
    fn without_symbols(&self) -> Vec<String> {
        let why = |user: &User| match user.symbols.as_ref()? {
            _ if !user.name.starts_with('/') => None,
            Err(why) => Some(format!("{}: {why}", user.name)),
            Ok(symbols) if symbols.is_empty() => Some(format!("{}: it is stripped", user.name)),
            Ok(_) => None,
        };
        let all: Vec<String> = self.users.iter().filter_map(why).collect();
        let text = "without names of functions, because their symbols cannot be had";
        let mut notes = if all.is_empty() { Vec::new() } else { vec![format!("{text}: {}", all.join("; "))] };
        notes.extend(only_exported(&self.users));
        notes
    }
}

/// Most files that a note names; in a build there are dozens.
const MAX_NAMED: usize = 3;

/// Names the files with only exported symbols; those with the most unnamed samples come first.
fn only_exported(users: &[User]) -> Option<String> {
    let lacking = |user: &User| {
        let symbols = user.symbols.as_ref()?.as_ref().ok().filter(|symbols| user.unnamed > 0 && !symbols.is_empty())?;
        let debug = symbols.only_exported()?;
        let debug = debug.map_or("it has no build id to find a debug file by".into(), |debug| {
            format!("there is no {}", debug.display())
        });
        Some((user.unnamed, format!("{} ({debug})", user.name)))
    };
    exported_note(users.iter().filter_map(lacking).collect())
}

/// Makes the note from the number of unnamed addresses in each file, and its name.
fn exported_note(mut lacking: Vec<(u32, String)>) -> Option<String> {
    lacking.in_order_by(|(a, of_a), (b, of_b)| (b, of_a).cmp(&(a, of_b)));
    let more = lacking.len().saturating_sub(MAX_NAMED);
    let mut named: Vec<String> = lacking.into_iter().take(MAX_NAMED).map(|(_, name)| name).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| {
        format!(
            "only functions that are exported have names in {}; a debug package names the rest (Debian: libc6-dbg for the C \
             library, a -dbgsym package for others; Fedora: -debuginfo)",
            named.join("; ")
        )
    })
}

#[cfg(test)]
mod tests;
