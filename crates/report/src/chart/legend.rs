//! The legend of charts whose marks have no label: a sign and a name for each arm, wrapped to the width.

use super::ArmKey;
use super::mark::Mark;
use super::measure::{fit, text_width};
use super::svg::{Anchor, Svg};
use super::theme::arm_class;

/// Draws the legend from the top and returns the height it took.
pub(crate) fn draw(svg: &mut Svg, arms: &[ArmKey], left: f64) -> f64 {
    let (mut x, mut y) = (left + 6.0, 8.0);
    for key in arms {
        let name = fit(&key.name, 12.0, svg.width - left - 30.0);
        let wide = text_width(&name, 12.0) + 30.0;
        if x + wide > svg.width + 12.0 && x > left + 6.0 {
            (x, y) = (left + 6.0, y + 18.0);
        }
        svg.open(&arm_class(key.arm), Some(key.arm));
        svg.mark(key.arm, (x, y), 4.2, Mark::Solid);
        svg.text("", (x + 10.0, y + 4.0), Anchor::Start, &name);
        svg.close();
        x += wide;
    }
    y + 14.0
}
