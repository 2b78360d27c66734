//! The page that says what every field of the JSON of the trace analyses is, `docs/traces-json.md`, is written from the
//! comments of the types that are printed: `SCHEDLAB_BLESS=1 cargo test -p schedlab-analyze --test trace_json` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is printed: the command, its type, and the file whose `SCHEMA` it carries; the rows of two have none.
const DOCUMENTS: [(&str, &str, &str); 16] = [
    ("trace latency", "Latency", "latency.rs SCHEMA"),
    ("trace blame", "Blame", "blame/mod.rs SCHEMA"),
    ("trace chains", "Chains", "chains/mod.rs SCHEMA"),
    ("trace inversions", "Inversions", "inversions/mod.rs SCHEMA"),
    ("trace kworkers", "Kworkers", "kworkers/mod.rs SCHEMA"),
    ("trace kworkers RUN", "PooledKworkers", "kworkers/pooled.rs POOLED_SCHEMA"),
    ("trace map", "Overview", "overview.rs SCHEMA"),
    ("trace map --switches", "MapRow", ""),
    ("trace timehist", "TimehistRow", ""),
    ("trace states", "States", "states.rs SCHEMA"),
    ("trace queues", "Queues", "queues/mod.rs SCHEMA"),
    ("trace affine", "Affine", "affine/mod.rs SCHEMA"),
    ("trace slow", "Slow", "slow/mod.rs SCHEMA"),
    ("trace copies", "CopiesOfArms", "copies/joined.rs ARMS_SCHEMA"),
    ("trace diff", "TraceDiff", "diff/mod.rs SCHEMA"),
    ("trace check", "Check", "check.rs SCHEMA"),
];

const HEAD: &str = "# The JSON of the trace analyses

`schedlab trace ANALYSIS FILE --json` prints one document, told apart by `schema`; `timehist` and `map --switches` print an object a
line. `trace explain` prints an object of five documents: `blame`, `chains`, `inversions`, `kworkers`, `map`. A schema's number changes when a field
goes away or changes its meaning; fields may be added. Times end in `_ns` and are whole nanoseconds; those *of the trace's clock* are instants, the others
durations. What is not there is `null`. Every table but for the top one of a document is the shape of an object in it. Cells of a histogram are those of
[FORMAT.md](../FORMAT.md) (histogram_cells), so that distributions of several traces add up cell by cell.

This page is written from the comments of the types that are printed (`crates/analyze/tests/trace_json.rs`).
";

struct Field {
    name: String,
    of: String,
    means: String,
    flattened: bool,
}

type Shapes = BTreeMap<String, Vec<Field>>;

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false => into.push(path),
        }
    }
}

/// Every type of a source that is printed as an object.
fn shapes_of(source: &str, shapes: &mut Shapes) {
    let (mut printed, mut within, mut means, mut flattened) = (false, None::<String>, String::new(), false);
    for line in source.lines().map(str::trim) {
        let attribute = line.starts_with("#[derive");
        printed = (printed && !line.starts_with('}')) || attribute && line.contains("Serialize");
        if !printed {
            (within, means) = (None, String::new());
        } else if let Some(name) = line.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {")) {
            assert!(shapes.insert(name.into(), Vec::new()).is_none(), "two types are called {name}");
            (within, means) = (Some(name.into()), String::new());
        } else if let Some(comment) = line.strip_prefix("///") {
            means = format!("{means} {}", comment.trim());
        } else if line == "#[serde(flatten)]" {
            flattened = true;
        } else if let Some((name, of)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(": ")) {
            let field = Field {
                name: name.into(),
                of: of.trim_end_matches(',').into(),
                means: std::mem::take(&mut means).trim().to_owned(),
                flattened: std::mem::take(&mut flattened),
            };
            shapes.get_mut(within.as_ref().expect("a field is in a struct")).unwrap().push(field);
        }
    }
}

/// A type of Rust as a reader of JSON calls it, and the objects in it.
fn json_type(of: &str, shapes: &Shapes, met: &mut Vec<String>) -> String {
    let inside = |prefix: &str, suffix: &str| of.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    if let Some(inner) = inside("Option<", ">") {
        return format!("{} or null", json_type(inner, shapes, met));
    }
    if let Some(inner) = inside("Vec<", ">").or_else(|| inside("&'static [", "]")) {
        return format!("list of {}", json_type(inner, shapes, met));
    }
    if let Some((inner, times)) = inside("[", "]").and_then(|inner| inner.split_once("; ")) {
        return format!("{times} × {}", json_type(inner, shapes, met));
    }
    if let Some((first, second)) = inside("(", ")").and_then(|inner| inner.split_once(", ")) {
        return format!("[{}, {}]", json_type(first, shapes, met), json_type(second, shapes, met));
    }
    match of {
        "u64" | "u32" | "u16" | "i16" => "integer".into(),
        "f64" => "number".into(),
        "bool" => "boolean".into(),
        "String" | "&'static str" | "char" => "string".into(),
        name => {
            assert!(shapes.contains_key(name), "what is a {name} in JSON?");
            met.push(name.into());
            format!("[{name}](#{})", name.to_lowercase())
        }
    }
}

/// `[`Name`]` is a link in Rust's documents only, and `|` ends a cell.
fn plain(means: &str) -> String {
    means.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

fn rows(name: &str, shapes: &Shapes, met: &mut Vec<String>, page: &mut String) {
    for field in &shapes[name] {
        assert!(!field.means.is_empty(), "{name}.{} says nothing", field.name);
        if field.flattened {
            rows(&field.of, shapes, met, page);
        } else {
            let of = json_type(&field.of, shapes, met);
            let means = if field.name == "schema" { "Which document this is.".into() } else { plain(&field.means) };
            writeln!(page, "| `{}` | {of} | {means} |", field.name).unwrap();
        }
    }
}

fn schema(root: &Path, of: &str) -> Option<String> {
    let (file, constant) = of.split_once(' ')?;
    let source = std::fs::read_to_string(root.join("src/trace").join(file)).unwrap();
    let value = |line: &'_ str| {
        line.trim_start_matches("pub ").strip_prefix(&format!("const {constant}: &str = \"")).map(str::to_owned)
    };
    let line = source.lines().find_map(value);
    Some(line.unwrap_or_else(|| panic!("{file} has no {constant}")).trim_end_matches("\";").to_owned())
}

fn page(root: &Path, shapes: &Shapes) -> String {
    let (mut page, mut told, mut schemas) = (HEAD.to_owned(), BTreeSet::new(), BTreeSet::new());
    for (command, name, of) in DOCUMENTS {
        let title = match schema(root, of) {
            Some(schema) => {
                assert!(schemas.insert(schema.clone()), "two documents are {schema}");
                format!("## `{command}`: `{schema}`")
            }
            None => format!("## `{command}`: each line"),
        };
        let (mut title, mut left) = (Some(title), vec![name.to_owned()]);
        while let Some(name) = left.pop() {
            if told.insert(name.clone()) {
                let title = title.take().unwrap_or_else(|| format!("### {name}"));
                let mut met = Vec::new();
                write!(page, "\n{title}\n\n| field | type | what it is |\n|---|---|---|\n").unwrap();
                rows(&name, shapes, &mut met, &mut page);
                left.extend(met.into_iter().rev());
            }
        }
    }
    page
}

#[test]
fn the_page_says_what_every_field_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("../run/src/histogram.rs")];
    sources(&root.join("src/trace"), &mut files);
    let mut shapes = Shapes::new();
    files.iter().for_each(|file| shapes_of(&std::fs::read_to_string(file).unwrap(), &mut shapes));
    let (page, path) = (page(root, &shapes), root.join("../../docs/traces-json.md"));
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).find(|(kept, made)| kept != made);
    assert!(kept == page, "docs/traces-json.md is old, {differs:?}: SCHEDLAB_BLESS=1 cargo test -p schedlab-analyze");
}
