//! Charts as deterministic SVG without a library: plain numbers in, one `<svg>` of the requested width out. A chart
//! knows arms by index, and never what a finding means; `pictures` supplies the numbers.
//!
//! Every chart is drawn again for a narrow page instead of being scaled down, so that its text stays readable.

mod axis;
mod bars;
mod cells;
mod crowd;
mod forest;
mod legend;
mod mark;
mod measure;
mod panels;
mod path;
mod places;
mod quantiles;
mod ranges;
mod scatter;
mod strip;
mod svg;
pub(crate) mod theme;
mod timeline;
mod turns;

pub(crate) use bars::{BarGroup, Bars, Segment, Stack, Stacks};
pub(crate) use cells::RatioCells;
pub(crate) use crowd::CROWDED;
pub(crate) use forest::{Forest, ForestRow, Line};
pub(crate) use mark::Mark;
pub(crate) use panels::{Cut, Panel, PanelRow, Panels};
pub(crate) use places::{PlacementRow, Places};
pub(crate) use quantiles::{Curve, Quantiles};
pub(crate) use ranges::{RangeGroup, RangeRow, Ranges};
pub(crate) use scatter::{Scatter, ScatterPoint};
pub(crate) use strip::{Dot, Strip, StripRow};
pub(crate) use svg::Svg;
pub(crate) use timeline::{Point, PointState, Timeline};
pub(crate) use turns::{CpuTurns, Turn, TurnEnd, Turns};

/// An arm as charts see it.
#[derive(Debug, Clone)]
pub(crate) struct ArmKey {
    /// Its index, which determines colour and shape.
    pub(crate) arm: u32,
    /// Its name.
    pub(crate) name: String,
}

/// Which trials of the page a picture draws, and their unit on the page: the page's script needs this to show what is
/// at the pointer. The picture adds the positions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    /// Index of the workload.
    pub(crate) workload: usize,
    /// Index of the metric among the primary ones.
    pub(crate) column: usize,
    /// Divisor that converts a value of the metric to the unit of the page.
    pub(crate) scale: f64,
}

impl Plot {
    /// For trials side by side: the left edge of the first, and the width for each.
    fn over_order(&self, left: f64, step: f64, scale: &axis::Scale) -> String {
        format!("order {} {} {left:.2} {step:.4} {}", self.workload, self.column, scale.numbers(self.scale))
    }

    /// For rows of arms: the height of a row.
    fn over_rows(&self, height: f64, scale: &axis::Scale) -> String {
        format!("rows {} {} 0 {height} {}", self.workload, self.column, scale.numbers(self.scale))
    }
}

/// Something that can be drawn at a width in px.
pub(crate) trait Draw {
    /// The picture, `width` px wide and as high as it needs.
    fn draw(&self, width: f64) -> Svg;
}

/// Names beside rows take at most this share of the width. Longer names are placed above their rows if there are few
/// rows, and are cut if there are more than [`MANY`].
const BESIDE: f64 = 0.32;

/// See [`BESIDE`].
const MANY: usize = 4;

/// Below this width labels are above their rows instead of beside them.
pub(crate) const NARROW: f64 = 480.0;
