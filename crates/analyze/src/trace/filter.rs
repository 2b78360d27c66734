//! Which tasks an analysis is about.

use schedlab_trace::Names;
use schedlab_trace::engine::Task;

/// Tasks by name and id; none of either lets all through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Names; a `*` stands for any characters.
    pub comms: Vec<String>,
    /// Thread ids.
    pub tids: Vec<u32>,
}

impl TaskFilter {
    /// Whether a task is meant, by its last or its first name, or by its id.
    pub fn has(&self, task: &Task, names: &Names) -> bool {
        if self.comms.is_empty() && self.tids.is_empty() {
            return true;
        }
        let by_name = |name| self.comms.iter().any(|pattern| matches(pattern, names.text(name)));
        self.tids.contains(&task.tid.0) || by_name(task.comm) || task.first_comm.is_some_and(by_name)
    }
}

/// Whether a text is what a pattern with `*` describes.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.len() >= tail.len() && text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, is) in [
            ("sh", "sh", true),
            ("sh", "bash", false),
            ("*sh", "bash", true),
            ("kworker*", "kworker/0:1", true),
            ("k*/0:*", "kworker/0:1", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }
}
