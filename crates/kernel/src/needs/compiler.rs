//! Reads the errors of a compiler and linker on a patched tree as things that the tree lacks. The messages are those of
//! gcc in the C locale; of other errors only the place is known.

use super::{Need, NeedKind};
use schedlab_plan::InOrder;

/// An error of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The file as the compiler names it; empty where it names none.
    pub file: String,
    /// Its line; 0: unknown.
    pub line: usize,
    /// The function that it is in, where that was said.
    pub function: Option<String>,
    /// The message.
    pub message: String,
    /// What is missing, where the message says so.
    pub need: Option<Need>,
}

/// The errors in a build's standard error, in order and without duplicates; a name that is missing in several lines of
/// a file gives one for each line. `source` is the source directory, which is stripped from file names.
pub fn build_errors(log: &str, source: &str) -> Vec<BuildError> {
    let (mut out, mut function): (Vec<BuildError>, Option<(String, String)>) = (Vec::new(), None);
    for line in log.lines() {
        let line = line.trim_end();
        if let Some((file, name)) = in_function(line) {
            function = Some((file.to_owned(), name.to_owned()));
            continue;
        }
        if line.ends_with(": At top level:") {
            function = None;
        }
        let Some((file, number, message)) = error(line) else { continue };
        let of = function.as_ref().filter(|(of, _)| of == file).map(|(_, name)| name.clone());
        let found = BuildError {
            file: relative(file, source).to_owned(),
            line: number,
            function: of,
            message: message.to_owned(),
            need: need(message, file),
        };
        if !out.contains(&found) {
            out.push(found);
        }
    }
    out
}

/// What these errors say is missing, the worst first; `lines` is the number of errors.
pub fn lacking(build_errors: &[BuildError]) -> Vec<Need> {
    let mut out: Vec<Need> = Vec::new();
    let needs = || build_errors.iter().filter_map(|build_error| build_error.need.as_ref());
    // A macro called with the wrong number of arguments is not expanded, so its name is then undeclared as well.
    let is_macro = |name: &str| needs().any(|need| need.kind == NeedKind::Signature && need.name == name);
    for need in needs().filter(|need| need.kind != NeedKind::Name || !is_macro(&need.name)) {
        let is_it = |other: &&mut Need| (other.kind, &other.name, &other.of) == (need.kind, &need.name, &need.of);
        match out.iter_mut().find(is_it) {
            Some(other) => other.lines += 1,
            None => out.push(need.clone()),
        }
    }
    out.in_order_by_key(|need| (need.kind, usize::MAX - need.lines));
    out
}

fn relative<'a>(file: &'a str, source: &str) -> &'a str {
    file.strip_prefix(source).map_or(file, |rest| rest.trim_start_matches('/')).trim_start_matches("./")
}

/// `FILE: In function 'NAME':`
fn in_function(line: &str) -> Option<(&str, &str)> {
    let (file, rest) = line.split_once(": In function '")?;
    rest.strip_suffix("':").map(|name| (file, name))
}

/// File, line and message of `FILE:LINE:COLUMN: error: MESSAGE`, of a linker error, and of a target that make cannot
/// build.
fn error(line: &str) -> Option<(&str, usize, &str)> {
    for mark in [": fatal error: ", ": error: "] {
        if let Some((place, message)) = line.split_once(mark) {
            let mut parts = place.rsplit(':').map(str::parse::<usize>);
            return match (parts.next(), parts.next()) {
                (Some(Ok(_)), Some(Ok(number))) => Some((place.rsplitn(3, ':').last()?, number, message)),
                (Some(Ok(number)), _) => Some((place.rsplit_once(':')?.0, number, message)),
                _ => Some((place, 0, message)),
            };
        }
    }
    if let Some(at) = line.find("undefined reference to `") {
        // `ld: kernel/x.o: in function `f': kernel/x.c:12: undefined reference to `g'`; some parts may be missing.
        let place = line[..at].trim_end_matches([':', ' ']);
        let named = place.rsplit([' ', '\t']).next().unwrap_or_default();
        let (file, number) = named.rsplit_once(':').unwrap_or((named, ""));
        let number = number.parse().unwrap_or(0);
        return Some((if number > 0 { file } else { "" }, number, &line[at..]));
    }
    line.find("No rule to make target").map(|at| ("", 0, line[at..].trim_end_matches(".  Stop.")))
}

/// What the message says is missing.
fn need(message: &str, file: &str) -> Option<Need> {
    let of_kind = |kind, name: &str| Need {
        kind,
        name: name.to_owned(),
        of: None,
        lines: 1,
        instead: patch_target(message),
        last_in: None,
    };
    let quoted = |before: &str| {
        let (_, rest) = message.split_once(before)?;
        rest.split(['\'', '`']).next().filter(|name| !name.is_empty())
    };
    if let Some((header, _)) = message.split_once(": No such file or directory") {
        return Some(of_kind(NeedKind::Header, header));
    }
    if let Some(target) = quoted("No rule to make target '") {
        let name = target.strip_suffix(".o").map_or(target.to_owned(), |stem| format!("{stem}.c"));
        return Some(of_kind(NeedKind::File, &name));
    }
    if let Some(member) = quoted("has no member named '") {
        let of = message.split(['\'', '`']).nth(1).map(struct_name);
        return Some(Need { of, ..of_kind(NeedKind::Field, member) });
    }
    if let Some(function) = quoted("implicit declaration of function '").or_else(|| quoted("undefined reference to `"))
    {
        return Some(of_kind(NeedKind::Function, function));
    }
    if let Some(name) = quoted("unknown type name '") {
        return Some(of_kind(NeedKind::Type, name));
    }
    let is_incomplete =
        ["incomplete type", "undefined type", "incomplete typedef"].iter().any(|word| message.contains(word));
    if is_incomplete {
        let name = message
            .split(['\'', '`'])
            .find(|part| ["struct ", "union ", "enum "].iter().any(|tag| part.starts_with(tag)));
        return name.map(|name| of_kind(NeedKind::Type, &struct_name(name)));
    }
    let other_arguments =
        ["too few arguments to function '", "too many arguments to function '", "conflicting types for '"];
    if let Some(function) = other_arguments.iter().find_map(|before| quoted(before)).or_else(|| argument_of(message)) {
        return Some(of_kind(NeedKind::Signature, function));
    }
    if message.starts_with("macro \"") && message.contains("arguments") {
        return message.split('"').nth(1).map(|name| of_kind(NeedKind::Signature, name));
    }
    let (name, _) = message.split_once(" undeclared")?;
    let name = name.trim_matches(['\'', '`']);
    // gcc also reports this for a name before a parenthesis at file scope.
    (!name.is_empty() && !file.is_empty()).then(|| of_kind(NeedKind::Name, name))
}

/// `passing argument 2 of 'f' from incompatible pointer type`.
fn argument_of(message: &str) -> Option<&str> {
    let (_, rest) = message.strip_prefix("passing argument ")?.split_once(" of '")?;
    rest.split('\'').next()
}

/// `task_struct` of `struct task_struct` and of `const struct task_struct`.
fn struct_name(quoted: &str) -> String {
    quoted.rsplit(' ').next().unwrap_or(quoted).to_owned()
}

/// What the compiler suggests instead.
fn patch_target(message: &str) -> Vec<String> {
    let rest = message.split_once("did you mean '").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split('\'').next()).map(str::to_owned).into_iter().collect()
}
