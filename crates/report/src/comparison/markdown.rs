//! A comparison for a pull request.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{Comparison, Row};

use super::{sentence, words};
use crate::foreign;
use crate::warnings::{Warning, disturbed};

/// GitHub-flavoured Markdown: what it says in a sentence, what crossed a threshold, then the tables, then what they suffer from.
pub fn markdown(comparison: &Comparison) -> String {
    let (first, rest) = words::caveats(comparison);
    let mut out: String = first.into_iter().map(caveat).collect();
    // A contender that answers differently is not faster or slower.
    if out.is_empty() {
        let sentences = sentence::sentences(comparison).into_iter();
        out.extend(sentences.map(|sentence| format!("**{}**\n\n", foreign::markdown(&sentence))));
    }
    if let Some(design) = sentence::design(comparison) {
        out += &format!("{}\n\n", foreign::markdown(&design));
    }
    out += &headline(comparison);
    for row in &comparison.rows {
        out += &table(row);
    }
    let mut rest: String = rest.into_iter().map(caveat).collect();
    rest.extend(disturbed::folded(super::broken(comparison)).iter().map(objection));
    if !rest.is_empty() {
        out += &format!("\n{rest}");
    }
    let legend = words::legend(comparison);
    out + &legend.map_or_else(String::new, |legend| format!("\n<sub>{}</sub>\n", foreign::markdown(&legend)))
}

fn caveat(caveat: &Check) -> String {
    let (label, text) = words::caveat(caveat);
    let sign = if words::is_first(caveat) { "❌ " } else { "" };
    let (initial, rest) = label.split_at(1);
    format!("- {sign}**{}{rest}**: {}\n", initial.to_uppercase(), foreign::markdown(&text))
}

fn objection(warning: &Warning) -> String {
    let told = warning.with_remedy(&format!("{}: {}", warning.about(), warning.evidence));
    format!("- **{}**: {}\n", warning.label(), foreign::markdown(&told))
}

fn headline(comparison: &Comparison) -> String {
    let mut findings: Vec<_> = comparison.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(words::gravity(finding)));
    let line = |finding: &&assay_model::comparison::ThresholdFinding| {
        let sign = match words::gravity(finding) {
            CheckOutcome::Void => "❌",
            CheckOutcome::Warn => "⚠️",
            CheckOutcome::Pass => "✅",
        };
        let sentence = foreign::markdown(&words::sentence(comparison, finding));
        format!("- {sign} **{}**: {sentence}\n", words::label(finding))
    };
    findings.iter().map(line).collect()
}

fn table(row: &Row) -> String {
    let title = foreign::markdown(&words::title(row));
    let told = match &row.withheld {
        Some(reason) => format!("Withheld: {}\n", foreign::markdown(&crate::words::withheld(reason))),
        None => words::table(&words::lines(row)).markdown_lines(),
    };
    format!("\n#### {title}\n\n{told}")
}
