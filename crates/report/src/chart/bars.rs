//! Bars: stacked shares (placement, variance), and small multiples of one value per arm (counters per operation).

use super::mark::Mark;
use super::measure::{fit, text_width};
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{ArmKey, BESIDE, Draw, MANY};

/// A part of a stack.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    /// Index into [`Stacks::kinds`].
    pub(crate) kind: usize,
    /// Share of the whole, 0…1.
    pub(crate) share: f64,
}

/// One stacked bar.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// The arm, which determines the colour and shape of its sign.
    pub(crate) arm: Option<u32>,
    pub(crate) name: String,
    pub(crate) segments: Vec<Segment>,
}

/// Stacked shares, one bar below the other.
#[derive(Debug, Clone)]
pub(crate) struct Stacks {
    /// Colour class and name of each kind of segment.
    pub(crate) kinds: Vec<(&'static str, String)>,
    pub(crate) stacks: Vec<Stack>,
}

impl Draw for Stacks {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let mut x = 0.0;
        let mut y = 10.0;
        for (class, name) in &self.kinds {
            let wide = text_width(name, 11.0) + 26.0;
            if x + wide > width && x > 0.0 {
                (x, y) = (0.0, y + 18.0);
            }
            svg.rect(class, (x, y - 9.0), (11.0, 11.0));
            svg.text("small", (x + 16.0, y), Anchor::Start, name);
            x += wide;
        }
        let label = self.stacks.iter().map(|s| text_width(&s.name, 12.0)).fold(40.0, f64::max) + 22.0;
        // Names that would leave too little room for the bars are placed above them, unless there are many.
        let above = label > BESIDE * width + 22.0 && self.stacks.len() <= MANY;
        let left = if above { 0.0 } else { label.min(BESIDE * width + 22.0) };
        y += 14.0;
        for stack in &self.stacks {
            let words = if above { y + 12.0 } else { y + 15.0 };
            svg.open(&stack.arm.map_or_else(String::new, arm_class), stack.arm);
            if let Some(arm) = stack.arm {
                svg.mark(arm, (5.0, words - 4.0), 4.0, Mark::Solid);
            }
            let indent = if stack.arm.is_some() { 14.0 } else { 0.0 };
            svg.text(
                "",
                (indent, words),
                Anchor::Start,
                &fit(&stack.name, 12.0, if above { width - indent } else { left - indent - 6.0 }),
            );
            if above {
                y += 18.0;
            }
            self.draw_stack(&mut svg, stack, (left, y), width - left);
            svg.close();
            y += 30.0;
        }
        svg.height = y;
        svg
    }
}

impl Stacks {
    fn draw_stack(&self, svg: &mut Svg, stack: &Stack, (left, y): (f64, f64), wide: f64) {
        let mut x = left;
        for segment in stack.segments.iter().filter(|s| s.share.is_finite() && s.share > 0.0) {
            let w = (segment.share.min(1.0) * wide).min(left + wide - x);
            let class = self.kinds.get(segment.kind).map_or("bar", |k| k.0);
            svg.rect(class, (x, y), (w, 21.0));
            let text = crate::number::percent(segment.share);
            let room = text_width(&text, 11.0) + 10.0;
            if w > room {
                let on = if matches!(class, "t0" | "t1") { "on-light" } else { "on-dark" };
                svg.text(on, (x + 5.0, y + 14.5), Anchor::Start, &text);
            } else if stack.segments.len() == 1 && x + w + room < left + wide {
                svg.text("small", (x + w + 5.0, y + 14.5), Anchor::Start, &text);
            }
            x += w;
        }
        if x == left {
            svg.text("small", (left, y + 14.5), Anchor::Start, "0 %");
        }
    }
}

/// One small chart with a bar for each arm.
#[derive(Debug, Clone)]
pub(crate) struct BarGroup {
    pub(crate) name: String,
    /// `(arm, value, printed value)`.
    pub(crate) bars: Vec<(u32, Option<f64>, String)>,
}

/// Small charts side by side, each with its own scale from zero.
#[derive(Debug, Clone)]
pub(crate) struct Bars {
    pub(crate) arms: Vec<ArmKey>,
    pub(crate) groups: Vec<BarGroup>,
}

const BAR: f64 = 17.0;

/// Width of a small chart, px.
const PART: f64 = 300.0;

impl Draw for Bars {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let columns = ((width / PART).round().max(1.0) as usize).min(self.groups.len().max(1));
        let cell = (width + 24.0) / columns as f64;
        let high = 38.0 + BAR * self.arms.len() as f64;
        for (i, group) in self.groups.iter().enumerate() {
            let (x, y) = ((i % columns) as f64 * cell, (i / columns) as f64 * high);
            self.draw_group(&mut svg, group, (x, y), cell - 24.0);
        }
        svg.height = high * self.groups.len().div_ceil(columns) as f64;
        svg
    }
}

impl Bars {
    fn name(&self, arm: u32) -> &str {
        self.arms.iter().find(|a| a.arm == arm).map_or("?", |a| a.name.as_str())
    }

    fn draw_group(&self, svg: &mut Svg, group: &BarGroup, (x, y): (f64, f64), wide: f64) {
        svg.text_within("head", (x, y + 12.0), Anchor::Start, &group.name, wide);
        let largest = group.bars.iter().filter_map(|b| b.1).filter(|v| v.is_finite()).fold(0.0, f64::max);
        let label = self.arms.iter().map(|a| text_width(&a.name, 11.0)).fold(20.0, f64::max).min(wide * 0.36) + 20.0;
        let value = group.bars.iter().map(|b| text_width(&b.2, 11.0)).fold(20.0, f64::max) + 10.0;
        let room = (wide - label - value).max(20.0);
        for (row, (arm, number, printed)) in group.bars.iter().enumerate() {
            let top = y + 20.0 + row as f64 * BAR;
            svg.open(&arm_class(*arm), Some(*arm));
            svg.mark(*arm, (x + 5.0, top + 8.0), 3.6, Mark::Solid);
            svg.text_within("small", (x + 14.0, top + 12.0), Anchor::Start, self.name(*arm), label - 18.0);
            let share = number.filter(|v| v.is_finite() && largest > 0.0).map_or(0.0, |v| v.max(0.0) / largest);
            svg.rect(
                "bar",
                (x + label, top + 3.0),
                ((share * room).max(if number.is_some() { 1.0 } else { 0.0 }), 10.0),
            );
            svg.text("small", (x + label + share * room + 6.0, top + 12.0), Anchor::Start, printed);
            svg.close();
        }
    }
}
