//! Everything that is decided before a run begins.

use std::collections::BTreeSet;

use assay_host::isolation::Isolation;
use assay_link::Spec;
use assay_model::database::DatabaseKind;
use assay_model::design::Design;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::lab::{LabHost, Transport};
use assay_model::network::{Network, Stack};
use assay_model::protocol::Protocol;
use assay_model::record::{LeftOut, Program};
use assay_model::setting::Setting;
use assay_model::workload::{OWN_WORKLOAD, Workload};

use crate::catalogue::{self, Catalogue, Fault};
use crate::contender::Upstream;
use crate::database::Source;
use crate::error::LabError;
use crate::generator::{LoadGenerator, foreign, load_of};
use crate::groups::{Need, Role, Room, common, groups};
use crate::subject::{Launch, Subject, check_link};
use crate::tools::Tools;
use crate::url::Scheme;

/// A run that can begin.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// What is measured.
    pub experiment: Experiment,
    /// The experiment's workloads (see [`Catalogue::workloads_of`]).
    pub workloads: Vec<Workload>,
    /// Who is measured (see [`Catalogue::select`]).
    pub subjects: Vec<Subject>,
    /// The CPUs that serve and those that generate load.
    pub isolation: Isolation,
    /// The other hosts on which servers are to live; none for this one. Several take turns, round by round.
    pub server_hosts: Vec<LabHost>,
    /// The hosts from which load is to come; none where it comes from this one.
    pub generator_hosts: Vec<LabHost>,
    /// What is to join servers and generator.
    pub link: Spec,
    /// Seed of every random choice.
    pub seed: u64,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Who measures, for the record.
    pub program: Program,
    /// The programs to start.
    pub tools: Tools,
    /// Where the database comes from; needed only where a workload does ([`database_of`]).
    pub database: Option<Source>,
    /// What is started behind proxies; needed only where one takes part.
    pub upstream: Option<Upstream>,
    /// The command that was typed to be run before every workload, in the place of its own.
    pub before: Option<String>,
    /// Names of the workloads for which the limit stands in ([`Subject::take_part_in`]).
    pub stand_ins: BTreeSet<String>,
    /// Contenders without which the run is pointless: it ends when fewer are left.
    pub least_contenders: usize,
    /// Whether contenders that assay starts are asked, before the first round, what they keep of the rules of HTTP/1.1.
    pub conformance: bool,
}

impl Catalogue {
    /// The workloads that `experiment` names, each once. Where it names a family, it names all members from then on.
    ///
    /// # Errors
    /// [`LabError::UnknownName`] with the nearest names.
    pub fn workloads_of(&self, experiment: &mut Experiment) -> Result<Vec<Workload>, LabError> {
        let mut found: Vec<Workload> = Vec::new();
        for measure in std::mem::take(&mut experiment.measures) {
            for workload in self.workloads_called(&measure.workload)? {
                if found.iter().all(|known| known.name != workload.name) {
                    found.push(workload.clone());
                }
                let named = Measure { workload: workload.name.clone(), ..measure.clone() };
                experiment.measures.push(match workload.websocket {
                    Some(_) => named.with_messages(),
                    None if workload.grpc => named.with_calls(),
                    None => named,
                });
            }
        }
        Ok(found)
    }
}

/// The database that servers need which assay starts itself, if one is needed. What was running before has its own.
///
/// # Errors
/// [`LabError::Argument`] when they need two kinds: what one costs would disturb what is measured with the other.
pub fn database_of<'a>(
    parts: impl IntoIterator<Item = (&'a Subject, &'a Workload)>,
) -> Result<Option<DatabaseKind>, LabError> {
    let mut first: Option<(&Workload, DatabaseKind)> = None;
    for (subject, workload) in parts {
        let started = matches!(subject.launch, Launch::Process(_)) && subject.answers(workload);
        let Some(kind) = workload.database.filter(|_| started) else { continue };
        match first {
            Some((other, known)) if known != kind => {
                let problem = format!("it needs {kind}, and {} needs {known}; name one of them", other.name);
                return Err(LabError::Argument { given: workload.name.clone(), problem });
            }
            _ => first = Some((workload, kind)),
        }
    }
    Ok(first.map(|(_, kind)| kind))
}

impl RunPlan {
    /// Whether the parts fit together.
    ///
    /// # Errors
    /// An experiment with impossible numbers, or one of whose workloads is missing, or nobody to measure.
    pub fn check(&self) -> Result<(), LabError> {
        self.check_protocols()?;
        self.check_schemes()?;
        if let Some(fault) = catalogue::fault_of_experiment(&self.experiment) {
            return Err(self.refused(fault));
        }
        for measure in &self.experiment.measures {
            if self.workload(&measure.workload).is_none() {
                let known = self.workloads.iter().map(|workload| workload.name.as_str());
                return Err(catalogue::unknown("workload", &measure.workload, known));
            }
        }
        self.check_requests()?;
        self.check_networks()?;
        self.check_server_hosts()?;
        self.check_generator_hosts()?;
        self.check_generators()?;
        self.check_generator_processes()?;
        let somebody = self.subjects.iter().any(|subject| !self.cells_of(subject).is_empty());
        if somebody {
            return Ok(());
        }
        Err(LabError::NothingSelected { reason: self.why_nobody_answers() })
    }

    /// What an experiment breaks a rule with. Files were held against the rules when they were read, so what came from an argument is told
    /// by its name and in its units.
    fn refused(&self, Fault { key, problem, mend }: Fault) -> LabError {
        match catalogue::argument_of(&key) {
            Some(argument) => LabError::Argument {
                given: argument.to_owned(),
                problem: format!("{problem}; write for example 10s, at most 24h"),
            },
            None => LabError::Argument {
                given: self.experiment.name.clone(),
                problem: format!("{key}: {problem}; {mend}"),
            },
        }
    }

    fn why_nobody_answers(&self) -> String {
        if self.workloads.iter().all(|workload| workload.name == OWN_WORKLOAD) {
            return "a request of your own (--path) is for servers that --cmd or a URL names; contenders of the catalogue answer \
                    workloads (-w)"
                .to_owned();
        }
        let workloads: Vec<&str> = self.workloads.iter().map(|workload| workload.name.as_str()).collect();
        format!("no selected contender answers {}", workloads.join(" or "))
    }

    /// Whether messages travel over WebSockets and calls over gRPC, and nothing else does.
    fn check_protocols(&self) -> Result<(), LabError> {
        let is_of_messages =
            |name: &str| self.workload(name).is_some_and(|workload| workload.websocket.is_some());
        let is_of_calls = |name: &str| self.workload(name).is_some_and(|workload| workload.grpc);
        let fault = |cell: &Cell| match cell.protocol {
            protocol if protocol.is_http2() && is_of_messages(&cell.workload) => Some(
                "its messages travel over WebSockets, which are opened in HTTP/1.1; leave HTTP/2 out, or this workload",
            ),
            protocol if protocol.is_websocket() && !is_of_messages(&cell.workload) => Some(
                "its requests are none of WebSocket; write `websocket = \"text\"` into a workload of messages",
            ),
            protocol if protocol.is_grpc() && !is_of_calls(&cell.workload) => {
                Some("its requests are no calls of gRPC; write `grpc = true` into a workload of calls")
            }
            _ => None,
        };
        let of_scheme = |subject: &Subject| match subject.launch {
            Launch::Running { scheme, .. } if scheme.is_websocket() => {
                Some("a run opens WebSockets for workloads of messages; write http://, and -w websocket")
            }
            Launch::Running { scheme, .. } if scheme.is_grpc() => {
                Some("a run makes calls for workloads of them; write http://, and -w grpc")
            }
            Launch::Running { .. } | Launch::Process(_) => None,
        };
        let wrong = |subject: &Subject| Some((of_scheme(subject)?, subject.identity.title.clone()));
        if let Some((problem, given)) = self.subjects.iter().find_map(wrong) {
            return Err(LabError::Argument { given, problem: problem.to_owned() });
        }
        let found = self.experiment.cells().into_iter().find_map(|cell| Some((fault(&cell)?, cell.workload)));
        found
            .map_or(Ok(()), |(problem, given)| Err(LabError::Argument { given, problem: problem.to_owned() }))
    }

    /// Whether servers that run already are measured without TLS: what a run secures has a certificate of its own. The scheme h2c says
    /// what is spoken, so nothing else is.
    fn check_schemes(&self) -> Result<(), LabError> {
        let is_h2c =
            |subject: &&Subject| matches!(subject.launch, Launch::Running { scheme: Scheme::H2c, .. });
        let is_spoken = self.experiment.cells().iter().all(|cell| cell.protocol == Protocol::H2c);
        if let Some(subject) = self.subjects.iter().find(is_h2c).filter(|_| !is_spoken) {
            let given = format!("h2c://{}", subject.identity.title);
            let problem = "h2c:// is HTTP/2 without TLS: add --http 2, or write http://".to_owned();
            return Err(LabError::Argument { given, problem });
        }
        let is_secured = self.experiment.is_secured();
        let is_others = |subject: &&Subject| match subject.launch {
            Launch::Running { scheme, .. } => is_secured || scheme == Scheme::Https,
            Launch::Process(_) => false,
        };
        let Some(subject) = self.subjects.iter().find(is_others) else { return Ok(()) };
        let (scheme, mend) = if is_secured { ("", "leave --tls out") } else { ("https://", "write http://") };
        Err(LabError::Argument {
            given: format!("{scheme}{}", subject.identity.title),
            problem: format!(
                "over TLS a run measures servers that it starts, with a certificate of its own; for one that runs already {mend}, \
                 or drive it with `assay load https://…`, or ask it with `assay check https://…`"
            ),
        })
    }

    /// Whether all requests mean something.
    fn check_requests(&self) -> Result<(), LabError> {
        let requests = self.workloads.iter().flat_map(|w| w.requests.iter().map(move |request| (w, request)));
        for (workload, request) in requests {
            if let Some(fault) = workload.fault_of(request) {
                return Err(LabError::Argument { given: request.path.clone(), problem: fault.to_string() });
            }
        }
        Ok(())
    }

    /// Whether everybody can be on some network, and the database on all.
    fn check_networks(&self) -> Result<(), LabError> {
        let networks = self.experiment.networks();
        let is_users = |network: &Network| network.stack() == Stack::User;
        let before = self.workloads.iter().find(|workload| workload.before.is_some());
        if let Some(workload) = before.filter(|_| networks.iter().flatten().any(is_users)) {
            let problem =
                "what is run before it asks over the kernel's TCP; leave --stack user out".to_owned();
            return Err(LabError::Argument { given: workload.name.clone(), problem });
        }
        if networks.contains(&None) {
            check_link(self.link, &self.subjects)?;
        }
        let is_alone = networks.len() == 1;
        let reaches = |network: &Option<Network>| match network {
            None => true,
            Some(network) => match network.link() {
                Spec::Loopback => true,
                Spec::Veth(_) => is_alone && network.stack() == Stack::Kernel,
            },
        };
        let is_wired = |network: &Option<Network>| {
            matches!(network.map_or(self.link, |network| network.link()), Spec::Veth(_))
        };
        if let Some(Source::Elsewhere(elsewhere)) = &self.database
            && networks.iter().any(is_wired)
        {
            return Err(LabError::Argument {
                given: elsewhere.host.name.clone(),
                problem: "nothing leads from the end of a wire to the database there; leave --link out"
                    .to_owned(),
            });
        }
        match self.workloads.iter().find(|workload| workload.database.is_some()) {
            Some(workload) if !networks.iter().all(reaches) => Err(LabError::Argument {
                given: workload.name.clone(),
                problem: "it needs a database, which is in one place; measure it on kernel/loopback and user/ring, or on a \
                          single kernel network"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The hosts from which load is to come while servers are on the one of that name: where several take turns, it does not load itself.
    pub(crate) fn generators_beside(&self, server: &str) -> Vec<LabHost> {
        let is_free = |host: &&LabHost| self.server_hosts.len() < 2 || host.name != server;
        self.generator_hosts.iter().filter(is_free).cloned().collect()
    }

    /// Whether servers on other hosts can be measured as is asked: over plain sockets of the kernel's, and by another host.
    fn check_server_hosts(&self) -> Result<(), LabError> {
        let Some(first) = self.server_hosts.first() else { return Ok(()) };
        let is_joined = |network: &Option<Network>| match network {
            None => self.link == Spec::Loopback,
            Some(network) => network.stack() == Stack::Kernel && network.link() == Spec::Loopback,
        };
        let fault = if !self.experiment.networks().iter().all(is_joined) {
            Some("load goes to its address over the network that is there; leave --link and --stack out")
        } else if self.server_hosts.iter().any(|host| self.is_database_out_of_reach(host)) {
            Some(
                "--database names a way that only this host has; name an address that the servers' host reaches, too",
            )
        } else {
            None
        };
        let refused = |host: &LabHost, problem: &str| {
            Err(LabError::Argument { given: format!("--server {}", host.name), problem: problem.to_owned() })
        };
        match (fault, self.loaded_by_nobody()) {
            (Some(problem), _) => refused(first, problem),
            (None, Some(host)) => refused(
                host,
                "while servers are there, no other host is left from which load could come; name one with --from",
            ),
            (None, None) => Ok(()),
        }
    }

    /// The host, of those that take turns, that would have to load itself.
    fn loaded_by_nobody(&self) -> Option<&LabHost> {
        let is_left = |host: &LabHost| match self.generator_hosts.as_slice() {
            [] => host.transport != Transport::Local,
            _ => !self.generators_beside(&host.name).is_empty(),
        };
        let is_turned = self.server_hosts.len() > 1;
        self.server_hosts.iter().find(|host| is_turned && !is_left(host))
    }

    fn is_database_out_of_reach(&self, host: &LabHost) -> bool {
        let is_here = host.transport == Transport::Local;
        matches!(&self.database, Some(Source::Beside(url)) if !is_here && url.is_of_this_host())
    }

    /// Whether load can come from other hosts as is asked: from assay's own generator, one on each, that have the hosts for themselves.
    fn check_generator_hosts(&self) -> Result<(), LabError> {
        let names: Vec<&str> = self.generator_hosts.iter().map(|host| host.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let experiment = &self.experiment;
        let too_few = experiment.cells().into_iter().find(|cell| (cell.connections as usize) < names.len());
        let is_duet = experiment.comparing.as_ref().is_some_and(|comparing| comparing.design == Design::Duet);
        let problem = if self.server_hosts.is_empty() {
            "the servers need a host of the lab with an address at which load reaches them".to_owned()
        } else if experiment.generator_processes > 1 {
            "each host has one generator with all of its CPUs; leave --generators out".to_owned()
        } else if !experiment.other_generators().is_empty() {
            "generators of other projects load from this host alone; leave --generator out".to_owned()
        } else if is_duet {
            "two servers at once divide the CPUs of the generator, which each host has for one; leave --from out"
                .to_owned()
        } else if let Some(cell) = too_few {
            too_few_connections(cell.connections, names.len())
        } else {
            return Ok(());
        };
        Err(LabError::Argument { given: format!("--from {}", names.join(",")), problem })
    }

    /// Whether every generator that was asked for has something to do: one that can make none of the loads was asked for by mistake.
    fn check_generators(&self) -> Result<(), LabError> {
        let cells = self.experiment.cells().len();
        for generator in self.experiment.other_generators().into_iter().filter_map(foreign) {
            let left_out = self.left_out_by(generator);
            if let Some(first) = left_out.first().filter(|_| left_out.len() == cells) {
                let (name, LeftOut { cell, reason }) = (generator.name(), first);
                let problem = format!("{name} {reason} ({cell}); name another generator, or another load");
                return Err(LabError::Argument { given: name.to_string(), problem });
            }
        }
        Ok(())
    }

    /// Whether each process of our own generator has something to do, and none would have to share the far end of a wire.
    fn check_generator_processes(&self) -> Result<(), LabError> {
        let processes = self.experiment.generator_processes;
        if processes <= 1 {
            return Ok(());
        }
        let refused = |problem| Err(LabError::Argument { given: format!("{processes} generators"), problem });
        for Cell { network, connections, .. } in self.experiment.cells() {
            if network.is_some_and(|network| network.stack() == Stack::User) {
                let problem = "the far end of a wire is one process; measure the kernel's stack with one";
                return refused(problem.to_owned());
            }
            if connections < processes {
                return refused(too_few_connections(connections, processes as usize));
            }
        }
        Ok(())
    }

    /// The cells that a generator of another project cannot make, with the reasons.
    pub(crate) fn left_out_by(&self, generator: &dyn LoadGenerator) -> Vec<LeftOut> {
        let refusal = |cell: &Cell| {
            let workload = self.workload(&cell.workload)?;
            match load_of(&self.experiment, workload, cell, "http://server") {
                Ok(load) => generator.refusal(&load),
                Err(why) => Some(why),
            }
        };
        let cells = self.experiment.cells().into_iter();
        cells.filter_map(|cell| refusal(&cell).map(|reason| LeftOut { cell, reason })).collect()
    }

    /// Whether servers of a round live at once and take turns, all of them or in groups: where there are several, there is one
    /// that can live with each of the others, and the kernel's TCP serves all, because a wire has one server at its end.
    pub fn takes_turns(&self) -> bool {
        let experiment = &self.experiment;
        let kernels =
            |network: &Option<Network>| network.is_none_or(|network| network.stack() == Stack::Kernel);
        experiment.cells().iter().any(|cell| experiment.is_turned(cell))
            && self.subjects.len() > 1
            && (self.live_at_once() || self.common().is_some())
            && experiment.networks().iter().all(kernels)
    }

    /// Whether no two insist on the same port. Whether all find room is known only when they live.
    pub fn live_at_once(&self) -> bool {
        self.groups() == 1
    }

    /// Groups in which the servers of a round live because of the ports that they insist on, and who lives in all of them.
    pub fn split(&self) -> Option<(usize, &Subject)> {
        let common = self.common().filter(|_| self.takes_turns() && !self.live_at_once())?;
        Some((self.groups(), common))
    }

    fn groups(&self) -> usize {
        let needs = self.needs();
        groups(&needs, common(&needs), &Room::default()).len()
    }

    fn common(&self) -> Option<&Subject> {
        common(&self.needs()).map(|place| &self.subjects[place])
    }

    fn needs(&self) -> Vec<Need> {
        self.subjects.iter().map(|subject| self.need(subject, false)).collect()
    }

    /// What a subject needs while it lives, as far as that is known before it has.
    pub(crate) fn need(&self, subject: &Subject, is_control: bool) -> Need {
        let experiment = &self.experiment;
        let together = experiment.comparing.as_ref().filter(|comparing| comparing.design == Design::Duet);
        let role = match together {
            _ if is_control => Role::Control,
            Some(comparing) if comparing.base == subject.identity.name => Role::Base,
            _ if subject.is_limit() => Role::Limit,
            _ => Role::Contender,
        };
        let cells = self.cells_of(subject).iter().filter(|(_, cell)| experiment.is_turned(cell)).count();
        Need { holding: None, port: subject.fixed_port(), cells, role }
    }

    /// Whether the run decides itself, by what it sees, how many turns each round has, and how many rounds there are: where there is
    /// a budget, and nothing but turns is measured.
    pub fn allots(&self) -> bool {
        let experiment = &self.experiment;
        let in_turns_alone = |cell: &Cell| experiment.is_turned(cell) && !experiment.is_duet(cell);
        self.takes_turns() && experiment.budget_s.is_some() && experiment.cells().iter().all(in_turns_alone)
    }

    /// Whether the turns are as many as the budget allows, whatever is settled.
    pub fn fills_the_budget(&self) -> bool {
        self.takes_turns() && self.experiment.budget_s.is_some() && !self.experiment.until_settled
    }

    /// Whether a subject is asked for the rules. One that somebody else runs is not: they asked for a measurement, and a
    /// suite that sends broken requests is more than that.
    pub(crate) fn is_asked(&self, subject: &Subject) -> bool {
        let started = matches!(subject.launch, Launch::Process(_));
        // The rules are those of HTTP, of which who speaks gRPC alone need know no more than gRPC does.
        let is_http = |(_, cell): &(usize, Cell)| !cell.protocol.is_grpc();
        self.conformance && started && self.cells_of(subject).iter().any(is_http)
    }

    /// The workloads of which a subject is asked how long its answers are, because those of the limit are to be as long.
    pub(crate) fn sized(&self, subject: &Subject) -> Vec<&Workload> {
        if subject.is_limit() || self.stand_ins.is_empty() {
            return Vec::new();
        }
        let measured: BTreeSet<String> =
            self.cells_of(subject).into_iter().map(|(_, cell)| cell.workload).collect();
        let is_sized = |of: &&Workload| self.stand_ins.contains(&of.name) && measured.contains(&of.name);
        self.workloads.iter().filter(is_sized).collect()
    }

    /// Servers that are started in one round when all contenders take part.
    pub fn lives_per_round(&self) -> usize {
        self.parts().len()
    }

    /// The cells of every life of a round: of everybody who takes part in every setting, those of the longest possible control
    /// included.
    pub(crate) fn parts(&self) -> Vec<Vec<Cell>> {
        let settings = self.experiment.settings();
        let lives = |cells: Vec<Cell>| -> Vec<Vec<Cell>> {
            let of = |setting: &Setting| {
                cells.iter().filter(|cell| cell.setting() == *setting).cloned().collect::<Vec<_>>()
            };
            settings.iter().map(of).filter(|cells| !cells.is_empty()).collect()
        };
        let cells = |subject: &Subject| -> Vec<Cell> {
            let of = |(_, cell): (usize, Cell)| vec![cell.clone(); if pairs(subject, &cell) { 2 } else { 1 }];
            self.cells_of(subject).into_iter().flat_map(of).collect()
        };
        let own = self.subjects.iter().map(cells).filter(|cells| !cells.is_empty()).collect::<Vec<_>>();
        let at_capacity = |cells: &Vec<Cell>| -> Vec<Cell> {
            cells.iter().filter(|cell| cell.offered.is_capacity()).cloned().collect()
        };
        let control = own.iter().map(at_capacity).max_by_key(Vec::len).filter(|_| self.experiment.aa);
        own.into_iter().chain(control).chain(self.common_again()).flat_map(lives).collect()
    }

    /// The cells of each further life of whoever lives in every group of a round.
    fn common_again(&self) -> Vec<Vec<Cell>> {
        let Some((groups, common)) = self.split() else { return Vec::new() };
        let cells = self.cells_of(common).into_iter().map(|(_, cell)| cell);
        vec![cells.filter(|cell| self.experiment.is_turned(cell)).collect(); groups - 1]
    }

    pub(crate) fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The cells that a subject takes part in, with their index among all.
    pub(crate) fn cells_of(&self, subject: &Subject) -> Vec<(usize, Cell)> {
        let cells = self.experiment.cells().into_iter().enumerate();
        let answers = |cell: &Cell| {
            self.experiment.takes(&subject.identity.name, cell)
                && self.workload(&cell.workload).is_some_and(|w| subject.answers(w))
        };
        cells.filter(|(_, cell)| answers(cell)).collect()
    }
}

/// Whether a window of `cell` has another beside it that goes straight to the upstream: where a proxy is offered a rate, in plain
/// HTTP/1.1 on both ways.
pub(crate) fn pairs(subject: &Subject, cell: &Cell) -> bool {
    subject.is_proxy() && cell.offered.is_rate() && cell.protocol.is_plain()
}

/// The problem that some of so many generators would have nothing to do.
fn too_few_connections(connections: u32, generators: usize) -> String {
    format!("they cannot share {connections} connections; give at least {generators} with -c")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn of_two_kinds_of_database_a_run_has_one() {
        use DatabaseKind::{Mongodb, Postgresql};
        let own = Subject::from_command("server", Path::new("/"), None).expect("command");
        let others = Subject::from_url("http://127.0.0.1:1/").expect("url");
        let workload =
            |name: &str, database| Workload { name: name.to_owned(), database, ..Workload::default() };
        let (plain, rows) = (workload("plain", None), workload("rows", Some(Postgresql)));
        let chat = workload("chat", Some(Mongodb));
        assert_eq!(database_of([(&own, &plain)]).expect("none"), None);
        assert_eq!(database_of([(&others, &rows), (&own, &chat)]).expect("one"), Some(Mongodb));
        assert_eq!(database_of([(&own, &rows), (&own, &plain)]).expect("one"), Some(Postgresql));
        let error = database_of([(&own, &rows), (&own, &chat)]).expect_err("two").to_string();
        assert!(error.contains("it needs mongodb, and rows needs postgresql"), "{error}");
    }
}
