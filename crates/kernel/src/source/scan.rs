//! The scanner: reads file scope declaration by declaration.

use super::conditions::{Conditions, Effect};
use super::head::{Shape, closing, is_attribute, is_mark, is_type_word, parts, shape, top_level};
use super::lex::{Kind, Token, is_keyword, lex, open_comment};
use super::members::{Along, of_enum, of_struct, of_table};
use super::spell::{spell, spell_range, word};
use super::{Call, Function, Invocation, Macro, NOT_READ, Skipped, Table, Type, Unit, Variable};

/// A text and where its lines begin.
pub(super) struct File<'a> {
    pub(super) text: &'a [u8],
    starts: Vec<usize>,
}

impl File<'_> {
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at)
    }
}

/// Reads one C file; any bytes will do.
pub fn scan(text: &[u8]) -> Unit {
    let newlines = text.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1);
    let file = File { text, starts: std::iter::once(0).chain(newlines).collect() };
    let tokens = lex(text, 0..text.len(), true);
    let cut = open_comment(text, tokens.last().map_or(0, |token| token.end));
    let mut scanner = Scanner {
        file,
        tokens,
        at: 0,
        head: Vec::new(),
        held: String::new(),
        conditions: Conditions::default(),
        linkage: 0,
        out: Unit::default(),
    };
    scanner.file_scope();
    if let Some(at) = cut {
        scanner.skip(at, "a comment that the file's end cuts off");
    }
    scanner.out
}

/// A directive's name and the rest, white space normalised.
pub(super) fn directive(text: &[u8], token: &Token) -> (String, String) {
    let inside = lex(text, token.start + 1..token.end, false);
    let Some(name) = inside.first().map(|t| word(text, t)) else { return Default::default() };
    let rest = inside[0].end..token.end;
    (name, spell_range(text, rest))
}

struct Scanner<'a> {
    file: File<'a>,
    tokens: Vec<Token>,
    at: usize,
    /// The unfinished declaration: its tokens without directives, and the conditions at its first token.
    head: Vec<Token>,
    held: String,
    conditions: Conditions,
    /// Number of open `extern "C" {` blocks.
    linkage: usize,
    out: Unit,
}

impl Scanner<'_> {
    fn file_scope(&mut self) {
        while let Some(&token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.kind {
                Kind::Directive => {
                    self.conditional(&token, 0);
                }
                Kind::Mark(b'(') => self.parenthesis(),
                Kind::Mark(b'{') => self.braces(&token),
                Kind::Mark(b';') => self.declaration(),
                Kind::Mark(b'}') if self.linkage > 0 => self.linkage -= 1,
                Kind::Mark(b'}') => {
                    self.skip(token.start, NOT_READ[0]);
                    self.head.clear();
                }
                _ => self.push(token),
            }
        }
        if !self.head.is_empty() && !self.invocation() {
            self.skip(self.head[0].start, NOT_READ[1]);
        }
    }

    fn push(&mut self, token: Token) {
        if self.is_after_lone_words(&token) {
            self.head.clear();
        }
        if self.head.is_empty() {
            self.held = self.conditions.text();
        }
        self.head.push(token);
    }

    /// Whether the unfinished declaration consists only of words at column 0, followed by an empty line before `token`:
    /// macros that are declarations by themselves, without `;`, such as a header's list of names.
    fn is_after_lone_words(&self, token: &Token) -> bool {
        let Some(last) = self.head.last().filter(|_| self.is_at_margin(token.start)) else { return false };
        let is_lone = |word: &Token| word.kind == Kind::Word && self.is_at_margin(word.start);
        self.head.iter().all(is_lone) && self.file.text[last.end..token.start].windows(2).any(|two| two == b"\n\n")
    }

    fn skip(&mut self, at: usize, what: &str) {
        self.out.skipped.push(Skipped { line: self.file.line(at), what: what.to_owned() });
    }

    /// Handles a directive at a brace depth; returns the depth to continue with.
    fn conditional(&mut self, token: &Token, depth: usize) -> usize {
        let text = self.file.text;
        let (name, rest) = directive(text, token);
        if name == "define" {
            self.define(token);
        }
        match self.conditions.take(&name, &rest, depth, self.head.len()) {
            Effect::Continue { depth, head } => {
                if depth == 0 {
                    self.head.truncate(head);
                }
                depth
            }
            Effect::Dead => {
                self.dead();
                depth
            }
        }
    }

    /// Skips to the `#else`, `#elif` or `#endif` of an `#if 0`.
    fn dead(&mut self) {
        let mut nested = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            if token.kind == Kind::Directive {
                let name = directive(self.file.text, token).0;
                match name.as_str() {
                    "if" | "ifdef" | "ifndef" => nested += 1,
                    "endif" if nested > 0 => nested -= 1,
                    "endif" | "else" | "elif" if nested == 0 => return,
                    _ => {}
                }
            }
            self.at += 1;
        }
    }

    fn define(&mut self, token: &Token) {
        let text = self.file.text;
        let inside = lex(text, token.start + 1..token.end, false);
        let Some(name) = inside.get(1).filter(|t| t.kind == Kind::Word) else { return };
        self.out.macros.push(Macro {
            name: word(text, name),
            text: spell(text, &inside[2..]),
            line: self.file.line(token.start),
            condition: self.conditions.text(),
        });
    }

    /// Reads from after an opening parenthesis to its end. `NAME(…)` may then be complete without a `;`.
    fn parenthesis(&mut self) {
        let mut depth = 1usize;
        self.push(self.tokens[self.at - 1]);
        while let Some(&token) = self.tokens.get(self.at) {
            match token.kind {
                Kind::Directive => {
                    self.at += 1;
                    self.conditional(&token, 1);
                    continue;
                }
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') => depth -= 1,
                // The parentheses are not closed: the declaration ends here.
                Kind::Mark(b'}') if self.is_at_margin(token.start) => break,
                _ => {}
            }
            self.at += 1;
            self.push(token);
            if depth == 0 {
                break;
            }
        }
        let next = self.tokens.get(self.at);
        let goes_on =
            next.is_some_and(|t| !(t.kind == Kind::Directive || t.kind == Kind::Word && self.is_at_margin(t.start)));
        let is_mark = next.is_some_and(|t| t.kind == Kind::Word && is_attribute(&self.file.text[t.start..t.end]));
        if !goes_on && !is_mark && self.head.get(1).is_some_and(|t| t.is(b'(')) && self.invocation() {
            self.head.clear();
        }
    }

    fn is_at_margin(&self, at: usize) -> bool {
        at == 0 || self.file.text[at - 1] == b'\n'
    }

    /// Records the unfinished declaration if it is `NAME(arguments)`, with or without words before; returns false if it
    /// is not.
    fn invocation(&mut self) -> bool {
        let text = self.file.text;
        let Some(open) = top_level(&self.head, |t| t.is(b'(')).filter(|&open| open > 0) else { return false };
        let is_name = |t: &Token| {
            t.kind == Kind::Word && !is_attribute(&text[t.start..t.end]) && !is_type_word(&text[t.start..t.end])
        };
        let Some(close) = closing(&self.head, open).filter(|_| is_name(&self.head[open - 1])) else { return false };
        if close + 1 != self.head.len() {
            return false;
        }
        self.out.invocations.push(Invocation {
            name: word(text, &self.head[open - 1]),
            arguments: parts(&self.head[open + 1..close], b',').into_iter().map(|p| spell(text, p)).collect(),
            line: self.file.line(self.head[open - 1].start),
            condition: self.held.clone(),
            function: None,
        });
        true
    }

    /// At the `;` of a declaration: records an invocation, or an object with its value. Prototypes and types are
    /// skipped.
    fn declaration(&mut self) {
        let text = self.file.text;
        let head = std::mem::take(&mut self.head);
        if let Shape::Object { name, equals } = shape(text, &head) {
            // `static DEFINE_PER_CPU(int, x) = 1;`
            if head.get(name + 1).is_some_and(|t| t.is(b'(')) {
                self.out.invocations.extend(items(&self.file, &head[name..], &self.conditions));
                return;
            }
            self.out.variables.push(Variable {
                name: word(text, &head[name]),
                value: spell(text, &head[equals + 1..]),
                line: self.file.line(head[name].start),
                condition: self.held.clone(),
            });
            // `struct kobj_attribute x = __ATTR(…);`
            self.out.invocations.extend(items(&self.file, &head[equals + 1..], &self.conditions));
            return;
        }
        self.head = head;
        // With a type before it, it is a prototype, except for upper-case names: `static DEFINE_MUTEX(lock);`.
        let open = top_level(&self.head, |t| t.is(b'(')).unwrap_or(0);
        let is_upper = |t: &Token| !text[t.start..t.end].iter().any(u8::is_ascii_lowercase);
        if open == 1 || open > 1 && is_upper(&self.head[open - 1]) {
            self.invocation();
        }
        self.head.clear();
    }

    /// At the `{` of a body: finds its end; the words before it determine what it is.
    fn braces(&mut self, open: &Token) {
        let text = self.file.text;
        let head = std::mem::take(&mut self.head);
        let held = std::mem::take(&mut self.held);
        if matches!(&head[..], [word, name] if word.kind == Kind::Word && name.kind == Kind::Text) {
            // The contents of `extern "C" {` are at file scope.
            self.linkage += 1;
            return;
        }
        let begun = self.at;
        let shape = shape(text, &head);
        let mut inner = self.conditions.clone();
        self.block(open);
        let body = begun..self.at.saturating_sub(1).max(begun);
        match shape {
            Shape::Function { name, close } => self.function(&head, name, close, body, (held, &inner)),
            Shape::Type { keyword, tag } => {
                let keyword = word(text, &head[keyword]);
                let body = &self.tokens[body];
                let (members, skipped) = match keyword.as_str() {
                    "enum" => (of_enum(&self.file, body, &mut inner), Vec::new()),
                    _ => of_struct(&self.file, body, &mut inner),
                };
                self.out.skipped.extend(skipped);
                let line = self.file.line(head[0].start);
                let mut name = tag.map(|t| word(text, &head[t])).unwrap_or_default();
                let mut is_object = false;
                if name.is_empty()
                    && let Some(after) = self.name_after()
                {
                    name = word(text, after);
                    is_object = !head.iter().any(|t| &text[t.start..t.end] == b"typedef");
                }
                self.out.types.push(Type { keyword, name, is_object, line, condition: held, members });
            }
            Shape::Object { name, equals } => {
                let words: Vec<Token> = head[..name].iter().copied().filter(|t| t.kind == Kind::Word).collect();
                let body = &self.tokens[body];
                self.out.invocations.extend(items(&self.file, body, &inner));
                let entries = of_table(&self.file, body, &mut inner);
                let is_by_macro = head.get(name + 1).is_some_and(|t| t.is(b'('));
                let (of, named) = match is_by_macro {
                    true => (String::new(), spell(text, &head[name..equals])),
                    false => (words.last().map(|t| word(text, t)).unwrap_or_default(), word(text, &head[name])),
                };
                let line = self.file.line(head[name].start);
                // An array of values: `sysctl_tcp_mem[3] = {1, 2, 3}`.
                if named.starts_with("sysctl_") && entries.is_empty() {
                    let value = spell(text, body);
                    self.out.variables.push(Variable { name: named.clone(), value, line, condition: held.clone() });
                }
                self.out.tables.push(Table { of, name: named, line, condition: held, entries });
            }
            Shape::Other => self.skip(open.start, NOT_READ[2]),
        }
    }

    /// The name after an anonymous type, after any attributes: `} __packed name;`.
    fn name_after(&self) -> Option<&Token> {
        let mut rest = self.tokens.get(self.at..)?;
        while let [mark, after @ ..] = rest
            && mark.kind == Kind::Word
            && is_mark(&self.file.text[mark.start..mark.end])
        {
            let has_arguments = after.first().is_some_and(|open| open.is(b'('));
            rest = if has_arguments { after.get(closing(after, 0)? + 1..)? } else { after };
        }
        rest.first().filter(|t| t.kind == Kind::Word)
    }

    /// Skips to the closing brace of the block just opened. A closing brace in column 0 ends the block at any depth,
    /// because branches of an `#if` may open more braces than they close.
    fn block(&mut self, open: &Token) {
        let (mut depth, mut at_margin) = (1usize, 0usize);
        while let Some(&token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.kind {
                Kind::Directive => {
                    let next = self.conditional(&token, depth);
                    if next == 0 {
                        self.skip(token.start, NOT_READ[3]);
                    }
                    depth = next.max(1);
                }
                Kind::Mark(b'{') => {
                    depth += 1;
                    at_margin += usize::from(self.is_at_margin(token.start));
                }
                Kind::Mark(b'}') => {
                    depth -= 1;
                    let was_opened_there = depth > 0 && at_margin > 0 && self.is_at_margin(token.start);
                    at_margin -= usize::from(was_opened_there);
                    // An array `{ { … }, { … } }` may have its inner braces in column 0.
                    let goes_on = self.tokens.get(self.at).is_some_and(|next| next.is(b',') || next.is(b'}'));
                    if depth > 0 && !was_opened_there && !goes_on && self.is_at_margin(token.start) {
                        self.skip(open.start, NOT_READ[4]);
                        return;
                    }
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
        self.skip(open.start, NOT_READ[5]);
    }

    /// `condition` is that of the first word, `inner` are the conditions at the opening brace.
    fn function(
        &mut self,
        head: &[Token],
        name: usize,
        close: usize,
        body: std::ops::Range<usize>,
        (condition, inner): (String, &Conditions),
    ) {
        let text = self.file.text;
        let outer = word(text, &head[name]);
        // A macro defines it if only a storage class comes before a name in capitals.
        let storage = |t: &Token| {
            matches!(&text[t.start..t.end], b"static" | b"inline" | b"notrace" | b"__always_inline" | b"asmlinkage")
        };
        let is_macro = head[..name].iter().all(storage) && !outer.bytes().any(|b| b.is_ascii_lowercase());
        let first = head[name + 1..close].iter().find(|t| t.kind == Kind::Word).filter(|_| is_macro);
        let (called, by) = match first {
            Some(first) => (word(text, first), Some(outer)),
            None => (outer, None),
        };
        let end = self.tokens.get(body.end).map_or(text.len().saturating_sub(1), |t| t.start);
        let bytes = head[0].start..(end + 1).min(text.len());
        self.registrations(body.clone(), inner, &called);
        if called.contains("init") {
            self.defaults(body.clone(), &condition);
        }
        self.out.functions.push(Function {
            name: called,
            by,
            signature: spell(text, &head[..=close]),
            first_line: self.file.line(head[0].start),
            line: self.file.line(head[name].start),
            last_line: self.file.line(end),
            condition,
            bytes,
            calls: self.calls(body),
        });
    }

    fn calls(&self, body: std::ops::Range<usize>) -> Vec<Call> {
        let (text, tokens) = (self.file.text, &self.tokens[body]);
        let mut seen = std::collections::HashSet::new();
        let mut out = Vec::new();
        for (at, pair) in tokens.windows(2).enumerate() {
            let name = &text[pair[0].start..pair[0].end];
            if pair[0].kind != Kind::Word || !pair[1].is(b'(') || is_keyword(name) || is_type_word(name) {
                continue;
            }
            let before = at.checked_sub(1).map(|b| tokens[b]);
            let is_arrow = before.is_some_and(|t| t.is(b'>')) && at >= 2 && tokens[at - 2].is(b'-');
            let is_member = is_arrow || before.is_some_and(|t| t.is(b'.'));
            if seen.insert((name, is_member)) {
                out.push(Call { name: word(text, &pair[0]), is_member, line: self.file.line(pair[0].start) });
            }
        }
        out
    }

    /// `net->ipv4.sysctl_tcp_autocorking = 1;`
    fn defaults(&mut self, body: std::ops::Range<usize>, condition: &str) {
        let (text, tokens) = (self.file.text, &self.tokens[body]);
        for (at, three) in tokens.windows(3).enumerate() {
            let [before, name, equals] = three else { continue };
            let is_member = before.is(b'.') || before.is(b'>');
            let is_set = equals.is(b'=') && !tokens.get(at + 3).is_some_and(|next| next.is(b'='));
            if !(is_member && is_set && text[name.start..name.end].starts_with(b"sysctl_")) {
                continue;
            }
            let rest = &tokens[at + 3..];
            let end = top_level(rest, |t| t.is(b';')).unwrap_or(0);
            // The result of a call, or the value of another member, is not a default.
            if rest[..end].iter().any(|t| t.is(b'(') || t.is(b'>')) {
                continue;
            }
            self.out.defaults.push(Variable {
                name: word(text, name),
                value: spell(text, &rest[..end]),
                line: self.file.line(name.start),
                condition: condition.to_owned(),
            });
        }
    }

    /// Calls in a body that have a string argument and register a name for user space, or call a macro of the file that
    /// does.
    fn registrations(&mut self, body: std::ops::Range<usize>, conditions: &Conditions, function: &str) {
        const STARTS: &[&[u8]] = &[
            b"debugfs_create",
            b"proc_create",
            b"proc_mkdir",
            b"proc_symlink",
            b"register_sysctl",
            b"register_net_sysctl",
        ];
        let by_macro = self.out.macros.iter().filter(|found| found.text.contains("debugfs_create"));
        let by_macro: Vec<&[u8]> = by_macro.map(|found| found.name.as_bytes()).collect();
        let is_one = |name: &[u8]| STARTS.iter().any(|s| name.starts_with(s)) || by_macro.contains(&name);
        let found = invoked(&self.file, &self.tokens[body], conditions, is_one);
        let of = |i| Invocation { function: Some(function.to_owned()), ..i };
        self.out.invocations.extend(found.into_iter().map(of));
    }
}

/// Invocations in an initialiser: `SNMP_MIB_ITEM("Name", ITEM),`.
fn items(file: &File, body: &[Token], conditions: &Conditions) -> Vec<Invocation> {
    invoked(file, body, conditions, |name| !name.iter().any(u8::is_ascii_lowercase))
}

/// Each `name(…)` in `body` whose name is `wanted`. `conditions` are those at its opening brace.
fn invoked(file: &File, body: &[Token], conditions: &Conditions, wanted: impl Fn(&[u8]) -> bool) -> Vec<Invocation> {
    let is_wanted = |pair: &[Token]| {
        pair[0].kind == Kind::Word && pair[1].is(b'(') && wanted(&file.text[pair[0].start..pair[0].end])
    };
    // Most bodies have none of these.
    if !body.windows(2).any(is_wanted) {
        return Vec::new();
    }
    let (tokens, along) = Along::of(file, body, &mut conditions.clone());
    let invocation = |at: usize| {
        let close = closing(&tokens, at + 1)?;
        Some(Invocation {
            name: word(file.text, &tokens[at]),
            arguments: parts(&tokens[at + 2..close], b',').into_iter().map(|p| spell(file.text, p)).collect(),
            line: file.line(tokens[at].start),
            condition: along.at(&tokens[at]),
            function: None,
        })
    };
    let found = tokens.windows(2).enumerate().filter(|(_, pair)| is_wanted(pair));
    found.filter_map(|(at, _)| invocation(at)).collect()
}
