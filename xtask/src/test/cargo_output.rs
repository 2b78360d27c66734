//! Reads the output of `cargo test -- --show-output`: result lines, test names, and the lines in which our tests report
//! that they could not run (`schedlab-skip: TEST: needs WHAT (WHY)`). Output of passed tests is not shown.

/// A test that returned early, with the need it reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) test: String,
    pub(super) need: String,
    /// The whole line after the marker, including the reason.
    pub(super) said: String,
}

const MARKER: &str = "schedlab-skip: ";

impl Skip {
    /// Parses a line that starts with the marker. Without `needs` the need is empty, and the skip never justified.
    pub(super) fn parse(line: &str) -> Option<Self> {
        // With one test thread the line starts after `test NAME ... `.
        let line = line.trim_start();
        let said = line
            .strip_prefix(MARKER)
            .or_else(|| line.strip_prefix("test ")?.split_once(" ... ")?.1.strip_prefix(MARKER))?;
        let (test, rest) = said.split_once(':').unwrap_or((said, ""));
        let need = rest.trim().strip_prefix("needs ").unwrap_or_default();
        let need = need.split_once(" (").map_or(need, |(need, _)| need);
        Some(Self { test: test.trim().into(), need: need.trim().into(), said: said.trim_end().into() })
    }
}

/// Sections of one test binary's standard output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    Successes,
    Failures,
}

/// Sums over all test binaries.
#[derive(Debug, Default)]
pub(super) struct TestOutput {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
    pub(super) passed_names: Vec<String>,
    pub(super) failed_names: Vec<String>,
    pub(super) skips: Vec<Skip>,
    section: Section,
}

impl TestOutput {
    /// Takes one line of standard output; returns whether it should be shown on the terminal.
    pub(super) fn take(&mut self, line: &str) -> bool {
        if let Some(skip) = Skip::parse(line) {
            self.take_skip(skip);
            return false;
        }
        match line {
            "successes:" => self.section = Section::Successes,
            "failures:" => self.section = Section::Failures,
            _ => {}
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.section = Section::Tests;
            self.take_result(result);
            return true;
        }
        if self.section == Section::Tests {
            return self.take_test(line);
        }
        self.section == Section::Failures
    }

    /// A test may report it twice, through a helper and by itself; it counts as one skipped test.
    pub(super) fn take_skip(&mut self, skip: Skip) {
        if !self.skips.iter().any(|known| known.test == skip.test) {
            self.skips.push(skip);
        }
    }

    /// `ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    fn take_result(&mut self, result: &str) {
        let counts = result.split_once(". ").map_or("", |(_, counts)| counts);
        for count in counts.split("; ") {
            match count.split_once(' ') {
                Some((n, "passed")) => self.passed += n.parse().unwrap_or(0),
                Some((n, "failed")) => self.failed += n.parse().unwrap_or(0),
                Some((n, "ignored")) => self.ignored += n.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// `test module::name ... ok`; all other lines except the head of a binary are shown.
    fn take_test(&mut self, line: &str) -> bool {
        let Some((name, state)) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... ")) else {
            let head = line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
            return !head && !line.is_empty();
        };
        let name = name.trim_end_matches(" - should panic").to_owned();
        match state {
            "ok" => self.passed_names.push(name),
            "FAILED" => self.failed_names.push(name),
            _ => return false,
        }
        state != "ok"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test direction::edges ... ok
test perf::counts ... ok
test perf::breaks ... FAILED

successes:

---- perf::counts stdout ----
schedlab-skip: counts: needs CAP_PERFMON (Permission denied)
noise of a test that passed

successes:
    direction::edges
    perf::counts

failures:

---- perf::breaks stdout ----
assertion failed

failures:
    perf::breaks

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s

running 1 test
test later ... ignored
test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn sums_names_and_skips_are_read() {
        let mut output = TestOutput::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| output.take(line)).collect();
        assert_eq!((output.passed, output.failed, output.ignored), (2, 1, 1));
        assert_eq!(output.passed_names, ["direction::edges", "perf::counts"]);
        assert_eq!(output.failed_names, ["perf::breaks"]);
        assert_eq!(output.skips.len(), 1);
        assert_eq!((output.skips[0].test.as_str(), output.skips[0].need.as_str()), ("counts", "CAP_PERFMON"));
        assert!(shown.contains(&"assertion failed") && !shown.iter().any(|l| l.contains("noise")), "{shown:?}");
    }

    #[test]
    fn a_skip_line_is_read_in_all_its_forms() {
        let need = |line| Skip::parse(line).map(|s| (s.test, s.need));
        let some = |test: &str, need: &str| Some((test.to_owned(), need.to_owned()));
        assert_eq!(need("schedlab-skip: t: needs root"), some("t", "root"));
        assert_eq!(need("test a::t ... schedlab-skip: t: needs two CPUs (1 online)"), some("t", "two CPUs"));
        assert_eq!(need("schedlab-skip: t: no idea"), some("t", ""));
        assert_eq!(need("assert `schedlab-skip: t`"), None);
    }

    #[test]
    fn a_test_that_skips_twice_is_one() {
        let mut output = TestOutput::default();
        output.take("schedlab-skip: t: needs root");
        output.take("schedlab-skip: t: needs root (again)");
        assert_eq!(output.skips.len(), 1);
    }
}
