//! What the streams run over: loopback, or a veth pair between two network namespaces of the trial's own. If a rate is
//! given, a token bucket filter shapes the sending side, so that segments queue.
//!
//! The control process enters the senders' namespace and stays there, so `net.*` settings and TCP counters are the
//! senders'. Nothing needs to be torn down: unless they have names, the kernel removes both namespaces, with the pair
//! and the filter, when the last process and socket in them is gone, however it ended.

use super::INFO;
use super::config::Veth;
use crate::error::BenchError;
use schedlab_sys::namespace::{self, NetNamespace};
use schedlab_sys::net_name::{NetName, RUN_ROOT};
use schedlab_sys::netlink::Refused;
use schedlab_sys::rtnetlink::{Rtnetlink, TokenBucket, VethEnd};
use schedlab_sys::tcp;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::path::Path;

/// Both namespaces are new and empty, so names, indices and addresses (from TEST-NET-1, RFC 5737) are unused.
const SENDING: VethEnd<'_> = VethEnd { name: "stream-tx", index: 100 };
const RECEIVING: VethEnd<'_> = VethEnd { name: "stream-rx", index: 101 };
const SENDING_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RECEIVING_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const PREFIX: u8 = 30;

/// More than the largest packet that TCP hands down (64 kB plus a header for each segment), so the filter splits none.
const BURST_BYTES: u32 = 128 << 10;
/// By default, what a stream may have in the queue without any of its packets being dropped.
const QUEUE_BYTES_PER_STREAM: u32 = 1 << 20;

/// A veth pair in place; the calling process is in the senders' namespace.
#[derive(Debug)]
pub(crate) struct VethLink {
    sending: NetNamespace,
    receiving: NetNamespace,
    /// Removed on drop.
    _names: Vec<NetName>,
}

impl VethLink {
    /// Makes both namespaces, the pair and the filter, and leaves the caller in the senders' namespace.
    pub(super) fn make(veth: &Veth, streams: u32) -> Result<Self, BenchError> {
        let mut names = Vec::new();
        let (receiving, mut to_receiving) = new_namespace(veth, "rx", &mut names)?;
        let (sending, mut to_sending) = new_namespace(veth, "tx", &mut names)?;
        let pair = to_sending.add_veth_pair(SENDING, RECEIVING, receiving.as_fd());
        pair.map_err(|e| refused("a veth pair (CONFIG_VETH)", e))?;
        for (socket, end, address) in
            [(&mut to_sending, SENDING, SENDING_ADDRESS), (&mut to_receiving, RECEIVING, RECEIVING_ADDRESS)]
        {
            let ready = socket.add_address(end.index, address, PREFIX).and_then(|()| socket.set_up(end.index));
            ready.map_err(|e| refused("an address on the veth pair", e))?;
        }
        if let Some(filter) = token_bucket(veth, streams) {
            let added = to_sending.add_token_bucket(SENDING.index, filter);
            added.map_err(|e| refused("a token bucket filter (CONFIG_NET_SCH_TBF)", e))?;
        }
        Ok(Self { sending, receiving, _names: names })
    }

    /// A listener on the receiving side; afterwards the caller is back in the senders' namespace.
    pub(super) fn listen(&self) -> Result<TcpListener, BenchError> {
        let doing = || BenchError::io("listening in the receivers' network namespace");
        self.receiving.enter().map_err(doing())?;
        let listener = tcp::listen(RECEIVING_ADDRESS);
        self.sending.enter().map_err(doing())?;
        listener.map_err(doing())
    }
}

fn new_namespace(veth: &Veth, side: &str, names: &mut Vec<NetName>) -> Result<(NetNamespace, Rtnetlink), BenchError> {
    namespace::enter_new_net().map_err(|e| match e.raw_os_error() {
        // EPERM, ENOSPC: no permission, or a limit of 0 on user or network namespaces.
        Some(1 | 28) => not_possible(format!(
            "a network namespace of its own was refused ({e}); link=veth needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN) \
             or user namespaces (sysctl user.max_user_namespaces)"
        )),
        _ => BenchError::Io { doing: "link=veth: making a network namespace".into(), cause: e },
    })?;
    if let Some(name) = &veth.name {
        names.push(named(&format!("{name}-{side}"))?);
    }
    let opening = || BenchError::io("opening a netlink socket");
    Ok((NetNamespace::current().map_err(opening())?, Rtnetlink::open().map_err(opening())?))
}

fn named(name: &str) -> Result<NetName, BenchError> {
    NetName::give(Path::new(RUN_ROOT), name).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => not_possible(format!(
            "a network namespace named {name} exists; choose another netns=, or remove it (`ip netns delete {name}`) if it \
             is not in use"
        )),
        io::ErrorKind::PermissionDenied => {
            not_possible(format!("netns=: the name {name} was refused ({e}); it needs root, an unnamed pair may not"))
        }
        _ => BenchError::Io { doing: format!("naming the network namespace {name}"), cause: e },
    })
}

fn token_bucket(veth: &Veth, streams: u32) -> Option<TokenBucket> {
    let rate_bytes_per_s = veth.rate_bits_per_s? / 8;
    let limit_bytes = veth.queue_bytes.unwrap_or(QUEUE_BYTES_PER_STREAM.saturating_mul(streams));
    Some(TokenBucket { rate_bytes_per_s, burst_bytes: BURST_BYTES, limit_bytes })
}

fn refused(what: &str, error: Refused) -> BenchError {
    not_possible(format!("link=veth: the kernel refused {what}: {error}"))
}

fn not_possible(reason: String) -> BenchError {
    BenchError::NotPossibleHere { workload: INFO.name, reason }
}
