//! One round: everybody who takes part in every setting, in turns or one after the other; in turns all at once, or in groups.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::{Round, Run};
use assay_model::setting::Setting;
use assay_verdict::allocation::Settled;

use super::Runner;
use super::cell_turns::Pace;
use super::ensemble::{EndedRun, Ensemble};
use super::pacing::Pacing;
use super::server_run::ServerRun;
use super::warmup;
use crate::database::Supplied;
use crate::event::Event;
use crate::groups::{Holding, Need, Room, common, groups};
use crate::log;
use crate::network::ProvisionedSetting;
use crate::schedule::{Lives, MAX_ROTATIONS, block, turns_of};
use crate::subject::Launch;

/// Share of the memory that is available which servers may take: they grow under load, and the rest of the machine lives too.
const SHARE_OF_MEMORY: f64 = 0.8;

/// Share of a round's time that starting, warming up and leading in further processes may take: they have no turns of their own for it.
const SHARE_OF_REPLICAS: f64 = 0.1;

/// One subject in one setting, or one of its processes there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) subject: usize,
    /// The place of its setting among the run's.
    pub(super) setting: usize,
    /// The number of the process among those that take turns for the subject.
    pub(super) replica: u32,
}

/// Those who live at once in a round.
struct Group<'p> {
    round: u32,
    /// The number of the group in its round.
    number: u32,
    parts: &'p [Part],
    /// The part that lives in every group of it.
    common: Option<Part>,
}

/// What a life has to itself.
pub(super) struct Allotment {
    /// Queues of the wire, where the stack is in user space.
    queues: u16,
    /// CPUs of the generator's threads.
    generator_cpus: CpuSet,
}

impl Runner<'_> {
    /// Measures everybody in every setting, in an order of its own: a setting is no more a matter of time than a contender.
    pub(super) fn round(&mut self, index: u32) {
        let all_cells = self.plan.experiment.cells().len();
        let settings = self.settings.len();
        let order = block(self.plan.seed, index, self.subjects.len() * settings, all_cells);
        let server_host = self.choose_host(index);
        self.record.rounds.push(Round { index, server_host, runs: Vec::new() });
        let part = |part: &usize| Part { subject: part / settings, setting: part % settings, replica: 0 };
        let parts = order.contenders.iter().map(part);
        let parts: Vec<Part> =
            parts.filter(|part| !self.is_out(part.subject, self.settings[part.setting].setting)).collect();
        if !self.plan.takes_turns() {
            return parts.iter().for_each(|part| self.alone(index, *part, &order.cells));
        }
        let parts = match index {
            0 => originals_first(parts, |subject| self.original_of(subject)),
            _ => parts,
        };
        let mut present: Vec<usize> = Vec::new();
        parts.iter().for_each(|part| {
            if !present.contains(&part.setting) {
                present.push(part.setting)
            }
        });
        let (began, count) = (self.stop.unpaused_now(), present.len() as f64);
        for (done, setting) in present.iter().copied().enumerate() {
            let pace = self.pace_of_part(index, began, (done + 1) as f64 / count);
            let together: Vec<Part> = parts.iter().filter(|part| part.setting == setting).copied().collect();
            self.together(index, &together, &order.cells, pace);
        }
    }

    /// The subject that another one is the A/A control of; itself where it is none.
    fn original_of(&self, subject: usize) -> usize {
        let original = self.record.contenders[subject].original();
        self.subjects.iter().position(|of| of.identity.name == original).unwrap_or(subject)
    }

    /// One life of a subject, measured in one piece.
    fn alone(&mut self, round: u32, part: Part, order: &[usize]) {
        if !self.stop.is_requested() {
            let allotment = self.allotment(part);
            let run = self.server_run(round, part, &allotment, order).run_alone(&self.telling);
            self.file_run(part.subject, run);
            self.tell_verdict_in_round();
        }
    }

    /// All of `parts` in one setting: at once where that can be, else in groups that share one of them.
    fn together(&mut self, round: u32, parts: &[Part], order: &[usize], pace: Pace) {
        let needs: Vec<Need> = parts.iter().map(|part| self.need(*part)).collect();
        let common = common(&needs).map(|place| parts[place]);
        let parts = &self.with_replicas(parts, pace);
        let mut waiting = parts.to_vec();
        for number in 0.. {
            let groups = self.divide(parts, &waiting, common, number);
            let Some(group) = groups.first() else { break };
            if number == 1 {
                self.tell_of_groups(common);
            }
            if number > 0 || groups.len() > 1 {
                let names = |part: &Part| self.subjects[part.subject].identity.name.as_str();
                let members: Vec<&str> = group.iter().map(names).collect();
                log::divided(round, number, &members, common.as_ref().map(names), &self.room());
            }
            let share = group.len() as f64 / groups.iter().map(Vec::len).sum::<usize>() as f64;
            let now = self.stop.unpaused_now();
            let until = pace.until.map(|until| now + until.saturating_duration_since(now).mul_f64(share));
            let own = Pace { until, ..pace };
            let begun = self.group(Group { round, number, parts: group, common }, order, own);
            // A replica that found no room is none, rather than a group of its own.
            waiting.retain(|part| !begun.contains(part) && part.replica == 0);
        }
    }

    /// Those parts, and further processes of whoever gets some: as many as take a small part of the round's time, where that does not
    /// split it.
    fn with_replicas(&self, parts: &[Part], pace: Pace) -> Vec<Part> {
        let round = pace.until.map(|until| until.saturating_duration_since(self.stop.unpaused_now()));
        let mut left = round.unwrap_or_default().mul_f64(SHARE_OF_REPLICAS);
        let mut all = parts.to_vec();
        for part in parts {
            let takes = self.time_before_turns(*part);
            for replica in 1..self.replicas_of(*part) {
                let Some(rest) = takes.and_then(|takes| left.checked_sub(takes)) else { break };
                left = rest;
                all.push(Part { replica, ..*part });
            }
        }
        let needs: Vec<Need> = all.iter().map(|part| self.need(*part)).collect();
        if groups(&needs, None, &self.room()).len() > 1 { parts.to_vec() } else { all }
    }

    /// What starting a part, warming it up and leading it in took in the last round; absent where it was not there.
    fn time_before_turns(&self, part: Part) -> Option<Duration> {
        let name = &self.subjects[part.subject].identity.name;
        let before = self.record.rounds.iter().rev().nth(1)?;
        let run = before.run_of(name, self.settings[part.setting].setting)?;
        Some(Duration::from(run.startup_ns) + warmup::load_before_turns(run))
    }

    /// How many processes of a subject take turns for it: one where a port or a server that runs already allows no other, where one
    /// failed beside another, and where no cell is left in which the subject is not told apart.
    fn replicas_of(&self, part: Part) -> u32 {
        let (subject, Some(pacing)) = (&self.subjects[part.subject], &self.pacing) else { return 1 };
        let name = &subject.identity.name;
        let setting = self.settings[part.setting].setting;
        let is_free = matches!(subject.launch, Launch::Process(_)) && subject.fixed_port().is_none();
        let mut before = self.record.rounds.iter().flat_map(|round| &round.runs);
        let has_failed = before.any(|run| run.contender == *name && run.replica > 0 && run.failure.is_some());
        let cells = self.cells_of(subject);
        let mut own = cells.iter().filter(|(_, cell)| cell.setting() == setting);
        let is_open = own.any(|(_, cell)| !pacing.settled().has(name, cell));
        if is_free && !has_failed && is_open { pacing.replicas(name) } else { 1 }
    }

    /// Tells once that rounds are split.
    fn tell_of_groups(&self, common: Option<Part>) {
        let mut before = self.record.rounds.iter().flat_map(|round| &round.runs);
        if before.all(|run| run.group == 0) {
            let common = common.map(|part| self.subjects[part.subject].identity.name.as_str());
            self.telling.notice(&Event::Split { common });
        }
    }

    /// The groups of those who wait, the first of which is group `number` of its round; none when nobody waits any more.
    fn divide(&self, parts: &[Part], waiting: &[Part], common: Option<Part>, number: u32) -> Vec<Vec<Part>> {
        // Somebody may have been given up since the round began.
        let takes_part = |part: &&Part| !self.is_out(part.subject, self.settings[part.setting].setting);
        let is_wanted = |part: &&Part| waiting.contains(part) || Some(**part) == common;
        let members: Vec<Part> = parts.iter().filter(takes_part).filter(is_wanted).copied().collect();
        if number > 0 && members.iter().all(|part| Some(*part) == common) {
            return Vec::new();
        }
        let needs: Vec<Need> = members.iter().map(|part| self.need(*part)).collect();
        let common = members.iter().position(|part| Some(*part) == common);
        let places = groups(&needs, common, &self.room());
        places.into_iter().map(|group| group.into_iter().map(|place| members[place]).collect()).collect()
    }

    /// What a part needs while it lives, going by its lives so far.
    pub(super) fn need(&self, part: Part) -> Need {
        let subject = &self.subjects[part.subject];
        let setting = self.settings[part.setting].setting;
        let is_turned = |cell: &Cell| cell.setting() == setting && self.plan.experiment.is_turned(cell);
        // What runs already takes nothing more.
        let is_ours = matches!(subject.launch, Launch::Process(_));
        Need {
            holding: if is_ours {
                self.holdings.get(&part.subject).copied()
            } else {
                Some(Holding::default())
            },
            cells: self.cells_of(subject).iter().filter(|(_, cell)| is_turned(cell)).count(),
            ..self.plan.need(subject, self.record.contenders[part.subject].control_of.is_some())
        }
    }

    /// What there is where servers live for those that live at once, while none of them does.
    pub(super) fn room(&self) -> Room {
        // `as` saturates, and a share of a number of bytes is none that is too great.
        let available = self.home().available_memory();
        let available = available.map(|bytes| (bytes as f64 * SHARE_OF_MEMORY) as u64);
        let sessions = self.database.as_ref().and_then(Supplied::sessions);
        Room {
            memory_bytes: available.into_iter().chain(self.plan.experiment.memory_bytes).min(),
            sessions: sessions.map(|sessions| sessions.most.saturating_sub(sessions.open)),
        }
    }

    /// Those of a group at once. Returns who began a life: somebody of whose need nothing was known may have found no room.
    fn group(&mut self, group: Group<'_>, order: &[usize], pace: Pace) -> Vec<Part> {
        let Group { round, number, parts, common } = group;
        let allotments: Vec<Allotment> = parts.iter().map(|part| self.allotment(*part)).collect();
        let server_runs = parts.iter().zip(&allotments).map(|(part, allotment)| {
            let mut server_run = self.server_run(round, *part, allotment, order);
            if number > 0 && Some(*part) == common {
                // Only that by which the groups are joined; all else it was measured in before.
                server_run.cells.retain(|cell| self.plan.experiment.is_turned(cell));
                server_run.log = self.log(*part, format!("{round}-{number}"));
            }
            server_run.replicas = parts.iter().filter(|other| part.is_process_of(**other)).count() as u32;
            server_run
        });
        let setting = parts.first().map(|part| self.settings[part.setting].setting).unwrap_or_default();
        let nobody = Settled::default();
        let ensemble = Ensemble {
            plan: self.plan,
            round,
            cells: order.iter().filter_map(|cell| self.turned_cell(*cell, setting)).collect(),
            pace,
            settled: self.pacing.as_ref().map_or(&nobody, Pacing::settled),
            stop: self.stop,
            settles: &self.settles,
            room: self.room(),
            needs: parts.iter().map(|part| self.need(*part).holding).collect(),
            common: parts.iter().position(|part| Some(*part) == common),
            database: self.database.as_ref(),
        };
        let ended = ensemble.run(server_runs.collect(), &self.telling);
        let mut begun = Vec::new();
        for (part, ended) in parts.iter().zip(ended) {
            let Some(EndedRun { run, holding }) = ended else { continue };
            if let Some(holding) = holding {
                let known = self.holdings.entry(part.subject).or_default();
                *known = known.max(holding);
            }
            self.file_run(part.subject, Run { group: number, ..run });
            begun.push(*part);
        }
        self.settles.learn(&self.record);
        self.tell_verdict_in_round();
        begun
    }

    /// A cell with its number, if servers take turns in it in this setting.
    fn turned_cell(&self, number: usize, setting: Setting) -> Option<(usize, Cell)> {
        let cell = self.plan.experiment.cells().swap_remove(number);
        (cell.setting() == setting && self.plan.experiment.is_turned(&cell)).then_some((number, cell))
    }

    /// Turns of so much of a round that began then, and when that must be over, where its time is given.
    fn pace_of_part(&self, round: u32, began: Instant, share: f64) -> Pace {
        let whole = match &self.pacing {
            Some(pacing) => pacing.pace(),
            None if self.fills_the_budget() => self.equal_part(round),
            None => Pace { most: turns_of(&self.plan.experiment), until: None, planned: None },
        };
        let part = |until: Instant| began + until.saturating_duration_since(began).mul_f64(share);
        Pace { until: whole.until.map(part), ..whole }
    }

    /// As much of the time for all rounds as each of the others has.
    fn equal_part(&self, round: u32) -> Pace {
        let further = self.rounds_expected().max(round + 1) - round;
        let now = self.stop.unpaused_now();
        let until = self.timetable.left(now).map(|left| now + left / further);
        Pace { most: MAX_ROTATIONS, until, planned: None }
    }

    /// What a part has to itself.
    pub(super) fn allotment(&self, part: Part) -> Allotment {
        let provisioned = &self.settings[part.setting];
        let queues = provisioned.queues(&self.subjects[part.subject], &self.plan.isolation);
        Allotment { queues, generator_cpus: provisioned.generator_cpus(queues, &self.plan.isolation) }
    }

    /// One life of a subject in a setting, its cells in the round's order.
    pub(super) fn server_run<'l>(
        &'l self,
        round: u32,
        part: Part,
        allotment: &'l Allotment,
        order: &[usize],
    ) -> ServerRun<'l> {
        let ProvisionedSetting { setting, link, .. } = &self.settings[part.setting];
        let subject = &self.subjects[part.subject];
        let own = self.cells_of(subject);
        let cells = order.iter().filter_map(|cell| own.iter().find(|(index, _)| index == cell));
        let mut cells: Vec<Cell> = cells.map(|(_, cell)| cell.clone()).collect();
        cells.sort_by_key(|cell| !cell.offered.is_capacity());
        cells.retain(|cell| cell.setting() == *setting && self.takes(part.subject, cell.offered));
        let is_settled = |cell: &Cell| {
            self.pacing.as_ref().is_some_and(|pacing| pacing.settled().has(&subject.identity.name, cell))
        };
        cells.retain(|cell| part.replica == 0 || !is_settled(cell));
        ServerRun {
            plan: self.plan,
            setting: *setting,
            replica: part.replica,
            replicas: 1,
            host: self.home(),
            hosts: self.server_host().and_then(|host| host.load.as_ref()),
            link,
            queues: allotment.queues,
            tls: self.tls.as_ref().filter(|_| setting.protocol.is_secured()),
            generator_cpus: &allotment.generator_cpus,
            probe: &self.probe,
            gauge: self.gauge.as_ref(),
            energy: self.energy.as_ref(),
            lives: if round == 0 { Lives::First } else { Lives::Later },
            record: &self.record,
            begun_before: None,
            entry: &self.record.contenders[part.subject],
            subject,
            cells,
            log: match part.replica {
                0 => self.log(part, round),
                replica => self.log(part, format!("{round}-{replica}")),
            },
            work: &self.work,
            began: self.timetable.began(),
            budget_ends: self.timetable.budget_ends(),
            database: self.database.as_ref().map(|supplied| &supplied.access),
            commands: &self.commands,
            stop: self.stop,
        }
    }

    /// Where the output of a life goes.
    fn log(&self, part: Part, number: impl Display) -> PathBuf {
        self.folder.log(
            &log_name(&self.subjects[part.subject].identity.name, self.settings[part.setting].setting),
            number,
        )
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

impl Part {
    /// Whether both are the same subject in the same setting.
    fn is_process_of(self, other: Self) -> bool {
        Self { replica: other.replica, ..self } == other
    }
}

/// Those parts, but no A/A control before its original: in its first life a contender is looked at for longer, and its system calls are
/// counted. Turns have an order of their own.
fn originals_first(mut parts: Vec<Part>, original_of: impl Fn(usize) -> usize) -> Vec<Part> {
    for place in 0..parts.len() {
        let original = Part { subject: original_of(parts[place].subject), ..parts[place] };
        if let Some(behind) = parts[place..].iter().position(|part| *part == original) {
            parts.swap(place, place + behind);
        }
    }
    parts
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
            let part = |&(subject, setting): &(usize, usize)| Part { subject, setting, replica: 0 };
            let parts = originals_first(subjects.iter().map(part).collect(), original_of);
            parts.into_iter().map(|part| (part.subject, part.setting)).collect()
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
