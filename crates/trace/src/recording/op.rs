//! What an event of a block is, in a byte: five bits of what happened, three of what is stored of it.

/// What happened: the lower five bits of an event's first byte. FORMAT.md says what follows each in which column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    StatRuntime,
    PiSetprio,
    Fork,
    Exit,
    Exec,
    Comm,
    IrqEntry,
    IrqExit,
    SoftirqRaise,
    SoftirqEntry,
    SoftirqExit,
    WorkQueued,
    WorkActivated,
    WorkStarted,
    WorkEnded,
    CpuIdle,
    /// Events were lost here; how many.
    Lost,
    /// No event: time goes back by so much before the next one.
    Back,
    /// A switch to whom the wake-ups before let expect.
    SwitchToWoken,
    SysEnter,
    SysExit,
    CgroupAttach,
}

impl Op {
    pub(super) const ALL: [Self; 27] = [
        Self::Switch,
        Self::Waking,
        Self::Wakeup,
        Self::WakeupNew,
        Self::Migrate,
        Self::StatRuntime,
        Self::PiSetprio,
        Self::Fork,
        Self::Exit,
        Self::Exec,
        Self::Comm,
        Self::IrqEntry,
        Self::IrqExit,
        Self::SoftirqRaise,
        Self::SoftirqEntry,
        Self::SoftirqExit,
        Self::WorkQueued,
        Self::WorkActivated,
        Self::WorkStarted,
        Self::WorkEnded,
        Self::CpuIdle,
        Self::Lost,
        Self::Back,
        Self::SwitchToWoken,
        Self::SysEnter,
        Self::SysExit,
        Self::CgroupAttach,
    ];
}

/// Bits of a byte that say what happened.
pub(super) const OP_BITS: u8 = 0x1f;
/// Of a switch: who leaves is named. Of a wake: the waker is. Of a system call: the caller is.
pub(super) const NAMED: u8 = 0x20;
/// Of a wake: the target CPU is stored.
pub(super) const TARGET: u8 = 0x40;
/// Of a wake: where the waker was is stored.
pub(super) const CONTEXT: u8 = 0x80;
/// Of a switch: bits above this are the state, as number in the block's list; 3: it is stored.
pub(super) const STATE_SHIFT: u32 = 6;
/// States that fit the byte.
pub(super) const STATE_STORED: u64 = 3;
