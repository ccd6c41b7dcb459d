//! An HTML page that servers may write in more than one way.
//!
//! Two pages are the same here when they have the same elements and texts in the same order. What may differ is what no
//! reader of the page sees: how a character is escaped, the case of names, white space around tags, comments, attributes,
//! and `meta`, `thead` and `tbody`, which a browser supplies or does not show (HTML Standard, 13.1.2.4 and 13.2.5).

/// A page to compare others with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A tag or declaration without its attributes, in lower case: `/td`.
    Tag(String),
    /// Characters, unescaped.
    Text(String),
}

/// Elements that make no difference.
const UNSEEN: [&str; 3] = ["meta", "thead", "tbody"];
/// The longest name of a character reference.
const MAX_REFERENCE: usize = 8;

impl Page {
    /// Reads a page; `None` when a tag or comment has no end.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (before, behind) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            push_text(&mut parts, before);
            let Some(inside) = behind.strip_prefix('<') else { break };
            if let Some(comment) = inside.strip_prefix("!--") {
                rest = comment.split_once("-->")?.1;
                continue;
            }
            let end = end_of_tag(inside)?;
            push_tag(&mut parts, &inside[..end]);
            rest = &inside[end + 1..];
        }
        Some(Self(parts))
    }

    /// Whether `text` is the same page.
    pub fn is_same(&self, text: &[u8]) -> bool {
        std::str::from_utf8(text).ok().and_then(Self::read).is_some_and(|page| page == *self)
    }

    /// The texts of the page, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Tag(_) => None,
        })
    }

    /// The first part in which `text` differs, as given and as wanted; `None` when nothing does.
    pub fn difference(&self, text: &str) -> Option<(String, String)> {
        let Some(other) = Self::read(text) else {
            return Some(("a tag without an end".to_owned(), "a page".to_owned()));
        };
        let longest = self.0.len().max(other.0.len());
        let differs = (0..longest).find(|&i| self.0.get(i) != other.0.get(i))?;
        let told = |page: &Self| page.0.get(differs).map_or("the end".to_owned(), ToString::to_string);
        Some((told(&other), told(self)))
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tag(name) => write!(out, "<{name}>"),
            Self::Text(text) => write!(out, "`{text}`"),
        }
    }
}

/// Where a tag's `>` is; one in quotation marks belongs to an attribute.
fn end_of_tag(inside: &str) -> Option<usize> {
    let mut quote = None;
    inside.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None, b'>') => return true,
            _ => {}
        }
        false
    })
}

fn push_tag(parts: &mut Vec<Part>, inside: &str) {
    let is_declaration = inside.starts_with('!');
    let name = inside.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    let shown = if is_declaration { inside } else { name.strip_suffix('/').unwrap_or(name) };
    let lower = shown.trim().to_ascii_lowercase();
    if !UNSEEN.contains(&lower.trim_start_matches('/')) {
        parts.push(Part::Tag(lower));
    }
}

/// Text that is more than white space; two in a row, which a comment or an unseen tag had parted, are one.
fn push_text(parts: &mut Vec<Part>, text: &str) {
    if text.trim_ascii().is_empty() {
        return;
    }
    let text = unescaped(text);
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(&text),
        _ => parts.push(Part::Text(text)),
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        match reference(behind) {
            Some((character, behind)) => {
                plain.push(character);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain + rest
}

/// The character that is referred to behind an ampersand, and what follows; the five names of XML and all numbers.
fn reference(behind: &str) -> Option<(char, &str)> {
    let end = behind.bytes().take(MAX_REFERENCE + 1).position(|byte| byte == b';')?;
    let (name, rest) = (&behind[..end], &behind[end + 1..]);
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page::read("<!DOCTYPE html><html><body><p>a &lt;b&gt; \"c\" &amp; d's</p></body></html>")
            .expect("page")
    }

    #[test]
    fn pages_that_read_the_same_are_the_same() {
        for same in [
            "<!doctype html>\n<HTML lang='en'>\n  <body class=\"a > b\"><p>a &#60;b&#x3E; &quot;c&quot; &amp; d&#39;s</p>\n</body></html>\n",
            "<!DOCTYPE html><html><!-- <p> --><meta charset=\"utf-8\"><body><p>a &lt;b> \"c\" & d&apos;s</p></body></html>",
        ] {
            assert!(page().is_same(same.as_bytes()), "{same}: {:?}", page().difference(same));
        }
    }

    #[test]
    fn what_a_reader_would_see_makes_a_difference() {
        let right = "<!DOCTYPE html><html><body><p>a &lt;b&gt; \"c\" &amp; d's</p></body></html>";
        for (from, to) in [
            ("&lt;b&gt;", "<b>"),
            ("d's", "d"),
            ("<p>a", "<p> a"),
            ("</p>", ""),
            ("</html>", "<"),
            ("<!DOCTYPE html>", ""),
        ] {
            let wrong = right.replace(from, to);
            assert!(!page().is_same(wrong.as_bytes()), "{wrong}");
        }
        assert!(!page().is_same(b"\xff"));
        let (given, wanted) = page().difference(&right.replace("&lt;b&gt;", "<b>")).expect("differs");
        assert_eq!((given.as_str(), wanted.as_str()), ("`a `", "`a <b> \"c\" & d's`"));
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        for text in
            ["", "&", "&;", "&#;", "&#x110000;", "<", "<>", "</>", "<!--", "<a b='>", "a&b;c", "&äöü;"]
        {
            let _ = Page::read(text);
        }
        assert_eq!(Page::read("&#8364;&nbsp;").expect("text").texts().collect::<Vec<_>>(), ["€&nbsp;"]);
    }
}
