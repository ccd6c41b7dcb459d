//! The cost of a protocol in sentences.

use assay_model::experiment::{Cell, Protocol};
use assay_model::verdict::{Call, Interval, ProtocolCost};

use super::cost::{Cost, Sides};

/// What is spoken, as it stands behind a place; nothing where that is HTTP/1.1 alone.
pub(super) fn over(protocol: Protocol) -> String {
    match protocol {
        Protocol::H1 => String::new(),
        Protocol::H1Tls => format!(" over TLS ({protocol})"),
        other => format!(" over {other}"),
    }
}

impl Cost for ProtocolCost {
    fn is_beside(&self, other: &Self) -> bool {
        (&self.contender, self.cell.protocol) == (&other.contender, other.cell.protocol)
    }

    fn contender(&self) -> &str {
        &self.contender
    }

    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn ratio(&self) -> Option<Interval> {
        self.ratio
    }

    fn call(&self) -> Option<Call> {
        self.call
    }

    fn sides(&self) -> Option<Sides> {
        let (with, without) = (format!("Over {}", self.cell.protocol), format!("over {}", self.base));
        let alone = "there each request in flight has a connection of its own";
        let note = if self.base_connections.is_some() { alone } else { "" };
        Some(Sides { with, without, note })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cost::sentences;
    use super::*;

    fn cost(workload: &str, estimate: f64) -> ProtocolCost {
        let ratio = Interval { estimate, low: estimate * 0.98, high: estimate * 1.02, confidence: 0.95 };
        ProtocolCost {
            contender: "nginx".to_owned(),
            cell: Cell::closed(workload, 64).over(Protocol::H1Tls),
            base: Protocol::H1,
            base_connections: None,
            per_second: None,
            base_per_second: None,
            ratio: Some(ratio),
            call: Some(Call::Distinct),
            p50_ratio: None,
            withheld: None,
        }
    }

    #[test]
    fn http2_is_told_with_its_streams() {
        let cell = Cell { pipeline: 8, ..Cell::closed("hello", 8).over(Protocol::H2c) };
        let one = ProtocolCost { cell, base_connections: Some(64), ..cost("hello", 1.5) };
        assert_eq!(
            sentences(&[one]),
            [
                "Over h2c nginx serves 1.50 ± 0.03 times what it serves over h1 (hello at 8 connections × 8 streams; there each \
              request in flight has a connection of its own)."
            ]
        );
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
        let several = |costs: &[ProtocolCost]| sentences(costs).join("|");
        assert_eq!(
            several(&[cost("hello", 0.62), cost("body", 0.4)]),
            "Over h1+tls nginx serves 0.400 ± 0.008 times what it serves over h1 (body at 64 connections) and 0.62 ± 0.01 times (hello \
             at 64 connections)."
        );
        let tie = ProtocolCost { call: Some(Call::Tie), ..cost("hello", 1.0) };
        assert_eq!(
            several(&[tie, cost("body", 0.4), cost("upload", 0.5)]),
            "Over h1+tls nginx serves 0.400 ± 0.008 times what it serves over h1 (body at 64 connections) and up to 1.00 ± 0.02 times \
             (hello at 64 connections; not shown to differ)."
        );
        let single = Interval { confidence: 0.0, low: 0.5, high: 0.5, estimate: 0.5 };
        assert!(sentences(&[ProtocolCost { ratio: Some(single), ..cost("hello", 0.5) }]).is_empty());
    }
}
