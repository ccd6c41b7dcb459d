//! Whole runs with real servers, good and bad: what is measured is recorded, what fails is explained, nothing is left behind.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_host::cpuset;
use assay_host::isolation::split;
use assay_host::topology::Topology;
use assay_lab::Event;
use assay_lab::contender::Tools;
use assay_lab::rounds::run;
use assay_lab::secrets::Secrets;
use assay_lab::store::Store;
use assay_lab::{Exit, LabError, RunPlan, Stop, Subject};
use assay_link::Spec;
use assay_model::contender::Contender;
use assay_model::design::{Because, Comparing, Design, Side};
use assay_model::evidence::Evidence;
use assay_model::load::Arrival;
use assay_model::profiling::Profiling;
use assay_model::record::{DuetTurn, NotRun, Program, Record, Stage, State};
use assay_model::setting::Setting;
use assay_model::verdict::Verdict;
use assay_verdict::{Ending, ending, judge};
use tempfile::TempDir;

use crate::common::{processes_with, testkit};

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("folder") }
    }

    fn mark(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn store(&self) -> Store {
        Store::new(self.folder.path().join("runs"))
    }

    /// A contender that `sh` runs; MARK names this test's folder, KIT the program of the tests.
    fn contender(&self, name: &str, script: &str) -> Subject {
        self.contender_with(name, script, "")
    }

    fn contender_with(&self, name: &str, script: &str, rest: &str) -> Subject {
        let script = format!(": {}; {script}", self.mark()).replace("KIT", &testkit().display().to_string());
        let text = format!(
            "name = \"{name}\"\ntitle = \"{name}\"\nlanguage = \"c\"\nkind = \"server\"\nworkloads = [\"hello\"]\n{rest}\n\
             [run]\ncommand = [\"sh\", \"-c\", '''{script}''']\nready_timeout_s = 1.0\n"
        );
        let contender: Contender = toml::from_str(&text).expect("contender");
        Subject::from_contender(&contender, self.folder.path())
    }

    fn plan(&self, subjects: Vec<Subject>) -> RunPlan {
        let topology = Topology::read();
        RunPlan {
            experiment: toml::from_str(
                "name = \"test\"\ncontenders = []\nrounds = 2\naa = false\nwarmup_s = 0.0\nsettle_s = 0.02\nwindow_s = 0.25\n\
                 timeout_s = 1.0\n[[measure]]\nworkload = \"hello\"\nconnections = [1, 4]\n",
            )
            .expect("experiment"),
            workloads: vec![
                toml::from_str(
                    "name = \"hello\"\nabout = \"\"\n[[request]]\npath = \"/hello\"\nexpect = { status = 200, body = \"hello\" }\n",
                )
                .expect("workload"),
            ],
            subjects,
            isolation: split(&cpuset::allowed(), &topology),
            server_hosts: Vec::new(),
            generator_hosts: Vec::new(),
            link: Spec::Loopback,
            seed: 7,
            command: vec!["assay".to_owned(), "run".to_owned()],
            program: Program { version: "0".to_owned(), profile: "debug".to_owned() },
            tools: Tools { assay: testkit(), files: std::env::temp_dir(), preload: None, secrets: Secrets::default() },
            database: None,
            upstream: None,
            before: None,
            stand_ins: BTreeSet::new(),
            least_contenders: 1,
            conformance: false,
        }
    }

    fn run(&self, subjects: Vec<Subject>) -> Record {
        run(&self.plan(subjects), &self.store(), &mut |_: &Event<'_>| {}, &Stop::new()).expect("run")
    }

    /// Nothing of the run is left but its folder.
    fn assert_clean(&self, record: &Record) {
        assert_eq!(processes_with(&self.mark()), Vec::<String>::new());
        let run = self.folder.path().join("runs").join(&record.id);
        let mut names: Vec<String> = std::fs::read_dir(&run)
            .expect("run")
            .flatten()
            .map(|e| e.file_name().into_string().expect("name"))
            .collect();
        names.sort();
        names.retain(|name| name != "logs");
        assert_eq!(names, ["histograms.hlog", "record.json"]);
        for log in std::fs::read_dir(run.join("logs")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(log.path()).expect("log");
            for scratch in
                text.lines().filter_map(|line| line.split_once("scratch ")).map(|(_, path)| Path::new(path))
            {
                assert!(!scratch.exists() || scratch == Path::new(""), "{} is left", scratch.display());
            }
        }
    }
}

fn not_run<'r>(record: &'r Record, name: &str) -> &'r NotRun {
    let entry = record.entry_of(name).expect(name);
    entry.not_run.as_ref().unwrap_or_else(|| panic!("{name} was run"))
}

/// The base plays with the other and with its own control, in the same windows and on both sides, and takes turns besides.
#[test]
fn in_a_duet_both_are_under_load_in_the_same_windows() {
    let place = Place::new();
    let subjects = vec![place.contender("old", "KIT serve right"), place.contender("new", "KIT serve right")];
    let mut plan = place.plan(subjects);
    let (base, design, because) = ("old".to_owned(), Design::Duet, Because::OneKind);
    plan.experiment.comparing = Some(Comparing { base, design, because });
    plan.experiment.aa = true;
    let record = run(&plan, &place.store(), &mut |_: &Event<'_>| {}, &Stop::new()).expect("run");
    assert_eq!(record.contenders[2].control_of.as_deref(), Some("old"), "the base is its own control");
    assert_eq!(record.rounds.len(), 2);
    for round in &record.rounds {
        let window = |name: &str, cell: usize| {
            let run = round.run_of(name, Setting::USUAL).expect("a life");
            assert_eq!(run.failure, None);
            let cell = &record.experiment.cells()[cell];
            run.cells.iter().find(|window| window.cell == *cell).expect("a window").clone()
        };
        for cell in [0, 1] {
            let [old, new, control] = ["old", "new", "old′"].map(|name| window(name, cell));
            assert!(!old.turns.is_empty() && !new.turns.is_empty(), "absolute rates come from turns");
            assert_eq!(old.duet.len(), new.duet.len() + control.duet.len());
            for own in &new.duet {
                let its = |turn: &&DuetTurn| {
                    turn.beside == "new" && turn.rotation == own.rotation && turn.side == own.side.other()
                };
                let other = old.duet.iter().find(its).expect("the base's window of the same pair");
                assert_eq!(own.offset_ns, other.offset_ns);
                assert!(own.load.ok > 0 && other.load.ok > 0);
            }
            let on = |side: Side| new.duet.iter().filter(|turn| turn.side == side).count();
            assert!(on(Side::First) > 0 && on(Side::First) == on(Side::Second), "sides are exchanged");
            assert!(control.duet.iter().all(|turn| turn.beside == "old") && !control.duet.is_empty());
        }
    }
    place.assert_clean(&record);
}

/// Servers that live at once, and one alone, which is measured otherwise.
#[test]
fn what_warm_ups_showed_is_told_in_the_first_round_before_anything_is_measured() {
    for names in [&["a", "b"][..], &["a"]] {
        let place = Place::new();
        let mut plan =
            place.plan(names.iter().map(|name| place.contender(name, "exec KIT serve right")).collect());
        plan.experiment.warmup_s = 0.5;
        let (mut warm, mut measured, mut is_first) = (BTreeSet::new(), BTreeSet::new(), true);
        let mut observer = |event: &Event<'_>| match event {
            Event::WarmedUp { contender, workload, per_second } if is_first => {
                assert!(*workload == "hello" && *per_second > 0.0 && !measured.contains(*contender));
                assert!(warm.insert((*contender).to_owned()), "{contender} was told twice");
            }
            Event::Measuring { contender, .. } => drop(measured.insert((*contender).to_owned())),
            Event::RoundSaved { .. } => is_first = false,
            _ => {}
        };
        let record = run(&plan, &place.store(), &mut observer, &Stop::new()).expect("run");
        assert!(warm.iter().eq(names) && warm == measured, "{warm:?} {measured:?}");
        place.assert_clean(&record);
    }
}

#[test]
fn good_servers_are_measured_in_every_round_and_cell() {
    let place = Place::new();
    let versions = "[versions]\nkit = [\"echo\", \"kit version v1.2.3\"]";
    let subjects = vec![
        place.contender_with("a", "exec KIT serve right", versions),
        place.contender("b", "KIT serve right"),
    ];
    let record = place.run(subjects);
    assert_eq!(record.state, State::Complete);
    assert_eq!(record.contenders[0].versions["kit"], "1.2.3");
    assert_eq!(record.rounds.len(), 2);
    for round in &record.rounds {
        assert_eq!(round.runs.len(), 2);
        for run in &round.runs {
            assert_eq!(run.failure, None);
            assert!(run.startup_ns.0 > 0 && run.idle.is_some());
            assert_eq!(run.cells.len(), 2);
            for window in &run.cells {
                assert!(window.load.window.ok > 0 && window.load.books.balance(), "{:?}", window.load);
                // A turn that other tests disturbed was repeated.
                let mut turns: Vec<u32> = window.turns.iter().map(|turn| turn.rotation).collect();
                turns.dedup();
                assert_eq!(turns, [0, 1], "a quarter of a second is two turns");
                assert_eq!(window.turns.iter().map(|turn| turn.load.ok).sum::<u64>(), window.load.window.ok);
                assert!(
                    window.server.as_ref().is_some_and(|usage| usage.cpu_ns().0 > 0 && usage.processes > 0)
                );
            }
        }
    }
    assert_eq!(place.store().open("last").expect("stored"), record);
    let verdict = judge(&record).expect("readable");
    assert_eq!(complete_rounds(&verdict), 2);
    // Other tests run beside this one, and a window that they disturb is void; then there may be no pair.
    for cell in &verdict.cells {
        let disturbed = cell.standings.iter().any(|s| s.rounds_per_second.iter().any(Option::is_none));
        assert!(cell.standings.len() == 2 && (cell.pairs.len() == 1 || disturbed), "{cell:?}");
    }
    assert_eq!(ending(&record, &verdict, false), Ending::Fine);
    place.assert_clean(&record);
}

/// Connections are made before a slice that profiles, and closed after it: what a server does for that is no part of its answers.
#[test]
fn a_profile_has_nothing_in_it_of_making_connections() {
    let place = Place::new();
    let mut plan = place.plan(vec![place.contender("a", "exec KIT serve right")]);
    (plan.experiment.profile, plan.experiment.rounds) = (Profiling::Always, 1);
    let record = run(&plan, &place.store(), &mut |_: &Event<'_>| {}, &Stop::new()).expect("run");
    let profiles: Vec<_> =
        record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.profiles).collect();
    assert_eq!(profiles.len(), 2, "{:?}", record.rounds);
    for profile in profiles {
        assert!(profile.sampled.answers > 0, "{profile:?}");
        let Some(traced) = &profile.traced else {
            return assay_skip::skip("root", format_args!("{:?}", profile.refused));
        };
        let calls = |names: &[&str]| {
            let named = traced.calls.iter().filter(|call| names.contains(&call.name.as_str()));
            named.map(|call| call.count).sum::<u64>()
        };
        assert!(calls(&["read", "recvfrom"]) > 0, "{traced:?}");
        // Each has a thread of its own.
        assert_eq!(calls(&["accept4", "clone", "clone3"]), 0, "{traced:?}");
    }
    place.assert_clean(&record);
}

#[test]
fn one_contender_takes_part_twice_and_rates_follow_from_capacity() {
    let place = Place::new();
    let subjects =
        vec![place.contender("a", "exec KIT serve right"), place.contender("b", "exec KIT serve right")];
    let mut plan = place.plan(subjects);
    plan.experiment.aa = true;
    plan.experiment.measures[0].connections = vec![2];
    plan.experiment.measures[0].rates =
        ["50%", "common", "100/s"].map(|load| load.parse().expect(load)).to_vec();
    let record = run(&plan, &place.store(), &mut |_: &Event<'_>| {}, &Stop::new()).expect("run");
    assert_eq!(record.contenders.len(), 3);
    let original = record.contenders[2].control_of.as_deref().expect("a control");
    assert_eq!(record.contenders[2].identity.name, format!("{original}′"));
    assert_eq!(record.rounds.len(), 2);
    for round in &record.rounds {
        assert_eq!(round.runs.len(), 3);
        for run in &round.runs {
            let loads: Vec<String> = run.cells.iter().map(|window| window.cell.offered.to_string()).collect();
            let is_control = run.contender == record.contenders[2].identity.name;
            assert!(loads[0] == "max" && loads.contains(&"100/s".to_owned()) != is_control, "{loads:?}");
            // Before the first round is whole, nobody can know what the slowest serves.
            assert!(round.index > 0 || !loads.contains(&"common".to_owned()), "{loads:?}");
        }
    }
    // Another test may void the window from which a rate would follow; a rate that was offered stays.
    let arrivals = |contender: &str, load: &str| -> Vec<Arrival> {
        let runs = record.rounds.iter().flat_map(|round| &round.runs);
        let windows = runs.filter(|run| run.contender == contender).flat_map(|run| &run.cells);
        let at_load = windows.filter(|window| window.cell.offered.to_string() == load);
        at_load.map(|window| window.load.arrival.clone()).collect()
    };
    for (load, least) in [("50%", 0), ("common", 0), ("100/s", 2)] {
        let arrivals = arrivals("a", load);
        assert!(
            arrivals.len() >= least && arrivals.windows(2).all(|pair| pair[0] == pair[1]),
            "{arrivals:?}"
        );
    }
    assert!(arrivals("b", "common").iter().all(|rate| arrivals("a", "common").iter().all(|own| own == rate)));
    place.assert_clean(&record);
}

#[test]
fn a_run_until_all_is_settled_keeps_its_yardsticks_and_its_bounds() {
    let place = Place::new();
    let subjects = ["a", "b", "c"].map(|name| place.contender(name, "exec KIT serve right")).to_vec();
    let mut plan = place.plan(subjects);
    plan.experiment.measures[0].connections = vec![2];
    (plan.experiment.aa, plan.experiment.until_settled, plan.experiment.rounds) = (true, true, 5);
    // More than can be had: after two rounds some pair of three equals is still open.
    plan.experiment.precision = Some(1e-6);
    let mut open = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::RoundSaved { settling, .. } = event {
            open.push(settling.as_ref().map(|settling| (settling.open, settling.unsettled.clone())));
        }
    };
    let record = run(&plan, &place.store(), &mut observer, &Stop::new()).expect("run");
    assert!((2..=5).contains(&record.rounds.len()) && open.len() == record.rounds.len());
    let control = record.contenders.last().expect("a control");
    let original = control.control_of.as_deref().expect("control of somebody");
    let later: Vec<_> = record.rounds.iter().skip(2).zip(&open[1..]).collect();
    assert!(!later.is_empty(), "nothing was open after two rounds: {open:?}");
    for (round, before) in later {
        let (_, unsettled) = before.as_ref().expect("a look after each round");
        let names: Vec<&str> = round.runs.iter().map(|run| run.contender.as_str()).collect();
        for name in ["a", "b", "c", &control.identity.name] {
            let yardstick = name == original || name == control.identity.name;
            assert_eq!(names.contains(&name), yardstick || unsettled.contains(name), "{name} in {names:?}");
        }
    }
    let last = open.last().expect("a round").as_ref().expect("a look");
    assert!(last.0 == 0 || record.rounds.len() == 5, "it ended with open pairs before its rounds were over");
    assert_eq!(complete_rounds(&judge(&record).expect("readable")) as usize, record.rounds.len());
    place.assert_clean(&record);
}

/// Rounds in which all were measured, whatever other tests did to their windows.
fn complete_rounds(verdict: &Verdict) -> u32 {
    let told = verdict.trust.iter().find_map(|check| match &check.evidence {
        Evidence::Rounds(rounds) => Some(rounds.complete),
        _ => None,
    });
    told.expect("rounds are told")
}

/// A contender that fails, at which stage, and words of the reason.
type Case = (Subject, Stage, &'static str);

fn unprepared(place: &Place) -> Vec<Case> {
    let right = "exec KIT serve right";
    let need = |name: &str, probe: &str, minimum: &str| {
        let rest = format!(
            "[[needs]]\nwhat = \"x 9 or newer\"\nprobe = {probe}\nminimum = \"{minimum}\"\ninstall = \"apt-get install x\"\n"
        );
        place.contender_with(name, right, &rest)
    };
    let build = |name: &str, script: &str| {
        let rest = format!("[build]\ncommand = [\"sh\", \"-c\", \"{script}\"]\ntimeout_s = 0.5\n");
        place.contender_with(name, right, &rest)
    };
    vec![
        (need("absent", "[\"no-such-x\"]", "1"), Stage::Needs, "no program"),
        (need("old", "[\"echo\", \"x 8.9\"]", "9"), Stage::Needs, "8.9 is too old"),
        (build("unbuilt", "echo no luck; exit 2"), Stage::Build, "exit status 2"),
        (build("endless", "sleep 1000"), Stage::Build, "longer than 0.5 s"),
    ]
}

fn misbehaving(place: &Place) -> Vec<Case> {
    let case = |name: &str, script: &str, stage, words| (place.contender(name, script), stage, words);
    vec![
        case("exits", "echo bad flag >&2; exit 7", Stage::Start, "exit status 7 before it was ready"),
        case("missing", "exec no-such-server", Stage::Start, "command not found"),
        case("detaches", "KIT serve right & sleep 0.05; exit 0", Stage::Start, "forks and detaches"),
        case("deaf", "exec KIT serve deaf", Stage::Start, "not ready within 1 s: nobody listens"),
        case("elsewhere", "PORT=0 exec KIT serve right", Stage::Start, "not ready within 1 s"),
        case("wrong", "exec KIT serve wrong", Stage::Answer, "\"HELLO\" instead of \"hello\""),
        case("error", "exec KIT serve error", Stage::Answer, "status 500 instead of 200"),
        case("garbage", "exec KIT serve garbage", Stage::Answer, "no valid HTTP/1.1"),
        case("mortal", "exec KIT serve mortal", Stage::Load, "exit status 3 under load"),
    ]
}

#[test]
fn whoever_fails_is_explained_and_the_others_go_on() {
    let place = Place::new();
    let cases = [unprepared(&place), misbehaving(&place)].concat();
    let mut subjects: Vec<Subject> = cases.iter().map(|(subject, _, _)| subject.clone()).collect();
    subjects.push(place.contender("good", "exec KIT serve right"));
    let record = place.run(subjects);
    for (subject, stage, words) in &cases {
        let (name, why) = (&subject.identity.name, not_run(&record, &subject.identity.name));
        assert_eq!(why.stage, *stage, "{name}: {why:?}");
        assert!(why.reason.contains(words) && why.remedy.is_some(), "{name}: {why:?}");
    }
    assert_eq!(not_run(&record, "absent").remedy.as_deref(), Some("apt-get install x"));
    assert_eq!(not_run(&record, "unbuilt").log_tail, ["no luck"]);
    assert_eq!(not_run(&record, "exits").log_tail, ["bad flag"]);
    assert!(not_run(&record, "mortal").log_tail.contains(&"fatal: out of answers".to_owned()));
    assert!(
        not_run(&record, "elsewhere").remedy.as_ref().is_some_and(|mend| mend.contains("it listens on port"))
    );
    let good = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == "good");
    assert_eq!(good.map(|run| run.cells.len()).collect::<Vec<_>>(), [2, 2]);
    let verdict = judge(&record).expect("readable");
    assert_eq!(ending(&record, &verdict, false), Ending::WrongAnswer);
    assert_eq!(verdict.cells[0].standings.len(), 1);
    place.assert_clean(&record);
}

#[test]
fn a_server_of_somebody_else_on_the_port_is_never_measured() {
    let place = Place::new();
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let port = stranger.local_addr().expect("port").port();
    let kit = testkit();
    let command = format!("{} serve right {}", kit.display(), place.mark());
    let subject = Subject::from_command(&command, place.folder.path(), Some(port)).expect("command");
    let record = place.run(vec![subject]);
    let why = not_run(&record, &record.contenders[0].identity.name);
    assert_eq!(
        (why.stage, why.reason.as_str()),
        (Stage::Start, format!("port {port} is in use by another program").as_str())
    );
    assert_eq!(ending(&record, &judge(&record).expect("readable"), false), Ending::ContenderFailed);
    place.assert_clean(&record);
}

#[test]
fn a_command_line_and_a_url_are_measured_without_a_file() {
    let place = Place::new();
    let free = assay_host::limits::free_port("127.0.0.1".parse().expect("address")).expect("port");
    let command = format!("{} serve right {}", testkit().display(), place.mark());
    let by_command = Subject::from_command(&command, place.folder.path(), None).expect("command");
    let mut running = std::process::Command::new(testkit())
        .args(["serve", "right"])
        .env("ADDRESS", "127.0.0.1")
        .env("PORT", free.to_string())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("server");
    crate::common::eventually("it listens", || std::net::TcpStream::connect(("127.0.0.1", free)).is_ok());
    let by_url = Subject::from_url(&format!("http://127.0.0.1:{free}/")).expect("url");
    let record = place.run(vec![by_command, by_url]);
    running.kill().expect("killed");
    running.wait().expect("reaped");
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run.failure.is_none() && run.cells.len() == 2), "{runs:?}");
    let observed =
        |name: &str| runs.iter().filter(|run| run.contender == name).all(|run| run.cells[0].server.is_some());
    assert!(
        observed(&record.contenders[0].identity.name) && observed(&record.contenders[1].identity.name),
        "both are here"
    );
    place.assert_clean(&record);
}

/// Runs two good servers and asks to stop as soon as `when` says so.
fn stopped(place: &Place, times: u32, when: impl Fn(&Event<'_>) -> bool) -> Record {
    let plan = place.plan(vec![
        place.contender("a", "exec KIT serve right"),
        place.contender("b", "exec KIT serve right"),
    ]);
    let stop = Stop::new();
    let mut observer = |event: &Event<'_>| {
        if when(event) {
            (0..times).for_each(|_| stop.request());
        }
    };
    run(&plan, &place.store(), &mut observer, &stop).expect("run")
}

#[test]
fn one_wish_to_stop_keeps_what_is_being_measured() {
    let place = Place::new();
    let record = stopped(&place, 1, |event| matches!(event, Event::Measuring { .. }));
    assert_eq!(record.state, State::Interrupted);
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].cells.len(), &runs[0].failure), (1, &None));
    assert_eq!(place.store().open("last").expect("stored"), record);
    assert_eq!(ending(&record, &judge(&record).expect("readable"), false), Ending::Interrupted);
    place.assert_clean(&record);
}

#[test]
fn two_wishes_to_stop_drop_it_and_still_clean_up() {
    let place = Place::new();
    let record = stopped(&place, 2, |event| matches!(event, Event::Measuring { .. }));
    assert_eq!(record.state, State::Interrupted);
    assert!(record.rounds.iter().all(|round| round.runs.is_empty()), "{:?}", record.rounds);
    place.assert_clean(&record);
    let record = stopped(&place, 1, |event| matches!(event, Event::Begun { .. }));
    assert!(record.rounds.is_empty());
    place.assert_clean(&record);
}

#[test]
fn a_round_that_cannot_be_saved_is_told_all_the_same() {
    let place = Place::new();
    let plan = place.plan(vec![place.contender("a", "exec KIT serve right")]);
    let mut record = PathBuf::new();
    let mut observer = |event: &Event<'_>| match event {
        Event::Begun { id, .. } => {
            record = place.folder.path().join("runs").join(id).join("record.json");
        }
        Event::RoundBegun { index: 0, .. } => {
            std::fs::remove_file(&record).expect("removed");
            std::fs::create_dir(&record).expect("nothing can take its place");
        }
        _ => {}
    };
    let error = run(&plan, &place.store(), &mut observer, &Stop::new()).expect_err("not saved");
    assert_eq!(error.exit(), Exit::MachineUnfit);
    let LabError::Unsaved { measured, kept, .. } = error else { panic!("{error}") };
    assert_eq!((measured.rounds.len(), kept), (1, 0));
    assert!(!measured.rounds[0].runs.is_empty() && judge(&measured).is_ok());
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_anything_is_built() {
    let place = Place::new();
    let built = place.folder.path().join("built");
    let build = format!("[build]\ncommand = [\"touch\", \"{}\"]\n", built.display());
    let plan = place.plan(vec![place.contender_with("a", "exec KIT serve right", &build)]);
    let file: PathBuf = place.folder.path().join("file");
    std::fs::write(&file, "").expect("file");
    let error = run(&plan, &Store::new(&file), &mut |_: &Event<'_>| {}, &Stop::new()).expect_err("no folder");
    assert!(matches!(error, LabError::StoreNotWritable { .. }), "{error}");
    assert_eq!(error.exit(), Exit::MachineUnfit);
    assert!(!built.exists());
}
