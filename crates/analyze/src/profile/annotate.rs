//! Shares per instruction of one function.

use super::folded::label;
use super::tally::{plain, tally};
use schedlab_plan::OneByOne;
use schedlab_plan::nearest::hint;
use schedlab_plan::profile::{Instruction, Profile};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where in a function the samples are.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Annotation {
    /// The function.
    pub name: String,
    /// `[kernel]`, a module, a path.
    pub image: String,
    /// Samples in the function.
    pub samples: u64,
    /// The function's share of all weight.
    pub share: f64,
    /// Why the instructions have no text, if they have none.
    pub no_text: Option<String>,
    /// Its instructions; if they are not known, the sampled addresses.
    pub rows: Vec<InstructionShare>,
}

/// An instruction.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct InstructionShare {
    /// Bytes from the function's start.
    pub offset: u64,
    /// Samples on it.
    pub samples: u64,
    /// Share of the function's weight.
    pub share: f64,
    /// Its text, or empty.
    pub text: String,
}

/// The functions of a name, as indices into the profile; otherwise a sentence that gives the nearest name.
pub fn functions_named(profile: &Profile, name: &str) -> Result<Vec<usize>, String> {
    let by = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let functions = profile.functions.iter().enumerate();
        functions.filter(|(_, f)| !f.name.is_empty() && is(&f.name)).map(|(at, _)| at).collect()
    };
    let exact = by(&|of| of == name);
    let found = if exact.is_empty() { by(&|of| plain(of) == name) } else { exact };
    if !found.is_empty() {
        return Ok(found);
    }
    // Kernels rename functions by adding a prefix: from 6.15 on, pipe_write is anon_pipe_write.
    let longer = by(&|of| plain(of).strip_suffix(name).is_some_and(|prefix| prefix.ends_with('_')));
    let names: BTreeSet<&str> = longer.iter().map(|at| plain(&profile.functions[*at].name)).collect();
    if names.len() == 1 && !name.is_empty() {
        return Ok(longer);
    }
    let named = profile.functions.iter().map(|function| function.name.as_str()).filter(|known| !known.is_empty());
    Err(format!("no sample is in a function `{name}`{}", hint(name, named)))
}

/// The samples of a function by instruction. `instructions` are those of the function, or the reason why they are not
/// available.
pub fn annotate(
    profile: &Profile,
    function: usize,
    during_ns: Option<(u64, u64)>,
    instructions: &Result<Vec<Instruction>, String>,
) -> Annotation {
    let tallies = tally(profile, during_ns);
    // Offset → samples and weight, only of innermost frames.
    let mut by_offset: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let (mut samples, mut weight) = (0, 0);
    for (chain, tally) in profile.chains.iter().zip(&tallies.by_chain).filter(|(_, tally)| tally.samples > 0) {
        let innermost = chain.frames.first().and_then(|frame| profile.frames.get(*frame as usize));
        let Some(frame) = innermost.filter(|frame| frame.function as usize == function) else { continue };
        let at = by_offset.entry(frame.offset).or_default();
        (at.0, at.1) = (at.0 + tally.samples, at.1 + tally.weight);
        (samples, weight) = (samples + tally.samples, weight + tally.weight);
    }
    for instruction in instructions.iter().flatten() {
        by_offset.entry(instruction.offset).or_default();
    }
    let text_of: BTreeMap<u64, &str> = instructions.iter().flatten().map(|i| (i.offset, i.text.as_str())).one_by_one();
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let rows = by_offset.into_iter().map(|(offset, (samples, own))| InstructionShare {
        offset,
        samples,
        share: share(own, weight),
        text: text_of.get(&offset).copied().unwrap_or_default().to_owned(),
    });
    let of = &profile.functions[function];
    Annotation {
        name: label(profile, of),
        image: profile.images.get(of.image as usize).map_or("?", |image| image.name.as_str()).to_owned(),
        samples,
        share: share(weight, tallies.busy.weight),
        no_text: instructions.as_ref().err().cloned(),
        rows: rows.collect(),
    }
}
