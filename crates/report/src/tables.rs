//! The tables of a run that are a title and rows in every format, in their order.

use assay_model::record::Record;
use assay_model::verdict::Verdict;

use crate::table::Table;
use crate::{protocol, proxy, published, rates, stack, titles};

/// Whatever tables are written into: a terminal's page, or Markdown.
pub(crate) trait TableWriter {
    /// Writes a table below its title.
    fn table<R>(&mut self, title: &str, table: &Table<'_, R>);
}

/// Markdown text, to which tables are appended.
impl TableWriter for String {
    fn table<R>(&mut self, title: &str, table: &Table<'_, R>) {
        self.push_str(&table.markdown(title));
    }
}

/// Writes how long answers took: response times, redlines, and shares answered in time.
pub(crate) fn response(record: &Record, verdict: &Verdict, to: &mut impl TableWriter) {
    for of in &verdict.latency {
        to.table(&titles::latency_title(record, &of.cell), &rates::response_times(record, of));
    }
    for of in &verdict.redlines {
        to.table(&titles::redline_title(&of.cell), &rates::redlines(record, of));
    }
    for of in &verdict.answered {
        to.table(&published::answered_title(of), &published::answered(record, of));
    }
}

/// Writes what stacks, protocols and proxies cost.
pub(crate) fn costs(record: &Record, verdict: &Verdict, to: &mut impl TableWriter) {
    for of in &stack::comparisons(record, verdict) {
        to.table(&stack::title(of), &stack::table(record, of));
    }
    for of in &protocol::comparisons(verdict) {
        to.table(&protocol::title(of), &protocol::table(record, of));
    }
    for of in &proxy::costs(verdict) {
        to.table(&proxy::cost_title(of), &proxy::cost_table(record, of));
    }
    for of in &proxy::added(verdict) {
        to.table(&proxy::added_title(of), &proxy::added_table(record, of));
    }
}
