//! Markdown tables, printed row by row: a long measurement shows what it has.

use std::io::Write;

/// Prints the head of a table.
pub(super) fn head<S: AsRef<str>>(columns: &[S]) {
    row(columns);
    println!("|{}", "---|".repeat(columns.len()));
}

/// Prints a row.
pub(super) fn row<S: AsRef<str>>(cells: &[S]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    println!("| {} |", cells.join(" | "));
    // A closed standard output is found by the next line, too.
    let _ = std::io::stdout().flush();
}

/// A count per second for people: 812, 78.1k, 1.20M.
pub(super) fn rate(per_second: Option<f64>) -> String {
    match per_second {
        None => "–".to_owned(),
        Some(rate) if rate >= 1e6 => format!("{:.2}M", rate / 1e6),
        Some(rate) if rate >= 1e3 => format!("{:.1}k", rate / 1e3),
        Some(rate) => format!("{rate:.0}"),
    }
}

/// A size for people: 0 B, 1 KiB, 1 MiB.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// A number with so many decimals, or a dash.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(
            ["–", "812", "78.1k", "1.20M"],
            [None, Some(812.0), Some(78_123.0), Some(1.2e6)].map(rate)
        );
        assert_eq!(["0 B", "64 KiB", "1 MiB"], [0, 64 << 10, 1 << 20].map(size));
        assert_eq!((number(None, 1), number(Some(1.26), 1)), ("–".to_owned(), "1.3".to_owned()));
    }
}
