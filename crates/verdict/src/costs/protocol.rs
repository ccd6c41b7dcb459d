//! What a protocol costs: every contender over it against itself over the one that it runs over, in the same rounds.

use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::verdict::{CellVerdict, ProtocolCost, Standing};

use crate::capacity::self_ratio::{self, Bar};

/// Compares each cell over a protocol with the same cell over the one beneath, where both were measured, or else with the cell that
/// has as many requests in flight, one on each connection: so HTTP/2 with several streams is compared with HTTP/1.1 as clients speak
/// that. By `bar` the two are called different.
pub(crate) fn protocol_costs(cells: &[CellVerdict], bar: Bar) -> Vec<ProtocolCost> {
    cells.iter().filter_map(|over| Both::of(cells, over)).flat_map(|both| both.costs(bar)).collect()
}

/// A cell over two protocols.
struct Both<'v> {
    over: &'v CellVerdict,
    base: &'v CellVerdict,
}

impl<'v> Both<'v> {
    fn of(cells: &'v [CellVerdict], over: &'v CellVerdict) -> Option<Self> {
        let beneath = over.cell.over(over.cell.protocol.base()?);
        let alike = Cell { connections: beneath.in_flight(), pipeline: 1, ..beneath.clone() };
        let measured = |wanted: &Cell| cells.iter().find(|judged| judged.cell == *wanted);
        Some(Self { over, base: measured(&beneath).or_else(|| measured(&alike))? })
    }

    fn costs(&self, bar: Bar) -> Vec<ProtocolCost> {
        let of = |over: &Standing| {
            let base = self.base.standings.iter().find(|standing| standing.contender == over.contender)?;
            Some(self.cost(over, base, bar))
        };
        self.over.standings.iter().filter_map(of).collect()
    }

    /// The connections of the base, where they are others.
    fn other_connections(&self) -> Option<u32> {
        let connections = self.base.cell.connections;
        (connections != self.over.cell.connections).then_some(connections)
    }

    fn cost(&self, over: &Standing, base: &Standing, bar: Bar) -> ProtocolCost {
        let withheld = withheld(over, self.over).or_else(|| withheld(base, self.base));
        let compared = if withheld.is_none() { self_ratio::ratio(over, base, bar) } else { None };
        ProtocolCost {
            contender: over.contender.clone(),
            cell: self.over.cell.clone(),
            base: self.base.cell.protocol,
            base_connections: self.other_connections(),
            per_second: over.throughput_per_second,
            base_per_second: base.throughput_per_second,
            ratio: compared.map(|(ratio, _)| ratio),
            call: compared.and_then(|(_, call)| call),
            p50_ratio: self_ratio::p50_ratio(over, base),
            withheld: withheld.or_else(|| compared.is_none().then_some(Withheld::NoCommonRound)),
        }
    }
}

fn withheld(standing: &Standing, of: &CellVerdict) -> Option<Withheld> {
    let because = Box::new(standing.withheld.clone()?);
    Some(Withheld::OverProtocol { protocol: of.cell.protocol, because })
}

#[cfg(test)]
mod tests {
    use assay_model::experiment::{Experiment, Measure, Protocol};
    use assay_model::record::{Measurement, Record, State};
    use assay_model::rule::Rule;
    use assay_model::tls::{Agreed, TlsReport};
    use assay_model::verdict::{Call, Interval};

    use super::*;
    use crate::testing;

    const EVEN: [f64; 6] = [1000.0, 1010.0, 995.0, 1004.0, 998.0, 1007.0];

    /// A record in which two were measured over both protocols in the same rounds, over TLS at half the rate.
    fn record() -> Record {
        let mut record = testing::record(&[("limit", &EVEN.map(|rate| rate * 4.0)), ("nginx", &EVEN)]);
        let protocols = vec![Protocol::H1, Protocol::H1Tls];
        record.experiment =
            Experiment::new("t", vec![Measure { protocols, ..Measure::capacity("hello", vec![64]) }]);
        for round in &mut record.rounds {
            let secured = round.runs.clone().into_iter().map(|mut run| {
                run.protocol = Protocol::H1Tls;
                run.cells.iter_mut().for_each(halve);
                run
            });
            let secured: Vec<_> = secured.collect();
            round.runs.extend(secured);
        }
        record
    }

    fn halve(window: &mut Measurement) {
        let per_second = window.load.window.ok as f64 / 2.0;
        window.cell.protocol = Protocol::H1Tls;
        window.load = testing::load_report(64, per_second);
    }

    #[test]
    fn a_contender_is_compared_with_itself_over_the_protocol_beneath() {
        let verdict = testing::judged(&record());
        assert_eq!((verdict.cells.len(), verdict.rounds), (2, 6), "each protocol is a cell of its own");
        let names: Vec<&str> = verdict.protocol_cost.iter().map(|cost| cost.contender.as_str()).collect();
        assert_eq!(names, ["limit", "nginx"]);
        let cost = &verdict.protocol_cost[1];
        assert_eq!((cost.cell.protocol, cost.base), (Protocol::H1Tls, Protocol::H1));
        assert!(cost.ratio.is_some_and(|ratio| (ratio.estimate - 0.5).abs() < 0.01), "{cost:?}");
        assert_eq!((cost.call, &cost.withheld), (Some(Call::Distinct), &None));
        for cell in &verdict.cells {
            assert!(cell.pairs.is_empty(), "nobody is paired across protocols: {}", cell.cell);
            let nginx = cell.standings.iter().find(|standing| standing.contender == "nginx").expect("nginx");
            assert!(nginx.share_of_limit.is_some(), "a limit over {}", cell.cell.protocol);
        }
    }

    #[test]
    fn who_watched_the_run_finds_a_wider_ratio_and_in_its_first_rounds_none() {
        let told = |state: State, rounds: u32, measured: usize| {
            let mut record = Record { state, ..record() };
            record.experiment.rounds = rounds;
            record.rounds.truncate(measured);
            let costs = testing::judged(&record).protocol_cost;
            let nginx = costs.into_iter().find(|cost| cost.contender == "nginx").expect("told");
            (nginx.ratio.expect("a ratio"), nginx.call)
        };
        let ((once, of_once), (watched, of_watched)) =
            (told(State::Complete, 20, 6), told(State::Interrupted, 20, 6));
        let width = |ratio: Interval| (ratio.high / ratio.low).ln();
        assert!(width(watched) > 1.3 * width(once) && of_watched == of_once, "{watched:?} {once:?}");
        let (early, call) = told(State::Interrupted, 900, 2);
        assert_eq!((early.confidence, call), (0.0, None), "nothing but the figure: {early:?}");
        assert_eq!(early.estimate, told(State::Complete, 900, 2).0.estimate);
    }

    #[test]
    fn streams_are_compared_with_as_many_connections_of_http1() {
        let mut record = record();
        let streams = |cell: &Cell| Cell { connections: 8, pipeline: 8, ..cell.over(Protocol::H2c) };
        let h2c = Measure {
            protocols: vec![Protocol::H2c],
            streams: Some(8),
            ..Measure::capacity("hello", vec![8])
        };
        record.experiment.measures.push(h2c);
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            if run.protocol.is_secured() {
                run.protocol = Protocol::H2c;
                run.cells.iter_mut().for_each(|window| window.cell = streams(&window.cell));
            }
        }
        record.experiment.measures[0].protocols = vec![Protocol::H1];
        let verdict = testing::judged(&record);
        let cost = verdict.protocol_cost.iter().find(|cost| cost.contender == "nginx").expect("told");
        assert_eq!((cost.cell.in_flight(), cost.base, cost.base_connections), (64, Protocol::H1, Some(64)));
        assert!(cost.ratio.is_some_and(|ratio| (ratio.estimate - 0.5).abs() < 0.01), "{cost:?}");
    }

    #[test]
    fn what_is_withheld_over_one_protocol_has_no_ratio() {
        let mut record = record();
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            if run.contender == "nginx" && run.protocol == Protocol::H1Tls {
                run.cells[0].machine.steal_share = 1.0;
            }
        }
        let verdict = testing::judged(&record);
        let cost = verdict.protocol_cost.iter().find(|cost| cost.contender == "nginx").expect("told");
        assert_eq!((cost.ratio, cost.call), (None, None));
        assert!(matches!(cost.withheld, Some(Withheld::OverProtocol { protocol: Protocol::H1Tls, .. })));
    }

    #[test]
    fn who_agrees_on_another_version_than_all_are_measured_with_is_marked() {
        let asked = Agreed { version: "TLS 1.3".into(), key: "ECDSA P-256".into(), ..Agreed::default() };
        let older = Agreed { version: "TLS 1.2".into(), ..asked.clone() };
        let mut record = record();
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let agreed = if run.contender == "nginx" { &older } else { &asked };
            if run.protocol.is_secured() {
                run.cells[0].load.tls =
                    Some(TlsReport { agreed: Some(agreed.clone()), ..TlsReport::default() });
            }
        }
        let marked = |record: &Record| -> Vec<String> {
            let verdict = testing::judged(record);
            let standings = verdict.cells.iter().flat_map(|cell| &cell.standings);
            let marked = standings.filter(|s| s.checks.iter().any(|check| check.rule == Rule::TlsOtherwise));
            marked.map(|standing| standing.contender.clone()).collect()
        };
        assert!(marked(&record).is_empty(), "nothing was asked for");
        record.tls = Some(asked);
        assert_eq!(marked(&record), ["nginx"]);
    }

    #[test]
    fn a_round_counts_when_everybody_was_measured_over_each_protocol() {
        let mut record = record();
        record.rounds[2].runs.retain(|run| run.protocol.is_plain());
        assert_eq!(testing::judged(&record).rounds, 5);
    }
}
