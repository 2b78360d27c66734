//! The clocks with which ftrace stamps events, by their names in `trace_clock`, and which of them count nanoseconds.
//! Source: `trace_clocks[]` in kernel/trace/trace.c, field `in_ns`.

/// What a clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Nanoseconds,
    /// Cycles; a file may contain their length.
    Cycles,
    /// A counter that cannot be converted to time, in words.
    Other(&'static str),
}

impl Counts {
    /// The clock with this name. A recording that names none uses the kernel's default, `local`.
    pub(crate) fn of(clock: &str) -> Self {
        match clock {
            "" | "local" | "global" | "perf" | "mono" | "mono_raw" | "boot" | "tai" => Self::Nanoseconds,
            // trace-cmd uses the second name for the first clock when it converts the times.
            "x86-tsc" | "tsc2nsec" | "ppc-tb" => Self::Cycles,
            "counter" => Self::Other("events, not time"),
            "uptime" => Self::Other("ticks of 10 ms"),
            _ => Self::Other("something that is not known here"),
        }
    }
}

/// A clock's name for display.
pub(crate) fn shown(clock: &str) -> String {
    match clock {
        "" => "local, since none is named (of each CPU: they may differ)".into(),
        "local" => "local (of each CPU: they may differ)".into(),
        name => name.into(),
    }
}

/// What helps if a clock does not count time.
pub(crate) const FIX: &str = "record with a clock that counts time: trace-cmd record -C mono, or mono in trace_clock";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_of_the_kernel_counts_something() {
        // `cat trace_clock` on a 6.18 kernel on x86.
        let clocks = "local global counter uptime perf mono mono_raw boot tai x86-tsc";
        let ns: Vec<&str> = clocks.split(' ').filter(|clock| Counts::of(clock) == Counts::Nanoseconds).collect();
        assert_eq!(ns, ["local", "global", "perf", "mono", "mono_raw", "boot", "tai"]);
        assert_eq!(Counts::of("x86-tsc"), Counts::Cycles);
        assert!(matches!(Counts::of("sundial"), Counts::Other(_)));
    }
}
