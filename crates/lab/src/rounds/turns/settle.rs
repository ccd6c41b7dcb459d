//! How long each contender is to be under load before a turn counts: as long as its rate depends on it.

use std::collections::BTreeMap;

use assay_model::experiment::{Cell, Experiment};
use assay_model::record::{Record, Turn};
use assay_model::units::Nanos;
use assay_verdict::turns::settle_of;

use crate::log;

/// What is known of all contenders in all cells.
pub(crate) struct Settles {
    least: Nanos,
    learnt: BTreeMap<(String, Cell), Nanos>,
}

impl Settles {
    /// Nothing is known yet but what the experiment asks for.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        Self { least: Nanos::from_secs_f64(experiment.settle_s), learnt: BTreeMap::new() }
    }

    /// Load before a turn of a contender.
    pub(crate) fn of(&self, contender: &str, cell: &Cell) -> Nanos {
        self.learnt.get(&(contender.to_owned(), cell.clone())).copied().unwrap_or(self.least)
    }

    /// Learns from all turns so far. A contender and its control share what is known of either.
    pub(crate) fn learn(&mut self, record: &Record) {
        let originals: BTreeMap<&str, &str> =
            record.contenders.iter().map(|entry| (entry.identity.name.as_str(), entry.original())).collect();
        let mut turns: BTreeMap<(&str, &Cell), Vec<&Turn>> = BTreeMap::new();
        for run in record.rounds.iter().flat_map(|round| &round.runs) {
            let Some(original) = originals.get(run.contender.as_str()) else { continue };
            for window in &run.cells {
                turns.entry((original, &window.cell)).or_default().extend(&window.turns);
            }
        }
        for ((of, cell), turns) in turns {
            let settle = settle_of(&turns, self.least);
            for contender in originals.iter().filter(|(_, original)| **original == of).map(|(name, _)| *name)
            {
                let before = self.of(contender, cell);
                if settle != before {
                    log::settles(contender, cell, before, settle);
                }
                self.learnt.insert((contender.to_owned(), cell.clone()), settle);
            }
        }
    }
}
