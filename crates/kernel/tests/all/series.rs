//! The forms in which patches are passed around; the texts are the seeds of the fuzz target `patch`.

#[path = "../../../../fuzz/bodies/patch.rs"]
mod body;

use schedlab_kernel::{Change, Line, Patch, PatchError, apply, parse, place, split};

fn seed(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fuzz/corpus/patch/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn patches(name: &str) -> Vec<Patch> {
    parse(seed(name).splitn(2, |&b| b == 0).nth(1).unwrap())
}

#[test]
fn mails_with_all_that_git_writes() {
    let mails = patches("mail");
    assert_eq!(mails.len(), 2);
    let [first, second] = &mails[..] else { unreachable!() };
    assert_eq!((&*first.subject, &*second.subject), ("sched: a subject that is folded", "second"));
    assert_eq!(first.commit.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
    let origins = ["89abcdef0123456789abcdef0123456789abcdef", "aaaabbbbccccddddeeeeffff0000111122223333"];
    assert_eq!(first.copied_from, origins);
    let keys: Vec<&str> = first.trailers.iter().map(|t| &*t.key).collect();
    assert_eq!(keys, ["From", "Date", "Fixes", "Link", "Signed-off-by"]);
    let files: Vec<_> = first.files.iter().map(|f| (f.path(), f.change, f.hunks.len())).collect();
    use Change::{Created, Deleted, Modified, Renamed};
    let expected = [
        ("kernel/x.c", Modified, 1),
        ("old.c", Renamed, 1),
        ("run.sh", Modified, 0),
        ("new/empty.h", Created, 1),
        ("gone.h", Deleted, 1),
    ];
    assert_eq!(files, expected);
    assert_eq!(first.files[1].new.as_deref(), Some("new.c"));
    assert_eq!((first.files[2].old_mode, first.files[2].new_mode), (Some(0o100644), Some(0o100755)));
    assert_eq!(first.files[0].hunks[0].section, b"int f(void)");
    assert!(
        matches!(&first.refused[..], [one] if one.why == PatchError::Binary("logo.png".into())),
        "{:?}",
        first.refused
    );
    assert_eq!((second.files.len(), second.files[0].path()), (1, "x"));
}

/// Nothing has to be copied for a binary file that goes away.
#[test]
fn a_binary_file_that_is_deleted_is_to_be_removed() {
    let of_git =
        "diff --git a/logo.png b/logo.png\ndeleted file mode 100644\nBinary files a/logo.png and /dev/null differ\n";
    for (text, name) in [(of_git, "logo.png"), ("Binary files a/logo.png and /dev/null differ\n", "a/logo.png")] {
        let refused = parse(text.as_bytes()).remove(0).refused;
        assert!(matches!(&refused[..], [one] if one.why == PatchError::BinaryDeleted(name.into())), "{refused:?}");
    }
}

#[test]
fn an_encoded_subject_is_decoded_over_its_lines() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for subject in
        ["[PATCH] =?UTF-8?q?x:=20caf=C3=A9=20and?=\n =?UTF-8?q?=20more?=", "=?UTF-8?B?eDogY2Fmw6kgYW5kIG1vcmU=?="]
    {
        let found = parse(format!("From {:040} Mon\nSubject: {subject}\n\nwhy\n---\n{diff}", 1).as_bytes());
        assert_eq!(found[0].subject, "x: café and more");
    }
}

#[test]
fn quilt_with_a_free_header_bytes_that_are_not_utf8_and_no_last_newline() {
    let [patch] = &patches("quilt")[..] else { panic!("one patch") };
    let [file] = &patch.files[..] else { panic!("one file: {patch:?}") };
    assert_eq!(file.path(), "mm/x.c");
    assert_eq!(file.hunks[0].lines[1], Line::Added(b"\xff\xfe\n".to_vec()));
    let text = split(b"a\nb");
    let placements = place(&file.hunks, &text);
    assert_eq!(apply(&file.hunks, &placements, &text), b"a\n\xff\xfe\nb");
    assert!(file.hunks[0].to_bytes().ends_with(b" b\n\\ No newline at end of file\n"));
}

#[test]
fn hostile_paths_are_refused_by_name_and_the_rest_is_read() {
    let [patch] = &patches("hostile")[..] else { panic!("one patch") };
    let refused: Vec<String> = patch.refused.iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].starts_with("line 1: `../../etc/x` leads out of the tree"), "{refused:?}");
    assert!(refused[1].contains("`/etc/passwd`"), "{refused:?}");
    assert_eq!(patch.files.iter().map(|f| f.path()).collect::<Vec<_>>(), ["ok"]);
}

/// As GNU patch does: the names have CRLF, so the diff came through a mailer, and the text's own CRs are kept.
#[test]
fn line_ends_of_a_mailer_are_taken_off() {
    let [patch] = &patches("crlf")[..] else { panic!("one patch") };
    assert_eq!(patch.files[0].path(), "x");
    assert!(patch.files[0].hunks[0].lines.iter().all(|line| !line.text().contains(&b'\r')));
    let unix_names = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n";
    assert!(parse(unix_names)[0].files[0].hunks[0].lines.iter().all(|line| line.text().ends_with(b"\r\n")));
}

#[test]
fn malformed_hunks_are_named_and_the_next_file_is_read() {
    let [patch] = &patches("malformed")[..] else { panic!("one patch") };
    let refused: Vec<String> = patch.refused.iter().map(ToString::to_string).collect();
    assert!(
        matches!(&refused[..], [a, b] if a.starts_with("line 3: x: malformed hunk") && b.contains("y: malformed")),
        "{refused:?}"
    );
    assert_eq!(patch.files.iter().map(|f| f.path()).collect::<Vec<_>>(), ["ok"]);
    for (why, hunk) in [
        ("it changes nothing", "@@ -2,1 +2,1 @@\n 2\n"),
        ("it ends 3 lines early", "@@ -1,4 +1,5 @@\n 1\n+y\n"),
        ("more lines than its header counts", "@@ -1,1 +1,2 @@\n-1\n-2\n+y\n"),
        ("does not begin with", "@@ -1,2 +1,2 @@\n-1\nx\n"),
    ] {
        let patches = parse(format!("--- a/f\n+++ b/f\n{hunk}").as_bytes());
        assert!(patches[0].refused[0].to_string().contains(why), "{hunk}: {:?}", patches[0]);
        assert!(patches[0].files.is_empty());
    }
}

/// GNU patch accepts these too.
#[test]
fn blanks_that_a_mailer_lost_are_put_back() {
    let lost = parse(b"--- a/f\n+++ b/f\n@@ -1,4 +1,5 @@\n 1\n\n\tx\n+y\n 3\n");
    let lines: Vec<&[u8]> = lost[0].files[0].hunks[0].lines.iter().map(Line::text).collect();
    assert_eq!(lines, [&b"1\n"[..], b"\n", b"\tx\n", b"y\n", b"3\n"]);
    let chopped = parse(b"--- a/f\n+++ b/f\n@@ -1,5 +1,6 @@\n 1\n+y\n 2\n 3\n");
    assert_eq!(chopped[0].files[0].hunks[0].old_side(), [&b"1\n"[..], b"2\n", b"3\n", b"\n", b"\n"]);
}

#[test]
fn git_show_and_log() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let one = format!(
        "commit {hash}\nAuthor: A\nDate:   x\n\n    the subject\n\n    Link: https://example.org/2\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\n"
    );
    let shown = parse(one.repeat(2).as_bytes());
    assert_eq!(shown.len(), 2);
    assert_eq!((&*shown[1].subject, shown[1].commit.as_deref()), ("the subject", Some(hash)));
    assert_eq!(shown[1].trailers[0].key, "Link");
    assert_eq!(shown[1].files[0].path(), "f");
}

#[test]
fn other_formats_and_encoded_mails_are_said_to_be_so() {
    let why = |text: &str| parse(text.as_bytes())[0].refused[0].why.clone();
    assert!(matches!(why("*** a/f\t1\n--- b/f\t1\n***************\n"), PatchError::OtherFormat("a context diff")));
    assert!(matches!(why("diff --cc f\nindex 1,2..3\n"), PatchError::OtherFormat(_)));
    let encoded = "From a Mon Sep 17 00:00:00 2001\nSubject: x\nContent-Transfer-Encoding: quoted-printable\n\nx=20\n";
    assert_eq!(why(encoded), PatchError::Encoded("quoted-printable".into()));
    let diff = "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-x =3D 1;\n+x =3D 2;\n";
    let patch = &parse(format!("{encoded}{diff}").as_bytes())[0];
    assert!(patch.files.is_empty() && patch.refused.len() == 1, "what was encoded is not taken as it stands");
    // With attachments the encoding of its own part counts, and a later part may be plain.
    let head = "From a Mon Sep 17 00:00:00 2001\nSubject: x\nContent-Type: multipart/mixed;\n boundary=\"B\"\n\n--B\n";
    let part = |encoding: &str, text: &str| format!("Content-Transfer-Encoding: {encoding}\n\n{text}\n--B\n");
    let attached = head.to_owned() + &part("7bit", "see below") + &part("base64", "LS0tIGE=") + &part("8bit", "bye");
    assert_eq!(why(&attached), PatchError::Encoded("base64".into()));
    assert_eq!(
        why(&(head.to_owned() + &part("quoted-printable", diff))),
        PatchError::Encoded("quoted-printable".into())
    );
    let plain = head.to_owned() + &part("base64", "aGk=") + &part("7bit", diff);
    let plain = &parse(plain.as_bytes())[0];
    assert_eq!((plain.files.len(), plain.refused.len()), (1, 0), "{plain:?}");
    assert!(parse(b"no diff at all\n").is_empty());
    assert!(parse(b"").is_empty());
}

/// `git diff --no-prefix`, or `diff.noprefix` in the configuration: there is no prefix to strip.
#[test]
fn names_that_git_wrote_without_a_first_part_are_whole() {
    let text = "diff --git mm/slub.c mm/slub.c\nindex 1..2 100644\n--- mm/slub.c\n+++ mm/slub.c\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git mm/new.c mm/new.c\nnew file mode 100644\n--- /dev/null\n+++ mm/new.c\n@@ -0,0 +1 @@\n+a\n\
        diff --git mm/x.sh mm/x.sh\nold mode 100644\nnew mode 100755\n\
        diff --git mm/a.c mm/b.c\nsimilarity index 100%\nrename from mm/a.c\nrename to mm/b.c\n\
        diff --git a/mm/c.c b/mm/c.c\n--- a/mm/c.c\n+++ b/mm/c.c\n@@ -1 +1 @@\n-a\n+b\n";
    let patches = parse(text.as_bytes());
    let paths: Vec<&str> = patches[0].files.iter().map(|file| file.path()).collect();
    assert_eq!(paths, ["mm/slub.c", "mm/new.c", "mm/x.sh", "mm/a.c", "mm/c.c"]);
}

#[test]
fn seeds_whole_cut_and_damaged() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/patch");
    let mut seeds = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        seeds += 1;
        for end in 0..=bytes.len() {
            body::check(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for odd in [b'\0', b'\n', b'9', b'@', b'+', 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = odd;
                body::check(&damaged);
            }
        }
    }
    assert!(seeds >= 5, "{dir} holds the seeds of the fuzzer");
}
