use super::*;
use crate::commands::command;

/// Every command with its words.
fn all(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
    found.push((path.to_owned(), command.clone()));
    for below in command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()) {
        all(below, format!("{path} {}", below.get_name()).trim_start(), found);
    }
}

fn commands() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    let mut root = command(&[], 80);
    root.build();
    all(&root, "", &mut found);
    found
}

#[test]
fn short_help_is_less_than_a_screen_and_long_help_is_whole() {
    let mut seen = 0;
    let words = ["schedlab", "-h"].map(str::to_owned);
    let mut first = command(&words, 80).render_help().to_string();
    assert!(RARE_COMMANDS.iter().all(|name| first.contains(name)), "{first}");
    for (path, mut command) in commands() {
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        // The help for all commands has two texts.
        let short = if path.is_empty() { std::mem::take(&mut first) } else { short };
        assert!(short.lines().count() <= 30, "{path}: {} lines\n{short}", short.lines().count());
        for line in short.lines().chain(long.lines()) {
            let is_ours_to_wrap =
                !line.starts_with("  schedlab") && !line.starts_with("Usage") && !line.starts_with("    ");
            assert!(line.chars().count() <= 80 || !is_ours_to_wrap, "{path}: {line}");
        }
        let of_workloads = |arg: &&clap::Arg| arg.get_help_heading() != Some("Workload options");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(of_workloads) {
            seen += 1;
            let name = arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"));
            let whole = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
            assert!(!whole.is_empty(), "{path} {name} has no help");
            // Wrapped differently, but with all its words.
            let said = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said(&long).contains(&said(&whole)), "{path} --help lacks `{whole}`:\n{long}");
        }
    }
    assert!(seen > 200, "{seen} options");
}

#[test]
fn no_two_commands_beside_each_other_have_the_same_text() {
    for (path, command) in commands() {
        let texts: Vec<_> = command.get_subcommands().filter_map(|c| Some(c.get_about()?.to_string())).collect();
        let distinct: std::collections::BTreeSet<_> = texts.iter().collect();
        assert_eq!(distinct.len(), texts.len(), "{path}: {texts:?}");
    }
}

#[test]
fn no_option_is_offered_where_it_is_refused() {
    let all = commands();
    for words in REFUSED {
        let (path, id) = words.rsplit_once(' ').unwrap();
        let (_, command) = all.iter().find(|(of, _)| of == path).expect(path);
        assert!(command.get_arguments().any(|arg| arg.get_id() == id), "{words}: a typo");
        let help = command.clone().render_long_help().to_string();
        assert!(!help.contains(&format!("--{id} ")), "{words}\n{help}");
    }
}

#[test]
fn every_command_has_two_or_three_examples_that_parse() {
    let all = commands();
    let paths: Vec<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    for path in EXAMPLES.iter().map(|(path, _)| path).chain(MORE.iter().map(|(path, _)| path)) {
        assert!(paths.contains(path), "there is no command `{path}`");
    }
    for (path, command) in &all {
        let examples = examples(path);
        assert!((2..=3).contains(&examples.len()), "`{path}` has {} examples", examples.len());
        for example in examples {
            // What the shell does with the output is not part of our command line.
            let line = example.split(" > ").next().and_then(|line| line.split(" | ").next()).unwrap_or_default();
            let words = schedlab_plan::shell_words::split(line).unwrap();
            assert!(example.starts_with(&format!("schedlab {path}")), "{path}: {example}");
            crate::commands::command(&words, 80)
                .try_get_matches_from(&words)
                .unwrap_or_else(|e| panic!("{example}: {e}"));
            let help = command.clone().render_help().to_string();
            assert!(help.contains(example), "{path}: {help}");
        }
    }
}

#[test]
fn options_of_a_workload_are_shown_with_it_alone() {
    let help = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut root = command(&words, 80);
        root.build();
        root.find_subcommand_mut(&words[1]).unwrap().render_long_help().to_string()
    };
    for (line, has, lacks) in [
        ("schedlab bench --help", "--latency", "--transport"),
        ("schedlab bench pipe:copies=2 --help", "--copies", "--transport"),
        ("schedlab bench messaging --load burn:2 --help", "--transport", "--copies"),
        ("schedlab ab -w pipe -w timer/1 --help", "--copies", "--transport"),
        ("schedlab ab --workload=timer --help", "--interval", "--copies"),
    ] {
        let text = help(line);
        let has_option = |option: &str| text.lines().any(|l| l.trim_start().starts_with(&format!("{option} ")));
        assert!(has_option(has) && !has_option(lacks), "{line}: {text}");
    }
    // Hidden options are still accepted.
    let words = ["schedlab", "bench", "pipe", "--copies", "2"].map(str::to_owned);
    assert!(command(&words, 80).try_get_matches_from(&words).is_ok());
}

#[test]
fn a_text_begins_before_its_first_remark() {
    let long = "Only what ends in this time, seconds of the trace's clock; either end may be left out";
    assert_eq!(beginning(long, 44), "Only what ends in this time, seconds of the trace's clock");
    assert_eq!(beginning("Most rows to show; 0 shows all", 44), "Most rows to show; 0 shows all");
    assert_eq!(beginning("id[:args], such as messaging:5x50,groups=10 or pipe:copies=4", 44), "id[:args]");
}
