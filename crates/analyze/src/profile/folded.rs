//! Folded stacks, the input of flame graphs: `comm;outermost;…;innermost samples`.

use super::tally::{functions, tally};
use schedlab_plan::profile::{Function, Profile};
use std::collections::BTreeMap;

/// Each distinct stack with its number of samples, sorted by text. Idle CPUs are left out.
pub fn folded(profile: &Profile, during_ns: Option<(u64, u64)>) -> BTreeMap<String, u64> {
    let mut lines = BTreeMap::new();
    for (chain, tally) in profile.chains.iter().zip(tally(profile, during_ns).by_chain) {
        if tally.samples == 0 {
            continue;
        }
        let mut line = plain(profile.comms.get(chain.comm as usize).map_or("?", String::as_str));
        for function in functions(profile, chain).rev() {
            line.push(';');
            line += &plain(&label(profile, &profile.functions[function]));
        }
        *lines.entry(line).or_insert(0) += tally.samples;
    }
    lines
}

/// A function's name, or its image's in brackets.
pub(super) fn label(profile: &Profile, function: &Function) -> String {
    if !function.name.is_empty() {
        return function.name.clone();
    }
    let image = profile.images.get(function.image as usize).map_or("?", |image| image.name.as_str());
    if image.starts_with('[') { image.to_owned() } else { format!("[{}]", base(image)) }
}

/// The last part of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Without the characters that separate frames and lines.
fn plain(name: &str) -> String {
    schedlab_plan::plain::line(&name.replace(';', ":"))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_name_ends_no_frame_and_no_line_and_steers_nothing() {
        assert_eq!(plain("a;b\nc\u{1b}[2J\u{202e}d"), "a:b c [2J d");
    }
}
