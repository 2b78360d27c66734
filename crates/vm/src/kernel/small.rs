//! The small configuration that `vm build` gives a kernel: our requests on top of the tree's own `tinyconfig`, and
//! which of them the tree dropped. Trees differ: `olddefconfig` silently drops an option that was renamed or whose
//! dependency is missing, so every request is looked up in the resulting configuration.

use super::image::Architecture;

const COMMON: &str = include_str!("small.config");
const X86_64: &str = include_str!("small-x86_64.config");
const AARCH64: &str = include_str!("small-aarch64.config");

/// Choices: a request for one option replaces a request for another of the same choice.
const CHOICES: &[&[&str]] = &[
    &["CONFIG_HZ_100", "CONFIG_HZ_250", "CONFIG_HZ_300", "CONFIG_HZ_1000"],
    &["CONFIG_SLUB", "CONFIG_SLAB", "CONFIG_SLOB"],
];

/// Options whose sense newer trees reverse: the first until 6.9, the second from 6.10 on.
const TURNED: [&str; 2] = ["CONFIG_BASE_FULL", "CONFIG_BASE_SMALL"];

/// An option and its requested value; `n`: not set.
pub type Request = (String, String);

/// Our requests, then the user's lines (`CONFIG_X=y`, `X=y`, `# CONFIG_X is not set`), with each option once; the last
/// one wins. The error is a sentence about a line that is none of these.
pub fn requests(architecture: Architecture, users: &[String]) -> Result<Vec<Request>, String> {
    let own = match architecture {
        Architecture::X86_64 => X86_64,
        Architecture::Aarch64 => AARCH64,
    };
    let lines = own.lines().chain(COMMON.lines()).chain(users.iter().flat_map(|text| text.lines()));
    let mut requests: Vec<Request> = Vec::new();
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        let Some((option, value)) = request(line)? else { continue };
        let is_in_both = |choice: &&[&str], other: &str| choice.contains(&option.as_str()) && choice.contains(&other);
        let same_choice = |other: &str| value == "y" && CHOICES.iter().any(|choice| is_in_both(choice, other));
        requests.retain(|(other, _)| *other != option && !same_choice(other));
        requests.push((option, value));
    }
    Ok(requests)
}

/// `None` for a comment.
fn request(line: &str) -> Result<Option<Request>, String> {
    if let Some(comment) = line.strip_prefix('#') {
        let unset = comment.trim().strip_suffix(" is not set").filter(|option| option.starts_with("CONFIG_"));
        return Ok(unset.map(|option| (option.to_owned(), "n".into())));
    }
    let wrong = || format!("`{line}` is not a kernel option: write it like CONFIG_HZ_1000=y");
    let (option, value) = line.split_once('=').ok_or_else(wrong)?;
    let name = option.strip_prefix("CONFIG_").unwrap_or(option);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) || value.is_empty() {
        return Err(wrong());
    }
    Ok(Some((format!("CONFIG_{name}"), value.to_owned())))
}

/// As lines of a `.config`.
pub fn fragment(requests: &[Request]) -> String {
    let line = |(option, value): &Request| match value.as_str() {
        "n" => format!("# {option} is not set\n"),
        value => format!("{option}={value}\n"),
    };
    requests.iter().map(line).collect()
}

/// The requests that are not in the resulting configuration, with what is there instead.
pub fn dropped(requests: &[Request], config: &str) -> Vec<String> {
    let value_of = |option: &str| {
        let mut lines = config.lines();
        lines.find_map(|line| line.strip_prefix(option)?.strip_prefix('=')).unwrap_or("n")
    };
    let is_turned = |(option, value): &&Request| {
        option == TURNED[0] && value == "y" && !config.contains(TURNED[0]) && value_of(TURNED[1]) == "n"
    };
    let differs = |request: &&Request| value_of(&request.0) != request.1 && !is_turned(request);
    let said = |(option, value): &Request| format!("{option}={value} (it is {})", value_of(option));
    requests.iter().filter(differs).map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(users: &[&str]) -> Result<Vec<Request>, String> {
        let users: Vec<String> = users.iter().map(|text| (*text).to_owned()).collect();
        requests(Architecture::X86_64, &users)
    }

    #[test]
    fn the_users_word_is_the_last_and_a_tick_rate_replaces_another() {
        let fragment =
            fragment(&of(&["HZ_1000=y", "# CONFIG_NUMA is not set", "# a comment", "CONFIG_NR_CPUS=8"]).unwrap());
        for line in ["CONFIG_HZ_1000=y", "# CONFIG_NUMA is not set", "CONFIG_NR_CPUS=8", "CONFIG_PVH=y"] {
            assert_eq!(fragment.lines().filter(|l| *l == line).count(), 1, "{line}");
        }
        assert!(!super::fragment(&of(&["SLAB=y"]).unwrap()).contains("CONFIG_SLUB=y"));
        for absent in ["HZ_250", "CONFIG_NUMA=y", "CONFIG_NR_CPUS=64", "a comment"] {
            assert!(!fragment.contains(absent), "{absent}");
        }
        for wrong in ["HZ_1000", "=y", "CONFIG_A B=y", "X="] {
            assert!(of(&[wrong]).unwrap_err().contains("CONFIG_HZ_1000=y"), "{wrong}");
        }
    }

    #[test]
    fn what_the_tree_did_not_take_is_named() {
        let requests =
            vec![("CONFIG_A".into(), "y".into()), ("CONFIG_B".into(), "y".into()), ("CONFIG_C".into(), "n".into())];
        assert!(dropped(&requests, "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\n").is_empty());
        let found = dropped(&requests, "CONFIG_A=m\nCONFIG_BB=y\nCONFIG_C=y\n");
        assert_eq!(found, ["CONFIG_A=y (it is m)", "CONFIG_B=y (it is n)", "CONFIG_C=n (it is y)"]);
        let full = [("CONFIG_BASE_FULL".into(), "y".into())];
        let count = |config| dropped(&full, config).len();
        assert_eq!([count("CONFIG_BASE_FULL=y\n"), count("# CONFIG_BASE_SMALL is not set\n")], [0, 0]);
        assert_eq!(
            [count("# CONFIG_BASE_FULL is not set\nCONFIG_BASE_SMALL=1\n"), count("CONFIG_BASE_SMALL=y\n")],
            [1, 1]
        );
    }

    #[test]
    fn the_small_kernel_has_what_a_guest_needs() {
        for architecture in [Architecture::X86_64, Architecture::Aarch64] {
            let config = fragment(&requests(architecture, &[]).unwrap());
            assert!(super::super::config::missing(&config, architecture).is_empty());
        }
        let x86_64 = fragment(&requests(Architecture::X86_64, &[]).unwrap());
        assert!(
            x86_64.contains("CONFIG_X86_IOPL_IOPERM=y\n"),
            "a guest that keeps its state stops itself by its ports"
        );
    }
}
