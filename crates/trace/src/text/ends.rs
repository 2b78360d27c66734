//! Whether a text trace is complete, as far as its own text shows.

/// What shows at the end whether the text is complete.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Number of events announced by the header of a tracer that prints one per line.
    pub(super) announced: u64,
    /// Lines that may be events.
    there: u64,
    /// Several lines are printed as one: a function's entry and exit.
    joins_lines: bool,
    /// Number of the first line that begins another trace after events.
    pub(super) second: Option<u64>,
    has_header: bool,
    /// Inside a `<script>`.
    in_script: bool,
    pub(super) is_html: bool,
    /// Number of the first line, in a page, that is base64 of compressed data.
    pub(super) packed: Option<u64>,
}

/// How gzip and zlib data begins in base64.
const PACKED: [&str; 5] = ["H4sI", "eAE", "eF4", "eJw", "eNo"];

/// The shortest trace in that form.
const SHORTEST_PACKED: usize = 64;

impl Ends {
    /// Takes a line; the first has number 1.
    pub(super) fn line(&mut self, line: &str, number: u64) {
        if number == 1 {
            self.is_html = line.trim_start().starts_with('<');
        }
        if self.is_html && line.contains("script") {
            // A line may end one and begin another.
            let last = [line.rfind("<script"), line.rfind("</script")];
            self.in_script = if last[0] == last[1] { self.in_script } else { last[0] > last[1] };
        }
        let is_base64 = |line: &str| line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        if self.is_html
            && line.len() >= SHORTEST_PACKED
            && PACKED.iter().any(|b| line.starts_with(b))
            && is_base64(line)
        {
            self.packed.get_or_insert(number);
        }
        match line.strip_prefix("# tracer:") {
            Some(tracer) => {
                self.joins_lines |= tracer.trim() != "nop";
                self.has_header = true;
                if self.there > 0 {
                    self.second.get_or_insert(number);
                }
            }
            None => self.there += u64::from(!line.starts_with('#') && !line.trim().is_empty()),
        }
    }

    /// Whether it is ftrace's own file with lines, of which none may be an event.
    pub(super) fn has_lines_of_ftrace(&self) -> bool {
        self.has_header && self.there > 0
    }

    /// Why the trace cannot be complete.
    pub(super) fn why_cut(&self) -> Option<String> {
        let Self { announced, there, .. } = *self;
        if announced > there && !self.joins_lines {
            return Some(format!("the header announces {announced} events, and {there} lines follow"));
        }
        (self.is_html && self.in_script).then(|| "the page ends inside the script that holds the trace".to_owned())
    }
}
