//! Translates the spellings of the original tools before the command line is parsed: `schedlab bench transact -i 5000
//! -pair 3 -deadline_us 2500 -v -trace -raw_data` means the same as for libhwbinder_latency and schd-dbg, and `schedlab
//! bench messaging -g2 -l 200 -pT` the same as for hackbench. clap cannot parse long options with one dash. Also, an
//! option of the form `no|yes` may have no value, which means yes.

use std::ffi::OsString;

/// What an original tool's option becomes.
enum Ours {
    /// Without a value: this argument.
    Flag(&'static str),
    /// Each of these with its value, which gets the unit in the original name (`-deadline_us`).
    Valued(&'static [&'static str]),
}

/// Options of libhwbinder_latency and schd-dbg.
const TRANSACT: &[(&str, Ours)] = &[
    ("-i", Ours::Valued(&["--loops"])),
    ("-pair", Ours::Valued(&["--pairs"])),
    ("-w", Ours::Valued(&["--pairs"])),
    ("-deadline_us", Ours::Valued(&["--deadline"])),
    ("-v", Ours::Flag("--verbose=yes")),
    ("-trace", Ours::Flag("--stop-on-miss=yes")),
    ("-raw_data", Ours::Flag("--raw-data=yes")),
];

/// One-letter options of hackbench (rt-tests).
const MESSAGING: &[(&str, Ours)] = &[
    ("-g", Ours::Valued(&["--groups"])),
    ("-l", Ours::Valued(&["--loops"])),
    ("-f", Ours::Valued(&["--senders", "--receivers"])),
    ("-s", Ours::Valued(&["--bytes"])),
    ("-T", Ours::Flag("--mode=thread")),
    ("-P", Ours::Flag("--mode=process")),
    ("-p", Ours::Flag("--transport=pipe")),
    ("-i", Ours::Flag("--transport=tcp")),
    ("-F", Ours::Flag("--fifo=yes")),
];

/// The original tool's options for the workload of `bench`, by the name before its arguments.
fn reference_of(workload: &str) -> &'static [(&'static str, Ours)] {
    match workload.split([':', '/']).next() {
        Some("transact") => TRANSACT,
        Some("messaging") => MESSAGING,
        _ => &[],
    }
}

/// Translates the whole command line, including the program name: replaces the original tools' options of `bench`, and
/// adds missing values to switches of `bench` and `ab`; other commands are not changed. `switches` are the long options
/// of the form `no|yes`. Words after `--` belong to another program.
pub(crate) fn normalise(mut arguments: Vec<OsString>, switches: &[&str]) -> Vec<OsString> {
    let command = arguments.get(1).and_then(|command| command.to_str()).unwrap_or_default();
    if !["bench", "ab"].contains(&command) {
        return arguments;
    }
    let of_bench = command == "bench";
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let of_another = arguments.split_off(end);
    let named = arguments[2..].iter().filter_map(|a| a.to_str()).find(|a| !reference_of(a).is_empty());
    let reference = named.filter(|_| of_bench).map(reference_of).unwrap_or_default();
    let mut ours = Vec::with_capacity(arguments.len());
    // The next word is the last one.
    let mut rest = arguments;
    rest.reverse();
    while let Some(argument) = rest.pop() {
        let Some(text) = argument.to_str() else {
            ours.push(argument);
            continue;
        };
        match reference.iter().find_map(|(theirs, ours)| Some((theirs, ours, joined(theirs, text)?))) {
            Some((_, Ours::Flag(flag), more)) => {
                push_overriding(&mut ours, (*flag).into());
                if !more.is_empty() {
                    rest.push(["-", more].concat().into());
                }
            }
            Some((theirs, Ours::Valued(options), value)) => {
                let unit = theirs.rsplit_once('_').map_or("", |(_, unit)| unit);
                let value = if value.is_empty() { rest.pop() } else { Some(value.into()) };
                for option in *options {
                    // Without a value, clap reports what is missing.
                    let Some(value) = &value else {
                        ours.push((*option).into());
                        continue;
                    };
                    let mut argument = OsString::from(format!("{option}="));
                    argument.push(value);
                    // A value that is not a number appears in the message as it was typed.
                    if value.to_str().is_some_and(|text| text.parse::<f64>().is_ok()) {
                        argument.push(unit);
                    }
                    push_overriding(&mut ours, argument);
                }
            }
            None if is_switch(text, switches) && rest.last().is_none_or(|next| next != "yes" && next != "no") => {
                ours.push(format!("{text}=yes").into());
            }
            None => ours.push(argument),
        }
    }
    ours.extend(of_another);
    ours
}

/// Adds `--OPTION=VALUE` for an original option; as with getopt, the last one wins (`-T -P`).
fn push_overriding(ours: &mut Vec<OsString>, argument: OsString) {
    let name = argument.to_str().and_then(|text| text.split_inclusive('=').next()).unwrap_or_default().to_owned();
    ours.retain(|earlier| !earlier.to_str().is_some_and(|earlier| earlier.starts_with(&name)));
    ours.push(argument);
}

/// The rest of an argument after an original option, as getopt parses it: `-g2`, `-pT`; `None` if it is another option.
fn joined<'a>(theirs: &str, text: &'a str) -> Option<&'a str> {
    let more = text.strip_prefix(theirs)?;
    (more.is_empty() || theirs.len() == 2).then_some(more)
}

fn is_switch(text: &str, switches: &[&str]) -> bool {
    text.strip_prefix("--").is_some_and(|name| switches.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCHES: [&str; 2] = ["stop-on-miss", "raw-data"];

    #[track_caller]
    fn check(theirs: &str, ours: &str) {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(normalise(words(theirs), &SWITCHES), words(ours));
    }

    #[test]
    fn the_references_line_becomes_ours() {
        check(
            "schedlab bench transact -i 5000 -pair 3 -deadline_us 2500 -v -trace -raw_data",
            "schedlab bench transact --loops=5000 --pairs=3 --deadline=2500us --verbose=yes --stop-on-miss=yes --raw-data=yes",
        );
        check("schedlab bench -i 5 transact/1:pin=same -w 2", "schedlab bench --loops=5 transact/1:pin=same --pairs=2");
        check("schedlab bench transact -i", "schedlab bench transact --loops");
        check("schedlab bench transact -deadline_us abc", "schedlab bench transact --deadline=abc");
    }

    #[test]
    fn hackbenchs_line_becomes_ours_as_getopt_reads_it() {
        check(
            "schedlab bench messaging -g 2 -l 200 -f 5 -s 64 -T -p",
            "schedlab bench messaging --groups=2 --loops=200 --senders=5 --receivers=5 --bytes=64 --mode=thread --transport=pipe",
        );
        check(
            "schedlab bench messaging -g2 -pTl200",
            "schedlab bench messaging --groups=2 --transport=pipe --mode=thread --loops=200",
        );
        check(
            "schedlab bench messaging -f4 -s 10 -P -F",
            "schedlab bench messaging --senders=4 --receivers=4 --bytes=10 --mode=process --fifo=yes",
        );
        check("schedlab bench messaging -T -g 2 -P -g3", "schedlab bench messaging --mode=process --groups=3");
        check("schedlab bench messaging -x -g", "schedlab bench messaging -x --groups");
        check("schedlab bench pipe -p", "schedlab bench pipe -p");
    }

    #[test]
    fn a_switch_may_stand_alone() {
        check("schedlab bench transact --stop-on-miss", "schedlab bench transact --stop-on-miss=yes");
        check("schedlab bench --raw-data transact", "schedlab bench --raw-data=yes transact");
        check("schedlab bench transact --raw-data no", "schedlab bench transact --raw-data no");
        check("schedlab bench transact --raw-data=no", "schedlab bench transact --raw-data=no");
        check("schedlab ab -w transact --raw-data --b nice=1", "schedlab ab -w transact --raw-data=yes --b nice=1");
    }

    #[test]
    fn the_line_of_another_program_is_its_own() {
        check("schedlab bench exec -- x --raw-data transact -v", "schedlab bench exec -- x --raw-data transact -v");
        check(
            "schedlab bench transact -v --raw-data -- x --raw-data -i 5",
            "schedlab bench transact --verbose=yes --raw-data=yes -- x --raw-data -i 5",
        );
    }

    #[test]
    fn other_commands_and_workloads_are_left_alone() {
        for line in ["schedlab ab -w transact --b nice=1", "schedlab bench pipe -v", "schedlab", "schedlab bench"] {
            check(line, line);
        }
    }
}
