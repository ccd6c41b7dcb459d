//! The block of lines at the end of standard error that is drawn anew while something goes on, and taken off when it is over.
//! Whatever else is said there stands above it.
//!
//! No other screen is switched to and the cursor stays visible below the block, so a process that is killed leaves nothing to be
//! mended here, and what was said before stays to be read.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::adapter::strip_str;
use assay_host::process::group_of;
use assay_report::terminal::Style;
use assay_report::text;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

/// What is shown now.
static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A terminal of no known size.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// How much fits on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// Whether standard error is a terminal on which a line can be drawn anew, and ours: a job in the background, or one under
/// timeout(1), which gives it a group of its own, leaves it to others.
pub(crate) fn can_be_drawn_on() -> bool {
    let is_able = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    is_able && io::stderr().is_terminal() && is_ours()
}

pub(crate) fn size() -> Size {
    let size = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(USUAL, |size| Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
}

/// How to write on it.
pub(crate) fn style(ascii: bool, size: Size) -> Style {
    let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    Style { width: size.columns, colour, ascii: ascii || !speaks_utf8(), full: false }
}

/// Draws the lines in place of those before, unless we are in the background by now.
pub(crate) fn draw(lines: Vec<String>) {
    let mut shown = shown();
    if !is_ours() {
        return;
    }
    write(&(back(rows(&shown, size().columns)) + &forth(&lines)));
    *shown = lines;
}

/// Takes the lines off.
pub(crate) fn clear() {
    let mut shown = shown();
    if !shown.is_empty() {
        write(&off(rows(&shown, size().columns)));
        shown.clear();
    }
}

/// Says something above the lines.
pub(crate) fn above(say: impl FnOnce()) {
    let shown = shown();
    if shown.is_empty() {
        return say();
    }
    write(&off(rows(&shown, size().columns)));
    say();
    write(&forth(&shown));
}

/// What the locale says, as locale(7) ranks its variables.
pub(crate) fn speaks_utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|l| l.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

fn shown() -> MutexGuard<'static, Vec<String>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether we are in the foreground of the terminal, or it is not the one that controls us.
fn is_ours() -> bool {
    tcgetpgrp(io::stderr()).map_or(true, |group| group_of(None) == Some(group))
}

/// Moves so many rows up.
fn back(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\x1b[{rows}F") }
}

/// Takes off the last rows. Rows are deleted and not cleared: where the block is all that there is, some terminals take that for the
/// wish to keep the screen (tmux(1), scroll-on-clear).
fn off(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\x1b[{rows}F\x1b[{rows}M") }
}

/// How many rows lines take: a terminal that got narrower has broken them.
fn rows(lines: &[String], columns: usize) -> usize {
    let of = |line: &String| text::width(&strip_str(line).to_string()).div_ceil(columns.max(1)).max(1);
    lines.iter().map(of).sum()
}

/// Each line over what stood there, and nothing below them.
fn forth(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        // Nothing can fail that is written into a text.
        let _ = writeln!(text, "{line}\x1b[K");
    }
    text + "\x1b[J"
}

/// A terminal that is gone is nobody's loss.
fn write(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrower_terminal_has_broken_the_lines() {
        let lines = ["\x1b[1m12345678\x1b[0m".to_owned(), String::new(), "1234".to_owned()];
        assert_eq!([80, 8, 4, 3, 0].map(|columns| rows(&lines, columns)), [3, 3, 4, 6, 13]);
    }

    #[test]
    fn the_block_is_deleted_and_where_there_is_none_nothing_is() {
        assert_eq!([off(3), off(0), back(3), back(0)], ["\x1b[3F\x1b[3M", "", "\x1b[3F", ""]);
    }

    #[test]
    fn what_is_drawn_ends_each_line_where_the_last_one_was_longer() {
        assert_eq!(forth(&["a".to_owned(), "b".to_owned()]), "a\x1b[K\nb\x1b[K\n\x1b[J");
    }
}
