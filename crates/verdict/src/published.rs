//! The figures of the work that an experiment repeats, and ours beside them, each table as ratios to the same contender.

use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::network::{Network, Spec, Stack};
use assay_model::offered::Offered;
use assay_model::published::{Figures, Published, PublishedRow};
use assay_model::record::{Entry, Record};
use assay_model::verdict::{
    AnsweredStanding, AnsweredVerdict, Beside, BesideRow, CellVerdict, Interval, Standing,
};
use assay_stats::ratio::paired_log_ratio;
use assay_stats::simultaneous::critical_value_of_one;

use crate::doubts::looks::watched;
use crate::evidence::sample::sample_of;
use crate::evidence::window::DecodedRecord;
use crate::response::answered;
use crate::{CONFIDENCE, interval, point};

/// Published tables and ours, with throughputs and shares `answered` in time as they were judged; `None` where the experiment repeats nobody's work.
pub(crate) fn judge(
    evidence: &DecodedRecord<'_>,
    judged: &[CellVerdict],
    answered: &[AnsweredVerdict],
) -> Option<Beside> {
    let record = evidence.record;
    let published = record.experiment.published.as_ref()?;
    let network = usual_network(record, published);
    let tables = Tables { evidence, record, published, judged, answered, network };
    let of_source = published.rows.iter().map(|row| (Some(row), tables.entry(row)));
    let ours_alone = record.contenders.iter().filter(|entry| tables.is_ours_alone(entry));
    let parties: Vec<Party<'_>> = of_source
        .chain(ours_alone.map(|entry| (None, Some(entry))))
        .map(|(source, entry)| Party { source, entry, ours: tables.ours(entry, source) })
        .collect();
    let in_both = |party: &&Party<'_>| party.source.is_some() && party.ours.iter().any(Option::is_some);
    let baseline = parties.iter().find(in_both);
    Some(Beside {
        source: published.source.clone(),
        quantity: published.quantity.clone(),
        figures: published.figures,
        baseline: baseline.and_then(|party| Some(party.entry?.identity.name.clone())),
        network: tables.network,
        columns: published.columns.clone(),
        rows: parties.iter().map(|party| tables.row(party, baseline)).collect(),
    })
}

/// See [`Beside::network`].
fn usual_network(record: &Record, published: &Published) -> Network {
    let networks: Vec<Network> =
        cells_of(record, published).iter().filter_map(|cell| record.network_of(cell)).collect();
    let first = |fits: fn(&Network) -> bool| networks.iter().copied().find(fits);
    first(|network| *network == Network::kernel(Spec::Loopback))
        .or_else(|| first(|network| network.stack() == Stack::Kernel))
        .or_else(|| first(|_| true))
        .unwrap_or_else(|| Network::kernel(Spec::Loopback))
}

/// The cells of the workload that stands beside the source's.
fn cells_of(record: &Record, published: &Published) -> Vec<Cell> {
    let mut cells = record.experiment.cells();
    let first = cells.first().map(|cell| cell.workload.clone());
    let workload = published.workload.clone().or(first).unwrap_or_default();
    cells.retain(|cell| cell.workload == workload);
    cells
}

/// What both tables are made from.
struct Tables<'r> {
    evidence: &'r DecodedRecord<'r>,
    record: &'r Record,
    published: &'r Published,
    judged: &'r [CellVerdict],
    answered: &'r [AnsweredVerdict],
    /// Of ours, where a row names no other.
    network: Network,
}

/// A contender in one of the tables or in both.
struct Party<'r> {
    source: Option<&'r PublishedRow>,
    entry: Option<&'r Entry>,
    /// Figures of ours, one for each column.
    ours: Vec<Option<Figure>>,
}

/// A figure of ours.
struct Figure {
    estimate: Interval,
    rounds: Vec<Option<f64>>,
}

impl<'r> Tables<'r> {
    fn entry(&self, row: &PublishedRow) -> Option<&'r Entry> {
        let name = row.contender.as_ref()?;
        self.record.entry_of(name)
    }

    /// Whether it takes part for its own sake and the source does not have it.
    fn is_ours_alone(&self, entry: &Entry) -> bool {
        let theirs =
            self.published.rows.iter().any(|row| row.contender.as_ref() == Some(&entry.identity.name));
        !entry.identity.is_limit() && entry.control_of.is_none() && !theirs
    }

    /// The network of our figures beside a row of the source's, or beside none.
    fn network_of(&self, row: Option<&PublishedRow>) -> Network {
        row.and_then(|row| row.network).unwrap_or(self.network)
    }

    /// Our figures of a contender, one for each column.
    fn ours(&self, entry: Option<&Entry>, row: Option<&PublishedRow>) -> Vec<Option<Figure>> {
        let network = self.network_of(row);
        let column = |title: &String| match self.published.figures {
            Figures::Throughput => self.throughput(entry?, title.parse().ok()?, network),
            Figures::AnsweredWithinMs => self.answered(entry?, title.parse().ok()?, network),
        };
        self.published.columns.iter().map(column).collect()
    }

    fn throughput(&self, entry: &Entry, connections: u32, network: Network) -> Option<Figure> {
        let mut cells = self.cells(network).filter(|cell| cell.offered.is_capacity());
        let cell = cells.find(|cell| cell.connections == connections)?;
        let standing = self.standing(&cell, entry)?;
        Some(Figure { estimate: standing.throughput_per_second?, rounds: standing.rounds_per_second.clone() })
    }

    /// Among all requests of a loop that ends with a number of them, as at the source; else of the loop that ends with the time.
    fn answered(&self, entry: &Entry, ms: f64, network: Network) -> Option<Figure> {
        let counted = self.cells(network).find(|cell| matches!(cell.offered, Offered::Requests(_)));
        let cell = counted.or_else(|| self.cells(network).find(|cell| cell.offered.is_capacity()))?;
        if self.answered_standing(&cell, entry).is_some_and(|standing| standing.withheld.is_some()) {
            return None;
        }
        let rounds = answered::shares(&sample_of(self.evidence, entry, &cell), ms);
        Some(Figure { estimate: answered::over_rounds(&rounds)?, rounds })
    }

    /// The cells that stand beside the source's, on a network.
    fn cells(&self, network: Network) -> impl Iterator<Item = Cell> {
        let cells = cells_of(self.record, self.published).into_iter();
        cells.filter(move |cell| cell.protocol.is_plain() && self.record.network_of(cell) == Some(network))
    }

    fn standing(&self, cell: &Cell, entry: &Entry) -> Option<&'r Standing> {
        let judged = self.judged.iter().find(|judged| judged.cell == *cell)?;
        judged.standings.iter().find(|standing| standing.contender == entry.identity.name)
    }

    /// What the verdict says of the times of a contender, where it tells of them in that cell.
    fn answered_standing(&self, cell: &Cell, entry: &Entry) -> Option<&'r AnsweredStanding> {
        let judged = self.answered.iter().find(|judged| judged.cell == *cell)?;
        judged.standings.iter().find(|standing| standing.contender == entry.identity.name)
    }

    fn row(&self, party: &Party<'_>, baseline: Option<&Party<'_>>) -> BesideRow {
        let columns = 0..self.published.columns.len();
        let value = |party: &Party<'_>, column: usize| party.source?.values.get(column).copied();
        let theirs = |column: usize| {
            let of = value(baseline?, column).filter(|of| *of > 0.0)?;
            Some(value(party, column)? / of)
        };
        let ours = |column: usize| {
            let (own, base) = (party.ours[column].as_ref()?, baseline?.ours[column].as_ref()?);
            if std::ptr::eq(own, base) { Some(point(1.0)) } else { self.ratio(own, base) }
        };
        let title =
            party.source.map(|row| &row.title).or_else(|| party.entry.map(|entry| &entry.identity.name));
        let name = party.source.and_then(|row| row.contender.clone());
        BesideRow {
            title: title.cloned().unwrap_or_default(),
            contender: name.or_else(|| party.entry.map(|entry| entry.identity.name.clone())),
            network: party.source.and_then(|row| row.network).filter(|network| *network != self.network),
            values: columns.clone().map(|column| value(party, column)).collect(),
            ratio_to_baseline: columns.clone().map(theirs).collect(),
            ours: party.ours.iter().map(|figure| Some(figure.as_ref()?.estimate)).collect(),
            our_ratio: columns.map(ours).collect(),
            not_run: self.not_run(party),
            withheld: self.withheld(party),
        }
    }

    /// Paired by round. Shares may be zero and have no logarithm, so of their quotients the median is told.
    fn ratio(&self, own: &Figure, base: &Figure) -> Option<Interval> {
        let pairs = own.rounds.iter().zip(&base.rounds).filter_map(|(own, base)| own.zip(*base));
        let (own, base): (Vec<f64>, Vec<f64>) = pairs.filter(|(_, base)| *base > 0.0).unzip();
        match (self.published.figures, own.as_slice(), base.as_slice()) {
            (_, [own], [base]) => Some(point(own / base)),
            (Figures::Throughput, _, _) => self.ratio_of_rates(&own, &base),
            (Figures::AnsweredWithinMs, _, _) => {
                let quotients = own.iter().zip(&base).map(|(own, base)| Some(own / base));
                answered::over_rounds(&quotients.collect::<Vec<_>>())
            }
        }
    }

    /// The ratio, with an interval as wide as a run that was watched needs; where there is none, the figure alone.
    fn ratio_of_rates(&self, own: &[f64], base: &[f64]) -> Option<Interval> {
        let ratio = paired_log_ratio(own, base, CONFIDENCE).ok()?;
        let (looks, rounds) = (watched(self.record), ratio.rounds());
        let critical = critical_value_of_one(looks, rounds, rounds as f64 - 1.0, CONFIDENCE).ok().flatten();
        let wide = |critical| interval(ratio.with_critical_value(critical, CONFIDENCE));
        Some(critical.map_or_else(|| point(ratio.interval.estimate), wide))
    }

    /// Why a contender was not run, if so.
    fn not_run(&self, party: &Party<'_>) -> Option<String> {
        match (party.entry, party.source) {
            (Some(_), _) if party.ours.iter().any(Option::is_some) => None,
            (Some(entry), row) if self.was_measured(entry, self.network_of(row)) => None,
            (Some(entry), _) => {
                let why = entry.not_run.as_ref().map_or("not measured at these levels", |why| &why.reason);
                Some(why.to_owned())
            }
            (None, Some(row)) if row.contender.is_some() => Some("not asked for".to_owned()),
            (None, _) => Some("no contender here".to_owned()),
        }
    }

    /// Why there is no figure of a contender that was run.
    fn withheld(&self, party: &Party<'_>) -> Option<Withheld> {
        let network = self.network_of(party.source);
        let entry = party.entry.filter(|entry| self.was_measured(entry, network))?;
        let of_times = |cell: &Cell| self.answered_standing(cell, entry)?.withheld.clone();
        let of_rates = |cell: &Cell| self.standing(cell, entry)?.withheld.clone();
        let judged = || match self.published.figures {
            Figures::Throughput => self.cells(network).find_map(|cell| of_rates(&cell)),
            Figures::AnsweredWithinMs => {
                self.cells(network).find_map(|cell| of_times(&cell).or_else(|| of_rates(&cell)))
            }
        };
        let nothing = party.ours.iter().all(Option::is_none);
        nothing.then(|| judged().unwrap_or(Withheld::NoWindow))
    }

    fn was_measured(&self, entry: &Entry, network: Network) -> bool {
        self.cells(network).any(|cell| sample_of(self.evidence, entry, &cell).measured().next().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as verdict;
    use crate::testing;
    use assay_model::record::{NotRun, Run, Stage, State};
    use assay_model::rule::Rule;

    fn published(columns: &[&str], rows: &[(&str, Option<&str>, &[f64])]) -> Published {
        Published {
            source: "a talk".to_owned(),
            quantity: "requests per second".to_owned(),
            figures: Figures::Throughput,
            workload: None,
            cpus: None,
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: (rows.iter())
                .map(|(title, contender, values)| PublishedRow {
                    title: (*title).to_owned(),
                    contender: contender.map(str::to_owned),
                    network: None,
                    values: values.to_vec(),
                })
                .collect(),
        }
    }

    fn beside(record: &Record) -> Beside {
        verdict::testing::judged(record).published.expect("published")
    }

    fn record() -> Record {
        let mut record = testing::record(&[
            ("limit", &[9000.0; 5]),
            ("a", &[1000.0, 1100.0, 900.0, 1050.0, 950.0]),
            ("b", &[2000.0, 2200.0, 1800.0, 2100.0, 1900.0]),
            ("c", &[500.0; 5]),
        ]);
        let rows: [(&str, Option<&str>, &[f64]); 4] = [
            ("Missing", Some("m"), &[10.0, 10.0]),
            ("A of old", Some("a"), &[100.0, 200.0]),
            ("B", Some("b"), &[300.0, 300.0]),
            ("Nowhere", None, &[50.0, 50.0]),
        ];
        record.experiment.published = Some(published(&["64", "128"], &rows));
        record
    }

    #[test]
    fn each_table_is_told_as_ratios_to_the_first_contender_that_is_in_both() {
        let beside = beside(&record());
        assert_eq!(beside.baseline.as_deref(), Some("a"));
        let titles: Vec<&str> = beside.rows.iter().map(|row| row.title.as_str()).collect();
        assert_eq!(titles, ["Missing", "A of old", "B", "Nowhere", "c"]);
        let theirs: Vec<_> = beside.rows.iter().map(|row| row.ratio_to_baseline[0]).collect();
        assert_eq!(theirs, [Some(0.1), Some(1.0), Some(3.0), Some(0.5), None]);
        let b = &beside.rows[2];
        let ours = b.our_ratio[0].expect("measured");
        assert!((ours.estimate - 2.0).abs() < 1e-9 && ours.high - ours.low < 1e-9, "paired: {ours:?}");
        assert_eq!((b.our_ratio[1], b.ratio_to_baseline[1]), (None, Some(1.5)), "128 was not measured");
        assert_eq!(beside.rows[1].our_ratio[0], Some(point(1.0)));
        let reasons: Vec<_> = beside.rows.iter().map(|row| row.not_run.as_deref()).collect();
        assert_eq!(reasons, [Some("not asked for"), None, None, Some("no contender here"), None]);
    }

    /// Each row's figures are of one network, and it is said of which.
    #[test]
    fn ours_are_of_loopback_unless_a_row_names_another_network() {
        let mut record = record();
        let network = |text: &str| text.parse::<Network>().expect("network");
        let (user, kernel) = (network("user/ring"), network("kernel/loopback"));
        record.experiment.measures[0].networks = vec![user, kernel];
        let on = |run: &Run, network: Network, times: u64| {
            let mut run = Run { network: Some(network), ..run.clone() };
            run.cells[0].cell.network = Some(network);
            run.cells[0].load.window.ok *= times;
            run
        };
        for round in &mut record.rounds {
            round.runs = round.runs.iter().flat_map(|run| [on(run, user, 2), on(run, kernel, 1)]).collect();
        }
        record.experiment.published.as_mut().expect("published").rows[2].network = Some(user);
        let beside = beside(&record);
        assert_eq!(beside.network, kernel, "though the other was measured first");
        assert_eq!(
            beside.rows.iter().map(|row| row.network).collect::<Vec<_>>(),
            [None, None, Some(user), None, None]
        );
        let of = |row: usize| beside.rows[row].ours[0].expect("measured").estimate;
        assert!((of(2) / of(1) - 4.0).abs() < 0.1, "twice as much as twice a: {} and {}", of(2), of(1));
    }

    #[test]
    fn who_was_not_run_is_no_baseline_and_says_why() {
        let mut record = record();
        let missing = NotRun {
            stage: Stage::Needs,
            reason: "no compiler".to_owned(),
            remedy: None,
            log_tail: Vec::new(),
        };
        record.contenders[1].not_run = Some(missing);
        record.rounds.iter_mut().for_each(|round| round.runs.retain(|run| run.contender != "a"));
        let beside = beside(&record);
        assert_eq!(beside.baseline.as_deref(), Some("b"));
        assert_eq!(beside.rows[1].not_run.as_deref(), Some("no compiler"));
        assert_eq!(beside.rows[1].ratio_to_baseline[0], Some(1.0 / 3.0));
    }

    #[test]
    fn what_was_run_and_does_not_count_is_withheld() {
        let mut record = record();
        for run in
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "b")
        {
            run.cells[0].machine.steal_share = 0.5;
        }
        let beside = beside(&record);
        let b = &beside.rows[2];
        assert_eq!((&b.not_run, &b.withheld), (&None, &Some(Withheld::AllVoid { rules: vec![Rule::Steal] })));
        assert_eq!((b.our_ratio[0], b.ratio_to_baseline[0]), (None, Some(3.0)));
    }

    #[test]
    fn who_watched_the_run_finds_wider_ratios() {
        let mut record = record();
        let b = record.rounds[1].runs.iter_mut().find(|run| run.contender == "b").expect("b");
        b.cells[0].load = testing::load_report(64, 2300.0);
        let width = |record: &Record| {
            let ratio = beside(record).rows[2].our_ratio[0].expect("a ratio");
            (ratio.high / ratio.low).ln()
        };
        let once = width(&record);
        (record.state, record.experiment.rounds) = (State::Interrupted, 20);
        assert!(width(&record) > 1.3 * once, "{} {once}", width(&record));
    }

    #[test]
    fn a_share_that_is_withheld_stands_in_neither_table() {
        let mut record = record();
        record.experiment.answered_within_ms = vec![64.0, 128.0];
        record.experiment.published.as_mut().expect("published").figures = Figures::AnsweredWithinMs;
        let runs = record.rounds.iter_mut().take(3).flat_map(|round| &mut round.runs);
        runs.filter(|run| run.contender == "a").for_each(|run| run.cells[0].machine.steal_share = 0.5);
        let verdict = verdict::testing::judged(&record);
        let told = verdict.answered[0].standings.iter().find(|of| of.contender == "a").expect("a");
        let beside = verdict.published.expect("published");
        let (a, b) = (&beside.rows[1], &beside.rows[2]);
        assert!(told.withheld.is_some() && a.withheld == told.withheld, "{a:?}");
        assert_eq!((&a.ours, &a.our_ratio), (&vec![None, None], &vec![None, None]));
        assert_eq!((beside.baseline.as_deref(), b.our_ratio[0]), (Some("b"), Some(point(1.0))));
    }

    #[test]
    fn shares_answered_in_time_stand_beside_shares() {
        let mut record = record();
        let published = record.experiment.published.as_mut().expect("published");
        published.figures = Figures::AnsweredWithinMs;
        published.rows[1].values = vec![0.5, 0.8];
        let beside = beside(&record);
        // 64 requests in flight at 1000 per second take 64 ms each, at 900 per second 71 ms.
        let ours: Vec<_> = beside.rows[1].ours.iter().map(|own| own.map(|own| own.estimate)).collect();
        assert_eq!(ours, [Some(1.0), Some(1.0)]);
        assert_eq!(beside.rows[1].ratio_to_baseline, [Some(1.0), Some(1.0)]);
    }
}
