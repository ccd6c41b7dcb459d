//! What was found of the same contender in the same cell, run by run.

use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::Interval;

use super::Listed;
use crate::words;

/// What must be equal for two figures to be of one trend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) name: String,
    key: String,
}

/// One cell that was measured at capacity, in whichever runs.
pub(super) struct Section {
    pub(super) index: usize,
    pub(super) cell: Cell,
    /// Indices of the runs that measured it, oldest first.
    pub(super) runs: Vec<usize>,
    pub(super) trends: Vec<Trend>,
}

/// One contender over the runs.
pub(super) struct Trend {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// What one run found.
pub(super) struct Point {
    /// Index of the run.
    pub(super) run: usize,
    /// Index of its machine.
    pub(super) machine: usize,
    /// Throughput; absent where it was withheld.
    pub(super) rate: Option<Interval>,
    /// Why, if so.
    pub(super) withheld: Option<String>,
}

impl Machine {
    fn of(record: &Record) -> Self {
        let host = &record.host;
        let cpu = host.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
        let name = match &record.imported {
            Some(imported) => format!("not measured here ({})", imported.source),
            None => format!("{cpu}, {} CPUs, {}", host.cpus, record.networks_text()),
        };
        let gigabytes = host.memory_bytes.map_or(0, |bytes| bytes >> 30);
        let key = format!("{name}|{cpu}|{}|{gigabytes}|{:?}", host.cores, host.hypervisor);
        Self { name, key }
    }

    pub(super) fn is_that_of(&self, record: &Record) -> bool {
        self.key == Self::of(record).key
    }
}

/// The machines in the order in which they come up.
pub(super) fn machines(runs: &[Listed<'_>]) -> Vec<Machine> {
    let mut known: Vec<Machine> = Vec::new();
    for machine in runs.iter().map(|run| Machine::of(run.record)) {
        if !known.contains(&machine) {
            known.push(machine);
        }
    }
    known
}

/// Every cell that was measured, those of the newest run first, in the order of its experiment.
pub(super) fn sections(runs: &[Listed<'_>], machines: &[Machine]) -> Vec<Section> {
    let mut cells: Vec<&Cell> = Vec::new();
    for cell in runs.iter().rev().flat_map(|run| &run.verdict.cells) {
        if !cells.contains(&&cell.cell) {
            cells.push(&cell.cell);
        }
    }
    let sections = cells.into_iter().map(|cell| section(runs, machines, cell));
    let measured = sections.filter(|section| !section.trends.is_empty());
    measured.enumerate().map(|(index, section)| Section { index, ..section }).collect()
}

fn section(runs: &[Listed<'_>], machines: &[Machine], cell: &Cell) -> Section {
    let mut trends: Vec<Trend> = Vec::new();
    let mut measured_by = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let found = run.verdict.cells.iter().filter(|one| one.cell == *cell);
        let standings: Vec<_> = found.flat_map(|one| &one.standings).collect();
        let machine = machines.iter().position(|machine| machine.is_that_of(run.record)).unwrap_or(0);
        for standing in &standings {
            let point = Point {
                run: index,
                machine,
                rate: standing.throughput_per_second.filter(|_| standing.withheld.is_none()),
                withheld: standing.withheld.as_ref().map(words::withheld),
            };
            match trends.iter_mut().find(|trend| trend.name == standing.contender) {
                Some(trend) => trend.points.push(point),
                None => {
                    trends.push(Trend { name: standing.contender.clone(), points: vec![point] });
                }
            }
        }
        if !standings.is_empty() {
            measured_by.push(index);
        }
    }
    trends.sort_by(|a, b| latest(b).total_cmp(&latest(a)).then_with(|| a.name.cmp(&b.name)));
    Section { index: 0, cell: cell.clone(), runs: measured_by, trends }
}

fn latest(trend: &Trend) -> f64 {
    trend.points.iter().rev().find_map(|point| point.rate).map_or(0.0, |rate| rate.estimate)
}
