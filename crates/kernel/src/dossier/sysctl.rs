//! Which directory of `/proc/sys` a table of sysctls is registered in, as far as its file shows.

use crate::source::{Entry, Invocation, Unit};

/// The directories of sysctl tables.
pub(super) struct Folders<'a> {
    /// Name and directory of each registered table.
    registered: Vec<(&'a str, &'a str)>,
    /// `.child = table`: the table that contains the entry, the directory's name, the child table.
    children: Vec<(&'a str, &'a str, &'a str)>,
    /// The directory of all registrations, if there is only one and it registers a copy of a table under another name.
    of_copies: Option<&'a str>,
}

impl<'a> Folders<'a> {
    /// `register_sysctl("kernel", table)` and similar, `DECLARE_SYSCTL_BASE(kernel, table)` (until 6.3), and `.child =
    /// table` (until 6.4).
    pub(super) fn new(unit: &'a Unit) -> Self {
        let registered: Vec<(&str, &str)> = unit.invocations.iter().filter_map(registration).collect();
        let children = unit.tables.iter().filter(|t| t.of == "ctl_table").flat_map(|t| {
            let name = |element| t.entries.iter().find(|e| e.element == element && e.member == "procname");
            let children = t.entries.iter().filter(|e| e.member == "child");
            let child = move |e: &'a Entry| {
                Some((t.name.as_str(), name(e.element)?.value.trim_matches('"'), e.value.trim_start_matches('&')))
            };
            children.filter_map(child)
        });
        let is_copy = |table: &str| unit.tables.iter().all(|t| t.name != table);
        let first = registered.first().map(|(_, folder)| *folder);
        let is_one = registered.iter().all(|(_, folder)| Some(*folder) == first);
        let has_copy = registered.iter().any(|(table, _)| is_copy(table));
        Self { children: children.collect(), of_copies: first.filter(|_| is_one && has_copy), registered }
    }

    /// The directory of a table; empty if it is not known.
    pub(super) fn of(&self, table: &str) -> String {
        self.path(table, 0).or(self.of_copies.map(str::to_owned)).unwrap_or_default()
    }

    fn path(&self, table: &str, depth: usize) -> Option<String> {
        /// Nesting of tables; the kernel had four levels.
        const DEEPEST: usize = 16;
        if let Some((_, folder)) = self.registered.iter().find(|(name, _)| *name == table) {
            return Some((*folder).to_owned());
        }
        let (parent, name, _) = self.children.iter().find(|(.., child)| *child == table).filter(|_| depth < DEEPEST)?;
        let above = self.path(parent, depth + 1).filter(|above| !above.is_empty());
        Some(above.map_or((*name).to_owned(), |above| format!("{above}/{name}")))
    }
}

/// The table and its directory.
fn registration(i: &Invocation) -> Option<(&str, &str)> {
    let is_call = i.name.starts_with("register_sysctl") || i.name.starts_with("register_net_sysctl");
    let at = match i.name.as_str() {
        "DECLARE_SYSCTL_BASE" => 0,
        _ if is_call => i.arguments.iter().position(|a| a.starts_with('"'))?,
        _ => return None,
    };
    Some((i.arguments.get(at + 1)?.trim_start_matches('&'), i.arguments.get(at)?.trim_matches(['"', '/'])))
}
