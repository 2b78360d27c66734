//! A small checker of XML well-formedness: tags are nested and closed, attributes are quoted and unique, text and
//! attributes contain no bare `<` or `&`, references are known, characters are allowed.

/// The error says what is wrong and where.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    let mut roots = 0;
    while let Some(start) = rest.find('<') {
        characters(&rest[..start])?;
        let end = tag_end(&rest[start..]).ok_or_else(|| format!("a tag never ends: {}", head(&rest[start..])))?;
        let tag = &rest[start + 1..start + end];
        rest = &rest[start + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name.trim() => {}
                last => return Err(format!("</{name}> closes {last:?}")),
            }
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
        let name_end = tag.find(char::is_whitespace).unwrap_or(tag.len());
        attributes(&tag[name_end..])?;
        roots += usize::from(open.is_empty());
        if !closed {
            open.push(&tag[..name_end]);
        }
    }
    characters(rest)?;
    match (open.is_empty(), roots) {
        (true, 1) => Ok(()),
        (true, n) => Err(format!("{n} roots")),
        (false, _) => Err(format!("never closed: {open:?}")),
    }
}

fn head(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The `>` that ends a tag: not one inside quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(i),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            _ => {}
        }
    }
    None
}

fn attributes(text: &str) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once('=').ok_or_else(|| format!("an attribute without a value: {}", head(rest)))?;
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or("an attribute without quotes")?;
        let (value, after) = after[1..].split_once(quote).ok_or("a quote never ends")?;
        if seen.contains(&name) {
            return Err(format!("{name} twice"));
        }
        if value.contains('<') {
            return Err(format!("a bare < in {name}"));
        }
        characters(value)?;
        seen.push(name);
        rest = after.trim_start();
    }
    Ok(())
}

fn characters(text: &str) -> Result<(), String> {
    for (i, _) in text.match_indices('&') {
        let reference = text[i + 1..].split(';').next().unwrap_or_default();
        if !matches!(reference, "amp" | "lt" | "gt" | "quot" | "#39") {
            return Err(format!("an unknown reference: {}", head(&text[i..])));
        }
    }
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        Some(c) => Err(format!("the character {:?} is not allowed", c)),
        None => Ok(()),
    }
}

#[test]
fn the_checker_sees_what_is_wrong() {
    assert_eq!(check("<a x=\"1 > 0\"><b/>t &amp; u</a>"), Ok(()));
    for bad in [
        "<a>",
        "<a></b>",
        "<a x=1/>",
        "<a x=\"1\" x=\"2\"/>",
        "<a>&nbsp;</a>",
        "<a/><b/>",
        "<a x=\"<\"/>",
        "<a>\u{1}</a>",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
}
