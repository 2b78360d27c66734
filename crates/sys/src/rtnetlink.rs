//! rtnetlink: interfaces, addresses and queueing disciplines of one network namespace, through the kernel's own
//! messages, so that neither `ip` nor `tc` is needed. Source: rtnetlink(7), linux/rtnetlink.h, linux/if_link.h,
//! linux/veth.h, linux/pkt_sched.h.

use crate::netlink::{Message, NLM_F_CREATE, NLM_F_EXCL, Netlink, Refused};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One side of a veth pair.
#[derive(Debug, Clone, Copy)]
pub struct VethEnd<'a> {
    /// Interface name, at most 15 bytes.
    pub name: &'a str,
    /// Interface index, unused in its namespace.
    pub index: u32,
}

/// A token bucket filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bytes per second.
    pub rate_bytes_per_s: u64,
    /// Bytes that may be sent at once; a larger packet is split into its segments.
    pub burst_bytes: u32,
    /// Bytes that may wait; more are dropped.
    pub limit_bytes: u32,
}

/// A netlink socket. It acts on the network namespace in which it was opened, even if its owner moves to another.
#[derive(Debug)]
pub struct Rtnetlink(Netlink);

// Numbers from the kernel's headers; in the libc crate their types differ between C libraries.
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWQDISC: u16 = 36;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_LINKLAYER_ETHERNET: u8 = 1;
const IFF_UP: u32 = 1;

impl Rtnetlink {
    /// A socket in the caller's current network namespace.
    pub fn open() -> io::Result<Self> {
        Netlink::open(libc::NETLINK_ROUTE).map(Self)
    }

    /// Makes a veth pair: one end here, the other in `peer_namespace`.
    pub fn add_veth_pair(
        &mut self,
        here: VethEnd<'_>,
        there: VethEnd<'_>,
        peer_namespace: BorrowedFd<'_>,
    ) -> Result<(), Refused> {
        let mut message = Message::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link_header(here.index, 0));
        message.text(IFLA_IFNAME, here.name);
        message.nest(IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_KIND, "veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.bytes.extend(link_header(there.index, 0));
                    peer.text(IFLA_IFNAME, there.name);
                    peer.attribute(IFLA_NET_NS_FD, &(peer_namespace.as_raw_fd() as u32).to_ne_bytes());
                });
            });
        });
        self.0.request(message)
    }

    /// Sets an interface up.
    pub fn set_up(&mut self, index: u32) -> Result<(), Refused> {
        self.0.request(Message::new(RTM_NEWLINK, 0, &link_header(index, IFF_UP)))
    }

    /// Gives an interface an address, in a network with a prefix of `prefix` bits.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> Result<(), Refused> {
        // struct ifaddrmsg: family, prefix length, flags, scope (0 is universe), index.
        let mut header = vec![libc::AF_INET as u8, prefix, 0, 0];
        header.extend(index.to_ne_bytes());
        let mut message = Message::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header);
        message.attribute(IFA_LOCAL, &address.octets());
        message.attribute(IFA_ADDRESS, &address.octets());
        self.0.request(message)
    }

    /// Makes a token bucket filter the root qdisc of an interface.
    pub fn add_token_bucket(&mut self, index: u32, filter: TokenBucket) -> Result<(), Refused> {
        // struct tcmsg: family and padding, index, handle (the kernel chooses), parent, info.
        let mut header = vec![0; 4];
        header.extend([index, 0, TC_H_ROOT, 0].into_iter().flat_map(u32::to_ne_bytes));
        let mut message = Message::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &header);
        message.text(TCA_KIND, "tbf");
        message.nest(TCA_OPTIONS, |options| {
            options.attribute(TCA_TBF_PARMS, &tbf_parameters(filter));
            options.attribute(TCA_TBF_BURST, &filter.burst_bytes.to_ne_bytes());
            if filter.rate_bytes_per_s >= u64::from(u32::MAX) {
                options.attribute(TCA_TBF_RATE64, &filter.rate_bytes_per_s.to_ne_bytes());
            }
        });
        self.0.request(message)
    }
}

/// struct ifinfomsg: family and padding, type, index, flags, mask of the flags to change.
fn link_header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// struct tc_tbf_qopt: rate and peak rate as struct tc_ratespec, limit, buffer (given by TCA_TBF_BURST), mtu.
fn tbf_parameters(filter: TokenBucket) -> Vec<u8> {
    // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate. If the link layer is given, the kernel
    // computes from the rate and needs no table.
    let mut parameters = vec![0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    parameters.extend((filter.rate_bytes_per_s.min(u64::from(u32::MAX)) as u32).to_ne_bytes());
    parameters.extend([0; 12]);
    parameters.extend(filter.limit_bytes.to_ne_bytes());
    parameters.extend([0; 8]);
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::{self, NetNamespace};
    use crate::process::{ExitStatus, fork_child, wait_for};
    use std::os::fd::AsFd;

    const HERE: VethEnd<'_> = VethEnd { name: "here", index: 100 };
    const THERE: VethEnd<'_> = VethEnd { name: "there", index: 101 };

    /// Two new namespaces, a pair between them, a filter on our side; bytes get across.
    fn bytes_cross_a_pair() -> Result<bool, Refused> {
        namespace::enter_new_net()?;
        let (ours, mut here) = (NetNamespace::current()?, Rtnetlink::open()?);
        namespace::enter_new_net()?;
        let (theirs, mut there) = (NetNamespace::current()?, Rtnetlink::open()?);
        here.add_veth_pair(HERE, THERE, theirs.as_fd())?;
        let filter = TokenBucket { rate_bytes_per_s: 6_000_000_000, burst_bytes: 1 << 17, limit_bytes: 1 << 20 };
        here.add_token_bucket(HERE.index, filter)?;
        let again = here.add_token_bucket(HERE.index, filter).unwrap_err();
        for (socket, end, last) in [(&mut here, HERE, 1), (&mut there, THERE, 2)] {
            socket.add_address(end.index, Ipv4Addr::new(192, 0, 2, last), 30)?;
            socket.set_up(end.index)?;
        }
        let listener = crate::tcp::listen(Ipv4Addr::new(192, 0, 2, 2))?;
        ours.enter()?;
        let connection = crate::tcp::connect(&listener)?;
        crate::tcp::send_all(connection.connecting.as_fd(), b"across")?;
        let mut buffer = [0; 6];
        crate::fd::read_full(connection.accepted.as_fd(), &mut buffer)?;
        let devices = std::fs::read_to_string("/proc/thread-self/net/dev")?;
        Ok(&buffer == b"across" && devices.contains("here:") && again.cause.raw_os_error() == Some(libc::EEXIST))
    }

    #[test]
    fn a_veth_pair_with_a_token_bucket_carries_bytes_between_two_namespaces() {
        let pid = fork_child(|| match bytes_cross_a_pair() {
            Ok(true) => 0,
            Ok(false) => 1,
            Err(refused) if refused.cause.raw_os_error() == Some(libc::EPERM) => 2,
            Err(_) => 3,
        });
        match wait_for(pid.unwrap()).unwrap().status {
            ExitStatus::Exited(2) => skip("a_veth_pair_with_a_token_bucket…: needs root or user namespaces"),
            status => assert_eq!(status, ExitStatus::Exited(0)),
        }
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn skip(why: &str) {
        eprintln!("schedlab-skip: {why}");
    }
}
