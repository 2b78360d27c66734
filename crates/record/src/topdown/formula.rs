//! Formulas as vendors write them, over named numbers: `+ - * /`, parentheses, `max(a, b)`, `min(a, b)`. They are
//! evaluated while they are parsed, because they are short and used once per trial.

use std::iter::Peekable;
use std::str::CharIndices;

/// The value of a formula; `look_up` resolves names. `Err` names what is unknown or misplaced; a division by zero is
/// `Ok` and not finite.
pub(crate) fn evaluate(text: &str, look_up: &dyn Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
    let mut parser = Parser { text, rest: text.char_indices().peekable(), look_up };
    let value = parser.sum()?;
    match parser.skip_blanks() {
        None => Ok(value),
        Some(c) => Err(format!("`{text}`: `{c}` is out of place")),
    }
}

/// Names used by a formula.
#[cfg(test)]
pub(crate) fn names(text: &str) -> Vec<String> {
    let seen = std::cell::RefCell::new(Vec::new());
    let note = |name: &str| {
        seen.borrow_mut().push(name.to_owned());
        Ok(1.0)
    };
    evaluate(text, &note).expect("a formula that can be read");
    seen.into_inner()
}

struct Parser<'f> {
    text: &'f str,
    rest: Peekable<CharIndices<'f>>,
    look_up: &'f dyn Fn(&str) -> Result<f64, String>,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            match self.skip_blanks() {
                Some('+') => value += self.after(Self::product)?,
                Some('-') => value -= self.after(Self::product)?,
                _ => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.atom()?;
        loop {
            match self.skip_blanks() {
                Some('*') => value *= self.after(Self::atom)?,
                Some('/') => value /= self.after(Self::atom)?,
                _ => return Ok(value),
            }
        }
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.skip_blanks() {
            Some('(') => {
                let value = self.after(Self::sum)?;
                self.expect(')')?;
                Ok(value)
            }
            Some(c) if is_word(c) => self.word(),
            Some(c) => Err(format!("`{}`: `{c}` is out of place", self.text)),
            None => Err(format!("`{}` ends too early", self.text)),
        }
    }

    /// A number, a name, or one of the two functions.
    fn word(&mut self) -> Result<f64, String> {
        let start = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        while self.rest.next_if(|&(_, c)| is_word(c)).is_some() {}
        let end = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        let word = &self.text[start..end];
        if let Ok(number) = word.parse::<f64>() {
            return Ok(number);
        }
        let choose: fn(f64, f64) -> f64 = match word {
            "max" => f64::max,
            "min" => f64::min,
            name => return (self.look_up)(name),
        };
        self.expect('(')?;
        let a = self.sum()?;
        self.expect(',')?;
        let b = self.sum()?;
        self.expect(')')?;
        Ok(choose(a, b))
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.skip_blanks() {
            Some(c) if c == wanted => {
                self.rest.next();
                Ok(())
            }
            _ => Err(format!("`{}` lacks a `{wanted}`", self.text)),
        }
    }

    /// Skips the operator and reads what follows it.
    fn after(&mut self, read: fn(&mut Self) -> Result<f64, String>) -> Result<f64, String> {
        self.rest.next();
        read(self)
    }

    fn skip_blanks(&mut self) -> Option<char> {
        while self.rest.next_if(|&(_, c)| c.is_whitespace()).is_some() {}
        self.rest.peek().map(|&(_, c)| c)
    }
}

/// Events have points and digits in their names (`EXE_ACTIVITY.1_PORTS_UTIL`), and no signs.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        evaluate(text, &|name| match name {
            "A.1_X" => Ok(8.0),
            "b" => Ok(2.0),
            other => Err(format!("no `{other}`")),
        })
    }

    #[test]
    fn arithmetic_binds_as_usual() {
        assert_eq!(value("1 + 2 * 3 - 4 / b"), Ok(5.0));
        assert_eq!(value("(A.1_X - b) / (b*3)"), Ok(1.0));
        assert_eq!(value("A.1_X - b - 1"), Ok(5.0));
        assert_eq!(value("max(b - A.1_X, 0) + min(A.1_X, 0.5)"), Ok(0.5));
        assert!(value("1 / (b - 2)").unwrap().is_infinite());
        assert_eq!(names("a / (b.c + 2)"), ["a", "b.c"]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("", "ends too early"),
            ("1 +", "ends too early"),
            ("(1", "lacks a `)`"),
            ("1 2", "`2` is out of place"),
            ("max(1)", "lacks a `,`"),
            ("c", "no `c`"),
            ("1 & 2", "`&` is out of place"),
        ] {
            assert!(value(text).unwrap_err().contains(expected), "{text}: {:?}", value(text));
        }
    }
}
