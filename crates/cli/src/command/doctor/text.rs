//! A diagnosis for people: one line for what is good, three for what is not.

use anstyle::{AnsiColor, Style as Ansi};
use assay_model::check::CheckOutcome;
use assay_model::doctor::{Area, Diagnosis, Finding, Fitness};
use assay_report::foreign;
use assay_report::terminal::Style;
use assay_report::text::{ascii, wrap};

/// Columns of a rule's name, of the outcome's word, and of both with the spaces around them.
const NAME: usize = 14;
const WORD: usize = 8;
const INDENT: usize = NAME + WORD + 3;
/// Columns of the verdict's label.
const VERDICT: usize = 10;
/// A line longer than this is hard to follow back.
const LONGEST_LINE: usize = 120;

const PLAIN: Ansi = Ansi::new();
const HEADING: Ansi = Ansi::new().bold();
const FAINT: Ansi = Ansi::new().dimmed();
const GOOD: Ansi = AnsiColor::Green.on_default();
const CAUTION: Ansi = AnsiColor::Yellow.on_default();
const ALARM: Ansi = AnsiColor::Red.on_default();

pub(super) fn render(diagnosis: &Diagnosis, style: &Style) -> String {
    let mut page = Page { style: *style, out: String::new() };
    let mut area = None;
    for finding in &diagnosis.findings {
        if area != Some(finding.area) {
            page.heading(if area.is_some() { "\n" } else { "" }, name_of(finding.area));
            area = Some(finding.area);
        }
        page.finding(finding);
    }
    page.verdict(diagnosis);
    page.out
}

/// What speaks against a host, under its name; nothing where nothing does.
pub(super) fn objections(name: &str, findings: &[Finding], style: &Style) -> String {
    let mut objecting = findings.iter().filter(|finding| finding.outcome != CheckOutcome::Pass).peekable();
    let mut page = Page { style: *style, out: String::new() };
    if objecting.peek().is_some() {
        page.heading("", &foreign::line(name));
    }
    objecting.for_each(|finding| page.finding(finding));
    page.out
}

fn name_of(area: Area) -> &'static str {
    match area {
        Area::Cpu => "Processors",
        Area::Time => "Clocks and timers",
        Area::Network => "Network",
        Area::Limits => "Limits",
        Area::Kernel => "Kernel",
    }
}

fn word_of(outcome: CheckOutcome) -> (&'static str, Ansi) {
    match outcome {
        CheckOutcome::Pass => ("ok", GOOD),
        CheckOutcome::Warn => ("caution", CAUTION),
        CheckOutcome::Void => ("unfit", ALARM),
    }
}

struct Page {
    style: Style,
    out: String,
}

impl Page {
    fn heading(&mut self, before: &str, text: &str) {
        let text = self.paint(HEADING, text);
        self.out += &format!("{before} {text}\n");
    }

    fn finding(&mut self, finding: &Finding) {
        let (word, ansi) = word_of(finding.outcome);
        let rule = foreign::line(&finding.rule);
        let lead = format!(" {}{rule:NAME$}  ", self.paint(ansi, &format!("{word:WORD$}")));
        self.block(&lead, INDENT, PLAIN, &finding.state);
        let indent = " ".repeat(INDENT);
        if let Some(cost) = &finding.cost {
            let source = finding.source.as_ref().map_or_else(String::new, |source| format!(" [{source}]"));
            self.block(&indent, INDENT, FAINT, &format!("{cost}{source}"));
        }
        if let Some(remedy) = &finding.remedy {
            self.block(&indent, INDENT, PLAIN, &format!("→ {remedy}"));
        }
    }

    fn verdict(&mut self, diagnosis: &Diagnosis) {
        let rules = |outcome| {
            let of_outcome = diagnosis.findings.iter().filter(|finding| finding.outcome == outcome);
            of_outcome.map(|finding| finding.rule.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (verdict, ansi) = match diagnosis.fitness {
            Fitness::Fit => ("fit: nothing found that spoils a measurement".to_owned(), GOOD),
            Fitness::UsableWithCaution => {
                (format!("usable with caution: {}", rules(CheckOutcome::Warn)), CAUTION)
            }
            Fitness::Unfit => (format!("unfit: {}", rules(CheckOutcome::Void)), ALARM),
        };
        let settings: usize = diagnosis.findings.iter().map(|finding| finding.settings.len()).sum();
        self.out.push('\n');
        self.block(" Verdict  ", VERDICT, ansi, &verdict);
        if settings > 0 {
            let what = if settings == 1 { "1 setting".to_owned() } else { format!("{settings} settings") };
            self.block(
                &" ".repeat(VERDICT),
                VERDICT,
                PLAIN,
                &format!("→ {what} would help: assay doctor --fix"),
            );
        }
    }

    /// A text that is broken within columns of its own, from `indent` on; `lead` stands before its first line.
    fn block(&mut self, lead: &str, indent: usize, ansi: Ansi, text: &str) {
        let columns = self.style.width.min(LONGEST_LINE).saturating_sub(indent).max(20);
        for (i, line) in wrap(&foreign::line(text), columns).iter().enumerate() {
            let line = self.paint(ansi, line);
            let before = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            self.out += &format!("{before}{line}\n");
        }
    }

    fn paint(&self, ansi: Ansi, text: &str) -> String {
        let text = if self.style.ascii { ascii(text) } else { text.to_owned() };
        if self.style.colour && ansi != PLAIN { format!("{ansi}{text}{ansi:#}") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::host::{HostFacts, Isolation};

    fn finding(rule: &str, outcome: CheckOutcome) -> Finding {
        let objects = outcome != CheckOutcome::Pass;
        let tell = |text: &str| objects.then(|| text.repeat(12));
        Finding {
            rule: rule.to_owned(),
            area: Area::Cpu,
            outcome,
            state: "as it is ".repeat(12),
            cost: tell("dear "),
            source: tell("a page "),
            remedy: tell("mend it "),
            settings: Vec::new(),
        }
    }

    fn diagnosis(findings: Vec<Finding>) -> Diagnosis {
        Diagnosis {
            schema: String::new(),
            fitness: Fitness::of(&findings),
            host: HostFacts::default(),
            isolation: Isolation::default(),
            measured: None,
            findings,
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let all = diagnosis(
            [CheckOutcome::Pass, CheckOutcome::Warn, CheckOutcome::Void].map(|o| finding("rule", o)).to_vec(),
        );
        for width in [60, 80, 200] {
            let text = render(&all, &Style { width, colour: false, ascii: true, full: false });
            assert!(text.lines().all(|line| line.len() <= width), "{text}");
            assert!(
                text.contains("caution") && text.contains("[a page") && text.contains("-> mend it"),
                "{text}"
            );
        }
    }

    #[test]
    fn of_a_host_of_a_lab_only_what_objects_is_told() {
        let style = Style { width: 80, colour: false, ascii: true, full: false };
        let good = finding("good", CheckOutcome::Pass);
        assert_eq!(objections("box1", std::slice::from_ref(&good), &style), "");
        let text = objections("box1", &[good, finding("slow", CheckOutcome::Warn)], &style);
        assert!(text.starts_with(" box1\n caution slow"), "{text}");
        assert!(text.contains("-> mend it") && !text.contains("good"), "{text}");
    }

    #[test]
    fn the_verdict_names_what_decided_it() {
        let style = Style { width: 80, colour: false, ascii: false, full: false };
        let last = |findings| render(&diagnosis(findings), &style).lines().last().map(str::to_owned);
        assert!(
            last(vec![finding("a", CheckOutcome::Pass)]).is_some_and(|line| line.contains("fit: nothing"))
        );
        let both = vec![finding("a", CheckOutcome::Warn), finding("b", CheckOutcome::Void)];
        assert_eq!(last(both).as_deref(), Some(" Verdict  unfit: b"));
    }
}
