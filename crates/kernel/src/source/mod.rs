//! What a C file of the kernel defines, read without preprocessing: functions, structs, tables, macros, and the
//! invocations that define things by macro (`SYSCALL_DEFINE3`, `TRACE_EVENT`, `EXPORT_SYMBOL`, `module_param`).
//!
//! All branches of an `#if` are read except those of `#if 0`; each item has the conditions that apply to it. What does
//! not look like a declaration is listed in [`Unit::skipped`].

mod arguments;
mod assigned;
pub(crate) mod conditions;
pub(crate) mod head;
pub(crate) mod lex;
mod members;
mod scan;
mod spell;

pub(crate) use arguments::{passed, taken};
pub(crate) use assigned::assigned;
pub use scan::scan;
pub use spell::{code_lines, inner_conditions};

/// What one file defines, in the order of the file. Lines count from 1.
#[derive(Debug, Default)]
pub struct Unit {
    /// Functions with a body.
    pub functions: Vec<Function>,
    /// Structs, unions and enums.
    pub types: Vec<Type>,
    /// Objects with an initialiser in braces.
    pub tables: Vec<Table>,
    /// Objects with a plain initialiser.
    pub variables: Vec<Variable>,
    /// Assignments to `sysctl_…` members in a function with `init` in its name: defaults of a network namespace.
    pub defaults: Vec<Variable>,
    /// `#define`s, including those in function bodies.
    pub macros: Vec<Macro>,
    /// What looks like a call at file scope, or registers a name.
    pub invocations: Vec<Invocation>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
}

/// A function with a body.
#[derive(Debug)]
pub struct Function {
    /// For a function that a macro defines, the macro's first argument: `futex` for `SYSCALL_DEFINE6(futex, …)`.
    pub name: String,
    /// The macro that defines it.
    pub by: Option<String>,
    /// From the first word to the closing parenthesis of the parameters, white space normalised.
    pub signature: String,
    /// Line of the first word.
    pub first_line: usize,
    /// Line of its name.
    pub line: usize,
    /// Line of the closing brace.
    pub last_line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
    /// Bytes from the first word to the closing brace.
    pub bytes: std::ops::Range<usize>,
    /// What it calls by name, each once, in the order of the first call.
    pub calls: Vec<Call>,
}

/// A call in a body: `name(…)`, or `x->name(…)` and `x.name(…)` if `is_member`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Called through a member.
    pub is_member: bool,
    /// Line of its name.
    pub line: usize,
}

/// A struct, union or enum with its members.
#[derive(Debug)]
pub struct Type {
    /// `struct`, `union` or `enum`.
    pub keyword: String,
    /// The tag; for an anonymous type the name of the typedef or of the object; or empty.
    pub name: String,
    /// The name is that of an object: `static struct { … } name;`.
    pub is_object: bool,
    /// Line of its first word.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
    /// In the order of the file.
    pub members: Vec<Member>,
}

/// A member of a struct or union, including those of anonymous ones in it, or a constant of an enum.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// As declared, or the enum constant's value, white space normalised.
    pub text: String,
    /// Line of its name.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
}

/// An object with an initialiser in braces: a table of operations, an array of sysctls.
#[derive(Debug)]
pub struct Table {
    /// `sched_class` for `struct sched_class fair_sched_class`; empty if a macro declares the object, whose name is
    /// then `DEFINE_SCHED_CLASS(fair)`.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Line of its name.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
    /// Designated entries; undesignated values are not kept.
    pub entries: Vec<Entry>,
}

/// `.member = value` in an initialiser.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Number of the array element that contains it.
    pub element: usize,
    /// The member, with `[…]` or `.inner` after it if it has one.
    pub member: String,
    /// As written, white space normalised.
    pub value: String,
    /// Line of the member.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
}

/// An object at file scope with a plain initialiser: the default of a knob.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// As written, white space normalised.
    pub value: String,
    /// Line of its name.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
}

/// A `#define`.
#[derive(Debug)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// The text after the name, white space normalised: parameters and body, or the value.
    pub text: String,
    /// Line of its name.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
}

/// `NAME(arguments)` at file scope, in an initialiser, or in a function (`function` is set): a definition or
/// registration by macro or call. In functions only calls with a string argument are kept, as registrations.
#[derive(Debug)]
pub struct Invocation {
    /// Its name.
    pub name: String,
    /// Each argument as written, white space normalised.
    pub arguments: Vec<String>,
    /// Line of its name.
    pub line: usize,
    /// The `#if` conditions that apply to it, joined by `&&`; empty if none.
    pub condition: String,
    /// The function that contains it.
    pub function: Option<String>,
}

/// Reasons for skipping text that was not understood as a declaration.
pub const NOT_READ: [&str; 6] = [
    "a closing brace that nothing opens",
    "a declaration that the file's end cuts off",
    "braces after no function, type or object",
    "an #else in a body that began in its #if",
    "braces that do not close in pairs; taken to end at the margin",
    "a body that the file's end cuts off",
];

/// Something that could not be read as a declaration.
#[derive(Debug)]
pub struct Skipped {
    /// Line where it begins.
    pub line: usize,
    /// One of [`NOT_READ`], or the text of a member that is not understood.
    pub what: String,
}
