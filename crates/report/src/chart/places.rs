//! The CPUs of pairs of tasks over time: two bands per pair, one for each task, in the colour of the CPU.

use super::measure::text_width;
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{BESIDE, Draw};

/// A pair.
#[derive(Debug, Clone)]
pub(crate) struct PlacementRow {
    pub(crate) name: String,
    /// The text to the right of it, and the text below that.
    pub(crate) value: String,
    pub(crate) aside: String,
    /// The CPU of each task in each slice of the time.
    pub(crate) cpus: [Vec<Option<u16>>; 2],
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The duration as text.
    pub(crate) length: String,
    /// Headings with their pairs.
    pub(crate) groups: Vec<(String, Vec<PlacementRow>)>,
}

const BAND: f64 = 11.0;
const LANE: f64 = 32.0;
const HEADING: f64 = 24.0;

impl Draw for Places {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let lanes = || self.groups.iter().flat_map(|(_, lanes)| lanes);
        let mut cpus: Vec<u16> = lanes().flat_map(|lane| lane.cpus.iter().flatten()).flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        let label = lanes().map(|lane| text_width(&lane.name, 12.0)).fold(40.0, f64::max).min(BESIDE * width);
        let behind = |lane: &PlacementRow| text_width(&lane.value, 11.0).max(text_width(&lane.aside, 11.0));
        let words = lanes().map(behind).fold(60.0, f64::max).min(0.3 * width) + 8.0;
        let (left, right) = (label + 12.0, width - words);
        let mut y = legend(&mut svg, &cpus);
        for (heading, lanes) in &self.groups {
            svg.text_within("head", (0.0, y + HEADING - 8.0), Anchor::Start, heading, width);
            y += HEADING;
            for lane in lanes {
                svg.text_within("", (0.0, y + BAND + 4.0), Anchor::Start, &lane.name, label);
                svg.text("num", (width, y + BAND - 1.0), Anchor::End, &lane.value);
                svg.text("small", (width, y + 2.0 * BAND + 1.0), Anchor::End, &lane.aside);
                for (at, band) in lane.cpus.iter().enumerate() {
                    draw_band(&mut svg, band, (left, right), y + at as f64 * (BAND + 1.0), &cpus);
                }
                y += LANE;
            }
        }
        svg.text("tick", (left, y + 10.0), Anchor::Start, "0");
        svg.text("tick", (right, y + 10.0), Anchor::End, &self.length);
        svg.height = y + 18.0;
        svg
    }
}

/// The colour class of a CPU; with many CPUs, hues are reused.
fn class(cpu: u16, cpus: &[u16]) -> String {
    arm_class(1 + cpus.partition_point(|known| *known < cpu) as u32)
}

fn legend(svg: &mut Svg, cpus: &[u16]) -> f64 {
    let (mut x, mut y) = (0.0, 10.0);
    for cpu in cpus {
        let name = format!("CPU {cpu}");
        let wide = text_width(&name, 11.0) + 26.0;
        if x + wide > svg.width && x > 0.0 {
            (x, y) = (0.0, y + 18.0);
        }
        svg.open(&class(*cpu, cpus), None);
        svg.rect("f", (x, y - 9.0), (11.0, 11.0));
        svg.close();
        svg.text("small", (x + 16.0, y), Anchor::Start, &name);
        x += wide;
    }
    y + 8.0
}

/// Consecutive slices with the same CPU are one rectangle; slices with an unknown CPU have none.
fn draw_band(svg: &mut Svg, band: &[Option<u16>], (left, right): (f64, f64), y: f64, cpus: &[u16]) {
    let step = (right - left) / band.len().max(1) as f64;
    for cpu in cpus {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in (0..band.len()).filter(|at| band[*at] == Some(*cpu)) {
            match runs.last_mut() {
                Some((_, end)) if *end == at => *end = at + 1,
                _ => runs.push((at, at + 1)),
            }
        }
        let rect = |(from, to): (usize, usize)| ((left + from as f64 * step, y), ((to - from) as f64 * step, BAND));
        svg.open(&class(*cpu, cpus), None);
        svg.rects("f", runs.into_iter().map(rect));
        svg.close();
    }
}
