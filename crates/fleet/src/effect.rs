//! Whether a host of one load got other answers than the rest (docs/method/fleet.md#a-host-or-a-contender).

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, HOST_MARGIN, HostApart, HostMeasure, HostsAlike};
use assay_model::load::{Arrival, GeneratorShare};
use assay_model::rule::Rule;
use assay_stats::beside::{BATCHES, Beside, batches, beside};
use assay_stats::tiers::{Call, call};

/// How often the intervals of all hosts hold at once.
const CONFIDENCE: f64 = 0.95;

/// The host that is farthest from the others, or that none is shown to differ, by the answers per connection in pieces of the window. Nothing of
/// a single host, of a load at a rate, which says what each sends, of a window that is too short to be cut, and where one was lost.
pub fn host_effect(shares: &[GeneratorShare]) -> Option<Check> {
    let hosts: Vec<Vec<f64>> = shares.iter().map(rates).collect::<Option<_>>()?;
    if hosts.len() < 2 {
        return None;
    }
    let at = |time: usize| hosts.iter().map(|rates| Some(rates[time])).collect();
    let times: Vec<Vec<Option<f64>>> = (0..BATCHES).map(at).collect();
    let confidence = 1.0 - (1.0 - CONFIDENCE) / hosts.len() as f64;
    let all = (0..hosts.len()).map(|host| beside(&times, host, confidence).ok().flatten());
    let all: Vec<Beside> = all.collect::<Option<_>>()?;
    let far = |of: &Beside| of.ratio.estimate.ln().abs();
    // Of two the one says what the other does.
    let named = if all.len() == 2 { &all[..1] } else { &all[..] };
    let apart = named.iter().enumerate().filter(|(_, of)| call(&of.ratio, HOST_MARGIN) != Call::Tie);
    let Some((host, Beside { ratio, times })) = apart.max_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)))
    else {
        let (hosts, windows) = (hosts.len() as u64, BATCHES as u64);
        let evidence = HostsAlike { of_servers: false, hosts, windows, of_one_load: true };
        let evidence = Evidence::HostsAlike(evidence);
        return Some(Check { rule: Rule::HostEffect, outcome: CheckOutcome::Pass, evidence });
    };
    let other = if shares.len() == 2 { Some(shares[1 - host].name.clone()) } else { None };
    let evidence = Evidence::HostApart(HostApart {
        host: shares[host].name.clone(),
        other,
        measure: HostMeasure::Throughput,
        ratio: ratio.estimate,
        low_ratio: ratio.low,
        high_ratio: ratio.high,
        windows: u32::try_from(*times).unwrap_or(u32::MAX),
        of_one_load: true,
    });
    Some(Check::objection(Rule::HostEffect, CheckOutcome::Warn, evidence))
}

/// Right answers of a host per connection in each piece of the window; half an answer more than there were, so that a piece without any
/// has a logarithm too.
fn rates(share: &GeneratorShare) -> Option<Vec<f64>> {
    let own = share.report.as_deref().filter(|own| share.lost.is_none() && own.arrival == Arrival::Closed)?;
    let pieces = batches(own.series.whole())?;
    Some(pieces.into_iter().map(|ok| (ok as f64 + 0.5) / f64::from(own.connections.max(1))).collect())
}

#[cfg(test)]
mod tests {
    use assay_model::load::{LoadReport, Series};

    use super::*;

    fn share(name: &str, connections: u32, slice: impl Fn(u64) -> u64) -> GeneratorShare {
        let series = Series { ok: (0..51).map(slice).collect(), ..Series::default() };
        let report = LoadReport { connections, series, ..LoadReport::default() };
        GeneratorShare { name: name.to_owned(), report: Some(Box::new(report)), ..GeneratorShare::default() }
    }

    #[test]
    fn a_host_whose_connections_get_less_is_named() {
        let even = |slice: u64| 1000 + slice % 7;
        let of = |shares: &[GeneratorShare]| host_effect(shares).expect("compared");
        let alike = of(&[share("a", 10, even), share("b", 20, |slice| 2 * even(slice))]);
        assert_eq!(alike.outcome, CheckOutcome::Pass, "{alike:?}");
        let slow = share("c", 10, |slice| even(slice) * 7 / 10);
        let three = of(&[share("a", 10, even), share("b", 10, even), slow.clone()]);
        let Evidence::HostApart(found) = three.evidence else { panic!("{three:?}") };
        assert_eq!((found.host.as_str(), found.other, found.windows), ("c", None, 10));
        assert!((0.69..0.71).contains(&found.ratio) && found.of_one_load);
        let Evidence::HostApart(found) = of(&[share("a", 10, even), slow]).evidence else { panic!("two") };
        assert_eq!((found.host.as_str(), found.other.as_deref()), ("a", Some("c")));
        let stuck = of(&[share("a", 10, even), share("b", 10, |slice| if slice < 9 { 0 } else { 9 })]);
        assert_eq!(stuck.outcome, CheckOutcome::Warn, "pieces without an answer: {stuck:?}");
    }

    #[test]
    fn nothing_is_said_of_one_alone_of_a_rate_or_of_a_moment() {
        let even = |_| 1000;
        assert_eq!(host_effect(&[share("a", 1, even)]), None);
        let mut paced = [share("a", 1, even), share("b", 1, even)];
        paced[1].report.as_mut().expect("its own").arrival = Arrival::Constant { per_second: 1.0 };
        assert_eq!(host_effect(&paced), None);
        let mut short = [share("a", 1, even), share("b", 1, even)];
        short[0].report.as_mut().expect("its own").series.ok.truncate(10);
        assert_eq!(host_effect(&short), None);
        let mut lost = [share("a", 1, even), share("b", 1, even)];
        lost[1].lost = Some("it was killed".to_owned());
        assert_eq!(host_effect(&lost), None);
    }
}
