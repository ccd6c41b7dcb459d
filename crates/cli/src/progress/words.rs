//! What is told of a run that goes on, in words.

use std::time::Duration;

use assay_lab::Prediction;
use assay_model::experiment::Cell;
use assay_model::outlook::Outlook;
use assay_model::record::Stage;
use assay_model::setting::Setting;
use assay_report::words::count_of;
use assay_report::{format, outlook};

/// A span as people say it: `45 s`, `3:05 min`.
pub(crate) fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}

/// Time from which a run is told to be long.
const LONG: Duration = Duration::from_secs(60);

/// What is known beforehand of how long a run goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Whether it is known how many rounds there will be.
    pub(crate) is_fixed: bool,
    /// How a run is made shorter that nobody gave a length.
    pub(crate) shorter: Option<&'static str>,
}

/// How long a run takes, what it would show, and how a long one that nobody asked for is made shorter.
pub(super) fn begun(prediction: &Prediction, outlook: Option<&Outlook>, length: Length) -> String {
    let time = clock(prediction.total());
    let rounds = match length.is_fixed {
        true => format!("{}, about {time}", count_of(prediction.rounds as usize, "round")),
        false => format!("as many rounds as it takes, about {time} at most"),
    };
    let power = outlook.map_or_else(String::new, |of| format!("; {}", outlook::sentence(of)));
    let shorter = length.shorter.filter(|_| prediction.total() > LONG);
    let shorter = shorter.map_or_else(String::new, |how| format!("; {how}, Ctrl-C keeps what is measured"));
    format!("{rounds}{power}{shorter}")
}

/// What is said of a database that could not be removed.
pub(crate) fn left_in_words(problem: &str) -> String {
    format!("{problem}; `assay clean --database URL` removes it")
}

/// Half-width of a typical ratio's interval. Two rounds, or a disturbed third, can leave it beyond any use.
pub(super) fn precision_so_far(half_width: f64) -> String {
    if half_width > 1.0 {
        "precision so far beyond ±100 %".to_owned()
    } else {
        format!("precision so far ±{}", format::percent(half_width))
    }
}

pub(super) fn cell_name(cell: &Cell) -> String {
    let load = if cell.offered.is_capacity() { String::new() } else { format!(", load {}", cell.offered) };
    let setting = cell.setting();
    let on = if setting == Setting::USUAL { String::new() } else { format!(" on {setting}") };
    format!("{} at {}{on}{load}", cell.workload, cell.connections_in_words())
}

/// What befell a run of a contender: it ended early, unless it never came to a load.
pub(super) fn failed(stage: Stage) -> &'static str {
    match stage {
        Stage::Load => "ended early",
        Stage::Needs | Stage::Build | Stage::Start | Stage::Answer => "was not measured",
    }
}

/// What happened, and in which setting where it concerns but one.
pub(super) fn on(what: &str, setting: Option<&Setting>) -> String {
    setting.map_or_else(|| what.to_owned(), |setting| format!("{what} on {setting}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: Length = Length { is_fixed: true, shorter: Some("--quick for a first look") };

    fn told(rounds: u32, round_s: u64, length: Length) -> String {
        let prediction = Prediction { asking: Duration::ZERO, rounds, round: Duration::from_secs(round_s) };
        begun(&prediction, None, length)
    }

    #[test]
    fn what_never_began_did_not_end_early() {
        assert_eq!((failed(Stage::Start), failed(Stage::Load)), ("was not measured", "ended early"));
    }

    #[test]
    fn a_long_run_of_which_nobody_said_how_long_it_may_take_says_how_to_shorten_it() {
        let open = Length { is_fixed: false, ..FIXED };
        assert_eq!(
            told(32, 9, open),
            "as many rounds as it takes, about 4:48 min at most; --quick for a first look, Ctrl-C keeps what is measured"
        );
        assert_eq!(
            told(32, 9, Length { shorter: None, ..open }),
            "as many rounds as it takes, about 4:48 min at most"
        );
        assert_eq!(told(1, 60, FIXED), "1 round, about 1:00 min");
        assert_eq!(told(3, 10, FIXED), "3 rounds, about 30 s");
    }
}
