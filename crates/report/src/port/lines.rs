//! The lines of `kernel port --json`: a hunk, a whole file, a skipped part of the series, a patch that was built.

use serde::Serialize;

/// A hunk of the series.
#[derive(Debug, Serialize)]
pub(super) struct PortHunk {
    /// Subject of its patch.
    pub(super) patch: String,
    /// File of the series that the patch is from.
    pub(super) from: String,
    /// What becomes of the patch: `present`, `clean`, `adapted`, `part`, `left out`.
    pub(super) outcome: &'static str,
    /// File that it changes.
    pub(super) file: String,
    /// Its number in the series, from 1.
    pub(super) hunk: usize,
    /// What GNU patch does: `applies`, `offset`, `fuzz`, `fails`.
    pub(super) verdict: &'static str,
    /// What blocks it, whatever its lines are.
    pub(super) obstacle: Option<&'static str>,
    /// Why the place that patch finds is doubted.
    pub(super) flagged: Option<String>,
    /// Where it belongs.
    pub(super) place: Option<PortPlace>,
    /// A hunk made for this tree, where patch fails or is doubted.
    pub(super) proposal: Option<String>,
    /// How far the proposal is to be trusted: `sure`, `likely`, `guess`.
    pub(super) confidence: Option<&'static str>,
    /// Whether its new lines are there already.
    pub(super) present: bool,
    /// The commit of the tree's history that is its patch.
    pub(super) history: Option<PortHistory>,
    /// Commits that the patch is said to fix.
    pub(super) fixes: Vec<PortFixed>,
    /// Whether `--write` takes it.
    pub(super) taken: bool,
    /// Of one that is left out: what the lines that it changes use and the tree lacks, three names at most.
    pub(super) gone: Vec<String>,
    /// Of the same: how many of the lines that it changes are nowhere in the file.
    pub(super) gone_lines: usize,
    /// Functions and members that it, or its proposal, defines and the file has already, so that it would not compile. A
    /// proposal that does is left out.
    pub(super) twice: Vec<String>,
    /// Of half of a move, that is of a function, type or macro that its patch takes from one place to another: why it is left
    /// out or present because of the other half.
    pub(super) half: Option<String>,
    /// What the tree lacks for it: names, then states that other functions change there, then commits.
    pub(super) needs: Vec<PortNeed>,
}

/// A place in the tree.
#[derive(Debug, Serialize)]
pub(super) struct PortPlace {
    /// File of the tree.
    pub(super) file: String,
    /// Function, struct or table.
    pub(super) function: String,
    /// Line.
    pub(super) line: usize,
}

/// A commit in the history of the tree.
#[derive(Debug, Serialize)]
pub(super) struct PortHistory {
    /// Its id.
    pub(super) commit: String,
    /// Its subject.
    pub(super) subject: String,
    /// What it was known by: `same commit`, `same patch-id`, `names the same origin`, `same subject`.
    pub(super) by: &'static str,
    /// The commit that took it back.
    pub(super) reverted_by: Option<String>,
}

/// A commit that a patch fixes.
#[derive(Debug, Serialize)]
pub(super) struct PortFixed {
    /// Its id.
    pub(super) commit: String,
    /// Its subject.
    pub(super) subject: String,
    /// The commit of the tree that is it; `None` where the tree has not got it.
    pub(super) there: Option<String>,
}

/// What the tree lacks, by `kind`; members of other kinds are absent.
#[derive(Debug, Default, Serialize)]
pub(super) struct PortNeed {
    /// `file`, `header`, `type`, `function`, `field`, `name`, `signature`; `state` for what other functions write; `commit`.
    pub(super) kind: &'static str,
    /// The name as it is used; of a commit its id.
    pub(super) name: String,
    /// For a field or state, the struct that it is in, if that could be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<String>,
    /// Added lines that use it, or that the commit brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<usize>,
    /// Names of the tree that could be meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instead: Option<Vec<String>>,
    /// The last release that had it, where the tree's history tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_in: Option<String>,
    /// Functions that write the state in `--from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_writers: Option<Vec<String>>,
    /// Functions that write it in the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target_writers: Option<Vec<String>>,
    /// What only one of the two does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) differences: Option<Vec<PortDifference>>,
    /// Functions of both that write it in other lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rewritten: Option<usize>,
    /// Subject of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    /// Names that the commit brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) brought: Option<Vec<String>>,
    /// Whether the tree has the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) there: Option<bool>,
    /// What it was known by there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<&'static str>,
    /// The commit that took it back there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reverted_by: Option<String>,
    /// What becomes of it, rehearsed alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) alone: Option<&'static str>,
}

/// A function that writes or reads a state in one of the two trees only.
#[derive(Debug, Serialize)]
pub(super) struct PortDifference {
    /// The function.
    pub(super) function: String,
    /// Its file.
    pub(super) file: String,
    /// Its line.
    pub(super) line: usize,
    /// The tree that has it: `source` or `target`.
    #[serde(rename = "in")]
    pub(super) side: &'static str,
    /// What it does: `reads`, `sets`, `clears`, `changes`, `transfers`.
    pub(super) does: Vec<&'static str>,
    /// Functions by which it does so.
    pub(super) through: Vec<String>,
}

/// A file that gets another name or mode, or that comes or goes without a line.
#[derive(Debug, Serialize)]
pub(super) struct PortFile {
    /// Subject of its patch.
    pub(super) patch: String,
    /// File of the series that the patch is from.
    pub(super) from: String,
    /// What becomes of the patch: `present`, `clean`, `adapted`, `part`, `left out`.
    pub(super) outcome: &'static str,
    /// The file.
    pub(super) file: String,
    /// What happens to it: `renamed`, `copied`, `created`, `deleted`, `changed`.
    pub(super) change: &'static str,
    /// Its new name.
    pub(super) to: Option<String>,
    /// Its modes before and after, six octal digits.
    pub(super) modes: Option<[String; 2]>,
    /// What blocks it.
    pub(super) obstacle: Option<&'static str>,
    /// Whether the tree is so already.
    pub(super) present: bool,
    /// Whether `--write` takes it.
    pub(super) taken: bool,
}

/// A part of the series that was not rehearsed.
#[derive(Debug, Serialize)]
pub(super) struct PortSkipped {
    /// Subject of its patch.
    pub(super) patch: String,
    /// File of the series that the patch is from.
    pub(super) from: String,
    /// Its line in that file.
    pub(super) line: usize,
    /// Why.
    pub(super) skipped: String,
}

/// A patch that was compiled with those before it.
#[derive(Debug, Serialize)]
pub(super) struct PortBuilt {
    /// Its subject.
    pub(super) patch: String,
    /// File of the series that it is from.
    pub(super) from: String,
    /// `compiled`, `failed`, or `unchanged` where nothing of it is taken.
    pub(super) build: &'static str,
    /// The kernel with the whole series, `build:NAME`.
    pub(super) kernel: Option<String>,
    /// Its files that this configuration does not compile.
    pub(super) not_compiled: Vec<String>,
    /// The compiler's errors.
    pub(super) errors: Vec<PortError>,
    /// What they say that the tree lacks, and commits that brought it.
    pub(super) needs: Vec<PortNeed>,
    /// The first lines of the compiler, where no error could be read.
    pub(super) said: Option<String>,
    /// Functions and counters of the patch that were counted in a guest.
    pub(super) ran: Vec<PortRan>,
}

/// An error of the compiler.
#[derive(Debug, Serialize)]
pub(super) struct PortError {
    /// File.
    pub(super) file: String,
    /// Line.
    pub(super) line: usize,
    /// Function that it is in.
    pub(super) function: Option<String>,
    /// What the compiler said.
    pub(super) message: String,
    /// What it lacks.
    pub(super) need: Option<PortNeed>,
}

/// A function or counter in a guest.
#[derive(Debug, Serialize)]
pub(super) struct PortRan {
    /// Its name.
    pub(super) name: String,
    /// How often.
    pub(super) count: Option<u64>,
    /// Why that is not known.
    pub(super) unknown: Option<String>,
}
