//! Names that match between traces.

/// The common name of threads that do the same in every trace: each run of digits becomes a `*`. The present work of a
/// kworker, which some recorders append to its name, is removed. Names of other things than threads stay unchanged.
pub(super) fn group(name: &str, whole: bool) -> String {
    let name = match name.strip_prefix("kworker/").and_then(|rest| rest.split_once(':')) {
        Some((_, rest)) => &name[..name.len() - rest.len() + rest.find(['-', '+']).unwrap_or(rest.len())],
        None => name,
    };
    if whole || name.starts_with('(') {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if out.ends_with('*') => {}
            '0'..='9' => out.push('*'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_tell_threads_apart() {
        for (name, is) in [
            ("worker-12", "worker-*"),
            ("t1x22", "t*x*"),
            ("kworker/0:1-events", "kworker/*:*"),
            ("kworker/0:1H-kblockd", "kworker/*:*H"),
            ("kworker/u8:2+flush", "kworker/u*:*"),
            ("kworker/R-netns", "kworker/R-netns"),
            ("(irq 27 eth0)", "(irq 27 eth0)"),
            ("", ""),
            ("12", "*"),
        ] {
            assert_eq!(group(name, false), is, "{name}");
        }
        assert_eq!((group("w-1", true), group("kworker/0:1-x", true)), ("w-1".into(), "kworker/0:1".into()));
    }
}
