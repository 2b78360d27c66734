//! The options that both versions have.

use super::{Header, MAX_CPUS, RecorderCounts, chosen, text};
use crate::TraceError;
use crate::bytes::Cursor;

impl Header {
    /// The options that both versions have.
    pub(super) fn option(&mut self, id: u16, data: &mut Cursor<'_>) -> Result<(), TraceError> {
        let bytes = data.left();
        match id {
            option::CPUSTAT => {
                let text = text(data.take(bytes, "statistics of a CPU")?);
                self.counted.add(&text);
            }
            option::TRACECLOCK => {
                self.clocks_follow = true;
                self.clock = chosen(&text(data.take(bytes, "the clocks")?));
            }
            option::UNAME => self.uname = text(data.take(bytes, "uname")?),
            option::VERSION => {
                let version = text(data.take(bytes, "the version of trace-cmd")?);
                self.recorder = format!("trace-cmd {version}").trim_end().to_owned();
            }
            option::DATE => self.shifts.date(&text(data.take(bytes, "the time of day")?)),
            option::OFFSET => self.shifts.offset(&text(data.take(bytes, "the time offset")?)),
            option::CPUCOUNT => self.cpu_count = data.u32("the number of CPUs")?.min(MAX_CPUS),
            option::TIME_SHIFT => self.notices.extend(self.shifts.guest()),
            option::TSC2NSEC => {
                // An offset follows, which trace-cmd ignores.
                let (mult, shift) = (data.u32("a multiplier")?, data.u32("a shift")?);
                self.shifts.tsc2nsec = Some((mult, shift)).filter(|(mult, shift)| *mult > 0 && *shift < 64);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Numbers of options.
pub(super) mod option {
    pub(in super::super) const DONE: u16 = 0;
    pub(in super::super) const DATE: u16 = 1;
    pub(in super::super) const CPUSTAT: u16 = 2;
    pub(in super::super) const BUFFER: u16 = 3;
    pub(in super::super) const TRACECLOCK: u16 = 4;
    pub(in super::super) const UNAME: u16 = 5;
    pub(in super::super) const OFFSET: u16 = 7;
    pub(in super::super) const CPUCOUNT: u16 = 8;
    pub(in super::super) const VERSION: u16 = 9;
    pub(in super::super) const TIME_SHIFT: u16 = 12;
    pub(in super::super) const TSC2NSEC: u16 = 14;
    pub(in super::super) const HEADER_INFO: u16 = 16;
    pub(in super::super) const FTRACE_EVENTS: u16 = 17;
    pub(in super::super) const EVENT_FORMATS: u16 = 18;
    pub(in super::super) const CMDLINES: u16 = 21;
    pub(in super::super) const BUFFER_TEXT: u16 = 22;
}

impl RecorderCounts {
    /// Adds the content of a CPU's `per_cpu/cpuN/stats`.
    fn add(&mut self, stats: &str) {
        let of = |name: &str| {
            let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|n| n.trim().parse::<u64>().ok())
        };
        self.overrun = self.overrun.saturating_add(of("overrun").unwrap_or(0));
        // There are two reasons for finding no room: the ring was full, or interrupts had gone all the way around it.
        for name in ["dropped events", "commit overrun"] {
            self.dropped = self.dropped.saturating_add(of(name).unwrap_or(0));
        }
        // Kernels before 3.11 do not report what was read.
        if let Some((left, read)) = of("entries").zip(of("read events")) {
            self.cpus += 1;
            self.events = self.events.saturating_add(left).saturating_add(read);
        }
    }
}
