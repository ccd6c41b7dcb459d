//! A whole lab at once, and transports that are killed at moments nobody chose.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use assay_model::check::CheckOutcome;
use assay_model::evidence::Evidence;
use assay_model::load::LoadReport;
use assay_model::record::DatabaseOrigin;
use assay_model::rule::Rule;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Lab, Running, SERVE, Slurm, Sshd, Star, Stranger, eventually, has, listing, stdout, windows,
};

const GENERATORS: [&str; 3] = ["gen1", "gen2", "gen3"];
/// How far the clocks of the generators' hosts are ahead, in seconds.
const AHEAD: [i32; 3] = [0, 10, -10];

/// The hosts of a star: 0 leads, 1 has the servers, the others load.
fn lab_of(lab: &Lab, star: &Star) {
    let server = format!("roles = [\"server\"]\naddress = \"{}\"\ncpus = \"0\"\n", star.address(1));
    let mut text = format!("[[host]]\nname = \"serving\"\n{}{server}\n", star.transport(1, 5));
    for (number, (name, ahead)) in GENERATORS.into_iter().zip(AHEAD).enumerate() {
        let transport = star.transport(number + 2, ahead);
        text += &format!("[[host]]\nname = \"{name}\"\n{transport}roles = [\"generator\"]\ncpus = \"0\"\n\n");
    }
    lab.write("lab.toml", &text);
}

#[test]
fn an_experiment_over_five_hosts_is_measured_told_and_leaves_nothing() {
    let lab = Lab::new();
    let Some(star) = Star::new(5) else { return };
    lab_of(&lab, &star);
    lab.good("one");
    let words = "run one --no-check --no-aa --lab lab.toml -c 6 --warmup 0s -d 100ms --rounds 2";
    let run = lab.command(&words.split(' ').collect::<Vec<_>>());
    assert_cmd::Command::from_std(star.on(0, &run)).assert().code(0);
    let record = lab.record();
    assert_eq!(record.server_hosts[0].name, "serving");
    let links: Vec<String> = record.host_links.iter().map(|link| link.hosts.join(" ")).collect();
    assert_eq!(links, ["gen1", "gen2", "gen3", "gen1 gen2 gen3"]);
    assert!(record.host_links.iter().all(|link| link.problem.is_none()), "{:?}", record.host_links);
    for window in windows(&record) {
        let shares = &window.load.generators;
        assert_eq!(shares.iter().map(|share| &*share.name).collect::<Vec<_>>(), GENERATORS);
        let own = shares.iter().map(|share| share.report.as_deref().expect("its own report"));
        assert_eq!(own.map(|own| own.books.ok).sum::<u64>(), window.load.books.ok);
        assert!(window.load.window.ok > 0 && window.load.books.failed() == 0);
        for (share, ahead) in shares.iter().zip(AHEAD) {
            let off = share.clock.offset_ns - i64::from(ahead) * 1_000_000_000;
            assert!(off.unsigned_abs() <= share.clock.error_ns.0, "{}: {:?}", share.name, share.clock);
        }
    }
    for format in ["json", "csv", "csv-summary", "md", "junit", "openmetrics"] {
        stdout(&lab.assay(&["export", "--format", format]).assert().code(0));
    }
    let told = stdout(&lab.assay(&["export", "--format", "md"]).assert());
    assert!(
        ["serving | server", "gen1 | generator", "gen3 | generator"].iter().all(|row| told.contains(row)),
        "{told}"
    );
    eventually("nobody is left", || lab.processes().is_empty());
}

#[test]
fn equal_hosts_exchange_their_roles_from_round_to_round() {
    let lab = Lab::new();
    let Some(star) = Star::new(3) else { return };
    let host = |name: &str, number: usize, cpus: &str| {
        let (transport, address) = (star.transport(number, 0), star.address(number));
        format!(
            "[[host]]\nname = \"{name}\"\n{transport}roles = [\"server\", \"generator\"]\naddress = \"{address}\"\ncpus = \"{cpus}\"\n"
        )
    };
    lab.write("lab.toml", &(host("left", 1, "0") + &host("right", 2, "0")));
    lab.contender("one", "server", &format!("[build]\ncommand = [\"echo\", \"built\"]\n{SERVE}"));
    let words = "run one --no-check --no-aa --lab lab.toml -c 2 --warmup 0s -d 100ms --rounds 3";
    let run = |words: &str| {
        let command = lab.command(&words.split(' ').collect::<Vec<_>>());
        assert_cmd::Command::from_std(star.on(0, &command)).assert()
    };
    run(words).code(0);
    let record = lab.record();
    let served: Vec<_> =
        record.rounds.iter().map(|round| round.server_host.as_deref().unwrap_or("?")).collect();
    assert_eq!(served, ["left", "right", "left"]);
    for round in &record.rounds {
        for window in round.runs.iter().flat_map(|run| &run.cells) {
            let [share] = window.load.generators.as_slice() else { panic!("{:?}", window.load.generators) };
            assert_ne!(Some(&share.name), round.server_host.as_ref(), "nobody loads itself");
            assert!(window.load.window.ok > 0 && window.load.books.failed() == 0);
        }
    }
    let links = record.host_links.iter().map(|link| (link.server.as_deref(), link.hosts.join(" ")));
    let ways = [("left", "right"), ("right", "left")].map(|(from, to)| (Some(from), to.to_owned()));
    assert_eq!(links.collect::<Vec<_>>(), ways);
    let told = stdout(&lab.assay(&["export", "--format", "md"]).assert());
    for row in ["left | server", "right | server", "left | generator", "right | generator"] {
        assert!(told.contains(row), "{told}");
    }
    for host in ["left", "right"] {
        let log = lab.run_folder().join(format!("logs/one-build-{host}.log"));
        assert_eq!(std::fs::read_to_string(&log).expect("a log for each host"), "built\n");
    }
    let alone = run(&words.replace("lab.toml", "lab.toml --from left")).code(2);
    assert!(String::from_utf8_lossy(&alone.get_output().stderr).contains("no other host is left"));
    if assay_host::cpuset::allowed().len() > 1 {
        lab.write("lab.toml", &(host("left", 1, "0") + &host("right", 2, "0-1")));
        let unequal = run(words).code(2);
        assert!(
            String::from_utf8_lossy(&unequal.get_output().stderr).contains("hosts that take turns are equal")
        );
    }
    eventually("nobody is left", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
}

#[test]
fn the_books_of_three_hosts_with_clocks_of_their_own_are_the_servers() {
    let lab = Lab::new();
    let Some(star) = Star::new(5) else { return };
    lab_of(&lab, &star);
    let address = star.address(1);
    let serve = lab.command(&["serve", "--address", &address, "--port", "0", "--cpus", "0"]);
    let mut server = Running::start(star.on(1, &serve));
    let line = server.wait_for(" http://");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("URL").to_owned();
    let words = [
        "load",
        &url,
        "--yes",
        "--lab",
        "lab.toml",
        "-c",
        "6",
        "-n",
        "900",
        "--expect-status",
        "200",
        "--json",
    ];
    let load = star.on(0, &lab.command(&words));
    let report = crate::support::report(&assert_cmd::Command::from_std(load).assert().code(0));
    assert_eq!((report.books.ok, report.books.failed()), (900, 0), "{report:?}");
    assert!(
        report.generators.iter().all(|share| share.report.as_ref().is_some_and(|own| own.books.ok == 300))
    );
    server.signal(Signal::INT);
    assert!(server.end().0.success());
    assert!(server.said.contains("served 900 "), "{}", server.said);
}

#[test]
fn a_host_of_one_load_whose_connections_get_less_is_named() {
    let lab = Lab::new();
    let Some(star) = Star::new(4) else { return };
    if !star.limit(3, "1mbit") {
        return assay_skip::skip("tbf", "needs a kernel whose queues can be limited");
    }
    let host = |(name, number)| {
        format!("[[host]]\nname = \"{name}\"\n{}roles = [\"generator\"]\n\n", star.transport(number, 0))
    };
    lab.write("lab.toml", &[("fast", 2), ("slow", 3)].map(host).concat());
    let serve = lab.command(&["serve", "--address", &star.address(1), "--port", "0", "--cpus", "0"]);
    let mut server = Running::start(star.on(1, &serve));
    let line = server.wait_for(" http://");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("URL").to_owned();
    let words = ["load", &url, "--yes", "--lab", "lab.toml", "-c", "4", "-d", "2s"];
    let load = |more: &[&str]| {
        let command = star.on(0, &lab.command(&[&words[..], more].concat()));
        assert_cmd::Command::from_std(command).assert()
    };
    let report = crate::support::report(&load(&["--json"]));
    let effect = report.checks.iter().find(|check| check.rule == Rule::HostEffect).expect("compared");
    assert_eq!(effect.outcome, CheckOutcome::Warn, "{effect:?}");
    let Evidence::HostApart(apart) = &effect.evidence else { panic!("{effect:?}") };
    assert_eq!((apart.host.as_str(), apart.other.as_deref()), ("fast", Some("slow")));
    assert!(apart.low_ratio > 1.05 && apart.of_one_load && apart.windows == 10, "{apart:?}");
    let told = stdout(&load(&[])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("as many answers per connection as slow"), "{told}");
    assert!(told.contains("10 pieces of the window"), "{told}");
}

/// A server that counts the rows of a table before it listens, and goes on asking for their sum, with a pause in between.
fn asks_a_database(lab: &Lab, pause: &str) {
    let asks = "name = \"hello\"\nabout = \"\"\ndatabase = \"postgresql\"\n[[request]]\npath = \"/\"\n\
                expect = { status = 200, body = \"hello\" }\n";
    lab.write("workloads/hello.toml", asks);
    let ask = |what: &str| format!("psql \"$DATABASE_URL\" -Atc \"SELECT {what} FROM world\"");
    let script = format!(
        "{} && {{ while {}; do {pause}; done > /dev/null & }} && \
         exec \"$ASSAY\" serve --address \"$ADDRESS\" --port \"$PORT\" --cpus \"$CPUS\"",
        ask("count(*)"),
        ask("sum(randomnumber)")
    );
    lab.contender("one", "server", &format!("[run]\ncommand = [\"sh\", \"-c\", '{script}']"));
}

#[test]
fn servers_on_one_host_have_a_database_on_another_and_nothing_is_left_there() {
    if !has("psql") {
        return;
    }
    let lab = Lab::new();
    let Some(star) = Star::new(3) else { return };
    let host = |name: &str, number: usize| {
        let (transport, address) = (star.transport(number, 0), star.address(number));
        format!(
            "[[host]]\nname = \"{name}\"\n{transport}roles = [\"{name}\"]\naddress = \"{address}\"\ncpus = \"0\"\n"
        )
    };
    lab.write("lab.toml", &(host("server", 1) + &host("database", 2)));
    asks_a_database(&lab, ":");
    let words = "run one --no-check --no-aa --lab lab.toml -c 2 --warmup 0s -d 300ms --rounds 2";
    let run = lab.command(&words.split(' ').collect::<Vec<_>>());
    assert_cmd::Command::from_std(star.on(0, &run)).assert().code(0);
    let record = lab.record();
    let database = record.database.as_ref().expect("a database");
    assert_eq!((database.origin, &database.not_run), (DatabaseOrigin::Private, &None));
    let there = database.host.as_ref().expect("its host");
    let link =
        record.host_links.iter().find(|link| link.server.as_deref() == Some("database")).expect("a link");
    assert!(link.problem.is_none() && link.round_trip_ns.is_some() && link.hosts == ["server"], "{link:?}");
    assert_eq!(
        (there.name.as_str(), there.address.clone(), database.cpus.as_deref()),
        ("database", star.address(2), Some("0"))
    );
    assert!(
        !serde_json::to_string(&record).expect("JSON").contains("postgres://"),
        "the password is nobody's business"
    );
    for window in windows(&record) {
        assert!(window.load.books.ok > 0 && window.load.books.failed() == 0, "{:?}", window.load.samples);
        let used = window.database.as_ref().expect("what the database used");
        assert!(used.usage.cpu_ns().0 > 0 && !used.beside_generator, "{used:?}");
    }
    let logs = lab.run_folder().join("logs");
    let log = listing(&logs).into_iter().find(|name| name.contains("one")).expect("its log");
    let text = std::fs::read_to_string(logs.join(log)).expect("its log");
    assert!(text.starts_with("10000"), "{text}");
    let told = stdout(&lab.assay(&["export", "--format", "md"]).assert());
    assert!(told.contains("| database | database | 0 |"), "{told}");
    assert!(told.contains("from database to server"), "{told}");
    eventually("nobody is left", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
}

/// A span that nobody chose; a test that fails says it.
fn some_time(most: Duration) -> Duration {
    most.mul_f64(chance())
}

/// Between 0 and 1.
fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// A process of the lab whose command begins with this program.
fn process(lab: &Lab, program: &str) -> Option<Pid> {
    let begin = format!(": {program} ");
    let line = lab.processes().into_iter().find(|line| line.contains(&begin))?;
    Pid::from_raw(line.split(':').next()?.parse().ok()?)
}

/// Somebody of a run over three hosts: the one that leads, an agent, a supervisor, the database, a server, a generator, a transport.
#[test]
fn whoever_of_a_run_is_killed_at_any_moment_leaves_nothing_anywhere() {
    if !has("psql") {
        return;
    }
    let lab = Lab::new();
    let host = |role: &str| {
        let address = if role == "generator" { "" } else { "address = \"127.0.0.1\"\n" };
        format!(
            "[[host]]\nname = \"{role}\"\ntransport = \"command\"\ncommand = [\"env\"]\nroles = [\"{role}\"]\n{address}\n"
        )
    };
    lab.write("lab.toml", &["server", "database", "generator"].map(host).concat());
    asks_a_database(&lab, "sleep 0.2");
    let words = "run one --no-check --no-aa --lab lab.toml -c 2 --warmup 0s -d 300ms --rounds 40 -r 200";
    for _ in 0..3 {
        let mut run = Running::start(lab.command(&words.split(' ').collect::<Vec<_>>()));
        let after = some_time(Duration::from_secs(6));
        std::thread::sleep(after);
        eventually("it has begun", || !lab.processes().is_empty());
        let processes = lab.processes();
        let killed = &processes[(chance() * processes.len() as f64) as usize % processes.len()];
        let pid =
            killed.split(':').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?)).expect("a process");
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
        std::thread::sleep(some_time(Duration::from_secs(1)));
        run.signal(Signal::INT);
        run.signal(Signal::INT);
        run.end();
        let said = format!("killed after {after:?}: {killed}; of {processes:#?}; {}", run.said);
        eventually(&format!("nobody is left, {said}"), || lab.processes().is_empty());
        eventually(&format!("nothing is left, {said}"), || listing(&lab.path("tmp")).is_empty());
    }
}

/// A load of ten minutes over transports of this program, one of which is killed at some moment: before its agent is there, while clocks are
/// compared, or in the window. The load ends as one that is not whole, and nothing is left.
fn kill_a_transport(
    lab: &Lab,
    stranger: &Stranger,
    program: &str,
    variable: Option<(&str, &std::path::Path)>,
) {
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    for _ in 0..3 {
        let words =
            ["load", &url, "--yes", "--lab", "lab.toml", "-c", "4", "-d", "10m", "-r", "200", "--json"];
        let mut command = lab.command(&words);
        command.envs(variable);
        let mut load = Running::start(command);
        eventually("its transport is there", || process(lab, program).is_some());
        let after = some_time(Duration::from_millis(1500));
        std::thread::sleep(after);
        kill_process(process(lab, program).expect("it goes on for ten minutes"), Signal::KILL)
            .expect("killed");
        let (status, out) = load.end();
        let said = format!("{program} killed after {after:?}: {}", load.said);
        assert!(matches!(status.code(), Some(4 | 12)), "{status:?}, {said}");
        // Whoever had begun to measure says who was lost.
        if let Ok(report) = serde_json::from_str::<LoadReport>(&out) {
            assert!(report.generators.iter().any(|share| share.lost.is_some()), "{said}");
            assert!(report.books.balance(), "{said}");
        }
        eventually(&format!("nobody is left, {said}"), || lab.processes().is_empty());
        if program == "srun" {
            remove_what_sigkill_of_a_step_leaves(lab);
        }
        eventually(&format!("nothing is left, {said}"), || listing(&lab.path("tmp")).is_empty());
    }
}

/// Slurm ends a step whose srun is gone by SIGKILL of all its processes at once, so that nobody is left to remove the agent's folder; the next
/// agent there does, once it is a minute old.
fn remove_what_sigkill_of_a_step_leaves(lab: &Lab) {
    for name in listing(&lab.path("tmp")) {
        assert!(name.starts_with("assay-agent-"), "{name}");
        std::fs::remove_dir_all(lab.path("tmp").join(name)).expect("removed");
    }
}

#[test]
fn ssh_that_is_killed_at_any_moment_leaves_nothing_on_either_side() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let Some(sshd) = Sshd::start(&lab) else { return };
    sshd.make_known();
    let host = |name: &str| {
        format!(
            "[[host]]\nname = \"{name}\"\ntransport = \"ssh\"\nroles = [\"generator\"]\ndestination = \"root@127.0.0.1\"\n\
             program = \"{}\"\narguments = {}\n\n",
            env!("CARGO_BIN_EXE_assay"),
            sshd.arguments()
        )
    };
    lab.write("lab.toml", &(host("box1") + &host("box2")));
    kill_a_transport(&lab, &stranger, "ssh", None);
}

/// The lab file of a Slurm's nodes.
fn lab_of_slurm(lab: &Lab) {
    let program = env!("CARGO_BIN_EXE_assay");
    let host = |node: &str| {
        format!(
            "[[host]]\nname = \"{node}\"\ntransport = \"slurm\"\nroles = [\"generator\"]\nprogram = \"{program}\"\n"
        )
    };
    lab.write("lab.toml", &Slurm::NODES.map(host).concat());
}

#[test]
fn srun_that_is_killed_at_any_moment_leaves_nothing_on_its_node() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let Some(slurm) = Slurm::start(&lab) else { return };
    lab_of_slurm(&lab);
    kill_a_transport(&lab, &stranger, "srun", Some(slurm.variable()));
}

/// The daemon of a node is needed to begin, and not while load goes on: its end is no end of the load, and that leaves nothing.
#[test]
fn a_load_over_slurm_outlives_the_daemon_of_a_node_and_leaves_nothing() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let Some(mut slurm) = Slurm::start(&lab) else { return };
    lab_of_slurm(&lab);
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    let words = ["load", &url, "--yes", "--lab", "lab.toml", "-c", "4", "-d", "10m", "-r", "200", "--json"];
    let mut command = lab.command(&words);
    command.envs([slurm.variable()]);
    let mut load = Running::start(command);
    eventually("they drive the server", || stranger.answered() > 20);
    let after = some_time(Duration::from_millis(500));
    std::thread::sleep(after);
    slurm.kill_daemon(0);
    let before = stranger.answered();
    eventually("the load goes on", || stranger.answered() > before + 20);
    load.signal(Signal::INT);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(130), "slurmd killed after {after:?}: {}", load.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert!(report.generators.iter().all(|share| share.lost.is_none()) && report.books.balance());
    eventually("nobody is left", || lab.processes().is_empty());
    eventually("nothing is left", || listing(&lab.path("tmp")).is_empty());
}
