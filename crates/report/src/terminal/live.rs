//! What goes on, as a block of lines that is drawn anew while it changes: a run, or the load on one server.
//!
//! Pure as everything here: what is known comes as a [`Board`] or a [`LoadBoard`], with the size of the terminal, and lines come
//! out. When to draw them, where, and what keys do is the binary's matter.

mod load;
mod run;

pub use load::LoadBoard;
pub use run::{Board, Wish, settled_in_words};

use anstyle::Style as Ansi;

use super::{Page, Style};
use crate::text::{elide, width};

/// Lines of a terminal that is smaller than any in use.
const LEAST_HEIGHT: usize = 4;

/// What is drawn, from its first line to its last. Where the terminal is low, the body gives way.
struct Block {
    head: String,
    body: String,
    foot: String,
}

impl Block {
    /// The lines, at most so many, none wider than the terminal.
    fn lines(&self, height: usize) -> Vec<String> {
        let height = height.max(LEAST_HEIGHT);
        let (head, foot) = (self.head.lines(), self.foot.lines());
        let room = height.saturating_sub(head.clone().count() + foot.clone().count());
        let body: Vec<&str> = self.body.trim_end_matches('\n').lines().collect();
        let mut lines: Vec<String> = head.map(str::to_owned).collect();
        if body.len() <= room {
            lines.extend(body.iter().map(|line| (*line).to_owned()));
        } else if let Some(shown) = room.checked_sub(1) {
            lines.extend(body[..shown].iter().map(|line| (*line).to_owned()));
            lines.push(format!(" {} more lines", body.len() - shown));
        }
        lines.extend(foot.map(str::to_owned));
        // Its first and its last line stay.
        let surplus = lines.len().saturating_sub(height);
        lines.drain(1..1 + surplus);
        lines
    }
}

/// What is drawn on a page of its own.
fn drawn(style: &Style, draw: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(style);
    draw(&mut page);
    page.finish()
}

/// A line of pieces that is cut where the terminal ends.
fn cut(page: &mut Page, pieces: &[(Ansi, String)]) {
    let mut room = page.style.width;
    let mut shown = Vec::new();
    for (ansi, text) in pieces {
        if room == 0 {
            break;
        }
        let text = elide(&page.spell(text), room, page.ellipsis());
        room -= width(&text).min(room);
        shown.push((*ansi, text));
    }
    let pieces: Vec<(Ansi, &str)> = shown.iter().map(|(ansi, text)| (*ansi, text.as_str())).collect();
    page.line(&pieces);
}
