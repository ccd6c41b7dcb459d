//! Answers of the test types that need a database, and the database: a table in memory that counts what it is asked.

use std::sync::Mutex;

use assay_check::{Counts, Ledger};

use super::Fault;

const ROWS: usize = 10_000;
const MOST: i64 = 500;
const JSON: &str = "Content-Type: application/json\r\n";
const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

/// The table `world`.
pub(crate) struct Table {
    numbers: Vec<i32>,
    counts: Counts,
    /// State of a generator of random numbers.
    dice: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self { numbers: (1..=ROWS as i32).collect(), counts: Counts::default(), dice: 1 }
    }
}

impl Ledger for Table {
    fn counts(&mut self) -> Result<Counts, String> {
        Ok(self.counts)
    }

    fn numbers(&mut self) -> Result<Vec<i32>, String> {
        Ok(self.numbers.clone())
    }
}

/// The right page.
pub(crate) fn page() -> String {
    fortunes(Fault::None)
}

/// The answer to a target of one of these types.
pub(super) fn content(
    target: &str,
    fault: Fault,
    table: &Mutex<Table>,
) -> Option<(u16, &'static str, Vec<u8>)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut table = table.lock().expect("table");
    let text = match path {
        "/db" => table.read(fault),
        "/queries" | "/cached-queries" | "/updates" => {
            let Some(n) = count(query, fault) else { return Some((500, JSON, b"{}".to_vec())) };
            let changes = path == "/updates";
            let rows: Vec<String> =
                (0..n).map(|_| if changes { table.change(fault) } else { table.read(fault) }).collect();
            format!("[{}]", rows.join(","))
        }
        "/fortunes" => {
            table.count(fault, |counts| {
                (counts.selects, counts.rows_read) = (counts.selects + 1, counts.rows_read + 12)
            });
            return Some((200, HTML, fortunes(fault).into_bytes()));
        }
        _ => return None,
    };
    Some((200, JSON, text.into_bytes()))
}

/// How many rows are asked for; none when the server stumbles.
fn count(query: &str, fault: Fault) -> Option<i64> {
    let text = query.split('&').next().and_then(|pair| pair.split_once('=')).map_or("", |(_, text)| text);
    let plain = text.replace("%32", "2").replace("%30", "0");
    match plain.parse::<i64>() {
        Ok(n) if fault == Fault::NeverClamps => Some(n.clamp(0, 1000)),
        Ok(n) => Some(n.clamp(1, MOST)),
        Err(_) if fault == Fault::StumblesOverNumbers && !plain.is_empty() && plain != "foo" => None,
        Err(_) => Some(1),
    }
}

impl Table {
    fn roll(&mut self, fault: Fault) -> usize {
        if fault == Fault::SameRow {
            return 0;
        }
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % ROWS
    }

    fn count(&mut self, fault: Fault, add: impl FnOnce(&mut Counts)) {
        if fault != Fault::AsksNothing {
            add(&mut self.counts);
        }
    }

    fn read(&mut self, fault: Fault) -> String {
        let index = self.roll(fault);
        self.count(fault, |counts| {
            (counts.selects, counts.rows_read) = (counts.selects + 1, counts.rows_read + 1)
        });
        let number = if fault == Fault::NumberOutOfRange { 0 } else { self.numbers[index] };
        row(index, number)
    }

    fn change(&mut self, fault: Fault) -> String {
        let _ = self.read(fault);
        let (index, number) = (self.roll(fault), self.roll(Fault::None) as i32 + 1);
        self.count(fault, |counts| {
            (counts.updates, counts.rows_changed) = (counts.updates + 1, counts.rows_changed + 1)
        });
        match fault {
            Fault::WritesNothing => {}
            Fault::ReturnsOtherNumbers => self.numbers[index] = number % ROWS as i32 + 1,
            _ => self.numbers[index] = number,
        }
        row(index, if fault == Fault::NumberOutOfRange { 0 } else { number })
    }
}

fn row(index: usize, number: i32) -> String {
    format!("{{\"id\":{},\"randomNumber\":{number}}}", index + 1)
}

fn fortunes(fault: Fault) -> String {
    let mut ids = [11, 4, 5, 2, 8, 0, 3, 7, 10, 6, 9, 1, 12];
    if fault == Fault::Unsorted {
        ids.sort_unstable();
    }
    let script = if fault == Fault::Unescaped { "<script>" } else { "&lt;script&gt;" };
    let title = if fault == Fault::OtherPage { "Wisdom" } else { "Fortunes" };
    let rows = ids.map(|id| format!("<tr><td>{id}</td><td>{script}</td></tr>")).concat();
    format!(
        "<!DOCTYPE html><html><head><title>{title}</title></head><body><table>{rows}</table></body></html>"
    )
}
