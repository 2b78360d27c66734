//! Which directory of `/proc/sys` a table of sysctls is registered in, as far as its file says it.

use crate::source::Unit;

/// Directories of tables.
pub(super) struct Folders {
    /// Name and directory of each.
    by_table: Vec<[String; 2]>,
    /// That of all registrations of the file, if it is one: a copy of a table has another name.
    only: Option<String>,
}

impl Folders {
    /// Empty if it is not known.
    pub(super) fn of(&self, table: &str) -> &str {
        find(&self.by_table, table).or(self.only.as_deref()).unwrap_or_default()
    }
}

fn find<'a>(by_table: &'a [[String; 2]], table: &str) -> Option<&'a str> {
    by_table.iter().find(|[name, _]| name == table).map(|[_, folder]| folder.as_str())
}

/// `register_sysctl("kernel", table)` and its like, `DECLARE_SYSCTL_BASE(kernel, table)` (until 6.3), and `.child = table` (until
/// 6.4).
pub(super) fn folders(unit: &Unit) -> Folders {
    let mut by_table: Vec<[String; 2]> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for i in &unit.invocations {
        let is_call = i.name.starts_with("register_sysctl") || i.name.starts_with("register_net_sysctl");
        let folder = match i.name.as_str() {
            "DECLARE_SYSCTL_BASE" => Some(0),
            _ if is_call => i.arguments.iter().position(|a| a.starts_with('"')),
            _ => None,
        };
        let Some(at) = folder.filter(|at| *at < i.arguments.len()) else { continue };
        let folder = i.arguments[at].trim_matches(['"', '/']).to_owned();
        if let Some(table) = i.arguments.get(at + 1) {
            by_table.push([table.trim_start_matches('&').to_owned(), folder.clone()]);
        }
        if !seen.contains(&folder) {
            seen.push(folder);
        }
    }
    let children = unit.tables.iter().filter(|t| t.of == "ctl_table").flat_map(|t| {
        let name = |element| t.entries.iter().find(|e| e.element == element && e.member == "procname");
        let children = t.entries.iter().filter(|e| e.member == "child");
        children.filter_map(move |child| Some((t.name.as_str(), name(child.element)?, child.value.as_str())))
    });
    for (parent, name, child) in children {
        let above = find(&by_table, parent).map_or(String::new(), |folder| format!("{folder}/"));
        if find(&by_table, child).is_none() {
            by_table.push([child.to_owned(), format!("{above}{}", name.value.trim_matches('"'))]);
        }
    }
    Folders { by_table, only: seen.pop().filter(|_| seen.is_empty()) }
}
