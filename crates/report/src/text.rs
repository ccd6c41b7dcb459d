//! Words for a terminal: measured in columns, wrapped, and reduced to ASCII where asked.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Spells a text in ASCII; what has no usual spelling becomes `?`.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'µ' | 'μ' => plain.push('u'),
            '…' => plain.push_str(".."),
            '×' => plain.push('x'),
            '±' => plain.push_str("+-"),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '→' => plain.push_str("->"),
            '–' | '—' | '−' | '─' => plain.push('-'),
            '·' => plain.push('|'),
            '‘' | '’' => plain.push('\''),
            '“' | '”' => plain.push('"'),
            '\u{a0}' | '\u{202f}' | '\u{2009}' => plain.push(' '),
            c if c.is_ascii() => plain.push(c),
            _ => plain.push('?'),
        }
    }
    plain
}

/// Columns that a text takes in a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Shortens a text to `columns`, ending in `mark` when something was cut.
pub fn elide(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= room
    });
    let mut short: String = kept.collect();
    short.truncate(short.trim_end().len());
    short + mark
}

/// Breaks a text between words into lines of at most `columns`; a word that is longer stands alone and whole.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A command line that a POSIX shell reads back as the same arguments.
pub fn shell(command: &[String]) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    let quote = |word: &String| match word.is_empty() || !word.chars().all(safe) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    };
    command.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_ascii() {
        assert_eq!(ascii("11.7 µs · 1.27× ± 2 % … ≥ 日"), "11.7 us | 1.27x +- 2 % .. >= ?");
    }

    #[test]
    fn elision_counts_columns_not_characters() {
        assert_eq!(elide("nginx", 5, "…"), "nginx");
        assert_eq!(elide("a long name", 7, "…"), "a long…");
        assert_eq!(elide("日本語", 5, "…"), "日本…");
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert!(wrap("", 10).is_empty());
    }

    #[test]
    fn a_quoted_command_can_be_pasted() {
        let command = ["assay", "run", "--cmd", "node app.js", "it's", "", "p99<5ms"].map(String::from);
        assert_eq!(shell(&command), r"assay run --cmd 'node app.js' 'it'\''s' '' 'p99<5ms'");
    }
}
