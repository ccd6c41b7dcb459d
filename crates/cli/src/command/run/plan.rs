//! From arguments to a plan: which experiment, which subjects, which CPUs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{self, Isolation};
use assay_host::names;
use assay_host::topology::Topology;
use assay_lab::catalogue::{Catalogue, all_exclude, is_url, with_defaults};
use assay_lab::contender::Tools;
use assay_lab::database::Source;
use assay_lab::design;
use assay_lab::running;
use assay_lab::stack;
use assay_lab::{Launch, RunPlan, Subject, Upstream, database_of};
use assay_model::database::DatabaseKind;
use assay_model::experiment::{Experiment, Measure, OwnCommand};
use assay_model::identity::Identity;
use assay_model::network::Stack;
use assay_model::profiling::Profiling;
use assay_model::program::{RELEASE, SHOWDOWN};
use assay_model::record::{Origin, Program};
use assay_model::workload::{OWN_WORKLOAD, RequestKind, Workload};

use super::database::private;
use super::hosts::{self, RunHosts};
use super::networks;
use super::overrides::{MOST_ROUNDS, check_streams, override_with};
use crate::args::{Comparing, Rounds, RunArguments, with_ports};
use crate::command::list;
use crate::embedded;
use crate::failure::Failure;
use crate::output;
use crate::progress::clock;
use crate::secrets::{learn_those_of, secrets};

/// What runs when nothing is asked for.
const DEFAULT_EXPERIMENT: &str = "showdown";
const DEFAULT_WORKLOAD: &str = "hello";
pub(crate) const DEFAULT_CONNECTIONS: u32 = 64;

pub(crate) fn build(arguments: &RunArguments) -> Result<RunPlan, Failure> {
    check_against_each_other(arguments)?;
    let catalogue = catalogue(arguments)?;
    let mut experiment = experiment(&catalogue, arguments)?;
    let mut subjects = subjects(&catalogue, arguments, &experiment)?;
    let mut workloads = catalogue.workloads.clone();
    if asks_for_its_own(arguments) {
        workloads.retain(|w| w.name != OWN_WORKLOAD);
        workloads.push(own_workload(arguments.request.kind(&own_path(arguments, &subjects)?)?));
    }
    let before = arguments.request.before();
    let has_its_own = has_its_own(&experiment);
    join(std::mem::take(&mut experiment.workloads), &mut workloads)?;
    experiment.commands.clear();
    let named = named_workloads(&arguments.workload, &mut workloads, before)?;
    override_with(&mut experiment, arguments, &named);
    if experiment.profile == Profiling::Always {
        subjects = subjects.into_iter().map(Subject::telling_names).collect();
    }
    let links = arguments.link.as_ref().map_or(&[][..], |links| links.0.as_slice());
    let link = networks::choose(&mut experiment, links, &arguments.stack);
    let tools = tools(&catalogue)?;
    let tools = Tools { preload: preload(arguments, &experiment, &tools.assay)?, ..tools };
    let found = Catalogue { workloads, ..Catalogue::empty() }.workloads_of(&mut experiment)?;
    let workloads = asked(found, before);
    let is_own = asks_for_its_own(arguments) || has_its_own;
    let stand_ins = place_limit(arguments, &catalogue, &workloads, is_own, &mut subjects);
    check_streams(&experiment, arguments)?;
    let hosts = hosts::hosts(arguments)?;
    let (isolation, database, upstream) = places(arguments, &catalogue, &subjects, &workloads, &hosts)?;
    let plan = RunPlan {
        experiment,
        workloads,
        subjects,
        isolation: hosts.isolation(arguments, isolation)?,
        database,
        upstream,
        server_hosts: hosts.servers,
        generator_hosts: hosts.generators,
        link,
        seed: arguments.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
        command: own_command(),
        program: program(),
        tools,
        before: before.map(str::to_owned),
        stand_ins,
        least_contenders: arguments.least_contenders,
        conformance: !arguments.no_check && !arguments.quick,
    };
    let plan = match arguments.comparing {
        Comparing::No => plan,
        Comparing::By(asked) => design::compare(plan, Some(asked))?,
        Comparing::AsFits => design::compare(plan, None)?,
    };
    plan.check()?;
    afford(plan, arguments.budget.is_some() && !arguments.is_length_ours)
}

/// Whether arguments that are right by themselves mean something together.
fn check_against_each_other(arguments: &RunArguments) -> Result<(), Failure> {
    let has_load = !arguments.workload.is_empty() || arguments.experiment.is_some();
    if arguments.request.is_given() && has_load {
        return Err(Failure::usage(
            "a workload says itself what is asked; give the request in its file, or leave --workload and --experiment out",
        ));
    }
    let is_anybody_named = !(arguments.selectors.is_empty() && arguments.cmd.is_empty());
    if asks_for_its_own(arguments) && !is_anybody_named {
        return Err(Failure::usage(
            "a request of your own is for a server of your own: name it by its URL, or give the command that starts it with --cmd",
        ));
    }
    if arguments.precision.is_some() && matches!(arguments.rounds, Some(Rounds::Exactly(_))) {
        return Err(Failure::usage(
            "a number of rounds is kept to exactly; leave out --rounds or --precision",
        ));
    }
    Ok(())
}

/// A budget that was typed is kept or refused; one that comes with an experiment, for contenders of its own, is raised to what is
/// needed at least.
fn afford(mut plan: RunPlan, is_typed: bool) -> Result<RunPlan, Failure> {
    let least = plan.least_time();
    let Some(budget_s) = plan.experiment.budget_s.filter(|budget_s| *budget_s < least.as_secs_f64()) else {
        return Ok(plan);
    };
    if !is_typed {
        plan.experiment.budget_s = Some(least.as_secs_f64().ceil());
        return Ok(plan);
    }
    Err(Failure::usage(format_args!(
        "--budget {}: {} of {} under {} take about {} at least; allow that, or ask for fewer rounds, contenders, \
         workloads or numbers of connections",
        clock(Duration::from_secs_f64(budget_s)),
        counted(plan.guaranteed_rounds() as usize, "round"),
        counted(plan.lives_per_round(), "server"),
        counted(plan.experiment.cells().len(), "load"),
        clock(least),
    )))
}

fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("one {noun}") } else { format!("{n} {noun}s") }
}

/// The catalogue. Where nothing of it is named, the limit still is from there, if that takes part.
fn catalogue(arguments: &RunArguments) -> Result<Catalogue, Failure> {
    let needed = arguments.experiment.is_some()
        || arguments.workload.iter().any(|name| !is_file(name))
        || arguments.selectors.iter().any(|s| !s.contains('/') && !is_url(s))
        || arguments.upstream
        || (arguments.selectors.is_empty() && arguments.cmd.is_empty());
    if needed || has_no_limit(arguments) {
        list::open_if(needed, &arguments.places)
    } else {
        list::open_if_possible(&arguments.places)
    }
}

fn experiment(catalogue: &Catalogue, arguments: &RunArguments) -> Result<Experiment, Failure> {
    let free = arguments.selectors.is_empty() && arguments.cmd.is_empty() && arguments.workload.is_empty();
    match &arguments.experiment {
        Some(name) if is_file(name) => {
            let (experiment, warnings) = Catalogue::experiment_in(Path::new(name))?;
            warnings.iter().for_each(output::warning);
            of_catalogue(&experiment, arguments.full)
        }
        Some(name) => of_catalogue(catalogue.experiment(name)?, arguments.full),
        None if free => of_catalogue(catalogue.experiment(DEFAULT_EXPERIMENT)?, false),
        None => Ok(ad_hoc(if asks_for_its_own(arguments) { OWN_WORKLOAD } else { DEFAULT_WORKLOAD })),
    }
}

/// An experiment of the catalogue as it is to be run: in full or not.
fn of_catalogue(experiment: &Experiment, full: bool) -> Result<Experiment, Failure> {
    if !full {
        return Ok(Experiment { full: None, ..experiment.clone() });
    }
    experiment.in_full().ok_or_else(|| {
        Failure::usage(format_args!(
            "the experiment {} names no full form; leave out --full, or add [full] to its file",
            experiment.name
        ))
    })
}

/// An experiment of one cell, for arguments to change.
fn ad_hoc(workload: &str) -> Experiment {
    let measures = vec![Measure::capacity(workload, vec![DEFAULT_CONNECTIONS])];
    Experiment { rounds: MOST_ROUNDS, until_settled: true, ..Experiment::new("run", measures) }
}

/// The workloads as they are asked: each behind the command that was typed, if one was. What they send of credentials is not repeated.
fn asked(mut workloads: Vec<Workload>, before: Option<&str>) -> Vec<Workload> {
    if let Some(command) = before {
        let typed = || (Some(command.to_owned()), PathBuf::new());
        workloads.iter_mut().for_each(|workload| (workload.before, workload.folder) = typed());
    }
    learn_those_of(&workloads);
    workloads
}

/// The names of the workloads asked for; those that are files of the user's own join the others.
fn named_workloads(
    asked: &[String],
    workloads: &mut Vec<Workload>,
    before: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let mut named = Vec::new();
    for name in asked {
        if !is_file(name) {
            named.push(name.clone());
            continue;
        }
        let (own, warnings) = Catalogue::workloads_in(Path::new(name), before)?;
        warnings.iter().for_each(output::warning);
        named.extend(own.iter().map(|workload| workload.name.clone()));
        join(own, workloads)?;
    }
    Ok(named)
}

/// Adds workloads of the user's own to those that there are.
fn join(own: Vec<Workload>, workloads: &mut Vec<Workload>) -> Result<(), Failure> {
    let twice = |workload: &&Workload| workloads.iter().any(|known| known.name == workload.name);
    if let Some(workload) = own.iter().find(twice) {
        return Err(Failure::usage(format_args!(
            "there is a workload called {} already; call your own something else",
            workload.name
        )));
    }
    workloads.extend(own);
    Ok(())
}

/// Whether a workload or an experiment is named by its file. Names have neither slashes nor dots.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains(['/', '.'])
}

/// Whether the load is a request of the user's own, and not a workload of the catalogue.
fn asks_for_its_own(arguments: &RunArguments) -> bool {
    let urls = arguments.selectors.iter().any(|selector| is_url(selector));
    // What a proxy is asked for, the server behind it answers.
    let commands = !arguments.cmd.is_empty() && !arguments.upstream;
    let own = urls || commands || arguments.path.is_some() || arguments.request.is_given();
    own && arguments.workload.is_empty() && arguments.experiment.is_none()
}

/// The one path that everybody is asked for.
fn own_path(arguments: &RunArguments, subjects: &[Subject]) -> Result<String, Failure> {
    if let Some(path) = &arguments.path {
        return Ok(path.clone());
    }
    let mut paths = subjects.iter().filter_map(|s| match &s.launch {
        Launch::Running { path, .. } => Some(path),
        Launch::Process(_) => None,
    });
    let first = paths.next().map_or("/", String::as_str);
    match paths.find(|path| *path != first) {
        Some(other) => Err(Failure::usage(format_args!(
            "the URLs ask for different paths, {first} and {other}; a comparison needs one: give it with --path"
        ))),
        None => Ok(first.to_owned()),
    }
}

/// The workload of one request, whose right answer is learnt where it does not say which one is.
pub(crate) fn own_workload(request: RequestKind) -> Workload {
    let right =
        if request.expect.is_silent() { "; right is what each server answers before the load" } else { "" };
    let about = format!("{} {}{right}.", request.method, request.path);
    Workload { name: OWN_WORKLOAD.to_owned(), about, requests: vec![request], ..Workload::default() }
}

fn subjects(
    catalogue: &Catalogue,
    arguments: &RunArguments,
    experiment: &Experiment,
) -> Result<Vec<Subject>, Failure> {
    let cwd =
        std::env::current_dir().map_err(|e| Failure::Machine(format!("there is no working folder: {e}")))?;
    let selectors = with_defaults(&arguments.selectors, &experiment.contenders);
    let commands = commands(arguments, experiment, &cwd)?;
    let is_nobody_named = all_exclude(&selectors) && !commands.is_empty();
    let selected =
        if is_nobody_named { catalogue.select_limits(&selectors) } else { catalogue.select(&selectors) };
    let (mut subjects, warnings) = selected?;
    warnings.iter().for_each(output::warning);
    subjects.extend(commands);
    subjects.retain(|subject| !has_no_limit(arguments) || !subject.is_limit());
    let subjects: Vec<_> = subjects.into_iter().map(|subject| subject.hiding(secrets())).collect();
    check_names(&subjects, &cwd)?;
    subjects.iter().try_for_each(check_host)?;
    Ok(subjects)
}

/// Has the limit stand in for the workloads that are none of the catalogue's, and gives their names; not beside sides of a comparison,
/// which are set against each other, nor beside servers of other machines. A limit that answers nothing takes no part in what is the
/// user's own.
fn place_limit(
    arguments: &RunArguments,
    catalogue: &Catalogue,
    workloads: &[Workload],
    is_own: bool,
    subjects: &mut Vec<Subject>,
) -> BTreeSet<String> {
    let is_known = |workload: &Workload| {
        let mut known = catalogue.workloads.iter().map(Workload::family_name);
        workload.name != OWN_WORKLOAD && known.any(|name| name == workload.family_name())
    };
    let is_elsewhere = |subject: &Subject| subject.host().is_some_and(running::is_elsewhere);
    let is_alone = arguments.comparing != Comparing::No || subjects.iter().any(is_elsewhere);
    let unknown = workloads.iter().filter(|workload| !is_alone && !is_known(workload));
    let limit = subjects.iter_mut().find(|subject| subject.is_limit());
    let stand_ins = limit.map_or_else(BTreeSet::new, |limit| limit.take_part_in(unknown));
    let answers = |subject: &Subject| workloads.iter().any(|workload| subject.answers(workload));
    subjects.retain(|subject| !is_own || !subject.is_limit() || answers(subject));
    stand_ins
}

/// Whether the limit takes no part: where that was said, or a token is needed, which the reference server cannot give.
fn has_no_limit(arguments: &RunArguments) -> bool {
    arguments.no_limit || arguments.request.before().is_some()
}

/// The commands that were typed; where nobody is named in place of its contenders, those of the experiment's own file.
fn commands(arguments: &RunArguments, experiment: &Experiment, cwd: &Path) -> Result<Vec<Subject>, Failure> {
    if arguments.cmd.is_empty() && all_exclude(&arguments.selectors) {
        let own = experiment.commands.iter().map(|own| own_subject(own, &cwd.join(&experiment.folder)));
        return own.collect();
    }
    let subject = |(command, port): (&String, Option<u16>)| {
        let timeout_s = arguments.ready_timeout.map(|span| span.as_secs_f64());
        let subject = Subject::from_command(command, cwd, port)?;
        let subject = if arguments.upstream { subject.as_proxy() } else { subject };
        Ok(subject.ready_by(timeout_s, arguments.ready_path.as_deref()))
    };
    with_ports(&arguments.cmd, &arguments.port)?.map(subject).collect()
}

fn own_subject(own: &OwnCommand, folder: &Path) -> Result<Subject, Failure> {
    let subject = Subject::from_command(&own.run, folder, own.port)?;
    Ok(subject.ready_by(own.ready_timeout_s, own.ready_path.as_deref()).called(own.name.as_deref()))
}

/// Whether an experiment asks for workloads of its own file alone.
fn has_its_own(experiment: &Experiment) -> bool {
    let is_own = |measure: &Measure| experiment.workloads.iter().any(|own| own.is_called(&measure.workload));
    experiment.measures.iter().all(is_own)
}

/// A name that nobody knows is a slip of the pen, and better told now than after every round.
fn check_host(subject: &Subject) -> Result<(), Failure> {
    match &subject.launch {
        Launch::Running { authority, .. } => names::resolve(authority)
            .map(drop)
            .map_err(|e| Failure::usage(format_args!("cannot resolve `{authority}`: {e}"))),
        Launch::Process(_) => Ok(()),
    }
}

/// Whether everybody has a name to himself, by which records tell them apart.
pub(crate) fn check_names(subjects: &[Subject], cwd: &Path) -> Result<(), Failure> {
    let told = |identity: &Identity| {
        let kind = if identity.origin == Origin::Command { "command" } else { "contender" };
        format!("the {kind} `{}`", identity.title)
    };
    for (i, Subject { identity, .. }) in subjects.iter().enumerate() {
        let mut earlier = subjects.iter().take(i).map(|subject| &subject.identity);
        let Some(earlier) = earlier.find(|earlier| earlier.name == identity.name) else { continue };
        return Err(Failure::usage(match earlier.title == identity.title {
            true => format!(
                "{} was given twice in {}; each contender takes part once",
                told(identity),
                cwd.display()
            ),
            false => format!(
                "{} and {} are both called `{}`; give one of them another name: in an experiment's file (`assay init`), by `name` \
                 in its [[command]]",
                told(earlier),
                told(identity),
                identity.name
            ),
        }));
    }
    Ok(())
}

/// The CPUs of server and generator, where the database comes from, if one is needed, and what is behind proxies, if there are any.
fn places(
    arguments: &RunArguments,
    catalogue: &Catalogue,
    subjects: &[Subject],
    workloads: &[Workload],
    hosts: &RunHosts,
) -> Result<(Isolation, Option<Source>, Option<Upstream>), Failure> {
    let isolation = isolation(arguments, &running::cpus_of(subjects))?;
    let pairs = subjects.iter().flat_map(|subject| workloads.iter().map(move |workload| (subject, workload)));
    let given = arguments.database.given()?;
    let needed = database_of(pairs)?;
    let is_postgresql = needed == Some(DatabaseKind::Postgresql);
    let given = match (given.filter(|_| is_postgresql), hosts.database.as_ref().filter(|_| is_postgresql)) {
        (Some(url), _) => Some(Source::beside(url, subjects)?),
        (None, Some(host)) => Some(Source::elsewhere(host.clone(), &program().version, subjects)?),
        (None, None) => None,
    };
    let own = needed.filter(|_| given.is_none());
    let behind = catalogue.limits().into_iter().find(|_| subjects.iter().any(Subject::is_proxy));
    let names = [own.map(|_| "the database"), behind.as_ref().map(|_| "the upstream")];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    let (isolation, places) = isolation.with_companions(&names, &cpuset::allowed(), &Topology::read());
    let mut places = places.into_iter();
    let own = own.and_then(|kind| Some(private(catalogue, kind, places.next()?)));
    let upstream = behind.and_then(|subject| Some(Upstream { subject, place: places.next()? }));
    Ok((isolation, given.or(own.transpose()?), upstream))
}

/// Somebody else's preload library, or the one that we carry where it is needed and none lies beside us. Whoever starts servers with it
/// does so in other folders.
fn preload(
    arguments: &RunArguments,
    experiment: &Experiment,
    assay: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = &arguments.preload else {
        let is_needed = experiment.networks().iter().flatten().any(|network| network.stack() == Stack::User);
        return if is_needed { embedded::preload_library(assay) } else { Ok(None) };
    };
    let named = stack::named_library(path);
    named.map(Some).map_err(|problem| Failure::usage(format_args!("--preload {}: {problem}", path.display())))
}

/// Those that the user names; else beside the servers that are `running` already, or half and half.
fn isolation(arguments: &RunArguments, running: &CpuSet) -> Result<Isolation, Failure> {
    let (allowed, topology) = (cpuset::allowed(), Topology::read());
    match (&arguments.server_cpus, &arguments.generator_cpus) {
        (Some(server), Some(generator)) => {
            isolation::explicit(server.clone(), generator.clone(), &allowed, &topology)
                .map_err(Failure::usage)
        }
        _ => Ok(isolation::beside(running, &allowed, &topology)),
    }
}

/// What contenders of the catalogue are started with.
pub(crate) fn tools(catalogue: &Catalogue) -> Result<Tools, Failure> {
    let assay = std::env::current_exe().map_err(|e| Failure::Bug(format!("where am I? {e}")))?;
    Ok(Tools { assay, files: catalogue.files(), preload: None, secrets: secrets().clone() })
}

pub(crate) fn program() -> Program {
    let profile = match env!("ASSAY_PROFILE") {
        _ if cfg!(debug_assertions) => "debug",
        SHOWDOWN => SHOWDOWN,
        // Whatever else somebody calls it is a release with other symbols or for another machine.
        _ => RELEASE,
    };
    Program { version: env!("CARGO_PKG_VERSION").to_owned(), profile: profile.to_owned() }
}

/// The command line as a record tells it; what is no UTF-8 is shown as far as it can be.
pub(crate) fn own_command() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("assay".to_owned()).chain(words).collect()
}
