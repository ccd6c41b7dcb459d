//! Searches for redlines of all kinds, whole and cut short.

use assay_model::experiment::Cell;
use assay_model::load::{Arrival, Books, WindowCounts};
use assay_model::offered::Offered;
use assay_model::record::{Measurement, Record};
use assay_model::slo::Slo;
use assay_model::units::Nanos;
use assay_model::verdict::{RedlineEnd, RedlineStanding, Verdict};
use assay_report::export::markdown;
use assay_report::sentences::of_run;
use assay_report::terminal::{Style, render};
use assay_stats::Histogram;
use assay_verdict::course::{Course, Next};
use assay_verdict::rates::first_capacity;
use assay_verdict::{Window, testing};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use proptest::prelude::*;

use crate::kinds::{Kind, factor, give_time, kinds};
use crate::sense::nonsense;

/// A search: what is promised, how the server answers, and how much of it is made.
#[derive(Clone, Debug)]
struct Sought {
    kind: Kind,
    slo: Slo,
    /// How long an answer takes where nothing waits.
    floor_ms: f64,
    /// Share of the capacity that arrivals leave no queue at.
    bearable: f64,
    windows: usize,
}

fn sought() -> impl Strategy<Value = Sought> {
    let slo = prop_oneof![Just("p99<20ms"), Just("p50<1ms"), Just("p99.9<2s")];
    let kinds = kinds().prop_filter("somebody is measured", |kind| kind.rounds > 0);
    let floor = prop_oneof![Just(0.05), Just(5.0), Just(200.0)];
    (kinds, slo, floor, 0.2..3.0_f64, 0..90_usize).prop_map(|(kind, slo, floor_ms, bearable, windows)| {
        let kind = Kind { rated: false, with_control: false, ..kind };
        Sought { kind, slo: slo.parse().unwrap(), floor_ms, bearable, windows }
    })
}

impl Sought {
    fn record(&self) -> Record {
        let mut record = self.kind.record();
        let offered = Offered::Redline(self.slo);
        let cell = Cell { offered, ..Cell::closed("hello", 64) };
        record.experiment.measures[0].rates = vec![Offered::Capacity, offered];
        let mut rng = ChaCha8Rng::seed_from_u64(self.kind.seed);
        let names: Vec<String> = record.contenders.iter().map(|entry| entry.identity.name.clone()).collect();
        for name in names {
            let runs = record.rounds.iter().flat_map(|round| &round.runs);
            let capacity = first_capacity(runs.filter(|run| run.contender == name), &cell);
            let Some(course) = capacity.and_then(|capacity| Course::new(self.slo, capacity)) else {
                continue;
            };
            self.search(&mut record, &name, course, capacity.unwrap_or_default(), &mut rng);
        }
        give_time(&mut record);
        record
    }

    /// Measures what the search asks for, until it ends or the windows are spent, spread over the rounds.
    fn search(
        &self,
        record: &mut Record,
        name: &str,
        mut course: Course,
        capacity: f64,
        rng: &mut ChaCha8Rng,
    ) {
        let rounds = record.rounds.len();
        let per_round = self.windows.div_ceil(rounds);
        for round in &mut record.rounds {
            let Some(run) = round.runs.iter_mut().find(|run| run.contender == name) else { continue };
            let Some(pattern) = run.cells.first().cloned() else { continue };
            for _ in 0..per_round {
                let Next::Window { per_second, window_s, .. } = course.next() else { return };
                let window = self.window(&pattern, per_second, window_s, capacity, rng);
                course.take(&Window::of(name, round.index, &window).unwrap());
                run.cells.push(window);
            }
        }
    }

    /// A window at that rate: beyond what the server can bear, answers wait for as long as the window lasts.
    fn window(
        &self,
        pattern: &Measurement,
        per_second: f64,
        window_s: f64,
        capacity: f64,
        rng: &mut ChaCha8Rng,
    ) -> Measurement {
        let load = per_second / (capacity * self.bearable * factor(self.kind.window_sd.min(0.1), rng));
        let queued_ms = if load < 1.0 { self.floor_ms * load / (1.0 - load) } else { window_s * 500.0 };
        let took_ns = |share: f64| ((self.floor_ms + queued_ms * share) * 1e6).clamp(1e3, 60e9) as u64;
        let ok = ((per_second * window_s) as u64).max(1);
        let mut histogram = Histogram::new();
        histogram.record_n(took_ns(1.0), ok - ok / 20);
        histogram.record_n(took_ns(4.0), ok / 20);
        let text = Some(histogram.to_hdr_base64().unwrap());
        let mut window = pattern.clone();
        window.turns.clear();
        window.cell.offered = Offered::Redline(self.slo);
        window.load.arrival = Arrival::Poisson { per_second };
        window.load.window_ns = Nanos::from_secs_f64(window_s);
        // The pattern lasted a second.
        let waited = pattern.load.generator.run_delay_ns.map(|ns| Nanos((ns.0 as f64 * window_s) as u64));
        window.load.generator.run_delay_ns = waited;
        window.load.books = Books { issued: ok, ok, ..Books::default() };
        window.load.window = WindowCounts { ok, ..WindowCounts::default() };
        window.load.latency.response_hdr.clone_from(&text);
        window.load.latency.response_from_sent_hdr = text;
        window
    }
}

/// Everything that people read of a search.
fn told(record: &Record, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let style = Style { width: 110, colour: false, ascii: false, full: false };
    vec![
        ("terminal", render(record, verdict, &style)),
        ("Markdown", markdown(record, verdict)),
        ("sentences", of_run(record, verdict).join("\n")),
    ]
}

/// What a standing says that its bounds deny.
fn contradiction(of: &RedlineStanding) -> Option<&'static str> {
    let crossed = of.kept_per_second.zip(of.missed_per_second).is_some_and(|(kept, missed)| kept >= missed);
    let (kept, missed) = (of.kept_per_second.is_some(), of.missed_per_second.is_some());
    match of.end {
        _ if crossed => Some("kept at no lower rate than missed"),
        RedlineEnd::Confirmed if !kept || !missed => Some("confirmed without both bounds"),
        RedlineEnd::BelowLowest if kept => Some("kept at no rate, but at one"),
        RedlineEnd::AboveHighest if !kept => Some("kept at every rate, but at none"),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_redline_prints_nothing_senseless_and_does_not_contradict_itself(sought in sought()) {
        let record = sought.record();
        let verdict = testing::judged(&record);
        for standing in verdict.redlines.iter().flat_map(|of| &of.standings) {
            prop_assert_eq!(contradiction(standing), None, "{:?}", standing);
        }
        for (what, text) in told(&record, &verdict) {
            prop_assert_eq!(nonsense(&text), None, "{}:\n{}", what, text);
        }
    }
}
