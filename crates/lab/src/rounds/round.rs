//! One round: everybody who takes part in every setting, in turns or one after the other; in turns all at once, or in groups.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::{Round, Run};
use assay_model::setting::Setting;
use assay_verdict::allocation::Settled;

use super::Runner;
use super::life::server_run::{Allotment, ServerRun};
use super::timing::pacing::Pacing;
use super::turns::cell_turns::Pace;
use super::turns::ensemble::{EndedRun, Ensemble};
use super::warmup;
use crate::event::Event;
use crate::groups::{Holding, Need, Room, common, groups};
use crate::log;
use crate::schedule::{Lives, MAX_ROTATIONS, block, turns_of};
use crate::subject::Launch;

/// Share of the memory that is available which servers may take: they grow under load, and the rest of the machine lives too.
const SHARE_OF_MEMORY: f64 = 0.8;

/// Share of a round's time that starting, warming up and leading in further processes may take: they have no turns of their own for it.
const SHARE_OF_REPLICAS: f64 = 0.1;

/// One subject in one setting, or one of its processes there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Entrant {
    pub(super) subject: usize,
    /// The place of its setting among the run's.
    pub(super) setting: usize,
    /// The number of the process among those that take turns for the subject.
    pub(super) replica: u32,
}

/// The entrants that live at once in a round.
struct Group<'p> {
    round: u32,
    /// The number of the group in its round.
    number: u32,
    entrants: &'p [Entrant],
    /// The entrant that lives in every group of it.
    common: Option<Entrant>,
}

impl Runner<'_> {
    /// Measures everybody in every setting, in an order of its own: a setting is no more a matter of time than a contender.
    pub(super) fn round(&mut self, index: u32) {
        let all_cells = self.bench.plan.experiment.cells().len();
        let pairs = self.subjects.len() * self.bench.settings.len();
        let order = block(self.bench.plan.seed, index, pairs, all_cells);
        let server_host = self.homes.choose(index);
        self.record.rounds.push(Round { index, server_host, runs: Vec::new() });
        let entrants = self.entrants(&order.contenders);
        if self.bench.plan.takes_turns() {
            self.in_turns(index, entrants, &order.cells);
        } else {
            entrants.iter().for_each(|entrant| self.alone(index, *entrant, &order.cells));
        }
    }

    /// Who takes part in which setting, in the given order of all pairs of a subject and a setting.
    fn entrants(&self, order: &[usize]) -> Vec<Entrant> {
        let settings = self.bench.settings.len();
        let entrant =
            |pair: &usize| Entrant { subject: pair / settings, setting: pair % settings, replica: 0 };
        let entrants = order.iter().map(entrant);
        entrants.filter(|entrant| !self.is_out(entrant.subject, self.setting_of(*entrant))).collect()
    }

    /// One setting after the other, each with an equal part of the round's time, in which its entrants take turns.
    fn in_turns(&mut self, index: u32, entrants: Vec<Entrant>, cells: &[usize]) {
        let entrants = match index {
            0 => originals_first(entrants, |subject| self.original_of(subject)),
            _ => entrants,
        };
        let mut present: Vec<usize> = Vec::new();
        entrants.iter().for_each(|entrant| {
            if !present.contains(&entrant.setting) {
                present.push(entrant.setting)
            }
        });
        let (began, count) = (self.bench.stop.unpaused_now(), present.len() as f64);
        for (done, setting) in present.iter().copied().enumerate() {
            let pace = self.pace_of_part(index, began, (done + 1) as f64 / count);
            let together: Vec<Entrant> =
                entrants.iter().filter(|entrant| entrant.setting == setting).copied().collect();
            self.together(index, &together, cells, pace);
        }
    }

    fn setting_of(&self, entrant: Entrant) -> Setting {
        self.bench.settings[entrant.setting].setting
    }

    /// The subject that another one is the A/A control of; itself where it is none.
    fn original_of(&self, subject: usize) -> usize {
        let original = self.record.contenders[subject].original();
        self.subjects.iter().position(|of| of.identity.name == original).unwrap_or(subject)
    }

    /// One life of a subject, measured in one piece.
    fn alone(&mut self, round: u32, entrant: Entrant, order: &[usize]) {
        if !self.bench.stop.is_requested() {
            let allotment = self.allotment(entrant);
            let run = self.server_run(round, entrant, &allotment, order).run_alone(&self.telling);
            self.file_run(entrant.subject, run);
            self.tell_verdict_in_round();
        }
    }

    /// All of `entrants` in one setting: at once where that can be, else in groups that share one of them.
    fn together(&mut self, round: u32, entrants: &[Entrant], order: &[usize], pace: Pace) {
        let needs: Vec<Need> = entrants.iter().map(|entrant| self.need(*entrant)).collect();
        let common = common(&needs).map(|place| entrants[place]);
        let entrants = &self.with_replicas(entrants, pace);
        let mut waiting = entrants.to_vec();
        for number in 0.. {
            let groups = self.divide(entrants, &waiting, common, number);
            let Some(group) = groups.first() else { break };
            if number == 1 {
                self.tell_of_groups(common);
            }
            if number > 0 || groups.len() > 1 {
                let names = |entrant: &Entrant| self.subjects[entrant.subject].identity.name.as_str();
                let members: Vec<&str> = group.iter().map(names).collect();
                log::divided(round, number, &members, common.as_ref().map(names), &self.room());
            }
            let share = group.len() as f64 / groups.iter().map(Vec::len).sum::<usize>() as f64;
            let now = self.bench.stop.unpaused_now();
            let until = pace.until.map(|until| now + until.saturating_duration_since(now).mul_f64(share));
            let own = Pace { until, ..pace };
            let begun = self.group(Group { round, number, entrants: group, common }, order, own);
            // A replica that found no room is none, rather than a group of its own.
            waiting.retain(|entrant| !begun.contains(entrant) && entrant.replica == 0);
        }
    }

    /// The `entrants`, and further processes of whoever gets some: as many as take a small part of the round's time, where that does
    /// not split it.
    fn with_replicas(&self, entrants: &[Entrant], pace: Pace) -> Vec<Entrant> {
        let round = pace.until.map(|until| until.saturating_duration_since(self.bench.stop.unpaused_now()));
        let mut left = round.unwrap_or_default().mul_f64(SHARE_OF_REPLICAS);
        let mut all = entrants.to_vec();
        for entrant in entrants {
            let takes = self.time_before_turns(*entrant);
            for replica in 1..self.replicas_of(*entrant) {
                let Some(rest) = takes.and_then(|takes| left.checked_sub(takes)) else { break };
                left = rest;
                all.push(Entrant { replica, ..*entrant });
            }
        }
        let needs: Vec<Need> = all.iter().map(|entrant| self.need(*entrant)).collect();
        if groups(&needs, None, &self.room()).len() > 1 { entrants.to_vec() } else { all }
    }

    /// What starting an entrant, warming it up and leading it in took in the last round; absent where it was not there.
    fn time_before_turns(&self, entrant: Entrant) -> Option<Duration> {
        let name = &self.subjects[entrant.subject].identity.name;
        let before = self.record.rounds.iter().rev().nth(1)?;
        let run = before.run_of(name, self.setting_of(entrant))?;
        Some(Duration::from(run.startup_ns) + warmup::load_before_turns(run))
    }

    /// How many processes of a subject take turns for it: one where a port or a server that runs already allows no other, where one
    /// failed beside another, and where no cell is left in which the subject is not told apart.
    fn replicas_of(&self, entrant: Entrant) -> u32 {
        let (subject, Some(pacing)) = (&self.subjects[entrant.subject], &self.pacing) else { return 1 };
        let name = &subject.identity.name;
        let setting = self.setting_of(entrant);
        let is_free = matches!(subject.launch, Launch::Process(_)) && subject.fixed_port().is_none();
        let mut before = self.record.rounds.iter().flat_map(|round| &round.runs);
        let has_failed = before.any(|run| run.contender == *name && run.replica > 0 && run.failure.is_some());
        let cells = self.cells_of(subject);
        let mut own = cells.iter().filter(|(_, cell)| cell.setting() == setting);
        let is_open = own.any(|(_, cell)| !pacing.settled().has(name, cell));
        if is_free && !has_failed && is_open { pacing.replicas(name) } else { 1 }
    }

    /// Tells once that rounds are split.
    fn tell_of_groups(&self, common: Option<Entrant>) {
        let mut before = self.record.rounds.iter().flat_map(|round| &round.runs);
        if before.all(|run| run.group == 0) {
            let common = common.map(|entrant| self.subjects[entrant.subject].identity.name.as_str());
            self.telling.notice(&Event::Split { common });
        }
    }

    /// The groups of those who wait, the first of which is group `number` of its round; none when nobody waits any more.
    fn divide(
        &self,
        entrants: &[Entrant],
        waiting: &[Entrant],
        common: Option<Entrant>,
        number: u32,
    ) -> Vec<Vec<Entrant>> {
        // Somebody may have been given up since the round began.
        let takes_part = |entrant: &&Entrant| !self.is_out(entrant.subject, self.setting_of(**entrant));
        let is_wanted = |entrant: &&Entrant| waiting.contains(entrant) || Some(**entrant) == common;
        let members: Vec<Entrant> = entrants.iter().filter(takes_part).filter(is_wanted).copied().collect();
        if number > 0 && members.iter().all(|entrant| Some(*entrant) == common) {
            return Vec::new();
        }
        let needs: Vec<Need> = members.iter().map(|entrant| self.need(*entrant)).collect();
        let common = members.iter().position(|entrant| Some(*entrant) == common);
        let places = groups(&needs, common, &self.room());
        places.into_iter().map(|group| group.into_iter().map(|place| members[place]).collect()).collect()
    }

    /// What an entrant needs while it lives, going by its lives so far.
    pub(super) fn need(&self, entrant: Entrant) -> Need {
        let subject = &self.subjects[entrant.subject];
        let setting = self.setting_of(entrant);
        let is_turned = |cell: &Cell| cell.setting() == setting && self.bench.plan.experiment.is_turned(cell);
        // What runs already takes nothing more.
        let is_ours = matches!(subject.launch, Launch::Process(_));
        Need {
            holding: if is_ours {
                self.known.holdings.get(&entrant.subject).copied()
            } else {
                Some(Holding::default())
            },
            cells: self.cells_of(subject).iter().filter(|(_, cell)| is_turned(cell)).count(),
            ..self.bench.plan.need(subject, self.record.contenders[entrant.subject].control_of.is_some())
        }
    }

    /// What there is where servers live for those that live at once, while none of them does.
    pub(super) fn room(&self) -> Room {
        // `as` saturates, and a share of a number of bytes is none that is too great.
        let available = self.homes.present().available_memory();
        let available = available.map(|bytes| (bytes as f64 * SHARE_OF_MEMORY) as u64);
        let sessions = self.bench.sessions();
        Room {
            memory_bytes: available.into_iter().chain(self.bench.plan.experiment.memory_bytes).min(),
            sessions: sessions.map(|sessions| sessions.most.saturating_sub(sessions.open)),
        }
    }

    /// Measures all of a group at once. Returns who began a life: somebody of whose need nothing was known may have found no room.
    fn group(&mut self, group: Group<'_>, order: &[usize], pace: Pace) -> Vec<Entrant> {
        let Group { round, number, entrants, common } = group;
        let allotments: Vec<Allotment> = entrants.iter().map(|entrant| self.allotment(*entrant)).collect();
        let server_runs = entrants.iter().zip(&allotments).map(|(entrant, allotment)| {
            let mut server_run = self.server_run(round, *entrant, allotment, order);
            if number > 0 && Some(*entrant) == common {
                // Only that by which the groups are joined; all else it was measured in before.
                server_run.cells.retain(|cell| self.bench.plan.experiment.is_turned(cell));
                server_run.log = self.log(*entrant, format!("{round}-{number}"));
            }
            server_run.replicas =
                entrants.iter().filter(|other| entrant.is_process_of(**other)).count() as u32;
            server_run
        });
        let setting = entrants.first().map(|entrant| self.setting_of(*entrant)).unwrap_or_default();
        let nobody = Settled::default();
        let ensemble = Ensemble {
            bench: &self.bench,
            round,
            cells: order.iter().filter_map(|cell| self.turned_cell(*cell, setting)).collect(),
            pace,
            settled: self.pacing.as_ref().map_or(&nobody, Pacing::settled),
            settles: &self.known.settles,
            room: self.room(),
            needs: entrants.iter().map(|entrant| self.need(*entrant).holding).collect(),
            common: entrants.iter().position(|entrant| Some(*entrant) == common),
        };
        let ended = ensemble.run(server_runs.collect(), &self.telling);
        let mut begun = Vec::new();
        for (entrant, ended) in entrants.iter().zip(ended) {
            let Some(EndedRun { run, holding }) = ended else { continue };
            if let Some(holding) = holding {
                let known = self.known.holdings.entry(entrant.subject).or_default();
                *known = known.max(holding);
            }
            self.file_run(entrant.subject, Run { group: number, ..run });
            begun.push(*entrant);
        }
        self.known.settles.learn(&self.record);
        self.tell_verdict_in_round();
        begun
    }

    /// A cell with its number, if servers take turns in it in this setting.
    fn turned_cell(&self, number: usize, setting: Setting) -> Option<(usize, Cell)> {
        let cell = self.bench.plan.experiment.cells().swap_remove(number);
        (cell.setting() == setting && self.bench.plan.experiment.is_turned(&cell)).then_some((number, cell))
    }

    /// Turns of so much of a round that began then, and when that must be over, where its time is given.
    fn pace_of_part(&self, round: u32, began: Instant, share: f64) -> Pace {
        let whole = match &self.pacing {
            Some(pacing) => pacing.pace(),
            None if self.fills_the_budget() => self.equal_part(round),
            None => Pace { most: turns_of(&self.bench.plan.experiment), until: None, planned: None },
        };
        let part = |until: Instant| began + until.saturating_duration_since(began).mul_f64(share);
        Pace { until: whole.until.map(part), ..whole }
    }

    /// The pace of a round that has as much of the time for all rounds as each of the others.
    fn equal_part(&self, round: u32) -> Pace {
        let further = self.rounds_expected().max(round + 1) - round;
        let now = self.bench.stop.unpaused_now();
        let until = self.timetable.left(now).map(|left| now + left / further);
        Pace { most: MAX_ROTATIONS, until, planned: None }
    }

    /// What an entrant has to itself.
    pub(super) fn allotment(&self, entrant: Entrant) -> Allotment {
        let provisioned = &self.bench.settings[entrant.setting];
        let queues = provisioned.queues(&self.subjects[entrant.subject], &self.bench.plan.isolation);
        Allotment { queues, generator_cpus: provisioned.generator_cpus(queues, &self.bench.plan.isolation) }
    }

    /// One life of a subject in a setting, its cells in the round's order.
    pub(super) fn server_run<'l>(
        &'l self,
        round: u32,
        entrant: Entrant,
        allotment: &'l Allotment,
        order: &[usize],
    ) -> ServerRun<'l> {
        let provisioned = &self.bench.settings[entrant.setting];
        let subject = &self.subjects[entrant.subject];
        let own = self.cells_of(subject);
        let cells = order.iter().filter_map(|cell| own.iter().find(|(index, _)| index == cell));
        let mut cells: Vec<Cell> = cells.map(|(_, cell)| cell.clone()).collect();
        cells.sort_by_key(|cell| !cell.offered.is_capacity());
        cells.retain(|cell| {
            cell.setting() == provisioned.setting && self.takes(entrant.subject, cell.offered)
        });
        let is_settled = |cell: &Cell| {
            self.pacing.as_ref().is_some_and(|pacing| pacing.settled().has(&subject.identity.name, cell))
        };
        cells.retain(|cell| entrant.replica == 0 || !is_settled(cell));
        ServerRun {
            bench: &self.bench,
            provisioned,
            allotment,
            host: self.homes.present(),
            hosts: self.homes.load(),
            timetable: self.timetable,
            record: &self.record,
            lives: if round == 0 { Lives::First } else { Lives::Later },
            begun_before: None,
            subject,
            entry: &self.record.contenders[entrant.subject],
            replica: entrant.replica,
            replicas: 1,
            cells,
            log: match entrant.replica {
                0 => self.log(entrant, round),
                replica => self.log(entrant, format!("{round}-{replica}")),
            },
        }
    }

    /// Where the output of a life goes.
    fn log(&self, entrant: Entrant, number: impl Display) -> PathBuf {
        self.bench
            .folder
            .log(&log_name(&self.subjects[entrant.subject].identity.name, self.setting_of(entrant)), number)
    }

    /// Whether it takes part in a setting not at all or no longer: nothing to measure, given up, or settled. The limit and the A/A pair
    /// stay to the end, because every round is measured against them; a control goes when its original does.
    pub(super) fn is_out(&self, subject: usize, setting: Setting) -> bool {
        let entry = &self.record.contenders[subject];
        let original = entry.control_of.as_ref();
        let given_up = |name: &String| {
            let named = self.record.contenders.iter().find(|entry| entry.identity.name == *name);
            named.is_some_and(|entry| entry.absence_on(setting).is_some())
        };
        let has_cells =
            self.cells_of(&self.subjects[subject]).iter().any(|(_, cell)| cell.setting() == setting);
        if !has_cells || entry.absence_on(setting).is_some() || original.is_some_and(given_up) {
            return true;
        }
        let yardstick = self.subjects[subject].is_limit()
            || original.is_some()
            || self
                .record
                .contenders
                .iter()
                .any(|control| control.control_of.as_ref() == Some(&entry.identity.name));
        !yardstick
            && self.unsettled.as_ref().is_some_and(|unsettled| !unsettled.contains(&entry.identity.name))
    }

    /// Whether it is measured at a load: a control only at capacity, which is where the noise floor is told, and a redline is
    /// searched for those only who are compared.
    fn takes(&self, subject: usize, offered: Offered) -> bool {
        let is_control = self.record.contenders[subject].control_of.is_some();
        match offered {
            Offered::Capacity => true,
            Offered::Redline(_) => !is_control && !self.subjects[subject].is_limit(),
            Offered::Share(_) | Offered::Common | Offered::Rate(_) | Offered::Requests(_) => !is_control,
        }
    }
}

impl Entrant {
    /// Whether both are the same subject in the same setting.
    fn is_process_of(self, other: Self) -> bool {
        Self { replica: other.replica, ..self } == other
    }
}

/// The `entrants`, but no A/A control before its original: in its first life a contender is looked at for longer, and its system calls are
/// counted. Turns have an order of their own.
fn originals_first(mut entrants: Vec<Entrant>, original_of: impl Fn(usize) -> usize) -> Vec<Entrant> {
    for place in 0..entrants.len() {
        let original = Entrant { subject: original_of(entrants[place].subject), ..entrants[place] };
        if let Some(behind) = entrants[place..].iter().position(|entrant| *entrant == original) {
            entrants.swap(place, place + behind);
        }
    }
    entrants
}

/// Logs are told apart by setting, where there are several.
fn log_name(contender: &str, setting: Setting) -> String {
    if setting == Setting::USUAL {
        return contender.to_owned();
    }
    format!("{contender}@{}", setting.to_string().replace(['/', ':', ' '], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_original_begins_before_its_control() {
        // The last of four subjects is the control of the second.
        let original_of = |subject: usize| if subject == 3 { 1 } else { subject };
        let order = |subjects: &[(usize, usize)]| -> Vec<(usize, usize)> {
            let entrant = |&(subject, setting): &(usize, usize)| Entrant { subject, setting, replica: 0 };
            let entrants = originals_first(subjects.iter().map(entrant).collect(), original_of);
            entrants.into_iter().map(|entrant| (entrant.subject, entrant.setting)).collect()
        };
        assert_eq!(order(&[(3, 0), (0, 0), (1, 0), (2, 0)]), [(1, 0), (0, 0), (3, 0), (2, 0)]);
        assert_eq!(order(&[(1, 0), (2, 0), (3, 0)]), [(1, 0), (2, 0), (3, 0)], "it does already");
        assert_eq!(
            order(&[(3, 0), (1, 1), (1, 0), (3, 1)]),
            [(1, 0), (1, 1), (3, 0), (3, 1)],
            "in each setting"
        );
        assert_eq!(order(&[(3, 0), (2, 0)]), [(3, 0), (2, 0)], "its original does not take part");
    }
}
