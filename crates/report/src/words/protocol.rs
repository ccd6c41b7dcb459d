//! The cost of a protocol in sentences.

use assay_model::experiment::Protocol;
use assay_model::verdict::{Call, ProtocolCost};

use super::phrases::{count_of, plus_minus};

/// What is spoken, as it stands behind a place; nothing where that is HTTP/1.1 alone.
pub(super) fn over(protocol: Protocol) -> String {
    match protocol {
        Protocol::H1 => String::new(),
        Protocol::H1Tls => format!(" over TLS ({protocol})"),
        other => format!(" over {other}"),
    }
}

/// A sentence for each contender over each protocol.
pub(super) fn sentences(costs: &[ProtocolCost]) -> Vec<String> {
    let mut told: Vec<(&str, Protocol)> = Vec::new();
    let mut sentences = Vec::new();
    for cost in costs {
        let key = (cost.contender.as_str(), cost.cell.protocol);
        if !told.contains(&key) {
            told.push(key);
            let own = costs.iter().filter(|other| (other.contender.as_str(), other.cell.protocol) == key);
            sentences.extend(comparison(&own.collect::<Vec<_>>()));
        }
    }
    sentences
}

/// One contender over one protocol: its only cell, or the least and the greatest ratio of all.
fn comparison(costs: &[&ProtocolCost]) -> Option<String> {
    let ratio = |cost: &ProtocolCost| cost.ratio.map_or(f64::NAN, |ratio| ratio.estimate);
    // One round alone has a ratio and no interval: it stands in the table and is no finding.
    let has_interval = |cost: &&ProtocolCost| cost.ratio.is_some_and(|ratio| ratio.low < ratio.high);
    let mut known: Vec<&ProtocolCost> = costs.iter().copied().filter(has_interval).collect();
    known.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (least, greatest) = (known.first()?, known.last()?);
    let (name, protocol, base) = (&least.contender, least.cell.protocol, least.base);
    let times = |cost: &ProtocolCost| cost.ratio.map_or_else(String::new, |ratio| plus_minus(&ratio));
    let place = |cost: &ProtocolCost| {
        let connections = count_of(cost.cell.connections as usize, "connection");
        format!("{} at {connections}", cost.cell.workload)
    };
    if known.len() == 1 {
        let tie = if least.call == Some(Call::Distinct) { "" } else { "; not shown to differ" };
        let (times, place) = (times(least), place(least));
        return Some(format!(
            "Over {protocol} {name} serves {times} times what it serves over {base} ({place}{tie})."
        ));
    }
    Some(format!(
        "Over {protocol} {name} serves from {} times ({}) to {} times ({}) what it serves over {base}.",
        times(least),
        place(least),
        times(greatest),
        place(greatest)
    ))
}

#[cfg(test)]
mod tests {
    use assay_model::experiment::Cell;
    use assay_model::verdict::Interval;

    use super::*;

    fn cost(workload: &str, estimate: f64) -> ProtocolCost {
        let ratio = Interval { estimate, low: estimate * 0.98, high: estimate * 1.02, confidence: 0.95 };
        ProtocolCost {
            contender: "nginx".to_owned(),
            cell: Cell::closed(workload, 64).over(Protocol::H1Tls),
            base: Protocol::H1,
            per_second: None,
            base_per_second: None,
            ratio: Some(ratio),
            call: Some(Call::Distinct),
            p50_ratio: None,
            withheld: None,
        }
    }

    #[test]
    fn what_is_spoken_is_told_where_it_is_not_plain() {
        assert_eq!(over(Protocol::H1), "");
        assert_eq!(over(Protocol::H1Tls), " over TLS (h1+tls)");
    }

    #[test]
    fn what_a_protocol_costs_is_one_sentence_of_each_contender() {
        let one = sentences(&[cost("hello", 0.62)]);
        assert_eq!(
            one,
            ["Over h1+tls nginx serves 0.62 ± 0.01 times what it serves over h1 (hello at 64 connections)."]
        );
        let several = sentences(&[cost("hello", 0.62), cost("body", 0.4)]);
        assert_eq!(several.len(), 1);
        assert!(
            several[0].contains("from 0.400 ± 0.008 times (body at 64 connections) to 0.62"),
            "{several:?}"
        );
        let single = Interval { confidence: 0.0, low: 0.5, high: 0.5, estimate: 0.5 };
        assert!(sentences(&[ProtocolCost { ratio: Some(single), ..cost("hello", 0.5) }]).is_empty());
    }
}
