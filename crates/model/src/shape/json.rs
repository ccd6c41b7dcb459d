//! Walking through a JSON text (RFC 8259) without building anything.

/// Arrays and objects inside each other at most, where any value is right.
const MAX_DEPTH: u32 = 128;

/// A place in a JSON text. Every method either passes what it names or returns `None`; then the walk is over.
#[derive(Clone, Debug)]
pub(super) struct Walk<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Bytes passed.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Passes white space, then `token` if it is next.
    #[inline]
    pub(super) fn token(&mut self, token: &str) -> Option<()> {
        self.space();
        self.text[self.at..].starts_with(token.as_bytes()).then(|| self.at += token.len())
    }

    /// A string; returns what stands between its quotes, escapes and all.
    #[inline]
    pub(super) fn string(&mut self) -> Option<&'t [u8]> {
        self.token("\"")?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(&self.text[start..self.at - 1])
    }

    fn escape(&mut self) -> Option<()> {
        let len = match self.text.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' if self.text.get(self.at + 2..self.at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return None,
        };
        self.at += len;
        Some(())
    }

    /// A number; returns its text.
    #[inline]
    pub(super) fn number(&mut self) -> Option<&'t [u8]> {
        self.space();
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let first = self.peek();
        let integer = self.digits();
        if integer == 0 || (integer > 1 && first == Some(b'0')) {
            return None;
        }
        // Without a digit behind it, a point is not part of the number: so `1..5` is read as 1 and what follows.
        if self.peek() == Some(b'.') && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return None;
            }
        }
        Some(&self.text[start..self.at])
    }

    #[inline]
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// Any value.
    pub(super) fn value(&mut self) -> Option<()> {
        self.value_within(MAX_DEPTH)
    }

    fn value_within(&mut self, depth: u32) -> Option<()> {
        self.space();
        let deeper = depth.checked_sub(1);
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b't' => self.token("true"),
            b'f' => self.token("false"),
            b'n' => self.token("null"),
            b'[' => self.list("[", "]", |walk| walk.value_within(deeper?)),
            b'{' => self.list("{", "}", |walk| {
                walk.string()?;
                walk.token(":")?;
                walk.value_within(deeper?)
            }),
            _ => self.number().map(|_| ()),
        }
    }

    /// A list between `open` and `close`, with commas between what `element` passes.
    pub(super) fn list(
        &mut self,
        open: &str,
        close: &str,
        mut element: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.token(open)?;
        if self.token(close).is_some() {
            return Some(());
        }
        loop {
            element(self)?;
            if self.token(",").is_none() {
                return self.token(close);
            }
        }
    }
}

/// Whether a string token, as [`Walk::string`] returns it, says `text`.
#[inline]
pub(super) fn says(token: &[u8], text: &str) -> bool {
    if !token.contains(&b'\\') {
        return token == text.as_bytes();
    }
    let mut rest = token;
    let mut wanted = text.chars();
    while let Some(c) = next_char(&mut rest) {
        if wanted.next() != Some(c) {
            return false;
        }
    }
    rest.is_empty() && wanted.next().is_none()
}

/// Takes one character, which may be escaped, off a string token; `None` at its end and at half a surrogate pair.
fn next_char(rest: &mut &[u8]) -> Option<char> {
    let (c, len) = match rest {
        [b'\\', b'u', hex @ ..] => match unit(hex)? {
            high @ 0xd800..0xdc00 => {
                let low = rest.get(6..)?.strip_prefix(b"\\u").and_then(unit)?.checked_sub(0xdc00)?;
                (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low)?, 12)
            }
            code => (char::from_u32(code)?, 6),
        },
        [b'\\', escaped, ..] => {
            let plain = match escaped {
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                other => char::from(*other),
            };
            (plain, 2)
        }
        _ => {
            let c = std::str::from_utf8(rest.get(..4.min(rest.len()))?)
                .or_else(|error| std::str::from_utf8(&rest[..error.valid_up_to()]))
                .ok()?
                .chars()
                .next()?;
            (c, c.len_utf8())
        }
    };
    *rest = rest.get(len..)?;
    Some(c)
}

fn unit(hex: &[u8]) -> Option<u32> {
    let digit = |value: u32, &byte: &u8| Some(value * 16 + char::from(byte).to_digit(16)?);
    hex.get(..4)?.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(text: &str) -> bool {
        let mut walk = Walk::new(text.as_bytes());
        let passed = walk.value().is_some();
        walk.space();
        passed && walk.is_at_end()
    }

    #[test]
    fn the_same_texts_are_json_as_an_independent_parser_says() {
        for text in [
            "null",
            " true ",
            "false",
            "0",
            "-0",
            "01",
            "1.",
            "1.5e+3",
            ".5",
            "1e",
            "-",
            "\"\"",
            "\"a\\n\\u00e9\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a\nb\"",
            "\"open",
            "[]",
            "[1,2]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\":1}",
            "{\"a\" : [ {} ] , \"b\":null}",
            "{a:1}",
            "{\"a\":1,}",
            "{\"a\"}",
            "nul",
            "",
            "[",
            "{",
            "1 2",
            "tru",
        ] {
            assert_eq!(is_json(text), serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(is_json(&nested(100)) && !is_json(&nested(100_000)));
    }

    #[test]
    fn strings_are_compared_by_what_they_say() {
        for (token, text) in [
            (r"abc", "abc"),
            (r"a\u0062c", "abc"),
            (r"\u00e9\n\/", "é\n/"),
            (r"\ud83d\ude00x", "😀x"),
            (r"é\u0041", "éA"),
        ] {
            assert!(says(token.as_bytes(), text), "{token}");
            assert!(!says(token.as_bytes(), &format!("{text}!")) && !says(token.as_bytes(), ""));
        }
        for half in [r"\ud83d", r"\ud83dx", r"\ud83d\u0041", r"\ude00"] {
            assert!(!says(half.as_bytes(), "😀") && !says(half.as_bytes(), ""), "{half}");
        }
    }
}
