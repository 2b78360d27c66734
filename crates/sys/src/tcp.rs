//! TCP sockets for a bulk stream: connected pairs through a listener, the options that decide when a segment is sent,
//! send and receive, and the kernel's counters for one connection. Source: tcp(7), socket(7), linux/tcp.h.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};

/// A listener on any free port of `address`. The socket belongs to the caller's current network namespace.
pub fn listen(address: Ipv4Addr) -> io::Result<TcpListener> {
    TcpListener::bind((address, 0))
}

/// Both ends of a connection within one process.
#[derive(Debug)]
pub struct Connection {
    /// The end that connected.
    pub connecting: TcpStream,
    /// The end that was accepted.
    pub accepted: TcpStream,
}

/// Connects to `listener` and accepts, in the caller's current network namespace; if a stranger connected first, that
/// connection is refused.
pub fn connect(listener: &TcpListener) -> io::Result<Connection> {
    let connecting = TcpStream::connect(listener.local_addr()?)?;
    let (accepted, from) = listener.accept()?;
    if from != connecting.local_addr()? {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "another process connected to our port"));
    }
    Ok(Connection { connecting, accepted })
}

/// TCP_CORK: only full segments are sent until the option is cleared, the socket is shut down or 200 ms have passed.
pub fn set_cork(socket: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_CORK, on.into())
}

/// SO_SNDBUF: fixes the size of the send buffer, which otherwise grows by itself. The kernel doubles the value for its
/// own bookkeeping, and caps it at `net.core.wmem_max`; [`send_buffer`] reads the result.
pub fn set_send_buffer(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes.min(i32::MAX as u32) as libc::c_int)
}

/// SO_SNDBUF as the kernel reports it, bytes.
pub fn send_buffer(socket: BorrowedFd<'_>) -> io::Result<u32> {
    option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF).map(libc::c_int::cast_unsigned)
}

/// SO_RCVBUF as the kernel reports it, bytes.
pub fn receive_buffer(socket: BorrowedFd<'_>) -> io::Result<u32> {
    option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).map(libc::c_int::cast_unsigned)
}

fn set_option(socket: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads one int from `value`, which lives through the call.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn option(socket: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `value`, and the length it wrote; both are live
    // and exclusively borrowed.
    let rc = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
    if rc == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Sends all of `bytes`; `BrokenPipe` or `ConnectionReset` if the other end is gone (no SIGPIPE).
#[inline(always)]
pub fn send_all(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        // SAFETY: the kernel only reads `rest.len()` bytes of the live slice.
        let put = unsafe { libc::send(socket.as_raw_fd(), rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
        if put < 0 {
            interrupted()?;
            continue;
        }
        done += put as usize;
    }
    Ok(())
}

/// Receives what has arrived, at least one byte; 0 at the end of the stream.
#[inline(always)]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into the live, exclusively borrowed slice.
        let got = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if got >= 0 {
            return Ok(got as usize);
        }
        interrupted()?;
    }
}

#[cold]
fn interrupted() -> io::Result<()> {
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// What the kernel counted for one connection over its whole life; a counter that the kernel is too old for is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Payload bytes sent, retransmissions included (Linux 4.19).
    pub bytes_sent: u64,
    /// How many of these were retransmitted (Linux 4.19).
    pub bytes_retransmitted: u64,
    /// Segments with payload, retransmissions included; a packet that the device will segment counts as its parts
    /// (Linux 4.6).
    pub data_segments_sent: u64,
}

/// The members of `struct tcp_info` up to the last one read here; the C libraries' versions are shorter than the
/// kernel's.
#[repr(C)]
#[derive(Default)]
struct TcpInfo {
    /// State, options and window scales.
    bytes: [u8; 8],
    /// `tcpi_rto` to `tcpi_total_retrans`.
    words: [u32; 24],
    /// `tcpi_pacing_rate` to `tcpi_bytes_received`.
    totals: [u64; 4],
    /// `tcpi_segs_out` to `tcpi_data_segs_in`.
    segments: [u32; 5],
    data_segs_out: u32,
    /// `tcpi_delivery_rate` to `tcpi_sndbuf_limited`.
    times: [u64; 4],
    /// `tcpi_delivered`, `tcpi_delivered_ce`.
    delivered: [u32; 2],
    bytes_sent: u64,
    bytes_retrans: u64,
}

// Offsets from include/uapi/linux/tcp.h.
const _: () = assert!(std::mem::offset_of!(TcpInfo, data_segs_out) == 156);
const _: () = assert!(std::mem::offset_of!(TcpInfo, bytes_sent) == 200);

/// TCP_INFO of a connection.
pub fn counts(socket: BorrowedFd<'_>) -> io::Result<Counts> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    let to = (&raw mut info).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of `info`, all of whose members are plain numbers; a
    // shorter answer of an older kernel leaves the rest zero.
    let rc = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length) };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Counts {
        bytes_sent: info.bytes_sent,
        bytes_retransmitted: info.bytes_retrans,
        data_segments_sent: info.data_segs_out.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Shutdown;
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_carries_all_bytes_to_its_end_and_counts_them() {
        let listener = listen(Ipv4Addr::LOCALHOST).unwrap();
        let Connection { connecting, accepted } = connect(&listener).unwrap();
        send_all(connecting.as_fd(), &[7; 5000]).unwrap();
        connecting.shutdown(Shutdown::Write).unwrap();
        let (mut buffer, mut received) = ([0; 999], 0);
        loop {
            match receive(accepted.as_fd(), &mut buffer).unwrap() {
                0 => break,
                got => received += got,
            }
        }
        assert_eq!(received, 5000);
        let counts = counts(connecting.as_fd()).unwrap();
        assert_eq!((counts.bytes_sent, counts.bytes_retransmitted), (5000, 0));
        assert!(counts.data_segments_sent >= 1, "{counts:?}");
    }

    #[test]
    fn a_corked_byte_waits_and_a_lone_one_does_not() {
        let listener = listen(Ipv4Addr::LOCALHOST).unwrap();
        let Connection { connecting, accepted } = connect(&listener).unwrap();
        set_cork(connecting.as_fd(), true).unwrap();
        send_all(connecting.as_fd(), b"x").unwrap();
        assert_eq!(counts(connecting.as_fd()).unwrap().data_segments_sent, 0);
        set_cork(connecting.as_fd(), false).unwrap();
        assert_eq!(receive(accepted.as_fd(), &mut [0; 8]).unwrap(), 1);
        assert_eq!(counts(connecting.as_fd()).unwrap().data_segments_sent, 1);
    }

    #[test]
    fn a_send_buffer_is_doubled_and_shown() {
        let listener = listen(Ipv4Addr::LOCALHOST).unwrap();
        let Connection { connecting, accepted } = connect(&listener).unwrap();
        set_send_buffer(connecting.as_fd(), 20_000).unwrap();
        assert_eq!(send_buffer(connecting.as_fd()).unwrap(), 40_000);
        assert!(receive_buffer(accepted.as_fd()).unwrap() > 0);
        drop(accepted);
        let gone = (0..1000).find_map(|_| send_all(connecting.as_fd(), &[0; 1000]).err()).unwrap();
        assert!(matches!(gone.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{gone}");
    }
}
