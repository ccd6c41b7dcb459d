//! Words for a terminal: measured in columns, wrapped, and reduced to ASCII where asked.

use std::collections::BTreeSet;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Signs that belong to the figure before them, as they are and in ASCII.
const SIGNS: [&str; 4] = ["%", "±", "+-", "×"];
/// Units that belong to the figure before them ([`crate::format`]).
const UNITS: [&str; 23] = [
    "ns", "µs", "us", "ms", "s", "min", "h", "nJ", "µJ", "uJ", "mJ", "J", "kJ", "B", "kB", "MB", "GB", "TB",
    "bit", "kbit", "Mbit", "Gbit", "x",
];

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
    elide_before(text, 0, columns, mark)
}

/// Shortens texts to `columns` each, at their ends. Where that would make two of them alike, all are shortened in their middles, or at
/// their beginnings if only that tells them apart.
pub fn elide_apart(texts: &[String], columns: usize, mark: &str) -> Vec<String> {
    let room = columns.saturating_sub(width(mark));
    let keeping = |end: usize| texts.iter().map(move |text| elide_before(text, end, columns, mark)).collect();
    let all = distinct(texts);
    let mut ways = [0, room / 2, room].map(keeping).into_iter();
    ways.find(|short: &Vec<String>| distinct(short) == all).unwrap_or_else(|| keeping(room / 2))
}

fn distinct(texts: &[String]) -> usize {
    texts.iter().collect::<BTreeSet<_>>().len()
}

/// Shortens a text to `columns`, of which the last `end` keep what they show; `mark` stands where something was cut.
fn elide_before(text: &str, end: usize, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let end = end.min(room);
    format!("{}{mark}{}", beginning(text, room - end), ending(text, end))
}

/// The longest beginning of a text that takes no more than so many columns.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    text[..beyond.map_or(text.len(), |(at, _)| at)].trim_end()
}

/// The longest end of a text that takes no more than so many columns, without the accents of what is before it.
fn ending(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let before = text.char_indices().rev().find(|(_, c)| {
        let is_full = used == columns;
        used += c.width().unwrap_or(0);
        is_full || used > columns
    });
    text[before.map_or(0, |(at, c)| at + c.len_utf8())..].trim_start()
}

/// Breaks a text between words into lines of at most `columns`; a word that is longer stands alone and whole. A figure stays with its
/// unit.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces(text, columns) {
        let is_room = |line: &&mut String| width(line) + 1 + width(&piece) <= columns;
        match lines.last_mut().filter(is_room) {
            Some(line) => add(line, &piece),
            None => lines.push(piece),
        }
    }
    lines
}

/// The pieces between which a line may end: words, and figures with what belongs to them, if that fits into `columns`.
fn pieces(text: &str, columns: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let is_its_own =
            |piece: &&mut String| belong_together(piece, word) && width(piece) + 1 + width(word) <= columns;
        match pieces.last_mut().filter(is_its_own) {
            Some(piece) => add(piece, word),
            None => pieces.push(word.to_owned()),
        }
    }
    pieces
}

fn add(line: &mut String, word: &str) {
    line.push(' ');
    line.push_str(word);
}

/// Whether one word is a figure and the next one its unit or its error: `86 %`, `1.26 ± 0.01`. On the page `unbroken` keeps them together
/// (report-ui/src/format.ts).
fn belong_together(one: &str, next: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    match one.ends_with('±') || one.ends_with("+-") {
        true => next.starts_with(is_digit),
        false => one.ends_with(is_digit) && begins_with_unit(next),
    }
}

fn begins_with_unit(word: &str) -> bool {
    let letters = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    SIGNS.iter().any(|sign| word.starts_with(sign)) || UNITS.contains(&letters)
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
    fn texts_that_begin_alike_are_told_apart_by_what_follows() {
        let apart = |texts: [&str; 2]| elide_apart(&texts.map(str::to_owned), 9, "…");
        assert_eq!(
            apart(["short", "one-and-all"]),
            ["short", "one-and-…"],
            "at the end where that is enough"
        );
        assert_eq!(apart(["node-srv-one-js", "node-srv-two-js"]), ["node…e-js", "node…o-js"]);
        assert_eq!(apart(["node-long-a-late", "node-long-b-late"]), ["…g-a-late", "…g-b-late"]);
        assert_eq!(
            apart(["same-for-both", "same-for-both"]),
            ["same-for…"; 2],
            "there is nothing to tell apart"
        );
        assert_eq!(apart(["日本語日本語", "日本語日本人"]), ["日本…本語", "日本…本人"]);
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert!(wrap("", 10).is_empty());
    }

    #[test]
    fn no_line_ends_between_a_figure_and_its_unit() {
        assert_eq!(wrap("at most 23 % of the time", 10), ["at most", "23 % of", "the time"]);
        assert_eq!(
            wrap("it serves 1.26 ± 0.01 times as much", 16),
            ["it serves", "1.26 ± 0.01", "times as much"]
        );
        assert_eq!(wrap("11.7 us and 3 min 14 s", 9), ["11.7 us", "and 3 min", "14 s"]);
        assert_eq!(wrap("of 64 servers", 6), ["of 64", "servers"], "a word that begins as a unit does");
        assert_eq!(wrap("1 ± 1 ± 1 ± 1 ± 1", 9), ["1 ± 1 ± 1", "± 1 ± 1"], "what is too long is broken");
    }

    #[test]
    fn a_quoted_command_can_be_pasted() {
        let command = ["assay", "run", "--cmd", "node app.js", "it's", "", "p99<5ms"].map(String::from);
        assert_eq!(shell(&command), r"assay run --cmd 'node app.js' 'it'\''s' '' 'p99<5ms'");
    }
}
