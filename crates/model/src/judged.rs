//! All that a verdict judged: contenders in cells, whatever was asked of them there.

use crate::check::Check;
use crate::evidence::Withheld;
use crate::experiment::Cell;
use crate::verdict::Verdict;

/// A contender in a cell, with what speaks against its figures.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'v> {
    /// The cell.
    pub cell: &'v Cell,
    /// Name of the contender.
    pub contender: &'v str,
    /// What was looked at, and what it showed.
    pub checks: &'v [Check],
    /// Why its figures are withheld, if they are.
    pub withheld: Option<&'v Withheld>,
}

impl Verdict {
    /// Every contender in every cell in which it was judged: at capacity, then at rates, then of a number of requests. Redlines are not
    /// among them: no check is of a redline.
    pub fn judged(&self) -> impl Iterator<Item = Judged<'_>> {
        let capacity = self.cells.iter().flat_map(|of| {
            of.standings.iter().map(|s| judged(&of.cell, &s.contender, &s.checks, s.withheld.as_ref()))
        });
        let rates = self.latency.iter().flat_map(|of| {
            of.standings.iter().map(|s| judged(&of.cell, &s.contender, &s.checks, s.withheld.as_ref()))
        });
        let counted = self.answered.iter().flat_map(|of| {
            of.standings.iter().map(|s| judged(&of.cell, &s.contender, &s.checks, s.withheld.as_ref()))
        });
        capacity.chain(rates).chain(counted)
    }
}

fn judged<'v>(
    cell: &'v Cell,
    contender: &'v str,
    checks: &'v [Check],
    withheld: Option<&'v Withheld>,
) -> Judged<'v> {
    Judged { cell, contender, checks, withheld }
}
