//! Resource limits that bound the tasks of a workload: open files and processes. Source: getrlimit(2).

use std::io;

/// A soft and a hard limit; `u64::MAX` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rlimit {
    /// The limit that the kernel enforces now.
    pub soft: u64,
    /// The value to which an unprivileged process may raise the soft limit.
    pub hard: u64,
}

/// The limits handled here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// RLIMIT_NOFILE: one above the highest file descriptor.
    OpenFiles,
    /// RLIMIT_NPROC: tasks of the real user id (not enforced for root).
    Processes,
}

impl Resource {
    #[cfg(target_env = "gnu")]
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Self::OpenFiles => libc::RLIMIT_NOFILE,
            Self::Processes => libc::RLIMIT_NPROC,
        }
    }
    #[cfg(not(target_env = "gnu"))]
    fn number(self) -> libc::c_int {
        match self {
            Self::OpenFiles => libc::RLIMIT_NOFILE,
            Self::Processes => libc::RLIMIT_NPROC,
        }
    }
}

/// Reads a limit.
pub fn read(resource: Resource) -> io::Result<Rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live, writable rlimit for the length of the call.
    if unsafe { libc::getrlimit(resource.number(), &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Rlimit { soft: limit.rlim_cur, hard: limit.rlim_max })
}

/// Raises the soft limit to the hard one; returns the resulting limit.
pub fn raise_to_hard(resource: Resource) -> io::Result<Rlimit> {
    let hard = read(resource)?.hard;
    set_soft(resource, hard)
}

/// Sets the soft limit, to at most the hard one; returns the resulting limit.
pub fn set_soft(resource: Resource, soft: u64) -> io::Result<Rlimit> {
    let before = read(resource)?;
    let wanted = libc::rlimit { rlim_cur: soft.min(before.hard), rlim_max: before.hard };
    // SAFETY: `wanted` is a live rlimit that the call only reads.
    if unsafe { libc::setrlimit(resource.number(), &raw const wanted) } != 0 {
        return Err(io::Error::last_os_error());
    }
    read(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let after = raise_to_hard(Resource::OpenFiles).unwrap();
        assert_eq!(after.soft, after.hard);
        assert!(read(Resource::Processes).unwrap().hard > 0);
    }
}
