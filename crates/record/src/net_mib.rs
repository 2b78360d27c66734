//! /proc/net/netstat and /proc/net/snmp: counters of the reader's network namespace. Each group is a line of names and
//! a line of values. Source: net/ipv4/proc.c, RFC 2012 for the Tcp group.

use crate::parse_error::{FileLine, ParseError};

/// The groups kept.
const GROUPS: [&str; 2] = ["TcpExt", "Tcp"];

/// Members of `Tcp` that are settings or levels rather than counts, so their difference means nothing.
const NOT_COUNTS: [&str; 5] = ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"];

/// `("TcpExt.TCPAutoCorking", 17)` for every counter of the groups `Tcp` and `TcpExt`.
pub fn parse(file: &'static str, text: &str) -> Result<Vec<(String, u64)>, ParseError> {
    let mut counts = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, names)) = lines.next() {
        let place = FileLine { file, line: index + 1 };
        let (group, names) = names.split_once(':').ok_or_else(|| place.error(names, "group name with a colon"))?;
        let place = FileLine { file, line: index + 2 };
        let (_, values) = lines.next().ok_or_else(|| place.error("", "line of values"))?;
        let values = values
            .strip_prefix(group)
            .and_then(|rest| rest.strip_prefix(':'))
            .ok_or_else(|| place.error(values, "line of values of the group above"))?;
        if !GROUPS.contains(&group) {
            continue;
        }
        let mut values = values.split_ascii_whitespace();
        for name in names.split_ascii_whitespace() {
            let value = values.next();
            if !NOT_COUNTS.contains(&name) {
                counts.push((format!("{group}.{name}"), place.number(value, "count")?));
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_by_group_and_levels_are_left_out() {
        let text =
            "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn CurrEstab OutSegs\nTcp: 1 -1 7 900\n";
        assert_eq!(parse("/proc/net/snmp", text).unwrap(), [("Tcp.OutSegs".to_owned(), 900)]);
        let text = "TcpExt: SyncookiesSent TCPAutoCorking\nTcpExt: 0 17\nIpExt: InNoRoutes\nIpExt: 0\n";
        let counts = parse("/proc/net/netstat", text).unwrap();
        assert_eq!(counts, [("TcpExt.SyncookiesSent".to_owned(), 0), ("TcpExt.TCPAutoCorking".to_owned(), 17)]);
    }

    #[test]
    fn a_missing_value_names_its_line() {
        let error = parse("/proc/net/netstat", "TcpExt: A B\nTcpExt: 1\n").unwrap_err();
        assert_eq!((error.line, error.item), (2, "count"));
        assert!(parse("/proc/net/netstat", "TcpExt: A B\n").is_err());
        assert!(parse("/proc/net/netstat", "TcpExt: A B\nIpExt: 1 2\n").is_err());
    }
}
