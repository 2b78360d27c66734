//! System calls by number and by name: those in which threads sleep, for the architectures that have a table here.
//! Source: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h in the kernel.

/// A system call by its number in the table of the trace's architecture. The event does not show which table a program
/// used: a 32-bit program on a 64-bit kernel uses a different one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Syscall(pub u16);

impl Syscall {
    /// A number that is in no table: x32 sets bit 30, and a call that a tracer skipped is −1.
    pub const OTHER: Self = Self(u16::MAX);

    /// A number from a file.
    #[inline]
    pub fn from_raw(raw: i64) -> Self {
        u16::try_from(raw).map_or(Self::OTHER, Self)
    }

    /// Its name on an architecture, which is written as in uname(2); `None` if it is not in the table.
    pub fn name(self, arch: &str) -> Option<&'static str> {
        let number = column(arch)?;
        CALLS.iter().find(|call| self != Self::OTHER && number(call) == self.0).map(|(name, ..)| *name)
    }

    /// The call with a name on an architecture.
    pub fn named(name: &str, arch: &str) -> Option<Self> {
        let number = column(arch)?;
        let call = CALLS.iter().find(|(known, ..)| *known == name)?;
        Some(Self(number(call))).filter(|call| *call != Self::OTHER)
    }
}

/// Name, number on x86-64, number on arm64.
type Call = (&'static str, u16, u16);

/// The number in a row that belongs to an architecture.
fn column(arch: &str) -> Option<fn(&Call) -> u16> {
    match arch {
        "x86_64" => Some(|call| call.1),
        "aarch64" | "arm64" => Some(|call| call.2),
        _ => None,
    }
}

/// Not on that architecture.
const NONE: u16 = u16::MAX;

const CALLS: &[Call] = &[
    ("read", 0, 63),
    ("write", 1, 64),
    ("open", 2, NONE),
    ("close", 3, 57),
    ("stat", 4, NONE),
    ("fstat", 5, 80),
    ("lstat", 6, NONE),
    ("newfstatat", 262, 79),
    ("statx", 332, 291),
    ("access", 21, NONE),
    ("faccessat", 269, 48),
    ("poll", 7, NONE),
    ("ppoll", 271, 73),
    ("select", 23, NONE),
    ("pselect6", 270, 72),
    ("epoll_wait", 232, NONE),
    ("epoll_pwait", 281, 22),
    ("epoll_pwait2", 441, 441),
    ("lseek", 8, 62),
    ("ioctl", 16, 29),
    ("fcntl", 72, 25),
    ("flock", 73, 32),
    ("pread64", 17, 67),
    ("pwrite64", 18, 68),
    ("readv", 19, 65),
    ("writev", 20, 66),
    ("preadv", 295, 69),
    ("pwritev", 296, 70),
    ("sendfile", 40, 71),
    ("splice", 275, 76),
    ("tee", 276, 77),
    ("vmsplice", 278, 75),
    ("copy_file_range", 326, 285),
    ("getdents64", 217, 61),
    ("openat", 257, 56),
    ("creat", 85, NONE),
    ("unlink", 87, NONE),
    ("unlinkat", 263, 35),
    ("rename", 82, NONE),
    ("renameat2", 316, 276),
    ("mkdir", 83, NONE),
    ("mkdirat", 258, 34),
    ("rmdir", 84, NONE),
    ("truncate", 76, 45),
    ("ftruncate", 77, 46),
    ("fallocate", 285, 47),
    ("fsync", 74, 82),
    ("fdatasync", 75, 83),
    ("sync", 162, 81),
    ("syncfs", 306, 267),
    ("sync_file_range", 277, 84),
    ("msync", 26, 227),
    ("mmap", 9, 222),
    ("munmap", 11, 215),
    ("mremap", 25, 216),
    ("mprotect", 10, 226),
    ("madvise", 28, 233),
    ("process_madvise", 440, 440),
    ("brk", 12, 214),
    ("mlock", 149, 228),
    ("mount", 165, 40),
    ("umount2", 166, 39),
    ("socket", 41, 198),
    ("connect", 42, 203),
    ("accept", 43, 202),
    ("accept4", 288, 242),
    ("sendto", 44, 206),
    ("recvfrom", 45, 207),
    ("sendmsg", 46, 211),
    ("recvmsg", 47, 212),
    ("sendmmsg", 307, 269),
    ("recvmmsg", 299, 243),
    ("pause", 34, NONE),
    ("nanosleep", 35, 101),
    ("clock_nanosleep", 230, 115),
    ("sched_yield", 24, 124),
    ("sched_setaffinity", 203, 122),
    ("sched_setattr", 314, 274),
    ("sched_setscheduler", 144, 119),
    ("futex", 202, 98),
    ("futex_waitv", 449, 449),
    ("futex_wait", 455, 455),
    ("semop", 65, 193),
    ("semtimedop", 220, 192),
    ("msgsnd", 69, 189),
    ("msgrcv", 70, 188),
    ("mq_timedsend", 242, 182),
    ("mq_timedreceive", 243, 183),
    ("rt_sigsuspend", 130, 133),
    ("rt_sigtimedwait", 128, 137),
    ("clone", 56, 220),
    ("clone3", 435, 435),
    ("fork", 57, NONE),
    ("vfork", 58, NONE),
    ("execve", 59, 221),
    ("execveat", 322, 281),
    ("exit", 60, 93),
    ("exit_group", 231, 94),
    ("wait4", 61, 260),
    ("waitid", 247, 95),
    ("ptrace", 101, 117),
    ("unshare", 272, 97),
    ("setns", 308, 268),
    ("membarrier", 324, 283),
    ("io_getevents", 208, 4),
    ("io_pgetevents", 333, 292),
    ("io_uring_enter", 426, 426),
    ("perf_event_open", 298, 241),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("getrandom", 318, 278),
    ("finit_module", 313, 273),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_architecture() {
        for (name, arch, number) in [
            ("futex", "x86_64", Some(202)),
            ("futex", "aarch64", Some(98)),
            ("sched_setaffinity", "x86_64", Some(203)),
            ("sched_setaffinity", "arm64", Some(122)),
            ("epoll_wait", "x86_64", Some(232)),
            ("epoll_wait", "aarch64", None),
            ("futex", "riscv64", None),
            ("no_such", "x86_64", None),
        ] {
            assert_eq!(Syscall::named(name, arch), number.map(Syscall), "{name} {arch}");
            if let Some(number) = number {
                assert_eq!(Syscall(number).name(arch), Some(name));
            }
        }
        assert_eq!([Syscall::OTHER.name("aarch64"), Syscall(9999).name("x86_64"), Syscall(0).name("")], [None; 3]);
        assert_eq!([-1, 1 << 30, 65_535].map(Syscall::from_raw), [Syscall::OTHER; 3]);
    }

    #[test]
    fn no_number_has_two_names() {
        for of in [column("x86_64"), column("aarch64")].into_iter().flatten() {
            let mut numbers: Vec<u16> = CALLS.iter().map(of).filter(|number| *number != NONE).collect();
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
