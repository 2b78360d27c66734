//! /proc/interrupts and /proc/softirqs: one row per kind, one column per CPU; we keep the sum of each row.
//! Source: Documentation/filesystems/proc.rst, kernel/irq/proc.c.

use crate::parse_error::{FileLine, ParseError};

/// Sums the rows of a table with a header line of CPUs. The name of a row is its label (`LOC`, `TIMER`), or for a
/// numbered interrupt the label and the device (`36:virtio1-req.0`).
pub fn parse(file: &'static str, text: &str) -> Result<Vec<(String, u64)>, ParseError> {
    let mut lines = text.lines().enumerate();
    let columns = match lines.next() {
        Some((_, header)) => header.split_ascii_whitespace().take_while(|w| w.starts_with("CPU")).count(),
        None => 0,
    };
    if columns == 0 {
        return Err(FileLine { file, line: 1 }.error(text.lines().next().unwrap_or_default(), "header of CPUs"));
    }
    let mut rows = Vec::new();
    for (index, line) in lines {
        let place = FileLine { file, line: index + 1 };
        let Some((label, rest)) = line.split_once(':') else {
            return Err(place.error(line.trim(), "row with a label and a colon"));
        };
        let mut words = rest.split_ascii_whitespace().peekable();
        let mut sum = 0u64;
        for _ in 0..columns {
            // `ERR` and `MIS` have one column on every machine.
            match words.peek().map(|w| w.parse::<u64>()) {
                Some(Ok(count)) => sum = sum.wrapping_add(count),
                _ => break,
            }
            words.next();
        }
        rows.push((row_name(label.trim(), words.last()), sum));
    }
    Ok(rows)
}

fn row_name(label: &str, device: Option<&str>) -> String {
    match device {
        Some(device) if label.bytes().all(|b| b.is_ascii_digit()) => format!("{label}:{device}"),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_summed_and_named() {
        let text = "           CPU0       CPU1       
 36:          0      65052 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:     177053      99738   Local timer interrupts
ERR:          3
";
        let rows = parse("/proc/interrupts", text).unwrap();
        let expected = [("36:virtio1-req.0", 65052), ("LOC", 276791), ("ERR", 3)];
        assert_eq!(rows, expected.map(|(name, sum)| (name.to_owned(), sum)));
        let soft = "                    CPU0       CPU1       \n          HI:          1          0\n       TIMER:    1          2\n";
        assert_eq!(parse("/proc/softirqs", soft).unwrap(), [("HI".to_owned(), 1), ("TIMER".to_owned(), 3)]);
    }

    #[test]
    fn a_table_without_header_is_an_error() {
        assert_eq!(parse("/proc/softirqs", "").unwrap_err().line, 1);
        assert_eq!(parse("/proc/softirqs", "    CPU0\nnonsense\n").unwrap_err().line, 2);
    }
}
