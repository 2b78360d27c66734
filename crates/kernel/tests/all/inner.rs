//! The state contract of members of a struct that is itself a named member: `icsk_ack.pending`.

use schedlab_kernel::contract::{Contract, contract};
use schedlab_kernel::{parse, rehearse_series};
use std::convert::Infallible;

const HEADER: &str = "struct conn {\n\tint window;\n\tstruct {\n\t\tint pending;\n\t\tint quick;\n\t} ack;\n\tstruct stats stats;\n};\n\
    struct stats {\n\tint drops;\n};\nstruct page {\n\tint pending;\n};\n";
const READER: &str = "int decide(struct conn *c)\n{\n\tint a = first(c);\n\n\treturn 1;\n}\n";

fn patch(condition: &str) -> String {
    format!(
        "--- a/net/read.c\n+++ b/net/read.c\n@@ -3,4 +3,6 @@ int decide(struct conn *c)\n \tint a = first(c);\n \n\
        +\tif ({condition})\n+\t\treturn 0;\n \treturn 1;\n }}\n"
    )
}

/// The findings for a hunk that tests `condition`, if `set()` does the one in the source and the other in the target.
fn found(condition: &str, [source, target]: [&str; 2]) -> Contract {
    let tree = |body: &str| {
        let files = [
            ("include/conn.h", HEADER.to_owned()),
            ("net/read.c", READER.to_owned()),
            (
                "net/write.c",
                format!(
                    "void start(struct conn *c)\n{{\n\tc->ack.pending = 2;\n\tc->stats.drops = 2;\n}}\nvoid set(struct conn *c, int x)\n{{\n\tx = more(x);\n\tx = less(x);\n\t{body}\n\tlog_it(c);\n\treturn;\n}}\n"
                ),
            ),
        ];
        files.map(|(path, text)| (path.to_owned(), text.into_bytes())).to_vec()
    };
    let (source, target) = (tree(source), tree(target));
    let patches = parse(patch(condition).as_bytes());
    let mut read =
        |path: &str| Ok::<_, Infallible>(target.iter().find(|(other, _)| other == path).map(|(_, text)| text.clone()));
    let port = rehearse_series(&patches, &[], &mut read).unwrap();
    contract(&patches, &port, &source, &target)
}

fn states(found: &Contract) -> Vec<String> {
    let differs = |state: &&schedlab_kernel::contract::State| state.differs();
    let said = |state: &schedlab_kernel::contract::State| {
        format!("{} of {}", state.name, state.of.as_deref().unwrap_or_default())
    };
    found.states.iter().filter(differs).map(said).collect()
}

#[test]
fn a_member_of_a_member_is_followed_by_both_names() {
    for write in ["c->ack.pending = 0;", "c->ack.pending++;", "memset(&c->ack, 0, sizeof(c->ack));"] {
        let result = found("c->ack.pending", [write, ""]);
        assert_eq!(states(&result), ["ack.pending of conn"], "{write}: {result:?}");
        assert_eq!(result.states[0].differences[0].function, "set");
        assert!(result.ambiguous.is_empty(), "{result:?}");
    }
    // Writing another member of it, or a member of that name in another struct, and reading it do not count.
    for write in ["c->ack.quick = 0;", "p->pending = 0;", "x = c->ack.pending;", "c->window = 1;"] {
        let result = found("c->ack.pending", [write, ""]);
        assert_eq!(states(&result), [""; 0], "{write}: {result:?}");
        assert_eq!(result.states.len(), 1);
    }
}

#[test]
fn a_member_that_has_a_struct_of_its_own_is_followed_as_before() {
    let result = found("c->stats.drops", ["c->stats.drops++;", ""]);
    assert!(states(&result).contains(&"drops of stats".to_owned()), "{result:?}");
}
