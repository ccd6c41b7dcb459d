//! The differences that count as none, and those that could have been shown.

use assay_model::verdict::Verdict;

use crate::format;

/// The smallest difference that is called one; nothing where figures were imported, which are not compared at all.
pub(crate) fn margin_in_words(verdict: &Verdict) -> Option<String> {
    let margins = || verdict.cells.iter().map(|cell| cell.margin);
    let least = margins().reduce(f64::min).unwrap_or(verdict.margin);
    let more = margins().filter(|margin| *margin > least).count();
    let in_some = match more {
        0 => String::new(),
        more => format!(
            ", but up to {} in {more} of {} tables, where the A/A control differs from itself",
            format::percent(verdict.margin),
            verdict.cells.len()
        ),
    };
    (verdict.margin > 0.0).then(|| format!("{}{in_some}", margin_of_all(least)))
}

/// The smallest difference that is called one everywhere.
pub(crate) fn margin_of_all(margin: f64) -> String {
    format!("differences under {} count as none", format::percent(margin))
}

/// What could be shown in four runs of five of the pair in the middle. Others vary less, and differ by less where they are shown to.
pub(crate) fn differences_of_a_typical_pair(least: f64) -> String {
    format!("differences from {} in a typical pair", format::percent(least))
}

#[cfg(test)]
mod tests {
    use assay_model::verdict::CellVerdict;

    use super::*;

    #[test]
    fn where_the_control_differs_from_itself_a_greater_margin_is_told() {
        let record = assay_verdict::testing::record(&[("a", &[100.0, 101.0]), ("b", &[50.0, 51.0])]);
        let mut verdict = assay_verdict::judge(&record).expect("readable");
        assert_eq!(margin_in_words(&verdict).as_deref(), Some("differences under 1.0 % count as none"));
        let wide = CellVerdict { margin: 0.042, ..verdict.cells[0].clone() };
        (verdict.margin, verdict.cells) = (0.042, vec![verdict.cells[0].clone(), wide]);
        assert_eq!(
            margin_in_words(&verdict).as_deref(),
            Some(
                "differences under 1.0 % count as none, but up to 4.2 % in 1 of 2 tables, where the A/A control differs from itself"
            )
        );
        verdict.margin = 0.0;
        assert_eq!(margin_in_words(&verdict), None, "figures that were imported are not compared");
    }
}
