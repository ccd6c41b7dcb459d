//! What the generator found out about itself.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Proportion;
use assay_model::units::Nanos;

use super::super::phrases::counted;
use super::{do_not_count, machine, part, percentiles};
use crate::format;

pub(super) fn busiest_thread(busy_share: f64) -> String {
    format!("the busiest thread of the generator used {} of its CPU", format::percent(busy_share))
}

pub(super) fn waited(share: f64, switches: u64) -> String {
    let switches = match switches {
        1 => "1 involuntary switch".to_owned(),
        n => format!("{} involuntary switches", format::count(n)),
    };
    format!("{}; {switches}", thread_waited(share))
}

/// Of its longest-waiting thread.
pub(super) fn thread_waited(share: f64) -> String {
    format!("a thread of the generator waited for its CPU {} of the time", format::percent(share))
}

/// Of all its threads together.
pub(super) fn waited_at_most(share: f64) -> String {
    format!("the generator waited for its CPU up to {} of a window", format::percent_at_most(share))
}

/// What both witnesses say; no `share` where the one that counts all threads saw nothing worth a word.
pub(super) fn waited_in(
    share: Option<f64>,
    noticeable: Proportion,
    void: u64,
    turns: Option<Proportion>,
    own: Option<String>,
) -> String {
    let most = share.map(waited_at_most);
    if noticeable.hits == 0 {
        return most.unwrap_or_default();
    }
    let lost = match turns {
        None if void == 0 => String::new(),
        None => format!(", {void} of which {}", do_not_count(void)),
        Some(_) => {
            let lost = machine::lost(Proportion { hits: void, of: noticeable.of }, turns);
            lost.map_or_else(String::new, |lost| format!("; {lost}"))
        }
    };
    let windows = format!("noticeably in {}{lost}", part(noticeable, "window"));
    match (most, own) {
        (Some(most), Some(own)) => format!("{most}, {windows}; it says itself: {own}"),
        (Some(most), None) => format!("{most}, {windows}"),
        (None, own) => format!("{}; {windows}", own.unwrap_or_default()),
    }
}

/// Several generators; the times are how far apart they began, and to what their clocks are known.
pub(super) fn together(all: u64, lost: &[String], [apart, error]: [Nanos; 2], latest: &str) -> String {
    let began = format!(
        "{} generators began within {}, {latest} last; their clocks are known to {}",
        format::count(all),
        format::duration(apart.0 as f64),
        format::duration(error.0 as f64)
    );
    match lost {
        [] => began,
        lost => format!("of {} generators, lost: {}", format::count(all), lost.join(", ")),
    }
}

pub(super) fn lag(p99: Nanos, unknown: &[f64], apart_share: f64) -> String {
    let late = format!("requests left at most {} late in 99 of 100 cases", format::duration(p99.0 as f64));
    match unknown {
        [] => format!(
            "{late}; from due and from sent, no percentile differs by more than {}",
            format::percent(apart_share)
        ),
        unknown => format!("{late}; not known to 5 % or 50 µs for that: {}", percentiles(unknown)),
    }
}

pub(super) fn late(unknown: &[f64], apart_share: f64, windows: u64) -> String {
    match unknown {
        [] => format!("requests left late by at most {} of any percentile", format::percent(apart_share)),
        unknown => format!(
            "requests left so late that {} cannot be told to 5 % or 50 µs, in {}",
            percentiles(unknown),
            counted(windows, "window")
        ),
    }
}

pub(super) fn offered(due: u64, sent: u64, given_up: u64) -> String {
    let [due, sent] = [due, sent].map(format::count);
    let given_up = match given_up {
        0 => String::new(),
        n => format!("; {} were given up because too many waited", format::count(n)),
    };
    format!("{sent} requests were sent in the window in which {due} were due{given_up}")
}

pub(super) fn in_flight(mean: f64, wanted: f64) -> String {
    let wanted = format::count(wanted.round() as u64);
    format!("on average {} of {wanted} requests were in flight", format::quotient(mean))
}

pub(super) fn window_length(responses: f64, mean: Nanos) -> String {
    format!(
        "the window is {} times as long as a response, which takes {} on average",
        format::quotient(responses),
        format::duration(mean.0 as f64)
    )
}

pub(super) fn few_answers(untold: &[f64], rounds: Proportion) -> String {
    format!(
        "{} cannot be told: too few answers beyond it in {}, and those with more are the fast ones",
        percentiles(untold),
        part(rounds, "round")
    )
}

pub(super) fn littles_law(in_flight: f64, other: f64) -> String {
    // A share of the greater one, so that it is never more than all.
    let greater = in_flight.max(other);
    let apart = if greater > 0.0 { (in_flight - other).abs() / greater } else { 0.0 };
    format!(
        "the generator's books say {} in flight, throughput times latency {} ({} apart)",
        format::quotient(in_flight),
        format::quotient(other),
        format::percent(apart)
    )
}

pub(super) fn headroom(check: &Check, times: f64, contender: Option<&str>) -> String {
    let times = format::quotient(times);
    match (contender, check.outcome) {
        (None, _) => format!("the generator could send only {times} times as much"),
        (Some(name), CheckOutcome::Pass) => {
            format!("the generator could send at least {times} times what a contender took ({name})")
        }
        (Some(name), _) => format!("the generator could send only {times} times what {name} took"),
    }
}

pub(super) fn bunched(contenders: u64) -> String {
    format!(
        "{contenders} contenders lie within 2 % of the generator's ceiling: that is its speed, not theirs"
    )
}
