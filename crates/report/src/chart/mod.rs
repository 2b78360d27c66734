//! Charts as deterministic SVG of our own: plain numbers in, one `<svg>` out at the width asked for. A chart knows arms by
//! index, never what a finding means; `pictures` fills it.
//!
//! Every chart is drawn anew for a narrow page instead of being scaled down, so that its letters stay readable.

mod axis;
mod bars;
mod forest;
mod legend;
mod quantiles;
mod strip;
mod svg;
pub(crate) mod theme;
mod timeline;

pub(crate) use bars::{BarGroup, Bars, Segment, Stack, Stacks};
pub(crate) use forest::{Forest, ForestRow, Line};
pub(crate) use quantiles::{Curve, Quantiles};
pub(crate) use strip::{Dot, Strip, StripRow};
pub(crate) use svg::{Mark, Svg};
pub(crate) use timeline::{Point, PointState, Timeline};

/// An arm as charts see it.
#[derive(Debug, Clone)]
pub(crate) struct ArmKey {
    /// Its index, which picks colour and shape.
    pub(crate) arm: u32,
    /// Its name.
    pub(crate) name: String,
}

/// Something that can be drawn at a width in px.
pub(crate) trait Draw {
    /// The picture, `width` px wide and as high as it needs.
    fn draw(&self, width: f64) -> Svg;
}

/// Below this width labels stand above their rows instead of beside them.
pub(crate) const NARROW: f64 = 480.0;
