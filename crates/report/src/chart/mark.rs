//! The signs of arms: five shapes, so that arms can be distinguished without colour, as closed parts of a path.

use super::path::{PathData, tenths};

/// Below this radius, px, a sign is drawn as a dot: a square and a circle look the same there.
pub(super) const SMALLEST_SHAPE: f64 = 2.0;

/// The sign of an arm or state at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Filled with the arm's colour.
    Solid,
    /// Outline only.
    Hollow,
    /// Outline with a ring around it.
    Ringed,
}

/// Whether an arm's sign is a circle.
pub(super) fn is_circle(arm: u32) -> bool {
    arm.is_multiple_of(5)
}

/// Adds the outline of an arm's sign: circle, square, diamond, triangle up, triangle down. Sizes are multiples of half
/// a px, which have short numbers.
pub(super) fn outline(path: &mut PathData, arm: u32, (x, y): (f64, f64), r: f64) {
    let size = |factor: f64| (2.0 * factor * r).round() / 2.0;
    let steps = match arm % 5 {
        0 => {
            let r = size(1.0);
            path.move_to((x - r, y));
            path.circle(tenths(r));
            return path.close();
        }
        1 => {
            let side = size(1.76);
            path.move_to((x - side / 2.0, y - side / 2.0));
            [(side, 0.0), (0.0, side), (-side, 0.0)]
        }
        2 => {
            let half = size(1.25);
            path.move_to((x, y - half));
            [(half, half), (-half, half), (-half, -half)]
        }
        up_or_down => {
            let up = if up_or_down == 3 { 1.0 } else { -1.0 };
            let (half, high) = (size(1.15), size(2.05));
            path.move_to((x, y - up * 0.58 * high));
            [(half, up * high), (-2.0 * half, 0.0), (0.0, 0.0)]
        }
    };
    for step in steps.into_iter().filter(|step| *step != (0.0, 0.0)) {
        path.line_by((tenths(step.0), tenths(step.1)));
    }
    path.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_arms_have_five_shapes_around_one_point() {
        let shape = |arm| {
            let mut path = PathData::default();
            outline(&mut path, arm, (10.0, 10.0), 4.0);
            path.into_text()
        };
        let shapes: std::collections::BTreeSet<String> = (0..5).map(shape).collect();
        assert_eq!(shapes.len(), 5);
        assert!(shapes.contains("m6.5 6.5h7v7h-7z"), "{shapes:?}");
        assert!(shapes.contains("m6 10a4 4 0 1 0 8 0 4 4 0 1 0-8 0z"), "{shapes:?}");
    }
}
