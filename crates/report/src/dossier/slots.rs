//! Text that an engineer writes into a dossier and that a new version keeps: lines between two marks, by name.

use super::sentences::TO_WRITE;
use std::collections::BTreeMap;

const BEGIN: &str = "<!-- slot: ";
const END: &str = "<!-- end of slot -->";
const SUM: &str = "<!-- schedlab dossier ";

/// The content of an old page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OldPage {
    /// Slots that were edited, by name.
    pub slots: BTreeMap<String, String>,
    /// Whether only slots were changed since the page was generated: then it can be overwritten.
    pub is_ours: bool,
}

/// Reads a page that was generated before. The error is the name of a slot that has no end.
pub fn dossier_slots(page: &str) -> Result<OldPage, String> {
    let mut out = OldPage::default();
    let (mut open, mut outside, mut sum): (Option<(String, String)>, String, &str) = Default::default();
    for whole in page.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        match (&mut open, begins(line)) {
            (Some((name, _)), Some(_)) => return Err(name.clone()),
            (Some((_, text)), None) if !ends(line) => *text += whole,
            (Some(_), None) => {
                let (name, text) = open.take().unwrap_or_default();
                out.slots.extend(written(&text).map(|text| (name, text)));
            }
            (None, Some(name)) => open = Some((name.to_owned(), String::new())),
            (None, None) if line.starts_with(SUM) => sum = line,
            (None, None) => outside += &format!("{}\n", line.trim_end()),
        }
    }
    if let Some((name, _)) = open {
        return Err(name);
    }
    out.is_ours = sum == self::sum(&outside);
    Ok(out)
}

/// The name of the slot that starts at this line.
fn begins(line: &str) -> Option<&str> {
    line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->"))
}

fn ends(line: &str) -> bool {
    line.trim() == END
}

/// The text of the engineer, unchanged except for the last line end, which [`marked`] adds.
fn written(text: &str) -> Option<String> {
    let is_ours = TO_WRITE.iter().flatten().any(|default| *default == text.trim());
    let is_written = !text.trim().is_empty() && !is_ours;
    is_written.then(|| text.strip_suffix('\n').unwrap_or(text).to_owned())
}

/// A slot's lines.
pub(super) fn marked(name: &str, text: &str) -> String {
    // A line of the text that is a mark would end the slot, so it is changed; other lines stay unchanged.
    let line = |line: &str| match begins(line).is_some() || ends(line) {
        true => line.replace("<!--", "<!-- a"),
        false => line.to_owned(),
    };
    let text: Vec<String> = text.split('\n').map(line).collect();
    format!("{BEGIN}{name} -->\n{}\n{END}\n\n", text.join("\n"))
}

/// The last line of a page: an FNV-1a checksum of the text outside of its slots.
fn sum(outside: &str) -> String {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    format!("{SUM}{:016x} -->", outside.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The last line for a page with these lines.
pub(super) fn seal(page: &str) -> String {
    let (mut outside, mut is_inside) = (String::new(), false);
    for line in page.lines() {
        is_inside |= line.starts_with(BEGIN);
        if !is_inside {
            outside += &format!("{}\n", line.trim_end());
        }
        is_inside &= !ends(line);
    }
    sum(&outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_found_and_what_was_not_is_none() {
        let page = format!("# T\n\n{}text\n{}", marked("principle", "mine\n\n- x"), marked("summary", TO_WRITE[3][1]));
        let page = format!("{page}{}\n", seal(&page));
        let found = dossier_slots(&page).unwrap();
        assert_eq!(found.slots, BTreeMap::from([("principle".to_owned(), "mine\n\n- x".to_owned())]));
        assert!(found.is_ours);
        assert!(dossier_slots(&page.replace("mine", "yours")).unwrap().is_ours, "a slot may change");
        assert!(!dossier_slots(&page.replace("text", "TEXT")).unwrap().is_ours);
        assert!(!dossier_slots("# by hand\n").unwrap().is_ours);
        assert_eq!(dossier_slots(&page.replacen(END, "", 1)), Err("principle".to_owned()));
        let hostile = format!("{END}\n{BEGIN}evil -->");
        let found = dossier_slots(&marked("principle", &hostile)).unwrap();
        assert_eq!(found.slots.keys().collect::<Vec<_>>(), ["principle"]);
    }

    #[test]
    fn what_was_written_stays_byte_for_byte() {
        let mine = "    indented\n- <!-- slot: of mine -->, `<!-- end of slot -->`\ttab  \n\r\nwith CR\r\n\n \n";
        let read = |text: &str| dossier_slots(&marked("principle", text)).unwrap().slots["principle"].clone();
        assert_eq!(read(mine), mine);
        assert_eq!(read(&read(mine)), mine);
        for nothing in ["", " \n\n", &format!("  {}\n", TO_WRITE[0][0])] {
            assert_eq!(dossier_slots(&marked("principle", nothing)).unwrap().slots, BTreeMap::new(), "{nothing:?}");
        }
    }
}
