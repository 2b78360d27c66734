//! All colours in one place. A page gets them as custom properties for light and dark; a picture in its own file gets
//! the values, because viewers other than browsers do not support custom properties.
//!
//! Arms: slate for the control, then hues that can be distinguished with the common colour blindnesses, and in print.

/// `(name, light, dark)`.
pub(crate) const COLOURS: &[(&str, &str, &str)] = &[
    ("paper", "#fffefb", "#14171a"),
    ("panel", "#f7f5ef", "#1b1f24"),
    ("ink", "#1d2126", "#e7e5df"),
    ("soft", "#555d66", "#a9b1b9"),
    ("faint", "#656d75", "#8d969f"),
    ("rule", "#d9d5ca", "#363c43"),
    ("grid", "#ebe8df", "#272c32"),
    ("band", "#efeadb", "#2a2b29"),
    ("block", "#f6f4ed", "#1b1f24"),
    ("a0", "#59636e", "#a7b1bb"),
    ("a1", "#1b6fb0", "#62aee8"),
    ("a2", "#cf5a17", "#f28d50"),
    ("a3", "#17876a", "#4fc0a0"),
    ("a4", "#914a9c", "#c78fd6"),
    ("a5", "#a87a06", "#dcb54e"),
    ("a6", "#bd3a5f", "#ef829f"),
    ("a7", "#2492b5", "#6fcbe8"),
    ("t0", "#d5e4ea", "#344a55"),
    ("t1", "#a3c6d4", "#4a7082"),
    ("t2", "#40748e", "#6fa5bd"),
    ("t3", "#1f4f6b", "#a5cfe0"),
    ("t4", "#9c4a33", "#e09a80"),
    ("near-ink", "#1d2126", "#f1f3f4"),
    ("far-ink", "#ffffff", "#14171a"),
    ("good", "#18744a", "#5cc793"),
    ("bad", "#b03a25", "#f0836d"),
    ("same", "#2f649d", "#78b2ea"),
    ("open", "#805c00", "#d8b455"),
    ("moved", "#6a4f9b", "#b9a1e6"),
    ("none", "#656d75", "#8d969f"),
];

/// Rules of all charts, colours as custom properties.
pub(crate) const CHART_CSS: &str = include_str!("chart.css");

/// `--name: colour;` for one of the two themes.
pub(crate) fn properties(dark: bool) -> String {
    COLOURS.iter().map(|(name, l, d)| format!("--{name}:{};", if dark { d } else { l })).collect()
}

/// The rules with the light colours written out.
pub(crate) fn standalone_css() -> String {
    COLOURS.iter().fold(CHART_CSS.to_owned(), |css, (name, light, _)| css.replace(&format!("var(--{name})"), light))
}

/// Number of arms with distinct hues; further arms reuse them with other shapes and dashed lines.
const HUES: u32 = 8;

/// The colour class of an arm; only the control is slate.
pub(crate) fn arm_class(arm: u32) -> String {
    format!("a{}", if arm < HUES { arm } else { 1 + (arm - 1) % (HUES - 1) })
}

/// Whether another arm has the same hue.
pub(crate) fn is_second_of_its_hue(arm: u32) -> bool {
    arm >= HUES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by WCAG 2, of `#rrggbb`.
    fn luminance(hex: &str) -> f64 {
        let part = |i: usize| {
            let x = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_text_can_be_read_on_what_is_behind_it() {
        let of = |name: &str, dark: bool| {
            let (_, light, night) = COLOURS.iter().find(|c| c.0 == name).unwrap();
            if dark { *night } else { *light }
        };
        let texts = ["ink", "soft", "faint", "good", "bad", "same", "open", "moved", "none"];
        let mut pairs: Vec<(&str, &str, f64)> =
            texts.iter().flat_map(|t| [(*t, "paper", 4.5), (*t, "panel", 4.5)]).collect();
        pairs.extend([("near-ink", "t0", 4.5), ("near-ink", "t1", 4.5), ("soft", "band", 4.5)]);
        pairs.extend(["t2", "t3", "t4"].map(|t| ("far-ink", t, 4.5)));
        // Lines and signs need less contrast than text.
        pairs.extend(["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"].map(|a| (a, "paper", 3.0)));
        for dark in [false, true] {
            for (text, ground, least) in &pairs {
                let found = contrast(of(text, dark), of(ground, dark));
                assert!(found >= *least, "{text} on {ground}, dark {dark}: {found:.2}");
            }
        }
    }

    /// The combination of colour, shape and dash is unique to an arm.
    #[test]
    fn no_two_of_many_arms_look_alike() {
        let looks: std::collections::BTreeSet<_> =
            (0..15).map(|arm| (arm_class(arm), arm % 5, is_second_of_its_hue(arm))).collect();
        assert_eq!(looks.len(), 15);
        assert!((1..15).all(|arm| arm_class(arm) != "a0"));
    }

    #[test]
    fn a_picture_of_its_own_needs_no_custom_property() {
        assert!(!standalone_css().contains("var("), "{}", standalone_css());
    }
}
