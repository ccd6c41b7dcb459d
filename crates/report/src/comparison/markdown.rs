//! A comparison for a pull request.

use assay_model::check::Outcome;
use assay_model::comparison::{Comparison, Row};

use super::{sentence, words};
use crate::foreign;

/// GitHub-flavoured Markdown: what it says in a sentence, what crossed a threshold, then the tables, then what they suffer from.
pub fn markdown(comparison: &Comparison) -> String {
    let sentences = sentence::sentences(comparison).into_iter();
    let mut out: String =
        sentences.map(|sentence| format!("**{}**\n\n", foreign::markdown(&sentence))).collect();
    if let Some(design) = sentence::design(comparison) {
        out += &format!("{}\n\n", foreign::markdown(&design));
    }
    out += &headline(comparison);
    for row in &comparison.rows {
        out += &table(row);
    }
    let mut caveats: Vec<String> = comparison
        .caveats
        .iter()
        .map(|caveat| {
            let label = if caveat.outcome == Outcome::Void { "Not comparable" } else { "Warning" };
            let remedy = caveat.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
            format!("- **{label}**: {}\n", foreign::markdown(&format!("{}{remedy}", caveat.evidence)))
        })
        .collect();
    caveats.extend(super::warnings(comparison).into_iter().map(|warning| {
        let remedy = warning.remedy.map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        let rule = warning.rule.name().replace('-', " ");
        format!("- **Warning**: {}\n", foreign::markdown(&format!("{rule}: {}{remedy}", warning.evidence)))
    }));
    if !caveats.is_empty() {
        out += &format!("\n{}", caveats.concat());
    }
    out + &format!("\n<sub>{}</sub>\n", foreign::markdown(&words::legend(comparison)))
}

fn headline(comparison: &Comparison) -> String {
    let mut findings: Vec<_> = comparison.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(words::gravity(finding)));
    let line = |finding: &&assay_model::comparison::Finding| {
        let sign = match words::gravity(finding) {
            Outcome::Void => "❌",
            Outcome::Warn => "⚠️",
            Outcome::Pass => "✅",
        };
        let sentence = foreign::markdown(&words::sentence(comparison, finding));
        format!("- {sign} **{}**: {sentence}\n", words::label(finding))
    };
    findings.iter().map(line).collect()
}

fn table(row: &Row) -> String {
    let mut out = format!("\n#### {}\n\n", foreign::markdown(&words::title(row)));
    if let Some(reason) = &row.withheld {
        return out + &format!("Withheld: {}\n", foreign::markdown(reason));
    }
    out += &format!("| {} |\n|:--|--:|--:|--:|:-:|:--|\n", words::HEADS.join(" | "));
    for (_, line) in words::lines(row) {
        let texts = line.map(|text| foreign::markdown(&text));
        let [figure, base, new, shown, interval, verdict] = texts;
        let shown = if verdict.is_empty() { shown } else { format!("**{shown}**") };
        out += &format!("| {figure} | {base} | {new} | {shown} | {interval} | {verdict} |\n");
    }
    out
}
