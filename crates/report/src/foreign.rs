//! Foreign text made harmless: names, commands, logs and sentences around them, from a record that anybody may have written.
//!
//! The one place that knows how, for every format; what reaches a reader has gone through one of these functions. They keep
//! what can be read and take away what acts: escape sequences (ECMA-48, with its 8-bit controls), marks that turn the
//! direction of text around (Unicode UAX #9, CVE-2021-42574), markup, formulas of spreadsheets.

/// What stands for a character that is there but must not act.
const REPLACEMENT: char = '\u{fffd}';

/// One line of plain text: for a terminal, and below every other format. Control characters become spaces.
pub fn line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Plain text that may have several lines.
pub fn lines(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { c } else { visible(c) }).collect()
}

/// GitHub-flavoured Markdown that stays one line, or one cell of a table, and is read as text (GFM 0.29, §2.4 and §6).
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let text = text.trim();
    let marker = leading_marker(text);
    let mut safe = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => safe.extend(['\\', c]),
            c if marker == Some(at) => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A list of Markdown, a line for each text.
pub(crate) fn markdown_list(texts: &[String]) -> String {
    texts.iter().map(|text| format!("- {}\n", markdown(text))).collect()
}

/// A code span of Markdown, outside tables: its fence is longer than any in the text (GFM 0.29, §6.3).
pub fn markdown_code(text: &str) -> String {
    let text = line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A text as a field of CSV (RFC 4180), which no spreadsheet takes for a formula: an apostrophe stands before what would be
/// one (OWASP, CSV Injection). Figures of our own need none of this, and a negative one is no formula.
pub fn csv(text: &str) -> String {
    let first = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control()).chars().next();
    let is_formula = matches!(first, Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠'))
        || text.starts_with(['\t', '\r', '\n']);
    let text = if is_formula { format!("'{}", line(text)) } else { line(text) };
    // A semicolon divides fields where the comma divides decimals.
    if text.contains([',', ';', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Text between tags or in a quoted attribute, of HTML, SVG and XML alike.
pub fn markup(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars().map(visible) {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A path as an address relative to a page: no scheme, no query, no fragment (RFC 3986, §2.1 and §4.2).
pub fn relative_address(path: &str) -> String {
    let mut address = "./".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address += &format!("%{byte:02X}");
        }
    }
    address
}

/// The value of a label of OpenMetrics, within its quotes (OpenMetrics 1.0, ABNF: `escaped-string`).
pub fn label(text: &str) -> String {
    line(&text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A JSON text that means the same: what would act on a terminal is spelled `\u…` (RFC 8259, §7), because such characters
/// stand only within strings.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || visible(c) == c {
            safe.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe += &format!("\\u{unit:04x}"));
        }
    }
    safe
}

/// The character as it may be shown.
fn visible(c: char) -> char {
    match c {
        c if c.is_control() => ' ',
        c if is_hidden(c) => REPLACEMENT,
        c => c,
    }
}

/// Characters without a shape of their own that change how others are shown or read: marks of direction, separators of
/// lines, what has no width, tags, and what is no character at all. Joiners stay, which words are written with.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Where a mark stands that would make a heading, a list or a line of what begins with it: `# `, `- `, `12. `, `===`.
fn leading_marker(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &text[digits..];
    let after = if digits > 0 {
        rest.strip_prefix(['.', ')'])?
    } else {
        let after = rest.trim_start_matches(['#', '-', '+', '=']);
        (after.len() < rest.len()).then_some(after)?
    };
    (after.is_empty() || after.starts_with(' ')).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_turned_text_lose_their_power() {
        assert_eq!(line("a\u{1b}[31mb\r\u{9b}c\u{7f}"), "a [31mb  c ");
        assert_eq!(
            line("exe.\u{202e}txt\u{2066}\u{feff}\u{fffe}"),
            "exe.\u{fffd}txt\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(line("日本語 µs 👩\u{200d}💻"), "日本語 µs 👩\u{200d}💻");
        assert_eq!(lines("a\nb\tc\u{1b}"), "a\nb c ");
    }

    #[test]
    fn markdown_text_cannot_leave_its_cell() {
        assert_eq!(markdown("a|b\n<img> `x`"), "a\\|b &lt;img&gt; \\`x\\`");
        assert_eq!(markdown("&lt; ~x~ ](javascript:1)"), "&amp;lt; \\~x\\~ \\](javascript:1)");
        for (text, safe) in [("# x", "\\# x"), ("---", "\\---"), ("12. x", "12\\. x"), ("   - x", "\\- x")] {
            assert_eq!(markdown(text), safe);
        }
        for figure in ["+0.01 %", "0.5 ms", "-3", "1.27", "12", ""] {
            assert_eq!(markdown(figure), figure);
        }
    }

    #[test]
    fn code_has_a_fence_that_it_cannot_close() {
        assert_eq!(markdown_code("a b"), "`a b`");
        assert_eq!(markdown_code("a ``b`"), "``` a ``b` ```");
    }

    #[test]
    fn csv_fields_survive_spreadsheets() {
        assert_eq!(csv("plain"), "plain");
        assert_eq!(csv("a,\"b\"\n"), "\"a,\"\"b\"\" \"");
        assert_eq!(csv("a;=1"), "\"a;=1\"");
        for formula in ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "\r1", "＝1"] {
            assert!(csv(formula).starts_with('\''), "{formula:?}");
        }
    }

    #[test]
    fn addresses_have_no_scheme_and_json_means_the_same() {
        assert_eq!(relative_address("javascript:1/a b"), "./javascript%3A1/a%20b");
        let text = "\"a\u{9b}\u{202e}\u{e0001}\u{7f}\"";
        let safe = json(text);
        assert!(safe.is_ascii(), "{safe}");
        assert_eq!(
            serde_json::from_str::<String>(&safe).unwrap(),
            serde_json::from_str::<String>(text).unwrap()
        );
    }
}
