//! Transport through seccomp user notification: the client makes a system call that its filter passes to the server,
//! which determines its result; a sandbox's supervisor does this for every call that it emulates. Short messages are
//! passed in the call's registers. Longer ones are passed as addresses, and the server copies them out of and into the
//! client's memory with process_vm_readv(2) and process_vm_writev(2), as supervisors do.

use super::{Caller, Client, Link, Server, Sizes};
use crate::task::{Step, TaskError};
use schedlab_sys::seccomp_notify::{self, Notification};
use schedlab_sys::{fd, fd_passing, process_memory};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A request of two registers and a reply of one.
const REGISTERS: Sizes = Sizes { request: 16, reply: 8 };

pub(super) struct SeccompLink {
    /// Through it the client sends the listener of its filter.
    socket: Option<fd::Pair>,
    sync: bool,
    in_registers: bool,
}

impl SeccompLink {
    pub(super) fn new(sizes: Sizes, sync: bool) -> io::Result<Self> {
        let in_registers = sizes == REGISTERS;
        Ok(Self { socket: Some(fd::unix_pair()?), sync, in_registers })
    }

    fn take(&mut self) -> fd::Pair {
        self.socket.take().expect("each forked process takes its end once")
    }
}

impl Link for SeccompLink {
    fn client(&mut self) -> Result<Box<dyn Client>, TaskError> {
        let socket = self.take().write;
        let listener = seccomp_notify::install().map_err(TaskError::at(Step::Filter))?;
        if self.sync {
            seccomp_notify::set_sync_wake_up(listener.as_fd()).map_err(TaskError::at(Step::SyncWakeUp))?;
        }
        if !self.in_registers {
            process_memory::allow_everyone().map_err(TaskError::at(Step::Memory))?;
        }
        fd_passing::send(socket.as_fd(), listener.as_fd()).map_err(TaskError::at(Step::Filter))?;
        Ok(if self.in_registers { Box::new(RegisterClient) } else { Box::new(MemoryClient) })
    }

    fn server(&mut self) -> Result<Box<dyn Server>, TaskError> {
        let pair = self.take();
        // Closed first; otherwise nobody would notice if the client died.
        drop(pair.write);
        let listener = fd_passing::receive(pair.read.as_fd()).map_err(TaskError::at(Step::Filter))?;
        Ok(Box::new(SeccompServer { listener, asked: None, in_registers: self.in_registers }))
    }
}

struct RegisterClient;

impl Client for RegisterClient {
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError> {
        Ok(Box::new(Self))
    }
}

impl Caller for RegisterClient {
    #[inline]
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError> {
        let register = |at: usize| u64::from_ne_bytes(request[at..at + 8].try_into().unwrap_or_default());
        let arguments = [register(0), register(8), 0, 0, 0, 0];
        let answer = seccomp_notify::call(&arguments).map_err(TaskError::at(Step::Transact))?;
        reply.copy_from_slice(&answer.to_ne_bytes());
        Ok(())
    }
}

struct MemoryClient;

impl Client for MemoryClient {
    fn caller(&self) -> Result<Box<dyn Caller + '_>, TaskError> {
        Ok(Box::new(Self))
    }
}

impl Caller for MemoryClient {
    #[inline]
    fn transact(&mut self, request: &[u8], reply: &mut [u8]) -> Result<(), TaskError> {
        let wanted = reply.len() as u64;
        let answer = seccomp_notify::call_with_memory(request, reply).map_err(TaskError::at(Step::Transact))?;
        if answer == wanted { Ok(()) } else { Err(TaskError { step: Step::Token, detail: answer }) }
    }
}

struct SeccompServer {
    listener: OwnedFd,
    asked: Option<Notification>,
    in_registers: bool,
}

impl Server for SeccompServer {
    #[inline]
    fn receive(&mut self, request: &mut [u8]) -> Result<(), TaskError> {
        let asked = seccomp_notify::receive(self.listener.as_fd()).map_err(TaskError::at(Step::Read))?;
        if self.in_registers {
            request[..8].copy_from_slice(&asked.arguments[0].to_ne_bytes());
            request[8..16].copy_from_slice(&asked.arguments[1].to_ne_bytes());
        } else {
            let (address, length) = (asked.arguments[0], asked.arguments[1] as usize);
            let length = length.min(request.len());
            process_memory::read(asked.tid, address, &mut request[..length]).map_err(TaskError::at(Step::Memory))?;
        }
        self.asked = Some(asked);
        Ok(())
    }

    #[inline]
    fn reply(&mut self, reply: &[u8]) -> Result<(), TaskError> {
        let nothing_asked = TaskError { step: Step::Transact, detail: 0 };
        let asked = self.asked.take().ok_or(nothing_asked)?;
        let value = if self.in_registers {
            u64::from_ne_bytes(reply[..8].try_into().unwrap_or_default())
        } else {
            let length = reply.len().min(asked.arguments[3] as usize);
            process_memory::write(asked.tid, asked.arguments[2], &reply[..length])
                .map_err(TaskError::at(Step::Memory))?;
            length as u64
        };
        seccomp_notify::respond(self.listener.as_fd(), asked.id, value).map_err(TaskError::at(Step::Write))
    }
}
