//! Reads states of a checkout with the program `git`. Nothing is checked out.
//!
//! A checkout's configuration can name programs to run, files to read and places to fetch from (`log.showSignature`
//! with `gpg.program`, `mailmap.file`, `diff.orderFile`, a partial clone's `remote.*.uploadpack`). So only git's
//! plumbing is used, which ignores most of it; what it does use is overridden here, and nothing is fetched.

use super::dossier::{Raw, Sides};
use super::steps::Steps;
use super::timeline;
use super::trees::{self, Origin};
use anyhow::{Context, Result, anyhow, bail};
use schedlab_plan::InOrder;
use schedlab_sys::pipe;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path};
use std::process::{Command, Stdio};

/// Whether this is a git repository, with or without a working tree.
pub(super) fn is_checkout(tree: &Path) -> bool {
    tree.join(".git").exists() || tree.join("HEAD").is_file() && tree.join("objects").is_dir()
}

/// `has_later`: also read the commits between the range and HEAD.
pub(super) fn sides(tree: &Path, range: &str, paths: &[String], has_later: bool) -> Result<Sides> {
    if range.contains("...") || range.starts_with("..") {
        bail!("{range} is not a range A..B; A is the older of the two");
    }
    let (names, ids) = match range.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (from.to_owned(), if to.is_empty() { "HEAD" } else { to }.to_owned());
            let ids = [given(tree, &from)?, given(tree, &to)?];
            ([from, to], ids)
        }
        None => {
            let id = given(tree, range)?;
            ([format!("{range}^"), range.to_owned()], [parent(tree, &id)?, id])
        }
    };
    if ids[0] == ids[1] {
        bail!("{range} is empty: {} and {} are one commit", names[0], names[1]);
    }
    let changed = git(tree, &["diff-tree", "-r", "--name-only", "-z", &ids[0], &ids[1]], &[], vec![])?;
    let changed: Vec<String> = self::names(&changed);
    let paths = if paths.is_empty() { trees::folders(changed.iter().map(String::as_str)) } else { paths.to_vec() };
    let mut events = timeline::events(tree, &ids[0], &ids[1], &paths)?;
    // A merge, which a range leaves out, was given explicitly.
    if !range.contains("..") && !merges(tree, &ids[1..])?.is_empty() {
        events.extend(timeline::of(tree, &ids[0], &ids[1..])?);
    }
    let later = if has_later { timeline::events(tree, &ids[1], "HEAD", &paths)? } else { Vec::new() };
    let touched: BTreeSet<&str> = changed.iter().map(String::as_str).collect();
    let is_wanted = |path: &str| trees::is_read(path) || touched.contains(path);
    let mut problems = Vec::new();
    let [before, after] = [&ids[0], &ids[1]].map(|id| files(tree, id, &paths, &is_wanted, &mut problems));
    let files = [before?, after?];
    let is_reversed =
        ids[0] != ids[1] && git(tree, &["merge-base", "--is-ancestor", &ids[1], &ids[0]], &[], vec![]).is_ok();
    let reversed = || {
        format!(
            "{} is older than {}: what it lacks is shown as removed; turn the range round for what came",
            names[1], names[0]
        )
    };
    problems.extend(is_reversed.then(reversed).into_iter().chain(cut(tree)));
    let steps = timeline::steps(tree, &events).unwrap_or_else(|error| {
        problems.push(format!("which commit changed an interface is not known: {error:#}"));
        Steps::default()
    });
    let origins = ids.map(|id| Origin::Commit(tree.to_owned(), id));
    Ok(Sides { names, files, paths, events, steps, later, origins, problems })
}

/// The id of a commit that the user names.
pub(super) fn given(tree: &Path, name: &str) -> Result<String> {
    if name.starts_with(['-', '.']) || name.contains("..") {
        bail!("{name} is not a file, commit or range A..B; several commits are given one by one");
    }
    commit(tree, name).map_err(|error| match is_checkout(tree) {
        true => anyhow!("{error}, nor is {name} a file"),
        false => anyhow!("{name} is not a file, and --tree {} is not a checkout, which has commits", tree.display()),
    })
}

/// What is missing in a shallow clone; `None` if it is complete.
pub(super) fn cut(tree: &Path) -> Option<String> {
    let said = git(tree, &["rev-parse", "--is-shallow-repository"], &[], vec![]).ok()?;
    let cut = || format!("{} is a shallow clone: older commits, and most tags, are not there", tree.display());
    said.starts_with(b"true").then(cut)
}

/// The first parent of a commit.
pub(super) fn parent(tree: &Path, id: &str) -> Result<String> {
    commit(tree, &format!("{id}^")).map_err(|_| {
        anyhow!("{id} has no parent to compare with: it is the first commit, or a shallow clone ends there")
    })
}

/// Those of the commits that are merges.
pub(super) fn merges(tree: &Path, ids: &[String]) -> Result<BTreeSet<String>> {
    let said = git(tree, &["rev-list", "--no-walk", "--merges", "--stdin"], &[], (ids.join("\n") + "\n").into_bytes())?;
    Ok(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
}

/// The commits in topological order, oldest first, whatever their dates.
pub(super) fn oldest_first(tree: &Path, ids: &[String]) -> Result<Vec<String>> {
    let base = git(tree, &["merge-base", "--octopus"], ids, vec![]).unwrap_or_default();
    let base = String::from_utf8_lossy(&base).trim().to_owned();
    let but = if base.is_empty() { Vec::new() } else { vec!["--not".to_owned(), format!("{base}^@")] };
    let said = git(tree, &["rev-list", "--topo-order", "--reverse"], &[ids, &but].concat(), vec![])?;
    let said = String::from_utf8_lossy(&said);
    Ok(said.lines().filter(|id| ids.iter().any(|asked| asked == id)).map(str::to_owned).collect())
}

/// The id of a commit.
pub(in crate::commands) fn commit(tree: &Path, name: &str) -> Result<String> {
    let asked = format!("{name}^{{commit}}");
    let answer = git(tree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &asked], &[], vec![]);
    let answer =
        answer.with_context(|| format!("{name} is not a commit of {} (a shallow clone has few)", tree.display()))?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}

fn names(list: &[u8]) -> Vec<String> {
    list.split(|&b| b == 0).filter(|n| !n.is_empty()).map(|n| String::from_utf8_lossy(n).into_owned()).collect()
}

/// The files and links of a commit, sorted by path: mode, object and path of each.
fn entries(tree: &Path, commit: &str, paths: &[String]) -> Result<Vec<(u32, String, String)>> {
    // With `--format` git up to 2.42 quotes paths in spite of `-z`.
    let list = git(tree, &["ls-tree", "-r", "-z", "--full-tree", commit, "--"], paths, vec![])?;
    let entry = |line: String| {
        // Mode, type and object, then a tab and the path.
        let (object, path) = line.split_once('\t')?;
        let mut words = object.split(' ');
        Some((u32::from_str_radix(words.next()?, 8).ok()?, words.nth(1)?.to_owned(), path.to_owned()))
    };
    Ok(names(&list).into_iter().filter_map(entry).filter(|(mode, ..)| *mode != SUBMODULE).collect())
}

/// The files of a commit, sorted by path; links are not followed.
pub(super) fn files(
    tree: &Path,
    commit: &str,
    paths: &[String],
    is_wanted: &dyn Fn(&str) -> bool,
    problems: &mut Vec<String>,
) -> Result<Vec<Raw>> {
    let mut entries = entries(tree, commit, paths)?;
    entries.retain(|(_, _, path)| is_wanted(path));
    entries.iter().filter(|(mode, ..)| *mode == LINK).for_each(|(.., path)| trees::leave_link(path, problems));
    entries.retain(|(mode, ..)| *mode != LINK);
    let texts = texts(tree, entries.iter().map(|(_, id, _)| id.as_str()))?;
    let found = entries.into_iter().zip(texts).map(|((_, id, path), text)| {
        let text = text.with_context(|| {
            format!("the checkout has no {path} of {commit} ({id}); schedlab fetches nothing for a partial clone")
        })?;
        Ok((path, text))
    });
    found.collect()
}

/// Number of files whose contents are held in memory: some 60 MB for a kernel.
const AT_ONCE: usize = 4096;

/// Writes the files of a commit into `place`, an empty directory. `git checkout-index` would run the filters in the
/// checkout's configuration (`filter.*.smudge`).
pub(in crate::commands) fn write_files(tree: &Path, commit: &str, place: &Path) -> Result<()> {
    let mut entries = entries(tree, commit, &[])?;
    // Links last, so that no file is written through one.
    entries.in_order_by_key(|entry| entry.0 == LINK);
    for part in entries.chunks(AT_ONCE) {
        let texts = texts(tree, part.iter().map(|(_, id, _)| &**id))?;
        for ((mode, id, path), text) in part.iter().zip(texts) {
            let text = text.with_context(|| format!("the checkout has no {path} of {commit} ({id})"))?;
            let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || path.contains(char::REPLACEMENT_CHARACTER) {
                bail!("{commit} has a file `{path}`, which is no path of UTF-8 inside the tree");
            }
            let file = place.join(path);
            write_file(&file, *mode, &text).with_context(|| format!("{} cannot be written", file.display()))?;
        }
    }
    Ok(())
}

/// Modes of the entries in a git tree.
pub(super) const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

fn write_file(file: &Path, mode: u32, text: &[u8]) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    if mode == LINK {
        return symlink(OsStr::from_bytes(text), file);
    }
    // 0o644 or 0o755, as in git, reduced by the umask.
    OpenOptions::new().write(true).create_new(true).mode(mode & 0o777).open(file)?.write_all(text)
}

/// The contents of objects, given as `ID` or `COMMIT:PATH` without newlines; `None` if an object does not exist.
pub(super) fn texts<'a>(tree: &Path, names: impl Iterator<Item = &'a str>) -> Result<Vec<Option<Vec<u8>>>> {
    let asked: Vec<u8> = names.flat_map(|name| [name.as_bytes(), b"\n"].concat()).collect();
    let count = asked.iter().filter(|&&b| b == b'\n').count();
    let said = git(tree, &["cat-file", "--batch=%(objectsize)"], &[], asked)?;
    let mut rest = &said[..];
    let mut one = || {
        // For an object: size, newline, content, newline; for a missing one its name and a word.
        let end = rest.iter().position(|&b| b == b'\n')?;
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| size.parse::<usize>().ok());
        let text = size.and_then(|size| rest.get(end + 1..end + 1 + size));
        rest = rest.get(end + 1 + size.map_or(0, |size| size + 1)..).unwrap_or_default();
        text.map(<[u8]>::to_vec)
    };
    Ok((0..count).map(|_| one()).collect())
}

/// The files of a commit that contain one of the words.
pub(super) fn with_words(tree: &Path, commit: &str, words: &[String]) -> Result<Vec<String>> {
    let asked =
        ["grep", "-l", "-z", "-a", "-F", "-w", "--no-color", "--full-name", "--no-recurse-submodules", "-f", "-"];
    match git(tree, &[&asked[..], &[commit]].concat(), &[], words.join("\n").into_bytes()) {
        Ok(found) => {
            let path = |name: String| name.strip_prefix(commit)?.strip_prefix(':').map(str::to_owned);
            Ok(names(&found).into_iter().filter_map(path).collect())
        }
        // This is how git reports that there are none.
        Err(error) if error.to_string() == "git grep: exit status: 1" => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The output of git for `input`, which is written while the output is read: either may be larger than a pipe.
pub(in crate::commands) fn git(tree: &Path, arguments: &[&str], paths: &[String], input: Vec<u8>) -> Result<Vec<u8>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree).args(["--no-pager", "--literal-pathspecs"]);
    git.args(["-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null"]);
    git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    git.args(arguments).args(paths).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = git.spawn().context("the program git cannot be run")?;
    let (to, from, said) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (to, from, said) = to.zip(from).zip(said).map(|((a, b), c)| (a, b, c)).context("git has no pipes")?;
    let (writer, listener) = (pipe::feed(to, input), pipe::drain(said));
    let mut answer = Vec::new();
    // This also closes the pipe, which ends a git with more output.
    let read = from.take(trees::MAX_BYTES + 1).read_to_end(&mut answer);
    let status = child.wait()?;
    read.context("git's output cannot be parsed")?;
    if answer.len() as u64 > trees::MAX_BYTES {
        bail!("git {} prints more than {} MiB: give fewer files", arguments[0], trees::MAX_BYTES >> 20);
    }
    let said = listener.bytes();
    let said = String::from_utf8_lossy(&said[..said.len().min(4096)]).trim().to_owned();
    let written = writer.end();
    if !status.success() {
        let said = if said.is_empty() { status.to_string() } else { said };
        bail!("git {}: {said}", arguments[0]);
    }
    written.context("git has not read its input")?;
    Ok(answer)
}
