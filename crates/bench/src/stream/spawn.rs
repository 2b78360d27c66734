//! Creates the tasks of `stream/1`: for each stream a connection, its receiver, its sender. The control process keeps
//! the senders' sockets, so that it can read the kernel's counters for each at the end. Every stream is ended with
//! shutdown(2), because a close has no effect while another process holds the socket.

use super::config::{Config, Push};
use super::loops::{Receive, Send};
use crate::dispatch::LoopOrder;
use crate::error::BenchError;
use crate::herd::Herd;
use crate::placement::confine;
use crate::prepared::Prepared;
use crate::task::{Step, TaskCells, TaskError};
use schedlab_sys::fd;
use schedlab_sys::tcp::{self, Connection};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Words of a stream's line.
const SENDER_CPU: usize = 0;
const RECEIVED_BYTES: usize = 1;

/// The fill byte; it has no meaning, as in netperf.
const FILL: u8 = b'-';

/// The senders' sockets, in the order of the streams, and the sizes of the socket buffers when they were made: netperf
/// reads, prints and uses these, and not what a buffer has grown to by the time it is connected.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) senders: Vec<TcpStream>,
    pub(super) send_buffer: u32,
    pub(super) receive_buffer: u32,
}

/// Starts all streams; every task is at its gate or on its way there.
pub(super) fn start(
    config: &Config,
    run: &Prepared<'_>,
    listener: &TcpListener,
) -> Result<(Herd, Sockets), BenchError> {
    let mut herd = run.herd(config.tasks(), fd::pipe_pair)?;
    let buffers = || BenchError::io("reading the sizes of socket buffers");
    // The listener is as new as netperf's socket, and accepted sockets start with its sizes.
    let mut sockets = Sockets {
        senders: Vec::new(),
        send_buffer: tcp::send_buffer(listener.as_fd()).map_err(buffers())?,
        receive_buffer: tcp::receive_buffer(listener.as_fd()).map_err(buffers())?,
    };
    for stream in 0..config.streams {
        let connection = open(config, listener, stream)?;
        if config.send_buffer.is_some() {
            sockets.send_buffer = tcp::send_buffer(connection.connecting.as_fd()).map_err(buffers())?;
        }
        start_receiver(config, run, &mut herd, stream, connection.accepted, sockets.receive_buffer)?;
        start_sender(config, run, &mut herd, stream, &connection.connecting, sockets.send_buffer)?;
        sockets.senders.push(connection.connecting);
    }
    Ok((herd, sockets))
}

fn open(config: &Config, listener: &TcpListener, stream: u32) -> Result<Connection, BenchError> {
    let connection = tcp::connect(listener).map_err(BenchError::io(format!("connecting stream {stream}")))?;
    let socket = &connection.connecting;
    match config.push {
        Push::Nagle => Ok(()),
        Push::NoDelay => socket.set_nodelay(true),
        Push::Cork => tcp::set_cork(socket.as_fd(), true),
    }
    .map_err(BenchError::io("setting TCP_NODELAY or TCP_CORK"))?;
    if let Some(asked) = config.send_buffer {
        set_send_buffer(socket, asked)?;
    }
    Ok(connection)
}

/// The kernel doubles the value that it accepts; a smaller result means that it was silently capped.
fn set_send_buffer(socket: &TcpStream, asked: u32) -> Result<(), BenchError> {
    let doing = || BenchError::io("setting SO_SNDBUF");
    tcp::set_send_buffer(socket.as_fd(), asked).map_err(doing())?;
    let got = tcp::send_buffer(socket.as_fd()).map_err(doing())? / 2;
    if got >= asked {
        return Ok(());
    }
    let reason = format!("sndbuf={asked}: the kernel gives {got} bytes; ask for that, or raise net.core.wmem_max");
    Err(BenchError::NotPossibleHere { workload: super::INFO.name, reason })
}

/// What a task needs in addition to its socket.
struct Part {
    cells: TaskCells,
    task: usize,
    stream: usize,
    loops: LoopOrder,
}

impl Part {
    fn new(config: &Config, run: &Prepared<'_>, task: usize, stream: u32) -> Self {
        let stream = stream as usize;
        Self { cells: run.cells.clone(), task, stream, loops: run.loops(stream, config.length.loops()) }
    }

    fn word(&self, word: usize) -> &AtomicU64 {
        &self.cells.group(self.stream)[word]
    }
}

fn start_receiver(
    config: &Config,
    run: &Prepared<'_>,
    herd: &mut Herd,
    stream: u32,
    socket: TcpStream,
    buffer_bytes: u32,
) -> Result<(), BenchError> {
    let part = Part::new(config, run, herd.next_task(), stream);
    let prepare = || {
        confine(config.cpus.as_slice())?;
        // netserver's receive buffer is as large as the socket's buffer.
        Ok(vec![FILL; buffer_bytes.max(1) as usize])
    };
    let body = |mut buffer: Vec<u8>| {
        let receive = Receive {
            socket: socket.as_fd(),
            buffer: &mut buffer,
            bytes: config.bytes as u64,
            sender_cpu: part.word(SENDER_CPU),
            counter: part.cells.counter(part.task),
            topology: &run.order.topology,
        };
        let (received, work) = receive.run()?;
        part.word(RECEIVED_BYTES).store(received, Release);
        // The sender waits for this end of stream, as netperf does for netserver's.
        socket.shutdown(Shutdown::Write).map_err(TaskError::at(Step::Write))?;
        Ok(work)
    };
    herd.fork("receiver", stream, prepare, body)
}

fn start_sender(
    config: &Config,
    run: &Prepared<'_>,
    herd: &mut Herd,
    stream: u32,
    socket: &TcpStream,
    buffer_bytes: u32,
) -> Result<(), BenchError> {
    let part = Part::new(config, run, herd.next_task(), stream);
    let (bytes, stride) = (config.bytes, config.bytes.next_multiple_of(8));
    let prepare = || {
        confine(config.cpus.as_slice())?;
        if let Some(recorder) = &run.recorder {
            recorder.fault_in(part.stream);
        }
        // As many buffers as netperf sends from in turn: one more than the socket's buffer holds, at least two.
        let buffers = (buffer_bytes as usize / bytes + 1).max(2);
        Ok(vec![FILL; buffers * stride])
    };
    let body = |ring: Vec<u8>| {
        let work = part.loops.run(Send {
            socket: socket.as_fd(),
            ring: &ring,
            stride,
            bytes,
            sender_cpu: part.word(SENDER_CPU),
            counter: part.cells.counter(part.task),
            recorder: run.recorder.as_ref(),
            stream: part.stream,
        })?;
        end(socket)?;
        Ok(work)
    };
    herd.fork("sender", stream, prepare, body)
}

/// Ends the stream and waits for the receiver to end its side, so that everything sent has been received.
fn end(socket: &TcpStream) -> Result<(), TaskError> {
    socket.shutdown(Shutdown::Write).map_err(TaskError::at(Step::Write))?;
    let mut none = [0; 16];
    while tcp::receive(socket.as_fd(), &mut none).map_err(TaskError::at(Step::Read))? > 0 {}
    Ok(())
}

/// Bytes that a stream's receiver has counted.
pub(super) fn received_bytes(run: &Prepared<'_>, stream: u32) -> u64 {
    run.cells.group(stream as usize)[RECEIVED_BYTES].load(Acquire)
}
