//! Compares the functions that a dossier calls changed with those whose code differs between two builds, and finds the
//! reasons for disagreements.

use super::alike::{Alike, alike, but_annotations, but_names};
use super::configured::Configuration;
use super::objects::{Code, objects, plain};
use super::sources::{Static, units};
use super::texts;
use anyhow::Result;
use schedlab_benches::table;
use schedlab_kernel::dossier::{File, FunctionChange, SourceLine, Status, compare};
use schedlab_kernel::source::{Unit, scan};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Names of functions that a dossier calls changed, new, gone or renamed.
pub(crate) type Said = BTreeSet<String>;

/// A tree, and its build.
struct Side {
    /// C files of the folders.
    files: BTreeMap<String, Vec<u8>>,
    /// Headers.
    headers: BTreeMap<String, Vec<u8>>,
    objects: BTreeMap<String, Code>,
    configuration: Configuration,
    build: PathBuf,
}

impl Side {
    fn read(tree: &Path, build: &Path, folders: &[String]) -> Result<Self> {
        let own: Vec<&str> = folders.iter().map(String::as_str).collect();
        Ok(Self {
            files: units(tree, &own)?.into_iter().collect(),
            headers: units(tree, &["include", "arch/x86/include"])?.into_iter().collect(),
            objects: objects(build, folders)?,
            configuration: Configuration::read(build)?,
            build: build.to_owned(),
        })
    }

    /// Whether the build compiled a file, directly or included by another one (`kernel/sched/build_policy.c`).
    fn has_built(&self, file: &str) -> bool {
        let object = |file: &str| self.build.join(Path::new(file).with_extension("o")).exists();
        let Some((folder, name)) = file.rsplit_once('/').filter(|(_, name)| name.ends_with(".c")) else { return true };
        let inclusion = format!("#include\"{name}\"");
        let is_inclusion = |line: &str| line.split_whitespace().collect::<String>() == inclusion;
        let includes = |path: &str, text: &[u8]| {
            path.rsplit_once('/').is_some_and(|(other, _)| other == folder)
                && path != file
                && object(path)
                && String::from_utf8_lossy(text).lines().any(is_inclusion)
        };
        object(file) || self.files.iter().any(|(path, text)| includes(path, text))
    }

    /// The lines of a function that are compiled; empty if the function does not exist.
    fn lines(&self, place: Option<&SourceLine>) -> Vec<String> {
        let Some(place) = place else { return Vec::new() };
        let Some(text) = self.files.get(&place.file).or_else(|| self.headers.get(&place.file)) else {
            return Vec::new();
        };
        let unit = scan(text);
        let function = unit.functions.iter().find(|function| function.line == place.line);
        function.map(|function| self.configuration.left(text, function)).unwrap_or_default()
    }
}

/// Beginnings of the names that the kernel's headers make for a tracepoint.
const TRACERS: [&str; 5] =
    ["trace_event_raw_event_", "perf_trace_", "trace_raw_output_", "__bpf_trace_", "__traceiter_"];

/// The results of both sides.
struct Both<'a> {
    sides: &'a [Side; 2],
    sources: Static,
    /// The dossier's results, by the name in the objects.
    told: BTreeMap<String, Vec<&'a FunctionChange>>,
    differ: BTreeSet<String>,
    /// Functions of `told` whose compiled lines differ, and such functions in headers.
    compiled: HashSet<String>,
    of_headers: HashSet<String>,
    /// Macros and constants that changed, types with changed members, and tracepoints.
    macros: HashSet<String>,
    types: HashSet<String>,
    tracepoints: HashSet<String>,
}

/// `folders` are the folders of the objects.
pub(crate) fn run(trees: [&Path; 2], builds: [&Path; 2], folders: &[String]) -> Result<bool> {
    let sides = [Side::read(trees[0], builds[0], folders)?, Side::read(trees[1], builds[1], folders)?];
    let read = |files: &BTreeMap<String, Vec<u8>>| -> Vec<File> {
        files.iter().map(|(path, text)| File::read(path.clone(), text.clone())).collect()
    };
    let said = compare(&read(&sides[0].files), &read(&sides[1].files)).functions;
    let other: [Vec<File>; 2] = [0, 1].map(|side| read(&differing(&sides[side].headers, &sides[1 - side].headers)));
    let of_headers = compare(&other[0], &other[1]).functions;
    let both = Both::new(&sides, &said, &of_headers);
    let [old, new] = [&sides[0].files, &sides[1].files];
    let of = |files: BTreeMap<String, Vec<u8>>| files.into_keys().collect::<Vec<_>>();
    texts::compare(trees, [of(differing(old, new)), of(differing(new, old))], &both.told.keys().cloned().collect())?;
    both.print();
    Ok(true)
}

/// The files that the other tree lacks, or has with another content.
fn differing(files: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let differs = |(path, text): &(&String, &Vec<u8>)| other.get(*path) != Some(*text);
    files.iter().filter(differs).map(|(path, text)| (path.clone(), text.clone())).collect()
}

impl<'a> Both<'a> {
    fn new(sides: &'a [Side; 2], said: &'a [FunctionChange], of_headers: &[FunctionChange]) -> Self {
        let mut told: BTreeMap<String, Vec<&FunctionChange>> = BTreeMap::new();
        for change in said {
            told.entry(plain(&change.name).to_owned()).or_default().push(change);
            if let Status::RenamedFrom(old) = &change.status {
                told.entry(plain(old).to_owned()).or_default().push(change);
            }
        }
        let objects = [&sides[0].objects, &sides[1].objects];
        let lines = |side: usize, name: &str| objects[side].get(name).map(|code| &code.lines);
        let names: BTreeSet<&String> = objects.iter().flat_map(|all| all.keys()).collect();
        let differ = names.into_iter().filter(|name| lines(0, name) != lines(1, name)).cloned().collect();
        let changed = [0, 1].map(|side| {
            let all = |of: fn(&Side) -> &BTreeMap<String, Vec<u8>>| differing(of(&sides[side]), of(&sides[1 - side]));
            let files = all(|side| &side.headers).into_iter().chain(all(|side| &side.files));
            files.map(|(_, text)| scan(&text)).collect::<Vec<Unit>>()
        });
        let holds = |condition: &str| sides.iter().any(|side| side.configuration.holds(condition) != Some(false));
        let macros = differing_names(&changed, |unit, put| {
            unit.macros.iter().filter(|one| holds(&one.condition)).for_each(|one| put(&one.name, &one.text));
            let enums = unit.types.iter().filter(|one| one.keyword == "enum");
            for (at, one) in enums.flat_map(|one| one.members.iter().enumerate()) {
                put(&one.name, &format!("{at} {}", one.text));
            }
        });
        let types = differing_names(&changed, |unit, put| {
            for one in unit.types.iter().filter(|one| one.keyword != "enum" && !one.name.is_empty()) {
                let members = one.members.iter().map(|member| format!("{} {}", member.text, member.condition));
                put(&one.name, &members.collect::<Vec<_>>().join(";"));
            }
        });
        let tracepoints = differing_names(&changed, |unit, put| {
            for one in unit.invocations.iter().filter(|one| one.name.contains("EVENT")) {
                put(one.arguments.first().map(String::as_str).unwrap_or_default(), &one.arguments.join(","));
            }
        });
        let wanted: HashSet<String> = macros.union(&types).cloned().collect();
        let mut sources = Static::default();
        for (path, text) in sides.iter().flat_map(|side| side.files.iter().chain(&side.headers)) {
            let unit = scan(text);
            sources.add((path, &unit), &holds);
            sources.mention((&unit, text), &wanted, &holds);
        }
        let compiled = |changes: &[FunctionChange]| {
            let of = |change: &&FunctionChange| {
                let [before, after] = compiled_lines(sides, change);
                !but_annotations(&before, &after)
            };
            changes.iter().filter(of).map(|change| plain(&change.name).to_owned()).collect::<HashSet<_>>()
        };
        let (compiled, of_headers) = (compiled(said), compiled(of_headers));
        Self { sides, sources, told, differ, compiled, of_headers, macros, types, tracepoints }
    }

    fn code(&self, name: &str) -> [Option<&Code>; 2] {
        [0, 1].map(|side| self.sides[side].objects.get(name))
    }

    /// The first name that satisfies `is`, among the functions inlined into a function in one of the builds.
    fn inside(&self, name: &str, is: &dyn Fn(&str) -> bool) -> Option<String> {
        self.code(name).into_iter().flatten().find_map(|code| {
            let is_called = |other: &str| code.calls.contains(other) && !code.parts.contains(other);
            let may_be = |other: &str| !is_called(other) && self.sources.is_near(name, other);
            self.sources.find(name, code, &|other| other != name && is(other) && may_be(other))
        })
    }

    /// Why the objects differ and the dossier does not name the function, with the name that is the reason.
    fn of_objects(&self, name: &str) -> (&'static str, String) {
        let inside = |is: &dyn Fn(&str) -> bool| self.inside(name, is);
        let [Some(before), Some(after)] = self.code(name) else {
            return ("it has code of its own in one build only: inlined or split off", String::new());
        };
        let how = alike(&before.lines, &after.lines);
        if how == Alike::Offsets {
            let of = inside(&|other| self.types.contains(other));
            return ("offsets of members alone: a struct changed", of.unwrap_or_default());
        }
        let tracepoint = TRACERS.iter().find_map(|start| name.strip_prefix(start));
        if let Some(point) = tracepoint.filter(|point| self.tracepoints.contains(*point)) {
            return ("it is made of a tracepoint that changed", point.to_owned());
        }
        let reasons: [(&HashSet<String>, &'static str); 3] = [
            (&self.compiled, "it has inlined one that the dossier names"),
            (&self.of_headers, "it has inlined one of a header that changed"),
            (&self.macros, "it uses a macro or a constant that changed"),
        ];
        for (names, reason) in reasons {
            if let Some(found) = inside(&|other| names.contains(other)) {
                return (reason, found);
            }
        }
        let neighbour = before.calls.iter().find(|to| self.differ.contains(*to) && self.is_near(to, before));
        match (how, neighbour, inside(&|other| self.types.contains(other))) {
            (Alike::Constants, _, found) => {
                ("constants alone: a size, a bit or a line number", found.unwrap_or_default())
            }
            (_, _, Some(found)) => ("it uses a struct that changed", found),
            (_, Some(found), _) => ("it calls one of its file that differs: other registers are kept", found.clone()),
            (Alike::Order, ..) => ("the same instructions, other registers or order", String::new()),
            _ => ("not explained", String::new()),
        }
    }

    fn is_near(&self, name: &str, code: &Code) -> bool {
        self.code(name).into_iter().flatten().any(|other| !other.files.is_disjoint(&code.files))
    }

    /// Why the dossier names the function and the objects are the same, with the name that is the reason.
    fn of_dossier(&self, name: &str, change: &FunctionChange) -> (&'static str, String) {
        let places = [&change.before, &change.after];
        let of = |side: usize| places[side].as_ref().map(|place| (&self.sides[side], place));
        // A renamed function is listed under both names, each of which is in one tree.
        let in_one = matches!(change.status, Status::RenamedFrom(_)).then(|| usize::from(plain(&change.name) == name));
        let there: Vec<_> =
            [0, 1].into_iter().filter(|side| in_one.is_none_or(|one| one == *side)).filter_map(of).collect();
        if !there.iter().any(|(side, place)| side.has_built(&place.file)) {
            return ("its file is not compiled", String::new());
        }
        let [before, after] = compiled_lines(self.sides, change);
        if before == after {
            return ("what changed is under an #if that does not hold", String::new());
        }
        let has_code = self.code(name).iter().any(Option::is_some);
        let user = || self.differ.iter().find(|user| self.inside(user, &|other| other == name).is_some());
        if !has_code && let Some(user) = user() {
            return ("it is inlined, and the code around it differs", user.clone());
        }
        match (has_code, but_annotations(&before, &after), but_names(&before, &after)) {
            (_, true, _) => ("annotations alone, which make no code", String::new()),
            (_, _, true) => ("other names alone", String::new()),
            (true, ..) => ("compiles to the same code", String::new()),
            (false, ..) => ("it is inlined or not used, and no code differs", String::new()),
        }
    }

    fn print(&self) {
        let mut rows: BTreeMap<(usize, &str), Vec<String>> = BTreeMap::new();
        let mut put = |rank: usize, (class, by): (&'static str, String), name: &str| {
            let shown = if by.is_empty() { name.to_owned() } else { format!("{name} ({by})") };
            rows.entry((rank, class)).or_default().push(shown);
        };
        for name in self.differ.iter().chain(self.told.keys()).collect::<BTreeSet<_>>() {
            match (self.differ.contains(name), self.told.get(name)) {
                (true, Some(_)) => put(0, ("both say so", String::new()), name),
                (true, None) => put(1, self.of_objects(name), name),
                (false, Some(changes)) => put(2, self.of_dossier(name, changes[0]), name),
                (false, None) => {}
            }
        }
        let who = ["both", "the objects alone", "the dossier alone"];
        let mut table_rows = Vec::new();
        for (rank, who) in who.iter().enumerate() {
            let of = rows.iter().filter(|((of, _), _)| *of == rank);
            let count: usize = of.clone().map(|(_, names)| names.len()).sum();
            table_rows.push(vec![format!("**{who}**"), format!("**{count}**")]);
            let classes = of.filter(|_| rank > 0);
            table_rows.extend(classes.map(|((_, class), names)| vec![(*class).to_owned(), names.len().to_string()]));
        }
        table::print(
            "Changed functions, beside the objects of two builds",
            &["who says so, and why", "functions"],
            &table_rows,
        );
        for ((_, class), names) in rows.iter().filter(|((rank, _), _)| *rank > 0) {
            println!("\n{class}: {}", names.join(", "));
        }
    }
}

/// The lines of a function that each build compiles.
fn compiled_lines(sides: &[Side; 2], change: &FunctionChange) -> [Vec<String>; 2] {
    [sides[0].lines(change.before.as_ref()), sides[1].lines(change.after.as_ref())]
}

/// Names whose texts differ between the two sides; `texts` lists each name of a unit with its text.
fn differing_names(sides: &[Vec<Unit>; 2], texts: impl Fn(&Unit, &mut dyn FnMut(&str, &str))) -> HashSet<String> {
    let of = |units: &[Unit]| {
        let mut out: HashMap<String, BTreeSet<String>> = HashMap::new();
        let mut put = |name: &str, text: &str| {
            out.entry(name.to_owned()).or_default().insert(text.to_owned());
        };
        units.iter().for_each(|unit| texts(unit, &mut put));
        out
    };
    let [before, after] = [of(&sides[0]), of(&sides[1])];
    before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}
