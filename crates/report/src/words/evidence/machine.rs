//! What was found out about the machine and what else it did.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{HeldBack, Proportion};
use assay_model::rule::Rule;
use assay_model::speed::GaugeSeen;

use super::super::phrases::counted;
use super::{not_counted, part};
use crate::format;

pub(super) fn taken(check: &Check, share: f64, void: Proportion, turns: Option<Proportion>) -> String {
    let lost = lost(void, turns).map_or_else(String::new, |lost| format!("; {lost}"));
    taken_by(check, share) + &lost
}

/// The share of time that was taken, and who took it.
pub(super) fn taken_by(check: &Check, share: f64) -> String {
    let (who, what) = match check.rule {
        Rule::Steal => ("a hypervisor took", "of a window's CPU time"),
        _ => ("other programs used", "of the server's CPUs"),
    };
    let most = if check.outcome == CheckOutcome::Pass { "at most" } else { "up to" };
    format!("{who} {most} {} {what}", format::percent_at_most(share))
}

/// What does not count of windows and of the turns that they are made of.
pub(super) fn lost(void: Proportion, turns: Option<Proportion>) -> Option<String> {
    let windows = part(void, "window");
    let void_turns = turns.filter(|turns| turns.hits > 0).map(|turns| not_counted(turns, "turn"));
    match (void_turns, void.hits > 0) {
        (None, false) => None,
        (None, true) if turns.is_some() => Some(format!("the percentiles of {windows} do not count")),
        (None, true) => Some(not_counted(void, "window")),
        (Some(turns), false) => Some(turns),
        (Some(turns), true) => Some(format!("{turns}, nor do the percentiles of {windows}")),
    }
}

pub(super) fn tcp(retransmitted: u64, dropped: u64) -> String {
    format!(
        "{} sent again and {} dropped at a full accept queue, whoever's they were",
        counted(retransmitted, "TCP segment"),
        counted(dropped, "connection")
    )
}

pub(super) fn quota(cpus: f64, held: Option<&HeldBack>) -> String {
    // Finer than a tenth nobody sets a quota.
    let cpus = (cpus * 10.0).round() / 10.0;
    let Some(held) = held else { return format!("a quota of {cpus} CPUs held nobody back") };
    let who = if held.server { "the server" } else { "assay itself" };
    format!(
        "a quota of {cpus} CPUs held {who} back in {}, for {} of one of them in sum over the CPUs",
        part(held.windows, "window"),
        format::percent(held.share)
    )
}

pub(super) fn database(cpus: Option<&str>, host: Option<&str>, beside_generator: bool) -> String {
    match (cpus, host) {
        (None, _) => {
            "the database is the user's own: what it used, and what used it, is not known".to_owned()
        }
        (Some(cpus), Some(host)) => {
            format!("the database ran on {host} with its CPUs {cpus}, so latencies include the way there")
        }
        (Some(cpus), None) if beside_generator => {
            format!("the database shared CPUs {cpus} with the generator, so latencies include waiting for it")
        }
        (Some(cpus), None) => format!("the database had CPUs {cpus} for itself"),
    }
}

pub(super) fn upstream(cpus: &str, beside_generator: bool) -> String {
    match beside_generator {
        true => format!(
            "the upstream of each proxy shared CPUs {cpus} with the generator, so latencies include waiting for it, straight \
             and through a proxy alike"
        ),
        false => format!("the upstream of each proxy had CPUs {cpus}"),
    }
}

pub(super) fn pressure(share: f64) -> String {
    format!("tasks of others waited for a CPU {} of the time in half of the windows", format::percent(share))
}

/// A run may have windows in one piece, turns, or both.
pub(super) fn speed(
    spread_share: f64,
    windows: Proportion,
    turns: Option<Proportion>,
    gauge: Option<GaugeSeen>,
) -> String {
    let odd = |of: Proportion, what: &str| (of.hits > 0).then(|| part(of, what));
    let odd = [odd(windows, "window"), turns.and_then(|turns| odd(turns, "turn"))];
    let odd = match odd.into_iter().flatten().collect::<Vec<String>>().join(" and ") {
        none if none.is_empty() => none,
        some => format!("; in {some} it was far from usual"),
    };
    let between = match (windows.of, turns) {
        (0, Some(_)) => "from turn to turn",
        (_, Some(_)) => "from one window or turn to the next",
        (_, None) => "from window to window",
    };
    let spread = format::percent(spread_share);
    let explained = gauge.map_or_else(String::new, explained);
    format!("the machine's own speed varied by {spread} {between}{odd}{explained}")
}

/// What a gauge within turns explains of them together with the time that others took, and what it took itself.
fn explained(GaugeSeen { explained_share, cpu_share }: GaugeSeen) -> String {
    let [explained, took] = [explained_share, cpu_share].map(format::percent);
    format!(
        "; a gauge within turns, which took {took} of the server's CPUs, and the time that others took explain {explained} of the \
         variance between turns of one start, and that is taken out of throughput"
    )
}

pub(super) fn loss(lost: u64, frames: u64, asked_share: f64) -> String {
    format!(
        "the link lost {} of {}, {} of them; {} were asked for",
        format::count(lost),
        counted(frames, "frame"),
        format::percent(lost as f64 / frames.max(1) as f64),
        format::percent(asked_share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_not_called_windows() {
        let told = |windows, turns| speed(0.06, windows, turns, None);
        let none = Proportion::new(0, 0);
        assert_eq!(
            told(none, Some(Proportion::new(3, 240))),
            "the machine's own speed varied by 6.0 % from turn to turn; in 3 of 240 turns it was far from usual"
        );
        assert_eq!(
            told(Proportion::new(1, 12), None),
            "the machine's own speed varied by 6.0 % from window to window; in 1 of 12 windows it was far from usual"
        );
        assert_eq!(
            told(Proportion::new(1, 12), Some(Proportion::new(3, 240))),
            "the machine's own speed varied by 6.0 % from one window or turn to the next; in 1 of 12 windows and 3 of 240 turns it was \
             far from usual"
        );
        assert!(told(none, Some(Proportion::new(0, 240))).ends_with("from turn to turn"));
    }
}
