//! The cost of recording, as sentences below the report of its trials.

use schedlab_analyze::{Range, RecorderCost};
use std::io::{self, Write};

/// The cost of a round trip of `record --self-test`: with the events alone, and recorded.
pub fn recorder_cost_text(cost: &RecorderCost, out: &mut dyn Write) -> io::Result<()> {
    let range = |range: Range| format!("{:.0} ns [{:.0}, {:.0}]", range.mean, range.low, range.high);
    let (alone, recording) = (range(cost.events_alone_ns), range(cost.recording_ns));
    writeln!(
        out,
        "\nA round trip takes {:.0} ns. The events alone add {alone}, their recording {recording}.",
        cost.plain_ns
    )?;
    match cost.ratio {
        Some(Range { mean, low, high }) => {
            writeln!(out, "Recording costs {mean:.2} [{low:.2}, {high:.2}] times the events alone.")?;
        }
        None => {
            writeln!(
                out,
                "The cost of the events alone is not distinguishable from zero: give more --trials or a longer --trial."
            )?;
        }
    }
    writeln!(out, "{} events were recorded, {} lost; {} blocks.", cost.events, cost.lost, cost.blocks)
}
