//! Which task had each CPU over a short time, each time on a CPU separately, and how it ended.

use super::Draw;
use super::mark::Mark;
use super::measure::text_width;
use super::svg::{Anchor, Svg};
use super::theme::arm_class;

/// How a time on a CPU ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// The task waits for something.
    Waits,
    /// A task that had just been woken preempted it.
    Woken,
    /// A task that had waited longer got the CPU, as at the end of a slice.
    Waited,
    /// Not known.
    Open,
}

/// A time on a CPU, as shares of the time that is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) task: String,
    pub(crate) end: TurnEnd,
}

/// A CPU.
#[derive(Debug, Clone)]
pub(crate) struct CpuTurns {
    pub(crate) name: String,
    pub(crate) turns: Vec<Turn>,
    /// Times in which it is not known what the CPU did.
    pub(crate) unknown: Vec<(f64, f64)>,
}

/// The chart: the turns of each CPU.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    /// Its begin and its length, as text.
    pub(crate) from: String,
    pub(crate) length: String,
    pub(crate) cpus: Vec<CpuTurns>,
}

impl Turns {
    /// Number of times on a CPU that ended in this way.
    pub(crate) fn count(&self, end: TurnEnd) -> usize {
        self.cpus.iter().flat_map(|lane| &lane.turns).filter(|turn| turn.end == end).count()
    }
}

/// What is drawn at the end of a preempted time on a CPU, with its description.
const ENDS: [(TurnEnd, Mark, &str); 2] = [
    (TurnEnd::Woken, Mark::Solid, "preempted by a task just woken"),
    (TurnEnd::Waited, Mark::Hollow, "preempted by one that had waited"),
];
/// Explains the colours of the times on a CPU.
const PLAIN: &str = "The two colours separate neighbours. White: idle, or filtered out.";
/// Explains the hatching, next to an example.
const UNKNOWN: &str = "Not known: events are missing, or no switch yet";
/// Two colours distinguish neighbours; a third is for the signs.
const TONES: [u32; 2] = [1, 2];
const SIGNS: u32 = 3;
const BAR: f64 = 16.0;
/// Rectangles wider than this have a border, px.
const RIM: f64 = 2.0;
const LANE: f64 = 46.0;
/// Distance between the strokes of the hatching, px.
const STROKES: f64 = 5.0;

impl Draw for Turns {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let label = self.cpus.iter().map(|lane| text_width(&lane.name, 12.0)).fold(40.0, f64::max);
        let (left, right) = (label + 12.0, width - 6.0);
        let x = |share: f64| left + share.clamp(0.0, 1.0) * (right - left);
        let mut at = 6.0;
        for (end, mark, words) in ENDS {
            let words = format!("{words}: {}", self.count(end));
            svg.open(&arm_class(SIGNS), None);
            svg.mark(SIGNS, (at, 6.0), 4.5, mark);
            svg.close();
            svg.text("small", (at + 10.0, 10.0), Anchor::Start, &words);
            at += text_width(&words, 11.0) + 36.0;
        }
        svg.text("small", (0.0, 27.0), Anchor::Start, PLAIN);
        if self.cpus.iter().any(|lane| !lane.unknown.is_empty()) {
            let at = text_width(PLAIN, 11.0) + 16.0;
            hatch(&mut svg, [(at, at + 22.0)], 19.0, 10.0);
            svg.text("small", (at + 28.0, 27.0), Anchor::Start, UNKNOWN);
        }
        let mut y = 38.0;
        for CpuTurns { name, turns, unknown } in &self.cpus {
            svg.text("", (0.0, y + 26.0), Anchor::Start, name);
            hatch(&mut svg, unknown.iter().map(|(from, to)| (x(*from), x(*to))), y + 14.0, BAR);
            for (parity, tone) in TONES.into_iter().enumerate() {
                let own = turns.iter().enumerate().filter(|(index, _)| index % 2 == parity).map(|(_, turn)| turn);
                let (narrow, wide): (Vec<&Turn>, Vec<&Turn>) = own.partition(|turn| x(turn.to) - x(turn.from) < RIM);
                svg.open(&arm_class(tone), None);
                // A border would cover a narrow rectangle.
                for (class, turns) in [("f", wide), ("bar", narrow)] {
                    let rect = |turn: &Turn| ((x(turn.from), y + 14.0), ((x(turn.to) - x(turn.from)).max(0.3), BAR));
                    svg.rects(class, turns.into_iter().map(rect));
                }
                svg.close();
            }
            let fits = |turn: &&Turn| text_width(&turn.task, 11.0) < x(turn.to) - x(turn.from);
            let names = turns.iter().filter(fits);
            svg.labels("tick", Anchor::Start, names.map(|turn| ((x(turn.from) + 1.0, y + 10.0), turn.task.as_str())));
            svg.open(&arm_class(SIGNS), None);
            for (end, mark, _) in ENDS {
                let ended = turns.iter().filter(|turn| turn.end == end);
                svg.marks(SIGNS, ended.map(|turn| (x(turn.to), y + 18.0 + BAR)), 4.0, mark);
            }
            svg.close();
            y += LANE;
        }
        svg.text("tick", (left, y + 12.0), Anchor::Start, &self.from);
        svg.text("tick", (right, y + 12.0), Anchor::End, &self.length);
        svg.height = y + 18.0;
        svg
    }
}

/// Hatches intervals of a lane: grey, with strokes if there is room for them.
fn hatch(svg: &mut Svg, spans: impl IntoIterator<Item = (f64, f64)>, top: f64, height: f64) {
    let spans: Vec<(f64, f64)> = spans.into_iter().collect();
    svg.rects("block", spans.iter().map(|(from, to)| ((*from, top), ((to - from).max(0.3), height))));
    let strokes = |(from, to): (f64, f64)| {
        let number = ((to - from - height) / STROKES).floor().max(-1.0) as i32;
        let at = move |index: i32| from + STROKES * f64::from(index);
        (0..=number).map(move |index| ((at(index), top + height), (at(index) + height, top)))
    };
    svg.lines("axis", spans.into_iter().flat_map(strokes));
}
