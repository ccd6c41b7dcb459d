//! The standings of one cell as a small drawing for a README: a row for each contender, its interval to scale, the limit as a
//! line. It is light or dark as its reader prefers and needs no font, script or network.

use std::fmt::Write as _;

use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Standing, Verdict};

use crate::foreign::{line, markup};
use crate::{format, sentences, text, titles};

/// The cell that is drawn; what is absent is free, and the first cell that fits is taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// Name of the workload.
    pub workload: Option<&'a str>,
    /// Number of connections.
    pub connections: Option<u32>,
}

/// Most contenders that are drawn.
const MAX_ROWS: usize = 16;
/// Most characters of a name.
const NAME_CHARS: usize = 19;
const WIDTH: f64 = 560.0;
const PLOT_LEFT: f64 = 150.0;
const PLOT_RIGHT: f64 = 470.0;
const TOP: f64 = 54.0;
const ROW: f64 = 24.0;
const FOOT: f64 = 30.0;

const STYLE: &str = "\
text{font:13px ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans','Liberation Sans',Arial,sans-serif;fill:#1a1c1e}\
.paper{fill:#fdfdfb;stroke:#dfe0da}.head{font-weight:600;font-size:14px}.soft{fill:#5d6368;font-size:11.5px}\
.number{text-anchor:end;font-variant-numeric:tabular-nums}.first{font-weight:600}\
.stem{stroke:#dfe0da;stroke-width:2}.interval{stroke:#2a6fc4;stroke-width:7;stroke-opacity:.45}.dot{fill:#2a6fc4}\
.limit{stroke:#5d6368;stroke-width:1.2;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){text{fill:#e7e6e2}.paper{fill:#131517;stroke:#2f3438}.soft{fill:#a3a8ac}\
.stem{stroke:#2f3438}.interval{stroke:#74a9f7}.dot{fill:#74a9f7}.limit{stroke:#a3a8ac}}";

/// The drawing as SVG; `None` where the record has no such cell.
pub fn badge(record: &Record, verdict: &Verdict, choice: Choice<'_>) -> Option<String> {
    let wanted = |cell: &&CellVerdict| {
        choice.workload.is_none_or(|name| cell.cell.workload == name)
            && choice.connections.is_none_or(|connections| cell.cell.connections == connections)
    };
    let cell = verdict.cells.iter().filter(wanted).find(|cell| !cell.standings.is_empty())?;
    let (limits, mut rows): (Vec<&Standing>, Vec<&Standing>) =
        cell.standings.iter().partition(|standing| record.is_limit(&standing.contender));
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let limit = limits.iter().find_map(|row| row.throughput_per_second).map(|of| of.estimate);
    let scale = Scale { greatest: greatest(&rows).max(limit.unwrap_or(0.0)) };
    let height = TOP + ROW * rows.len() as f64 + FOOT;
    let mut out = opening(record, verdict, cell, height);
    limit.into_iter().for_each(|limit| limit_line(limit, &scale, height, &mut out));
    for (index, row) in rows.iter().enumerate() {
        draw(row, sentences::leads(cell, row), TOP + ROW * (index as f64 + 0.5), &scale, &mut out);
    }
    let foot = foot(record, verdict, hidden);
    let _ = writeln!(out, r#"<text class="soft" x="16" y="{}">{}</text>"#, height - 11.0, markup(&foot));
    Some(out + "</svg>\n")
}

/// From requests per second to a place in the drawing; it begins at zero, so lengths can be compared.
struct Scale {
    greatest: f64,
}

impl Scale {
    fn x(&self, per_second: f64) -> f64 {
        let share = if self.greatest > 0.0 { per_second / self.greatest } else { 0.0 };
        PLOT_LEFT + share.clamp(0.0, 1.0) * (PLOT_RIGHT - PLOT_LEFT)
    }
}

fn greatest(rows: &[&Standing]) -> f64 {
    let ends = rows.iter().filter_map(|row| row.throughput_per_second).map(|of| of.high);
    ends.fold(0.0, f64::max)
}

fn opening(record: &Record, verdict: &Verdict, cell: &CellVerdict, height: f64) -> String {
    let head = titles::cell_title(&cell.cell);
    // What is said first of figures of others, that they are, holds for every cell.
    let sentences = match &record.imported {
        Some(_) => sentences::of_run(record, verdict),
        None => sentences::of_cell(record, cell, &verdict.trust),
    };
    let told = sentences.first().map_or("", String::as_str);
    let (head, told) = (markup(&head), markup(told));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">Requests per second: {head}</title>\n\
         <desc id=\"desc\">{told}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n\
         <text class=\"head\" x=\"16\" y=\"25\">{head}</text>\n\
         <text class=\"soft number\" x=\"{}\" y=\"25\">requests/s</text>\n",
        WIDTH - 1.0,
        height - 1.0,
        WIDTH - 16.0,
    )
}

fn limit_line(limit: f64, scale: &Scale, height: f64, out: &mut String) {
    let x = scale.x(limit);
    let (top, bottom) = (TOP - 6.0, height - FOOT);
    let label = format!("limit {}", format::rate(limit));
    // Beside the line, on the side that has room.
    let (anchor, at) = if x > (PLOT_LEFT + PLOT_RIGHT) / 2.0 { ("end", x + 4.0) } else { ("start", x - 4.0) };
    let _ = writeln!(
        out,
        r#"<path class="limit" d="M{x:.1} {top}V{bottom}"/><text class="soft" text-anchor="{anchor}" x="{at:.1}" y="{}">{label}</text>"#,
        top - 4.0,
    );
}

fn draw(standing: &Standing, is_first: bool, y: f64, scale: &Scale, out: &mut String) {
    let first = if is_first { " class=\"first\"" } else { "" };
    let name = markup(&text::elide(&line(&standing.contender), NAME_CHARS, "…"));
    let base = y + 4.5;
    let _ = writeln!(out, r#"<text{first} x="16" y="{base}">{name}</text>"#);
    let Some(rate) = standing.throughput_per_second.filter(|_| standing.withheld.is_none()) else {
        let _ = writeln!(out, r#"<text class="soft" x="{PLOT_LEFT}" y="{base}">withheld</text>"#);
        return;
    };
    let (zero, x) = (scale.x(0.0), scale.x(rate.estimate));
    let _ = write!(out, r#"<path class="stem" d="M{zero:.1} {y}H{x:.1}"/>"#);
    if rate.confidence > 0.0 {
        let _ = write!(
            out,
            r#"<path class="interval" d="M{:.2} {y}H{:.2}"/>"#,
            scale.x(rate.low),
            scale.x(rate.high)
        );
    }
    let number = format::rate_interval(&rate).estimate;
    let _ = writeln!(
        out,
        r#"<circle class="dot" cx="{x:.1}" cy="{y}" r="3.6"/><text class="number" x="{}" y="{base}">{number}</text>"#,
        WIDTH - 16.0,
    );
}

/// What it is, of when, and how to read it.
fn foot(record: &Record, verdict: &Verdict, hidden: usize) -> String {
    let day = record.started_at.get(..10).unwrap_or(&record.started_at);
    let more = if hidden > 0 { format!("; {hidden} more not shown") } else { String::new() };
    match &record.imported {
        Some(imported) => format!("not measured here: {}, {day}, single runs{more}", imported.source),
        None if verdict.rounds < 2 => {
            format!("assay, {}, {day}, a single round{more}", record.experiment.name)
        }
        None => format!(
            "assay, {}, {day}, {} rounds; bars are 95 % intervals{more}",
            record.experiment.name, verdict.rounds
        ),
    }
}
