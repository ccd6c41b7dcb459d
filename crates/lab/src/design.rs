//! How a comparison of commands is measured: by turns, or both sides at once (docs/method/duet.md, "When not").

use assay_host::isolation::Separation;
use assay_link::Spec;
use assay_model::design::{Because, Comparing, Design};
use assay_model::network::{Network, Stack};
use assay_model::record::Origin;

use crate::error::LabError;
use crate::plan::RunPlan;
use crate::subject::Subject;

/// Rounds that an A/A control must leave: with fewer its own interval would tell nothing, nor that of the others.
const LEAST_ROUNDS_WITH_CONTROL: u32 = 6;

/// Makes a plan that of a comparison: the first command is the base of the others and takes part twice where the time allows,
/// by the design that was `asked` for, or else by the one that fits.
///
/// # Errors
/// [`LabError::Argument`] when a duet was asked for and cannot be had.
pub fn compare(mut plan: RunPlan, asked: Option<Design>) -> Result<RunPlan, LabError> {
    let sides: Vec<&Subject> = sides(&plan);
    let Some(base) = sides.first().map(|subject| subject.identity.name.clone()) else { return Ok(plan) };
    let obstacle = obstacle(&plan);
    let (design, because) = match (asked, obstacle) {
        (Some(Design::Duet), Some((because, problem))) if cannot(&because) => {
            return Err(LabError::Argument {
                given: "--design duet".to_owned(),
                problem: problem.to_owned(),
            });
        }
        (Some(asked), _) => (asked, Because::AskedFor),
        (None, Some((because, _))) => (Design::Alternating, because),
        (None, None) => match strangers(&sides) {
            Some((base, other)) => (Design::Alternating, Because::DifferentPrograms { base, other }),
            None => (Design::Duet, Because::OneKind),
        },
    };
    plan.experiment.comparing = Some(Comparing { base, design, because });
    plan.experiment.aa = true;
    let wanted = plan.experiment.rounds.min(LEAST_ROUNDS_WITH_CONTROL);
    plan.experiment.aa = plan.rounds_that_fit() >= wanted;
    Ok(plan)
}

/// The subjects that the user named.
fn sides(plan: &RunPlan) -> Vec<&Subject> {
    plan.subjects.iter().filter(|subject| subject.identity.origin == Origin::Command).collect()
}

/// What speaks against a duet, whoever plays, and what to say to somebody who asked for it.
fn obstacle(plan: &RunPlan) -> Option<(Because, &'static str)> {
    let experiment = &plan.experiment;
    let networks = experiment.networks();
    let link = |network: &Option<Network>| network.map_or(plan.link, |network| network.link());
    let has_own_stack =
        |network: &Option<Network>| network.is_some_and(|network| network.stack() == Stack::User);
    let is_shaped = |network: &Option<Network>| match link(network) {
        Spec::Loopback => false,
        Spec::Veth(shape) => shape != Default::default(),
    };
    if networks.iter().any(has_own_stack) {
        return Some((
            Because::UserStack,
            "a server on the user-space stack has a wire to itself; leave out --stack",
        ));
    }
    if !experiment.cells().iter().all(|cell| experiment.is_turned(cell)) {
        return Some((
            Because::NotClosed,
            "it needs closed loops whose windows are a time; measure at the maximum",
        ));
    }
    if !plan.takes_turns() || !plan.live_at_once() {
        return Some((
            Because::NotTogether,
            "both servers have to live at once, each on a port that it finds in $PORT; leave out --port",
        ));
    }
    let obstacles = [
        (Because::Database, plan.workloads.iter().any(|workload| workload.database.is_some())),
        (Because::ShapedLink, networks.iter().any(is_shaped)),
        (Because::SharedCpus, plan.isolation.separation == Separation::None),
    ];
    obstacles.into_iter().find(|(_, is_there)| *is_there).map(|(because, _)| (because, ""))
}

/// Whether it makes a duet impossible, and not only of little worth.
fn cannot(because: &Because) -> bool {
    matches!(because, Because::UserStack | Because::NotClosed | Because::NotTogether)
}

/// The programs of the base and of the first other that is not of its kind.
fn strangers(sides: &[&Subject]) -> Option<(String, String)> {
    let (base, others) = sides.split_first()?;
    let stranger =
        others.iter().find(|other| !are_of_one_kind(&base.identity.title, &other.identity.title))?;
    Some((program(&base.identity.title).to_owned(), program(&stranger.identity.title).to_owned()))
}

/// Whether two command lines start builds of one kind of server, going by their programs: the same name but for a version
/// (`python3.11` and `python3.12`), or two files of the user's own (`./old` and `./new`), which nobody compares who does not
/// mean one server. What has a name in $PATH, such as an interpreter or a proxy, is of its own kind.
fn are_of_one_kind(one: &str, other: &str) -> bool {
    let (one, other) = (program(one), program(other));
    let own = |program: &str| program.contains('/');
    let kind = |program: &str| {
        let name = program.rsplit('/').next().unwrap_or(program);
        name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-_".contains(c)).to_owned()
    };
    kind(one) == kind(other) || (own(one) && own(other))
}

/// The word of a command line that names its program: not a variable that is set for it, nor what only hands over to it.
fn program(command: &str) -> &str {
    let words = command.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let sets_variable = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let mut programs = words.filter(|word| !sets_variable(word) && !["exec", "env"].contains(word));
    programs.next().unwrap_or(command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use assay_host::isolation::Isolation;
    use assay_model::database::DatabaseKind;
    use assay_model::experiment::{Experiment, Measure};
    use assay_model::offered::Offered;
    use assay_model::record::Program;
    use assay_model::workload::Workload;

    use super::*;
    use crate::secrets::Secrets;
    use crate::tools::Tools;

    fn plan(commands: &[&str]) -> RunPlan {
        let cpu = |cpu: u32| [cpu].into_iter().collect();
        let subject = |command: &&str| Subject::from_command(command, Path::new("/"), None).expect("command");
        let measure = Measure::capacity("get", vec![64]);
        RunPlan {
            experiment: Experiment { rounds: 12, ..Experiment::new("run", vec![measure]) },
            workloads: vec![Workload { name: "get".to_owned(), ..Workload::default() }],
            subjects: commands.iter().map(subject).collect(),
            isolation: Isolation {
                server: cpu(1),
                generator: cpu(0),
                separation: Separation::Cores,
                statement: String::new(),
            },
            server_hosts: Vec::new(),
            generator_hosts: Vec::new(),
            link: Spec::Loopback,
            seed: 1,
            command: Vec::new(),
            program: Program { version: String::new(), profile: String::new() },
            tools: Tools {
                assay: PathBuf::new(),
                files: PathBuf::new(),
                preload: None,
                secrets: Secrets::default(),
            },
            database: None,
            upstream: None,
            before: None,
            stand_ins: BTreeSet::new(),
            least_contenders: 1,
            conformance: false,
        }
    }

    fn chosen(plan: RunPlan, asked: Option<Design>) -> (Design, Because) {
        let comparing = compare(plan, asked).expect("plan").experiment.comparing.expect("comparing");
        (comparing.design, comparing.because)
    }

    #[test]
    fn two_builds_of_one_server_play_a_duet_and_others_take_turns() {
        let of = |commands: &[&str], change: fn(&mut RunPlan)| {
            let mut plan = plan(commands);
            change(&mut plan);
            chosen(plan, None)
        };
        let builds = ["./old", "./new"];
        assert_eq!(of(&builds, |_| {}), (Design::Duet, Because::OneKind));
        let (base, other) = ("node".to_owned(), "python3".to_owned());
        let strangers = (Design::Alternating, Because::DifferentPrograms { base, other });
        assert_eq!(of(&["node a.js", "python3 b.py"], |_| {}), strangers);
        let alternating = |because| (Design::Alternating, because);
        let rated = |plan: &mut RunPlan| {
            plan.experiment.measures[0].rates = vec![Offered::Capacity, Offered::Rate(1000)]
        };
        assert_eq!(of(&builds, rated), alternating(Because::NotClosed));
        let own_stack = |plan: &mut RunPlan| {
            plan.experiment.measures[0].networks = vec!["user/ring".parse().expect("network")];
        };
        assert_eq!(of(&builds, own_stack), alternating(Because::UserStack));
        let database = |plan: &mut RunPlan| plan.workloads[0].database = Some(DatabaseKind::Postgresql);
        assert_eq!(of(&builds, database), alternating(Because::Database));
        let shaped = |plan: &mut RunPlan| plan.link = "veth:1gbit".parse().expect("link");
        assert_eq!(of(&builds, shaped), alternating(Because::ShapedLink));
        let one_cpu = |plan: &mut RunPlan| plan.isolation.separation = Separation::None;
        assert_eq!(of(&builds, one_cpu), alternating(Because::SharedCpus));
        let ports = |plan: &mut RunPlan| {
            for subject in &mut plan.subjects {
                *subject = Subject::from_command(&subject.identity.title, Path::new("/"), Some(8080))
                    .expect("command");
            }
        };
        assert_eq!(of(&builds, ports), alternating(Because::NotTogether));
    }

    #[test]
    fn a_design_that_is_asked_for_is_had_or_the_reason_is_told() {
        let strangers = ["node a.js", "python3 b.py"];
        assert_eq!(chosen(plan(&strangers), Some(Design::Duet)), (Design::Duet, Because::AskedFor));
        let alternating = Some(Design::Alternating);
        assert_eq!(chosen(plan(&["./a", "./b"]), alternating), (Design::Alternating, Because::AskedFor));
        let mut rated = plan(&["./a", "./b"]);
        rated.experiment.measures[0].rates = vec![Offered::Rate(1000)];
        let error = compare(rated, Some(Design::Duet)).expect_err("open loop").to_string();
        assert!(error.contains("closed loops"), "{error}");
    }

    #[test]
    fn the_base_is_its_own_control_where_the_time_allows_it() {
        let with = |budget_s: f64| {
            let mut plan = plan(&["./old", "./new"]);
            plan.experiment.budget_s = Some(budget_s);
            compare(plan, None).expect("plan").experiment
        };
        assert!(with(300.0).aa && with(300.0).comparing.is_some_and(|of| of.base == "old"));
        assert!(!with(20.0).aa);
    }

    #[test]
    fn builds_of_one_server_are_known_by_their_program() {
        for (one, other) in [
            ("./old", "./new --port $PORT"),
            ("target/release/a", "/opt/b/a"),
            ("node old.js", "node new.js"),
            ("python3.11 app.py", "python3.12 app.py"),
            ("MODE=1 exec \"$ASSAY\" stub", "env MODE=2 '$ASSAY' stub"),
            ("/usr/bin/node a.js", "node-20 a.js"),
        ] {
            assert!(are_of_one_kind(one, other), "{one} | {other}");
        }
        for (one, other) in [("node app.js", "python3 app.py"), ("nginx -c x", "./new"), ("", "./new")] {
            assert!(!are_of_one_kind(one, other), "{one} | {other}");
        }
    }
}
