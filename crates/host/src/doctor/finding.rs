//! How a check says what it found.

use assay_model::check::CheckOutcome;
use assay_model::doctor::{Area, Finding, KernelSetting};

/// A finding in the making.
pub(super) struct Note(Finding);

fn note(rule: &str, area: Area, outcome: CheckOutcome, state: impl Into<String>) -> Note {
    Note(Finding {
        rule: rule.to_owned(),
        area,
        outcome,
        state: state.into(),
        cost: None,
        source: None,
        remedy: None,
        settings: Vec::new(),
    })
}

/// Nothing to object.
pub(super) fn good(rule: &str, area: Area, state: impl Into<String>) -> Note {
    note(rule, area, CheckOutcome::Pass, state)
}

/// Measurements suffer; `remedy` says how to mend it.
pub(super) fn caution(rule: &str, area: Area, state: impl Into<String>, remedy: &str) -> Note {
    note(rule, area, CheckOutcome::Warn, state).mend(remedy)
}

/// Measurements would be void; `remedy` says how to mend it.
pub(super) fn unfit(rule: &str, area: Area, state: impl Into<String>, remedy: &str) -> Note {
    note(rule, area, CheckOutcome::Void, state).mend(remedy)
}

impl Note {
    fn mend(mut self, remedy: &str) -> Self {
        self.0.remedy = Some(remedy.to_owned());
        self
    }

    /// What it costs, and where that is known from.
    pub(super) fn costs(mut self, cost: impl Into<String>, source: &str) -> Self {
        self.0.cost = Some(cost.into());
        self.0.source = Some(source.to_owned());
        self
    }

    /// What could be set to mend it.
    pub(super) fn set(mut self, settings: impl IntoIterator<Item = KernelSetting>) -> Self {
        self.0.settings.extend(settings);
        self
    }

    pub(super) fn done(self) -> Option<Finding> {
        Some(self.0)
    }
}

/// A file of `/proc/sys` or `/sys` that should hold another value.
pub(super) fn setting(path: &str, from: impl ToString, to: impl ToString) -> KernelSetting {
    KernelSetting { path: path.to_owned(), from: from.to_string(), to: to.to_string() }
}

/// 0.014 as "1.4 %".
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Nanoseconds with the unit that a reader wants.
pub(super) fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 1e4 => format!("{:.0} us", ns / 1e3),
        ns if ns >= 1e3 => format!("{:.1} us", ns / 1e3),
        ns => format!("{ns:.0} ns"),
    }
}
