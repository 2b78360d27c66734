//! What added lines use and the tree lacks: a hunk that applies need not compile.
//!
//! Nothing is preprocessed. A name counts as present if it is in the code of a header, in the file itself where it is
//! visible, or defined by an added line. So a name that is missing in some configurations only is not reported.

mod compiler;
pub(crate) mod declared;
mod headers;
mod own;
mod paths;
pub(crate) mod side;
pub(crate) mod uses;

pub use compiler::{BuildError, build_errors, lacking};
pub use headers::Headers;
pub use paths::Paths;

use crate::names::words;
use crate::port::{Finding, Obstacle, Port, Read, section_name};
use crate::series::{Hunk, Line, Patch};
use own::{Own, Scope};
use std::collections::HashSet;
use uses::{Added, Use, added};

/// The kind of thing that is missing, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeedKind {
    /// The file that the hunk is for.
    File,
    /// An included header.
    Header,
    /// `struct`, `union` or `enum`.
    Type,
    /// A function or a macro with arguments.
    Function,
    /// A member.
    Field,
    /// A variable, a constant or a typedef.
    Name,
    /// A function or macro that takes other arguments in the tree; only reported by a compiler.
    Signature,
}

/// Something that the tree lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub kind: NeedKind,
    /// Its name as it is used.
    pub name: String,
    /// For a member, the struct that lacks it, if that could be found.
    pub of: Option<String>,
    /// Added lines of the hunk that use it.
    pub lines: usize,
    /// Names in the tree that could be meant: they differ by letter case, or are in another folder.
    pub instead: Vec<String>,
    /// The last release that had it, where the tree's history tells.
    pub last_in: Option<String>,
}

/// At most this many names are listed of what is gone.
const MAX_GONE: usize = 3;

/// For each finding of a rehearsal, what its hunk needs, the worst first. For hunks that are left out, also sets what
/// is gone of the code that they change. `read` returns the files of the tree as they were before the series.
pub fn needs<E>(
    patches: &[Patch],
    port: &mut Port,
    headers: &Headers,
    paths: &Paths,
    read: &mut Read<'_, E>,
) -> Result<Vec<Vec<Need>>, E> {
    let mut series = Series::default();
    let mut out = Vec::with_capacity(port.findings.len());
    let mut findings = port.findings.iter_mut();
    for patch in patches {
        series.made.extend(patch.files.iter().filter_map(|file| file.new.clone()));
        let parts: Vec<Vec<Added>> = patch.files.iter().map(|file| file.hunks.iter().map(added).collect()).collect();
        let mut of_patch: Vec<&mut Finding> = findings.by_ref().take(parts.iter().map(Vec::len).sum()).collect();
        // What a left-out hunk defines is not in the tree.
        let defining = parts.iter().flatten().zip(&of_patch).filter(|(_, found)| found.is_taken || found.is_present);
        series.defined.extend(defining.flat_map(|(part, _)| part.defined.iter().cloned()));
        for (file, parts) in patch.files.iter().zip(&parts) {
            let mut found: Vec<&mut Finding> = of_patch.drain(..file.hunks.len()).collect();
            let Some(path) = found.first().map(|found| found.file.clone()) else { continue };
            if !file.is_c() {
                out.extend(found.iter().map(|finding| no_file(finding, paths).into_iter().collect()));
                continue;
            }
            let text = read(&path)?.unwrap_or_default();
            let own = Own::new(&path, &text);
            let functions: Vec<Option<String>> =
                file.hunks.iter().zip(&found).map(|(hunk, finding)| function(hunk, finding)).collect();
            for (number, finding) in found.iter_mut().enumerate() {
                let is_with =
                    |at: &usize| *at == number || functions[number].is_some() && functions[*at] == functions[number];
                let with: Vec<&Added> = (0..parts.len()).filter(is_with).map(|at| &parts[at]).collect();
                let with = if functions[number].is_some() || is_new(&file.hunks[number]) { with } else { Vec::new() };
                let scope = own.scope(functions[number].as_deref(), &with);
                let mut needs: Vec<Need> = no_file(finding, paths).into_iter().collect();
                if !finding.is_present {
                    let mut context = Context { headers, paths, series: &series, own: &own, scope, read };
                    if !finding.is_taken && finding.obstacle.is_none() {
                        let changed = changed(&file.hunks[number]);
                        finding.gone = gone(&file.hunks[number], &changed, &mut context)?;
                        finding.gone_lines = own.lacks(&changed);
                    }
                    let mut others = of_hunk(&parts[number], &mut context)?;
                    if finding.obstacle == Some(Obstacle::NoFile) {
                        others.retain(|need| !is_of_the_file(need, &file.hunks[number]));
                    }
                    for need in others {
                        let rank = |need: &Need| (need.kind, usize::MAX - need.lines);
                        let at = needs.partition_point(|other| (rank(other), &other.name) < (rank(&need), &need.name));
                        needs.insert(at, need);
                    }
                }
                out.push(needs);
            }
        }
    }
    Ok(out)
}

/// A line that begins a function or another declaration.
fn begins(line: &Line) -> bool {
    let is_label = line.text().trim_ascii_end().ends_with(b":");
    line.text().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') && !is_label
}

/// The first added line begins a function or other declaration, so nothing is added to an existing function.
fn is_new(hunk: &Hunk) -> bool {
    let mut added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(text) if !text.trim_ascii().is_empty()));
    added.next().is_some_and(begins)
}

/// The function that a hunk changes, if it is only one.
fn function(hunk: &Hunk, finding: &Finding) -> Option<String> {
    let place = finding.rehearsed.as_ref()?.place.as_ref()?;
    let mut changed = hunk.lines.iter().skip_while(|line| matches!(line, Line::Context(_)));
    Some(&place.function).filter(|name| !name.is_empty() && !changed.any(begins)).cloned()
}

/// A name that the missing file used before the hunk: likely a variable of the function around it.
fn is_of_the_file(need: &Need, hunk: &Hunk) -> bool {
    let has = |line: &&[u8]| words(line).any(|word| word == need.name.as_bytes());
    need.kind == NeedKind::Name && hunk.old_side().iter().any(has)
}

fn no_file(finding: &Finding, paths: &Paths) -> Option<Need> {
    let instead = paths.like(&finding.file);
    let need = Need { kind: NeedKind::File, name: finding.file.clone(), of: None, lines: 0, instead, last_in: None };
    (finding.obstacle == Some(Obstacle::NoFile)).then_some(need)
}

/// What the patches so far have added.
#[derive(Default)]
struct Series {
    defined: HashSet<String>,
    made: HashSet<String>,
}

struct Context<'a, 'b, E> {
    headers: &'a Headers,
    paths: &'a Paths,
    series: &'a Series,
    own: &'a Own<'a>,
    scope: Scope,
    read: &'a mut Read<'b, E>,
}

/// A missing use: its kind, the struct of a member, and similar names.
type Lack = (NeedKind, Option<String>, Vec<String>);

impl<E> Context<'_, '_, E> {
    /// A header or the series has the name, or a macro can build it.
    fn has(&self, name: &str) -> bool {
        let is_brought = |name: &str| self.series.defined.contains(name) || self.own.all.has(name);
        self.headers.has(name)
            || self.series.defined.contains(name)
            || [self.headers, &self.own.all].into_iter().any(|by| by.make(name, is_brought))
    }

    /// What is missing for a use.
    fn missing(&mut self, used: &Use) -> Result<Option<Lack>, E> {
        let name = used.name();
        let lacks = |is_there: bool, kind| (!is_there).then(|| (kind, None, Vec::new()));
        Ok(match used {
            Use::Header { is_local, .. } => {
                let plain = name.trim_start_matches("../");
                let is_made = |path: &String| path.strip_suffix(plain).is_some_and(|rest| rest.ends_with('/'));
                let found = self.paths.header(name, *is_local, &self.own.path);
                let is_made = self.series.made.iter().any(is_made);
                found.err().filter(|_| !is_made).map(|instead| (NeedKind::Header, None, instead))
            }
            Use::Type { .. } => lacks(self.own.all.has(name) || self.has(name), NeedKind::Type),
            Use::Call { .. } => lacks(self.own.all.has(name) || self.has(name), NeedKind::Function),
            Use::Name { .. } => lacks(self.own.sees(name, &self.scope) || self.has(name), NeedKind::Name),
            Use::Field { of, .. } => match self.own.type_of(of, &self.scope, self.headers, self.read)? {
                Some((of, body)) => {
                    let is_macro = self.headers.has_macro(name) || self.own.all.has_macro(name);
                    let is_brought = self.series.defined.contains(name);
                    let is_there = body.words.iter().any(|word| word == name.as_bytes()) || is_macro || is_brought;
                    (!is_there).then(|| (NeedKind::Field, Some(of), Vec::new()))
                }
                None => lacks(self.own.all.has(name) || self.has(name), NeedKind::Field),
            },
        })
    }
}

/// A hunk that adds the lines that this one changes: its removed lines, or its context if it only adds lines.
fn changed(hunk: &Hunk) -> Hunk {
    let removes = hunk.lines.iter().any(|line| matches!(line, Line::Removed(text) if !text.trim_ascii().is_empty()));
    let lines = hunk.lines.iter().filter_map(|line| match line {
        Line::Removed(text) => Some(Line::Added(text.clone())),
        Line::Context(text) if removes => Some(Line::Context(text.clone())),
        Line::Context(text) => Some(Line::Added(text.clone())),
        Line::Added(_) => None,
    });
    Hunk { lines: lines.collect(), ..hunk.clone() }
}

/// What the tree no longer has of the code that a hunk changes: the function around it, and what the `changed` lines
/// use.
fn gone<E>(hunk: &Hunk, changed: &Hunk, context: &mut Context<'_, '_, E>) -> Result<Vec<String>, E> {
    let section = section_name(&hunk.section).and_then(|name| std::str::from_utf8(name).ok());
    let is_gone = |name: &&str| !context.own.all.has(name) && !context.has(name);
    let mut out: Vec<String> = section.filter(is_gone).map(str::to_owned).into_iter().collect();
    for (used, _) in &added(changed).uses {
        let name = used.name();
        let is_reported =
            !matches!(used, Use::Name { .. } | Use::Header { .. }) && !out.iter().any(|other| other == name);
        if out.len() < MAX_GONE && is_reported && context.missing(used)?.is_some() {
            out.push(name.to_owned());
        }
    }
    Ok(out)
}

fn of_hunk<E>(part: &Added, context: &mut Context<'_, '_, E>) -> Result<Vec<Need>, E> {
    let mut out: Vec<Need> = Vec::new();
    for (used, lines) in &part.uses {
        let Some((kind, of, instead)) = context.missing(used)? else { continue };
        match out.iter_mut().find(|need| need.kind == kind && need.name == used.name()) {
            Some(need) => need.lines += lines,
            None => {
                let name = used.name().to_owned();
                out.push(Need { kind, name, of, lines: *lines, instead, last_in: None });
            }
        }
    }
    Ok(out)
}
