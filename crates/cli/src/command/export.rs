//! `assay export`: a run for other programs.

use assay_lab::Exit;
use assay_lab::store::Store;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::export::{self, Choice};
use assay_verdict::judge;

use crate::args::{ExportArguments, Format};
use crate::failure::Failure;
use crate::output;

/// What a format may want to know.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wishes<'a> {
    /// The cell that is drawn.
    pub(crate) choice: Choice<'a>,
    /// Whether void numbers count as failures.
    pub(crate) strict: bool,
}

pub(crate) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let record = Store::new(&arguments.places.runs).open(&arguments.run)?;
    let choice = Choice { workload: arguments.workload.as_deref(), connections: arguments.connections };
    let wishes = Wishes { choice, strict: arguments.strict };
    output::result_to(arguments.output.as_deref(), &text(&record, arguments.format, wishes)?)?;
    Ok(Exit::Ok)
}

/// The run in `format`.
pub(crate) fn text(record: &Record, format: Format, wishes: Wishes<'_>) -> Result<String, Failure> {
    let verdict = judge(record)?;
    Ok(match format {
        Format::Json => export::json(record, &verdict)?,
        Format::Csv => export::csv(record)?,
        Format::CsvSummary => export::summary(record, &verdict),
        Format::Md => export::markdown(record, &verdict),
        Format::Junit => export::junit(record, &verdict, wishes.strict)?,
        Format::Openmetrics => export::openmetrics(record, &verdict),
        Format::Svg => export::badge(record, &verdict, wishes.choice)
            .ok_or_else(|| Failure::usage(nothing_to_draw(&verdict)))?,
    })
}

fn nothing_to_draw(verdict: &Verdict) -> String {
    let known: Vec<String> = verdict.cells.iter().map(|cell| cell.cell.to_string()).collect();
    match known.as_slice() {
        [] => "nothing was measured at capacity, so there is nothing to draw".to_owned(),
        known => format!("no such workload and number of connections; there is {}", known.join(", ")),
    }
}
