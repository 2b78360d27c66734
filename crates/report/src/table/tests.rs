use super::*;

#[test]
fn long_names_keep_both_ends_and_stay_apart() {
    let mut names =
        ["default", "a rather long name for one", "a rather long name for one", "a rather long name for two"]
            .map(String::from);
    cut(names.iter_mut(), 16);
    assert_eq!(names, ["default", "a rather…for one", "a rathe…r one#2", "a rather…for two"].map(String::from));
}

#[test]
fn tables_stay_within_their_width() {
    let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right), ("why", Align::Left)]);
    table.push(vec!["µs".into(), "12".into(), "a long reason that must be broken into several lines".into()]);
    let lines = table.lines(30, false);
    assert_eq!(lines[0], "name   n  why");
    assert_eq!(lines[1], "µs    12  a long reason that");
    assert!(lines.iter().all(|l| width(l) <= 30), "{lines:?}");
}

#[test]
fn first_names_that_a_cut_would_make_alike_are_wrapped() {
    let lines = |names: [&str; 2]| {
        let mut table = Table::new(&[("point", Align::Left), ("gain", Align::Right)]);
        table.rows = names.map(|name| vec![name.into(), "1".into()]).to_vec();
        table.lines(20, false)
    };
    let alike = lines(["slice=1ms policy=batch idle=no", "slice=1ms policy=other idle=no"]);
    assert_eq!(
        alike[1..],
        ["slice=1ms          1", "policy=batch", "idle=no", "slice=1ms          1", "policy=other", "idle=no"]
    );
    let apart = lines(["slice=1ms policy=batch idle=no", "slice=9ms policy=batch idle=no"]);
    assert_eq!(apart[1..], ["slice=1…dle=no     1", "slice=9…dle=no     1"]);
}

#[test]
fn numbers_keep_their_sign_and_intervals_their_ends() {
    assert_eq!(wrap("6 blocks, 95 % interval", 13), ["6 blocks,", "95 % interval"]);
    assert_eq!(wrap("13 % slower [-22, 38], 6", 20), ["13 % slower", "[-22, 38], 6"]);
    assert_eq!(wrap("each of 14\u{202f}039 round trips", 13), ["each of", "14\u{202f}039 round", "trips"]);
}

#[test]
fn words_too_long_are_cut() {
    assert_eq!(wrap("abcdefghijkl mn", 8), ["abcdefgh", "ijkl mn"]);
    assert!(wrap("  ", 10).is_empty());
}

/// A knob of a tree may hold anything.
#[test]
fn a_word_of_a_million_letters_is_cut() {
    assert_eq!(wrap(&"5".repeat(1_000_000), 80).len(), 12_500);
}
