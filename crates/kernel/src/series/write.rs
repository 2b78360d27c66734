//! Writes one file of a patch as `git diff` does.

use super::{Change, FilePatch};

impl FilePatch {
    /// With git's header lines, so that renames, modes and empty files are preserved, and the hunks; GNU patch reads it
    /// too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let name = |side: &Option<String>| side.clone().unwrap_or_else(|| self.path().to_owned());
        let (old, new) = (name(&self.old), name(&self.new));
        let mut out = format!("diff --git {} {}\n", quoted("a/", &old), quoted("b/", &new));
        // A file without a mode in the series is a regular file.
        let mode = |mode: Option<u32>| format!("{:06o}", mode.unwrap_or(0o100_644));
        match (self.change, self.modes()) {
            (Change::Created, _) => out += &format!("new file mode {}\n", mode(self.new_mode)),
            (Change::Deleted, _) => out += &format!("deleted file mode {}\n", mode(self.old_mode)),
            (_, Some((old, new))) => out += &format!("old mode {old:06o}\nnew mode {new:06o}\n"),
            _ => {}
        }
        match self.change {
            Change::Renamed => out += &format!("rename from {}\nrename to {}\n", quoted("", &old), quoted("", &new)),
            Change::Copied => out += &format!("copy from {}\ncopy to {}\n", quoted("", &old), quoted("", &new)),
            _ => {}
        }
        let mut out = out.into_bytes();
        if !self.hunks.is_empty() {
            let side = |prefix, name: &Option<String>| match name {
                Some(name) => quoted(prefix, name) + if name.contains(' ') { "\t" } else { "" },
                None => "/dev/null".into(),
            };
            out.extend(format!("--- {}\n+++ {}\n", side("a/", &self.old), side("b/", &self.new)).bytes());
        }
        self.hunks.iter().for_each(|hunk| out.extend(hunk.to_bytes()));
        out
    }
}

/// A name as git writes it: in quotes if it would otherwise be ambiguous. It contains no control characters.
fn quoted(prefix: &str, name: &str) -> String {
    if !name.contains(['"', '\\']) {
        return format!("{prefix}{name}");
    }
    format!("\"{prefix}{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
