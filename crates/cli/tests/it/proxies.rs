//! Proxies before a reference server that the run starts: real nginx and HAProxy, one that forwards nothing, upstreams that die.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assay_model::load::ErrorClass;
use assay_model::record::{Measurement, Record};
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Lab, Running, eventually, free_of_disturbance, has, not_run, report, stdout};

/// The run section of assay's own server, which forwards nothing to anybody.
const SERVE: &str = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                     \"--cpus\", \"${CPUS}\"]";

/// The project's own catalogue.
fn catalogue() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project")
}

/// The windows of a contender, round by round.
fn windows<'r>(record: &'r Record, name: &str) -> Vec<&'r Measurement> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == name);
    runs.flat_map(|run| &run.cells).collect()
}

#[test]
fn nginx_and_haproxy_pass_on_what_their_upstream_answers_and_windows_go_past_them() {
    if !has("nginx") || !has("haproxy") {
        return;
    }
    let lab = Lab::new();
    let root = catalogue();
    let root = root.to_str().expect("UTF-8");
    let words = ["nginx-proxy", "haproxy-proxy", "-w", "hello", "-r", "max,1000/s", "-d", "300ms"];
    let files = ["--catalogue", root, "-o", "out.csv", "-o", "out.md"];
    let ran = lab.run(&[&words[..], &files].concat()).assert();
    let text = stdout(&ran);
    assert!(text.contains("through a proxy against assay alone in its place"), "{text}");
    let mut record = lab.record();
    assert_eq!(record.upstream.as_ref().map(|upstream| upstream.contender.as_str()), Some("assay"));
    for name in ["nginx-proxy", "haproxy-proxy"] {
        let windows = windows(&record, name);
        assert_eq!(windows.len(), 4, "{name}: {:?}", record.entry_of(name));
        windows.iter().for_each(|window| assert_forwarded(name, window));
        let before: Vec<bool> = windows.iter().filter_map(|window| goes_straight_first(window)).collect();
        assert!(
            before.len() == 2 && before[0] != before[1],
            "{name}: by turns from round to round: {before:?}"
        );
    }
    let alone = windows(&record, "assay");
    assert!(!alone.is_empty(), "{:?}", record.entry_of("assay"));
    assert!(alone.iter().all(|window| window.upstream.is_none() && window.straight.is_none()));
    free_of_disturbance(&mut record);
    let verdict = assay_verdict::judge(&record).expect("readable");
    let mut costs: Vec<&str> = verdict.proxy_cost.iter().map(|cost| cost.contender.as_str()).collect();
    costs.sort_unstable();
    assert_eq!(costs, ["haproxy-proxy", "nginx-proxy"]);
    assert!(verdict.proxy_cost.iter().all(|cost| cost.ratio.is_some()), "{:?}", verdict.proxy_cost);
    let medians = verdict.added_latency.iter().filter(|added| added.pairs == 2 && added.quantiles.len() == 1);
    assert_eq!(medians.count(), 2, "{:?}", verdict.added_latency);
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("written");
    assert!(read("out.csv").lines().next().is_some_and(|head| head.contains(",upstream_requests,")));
    assert!(read("out.md").contains("added by a proxy to response times"), "{}", read("out.md"));
}

/// The upstream has received a request for each right answer, and no more than were sent.
fn assert_forwarded(name: &str, window: &Measurement) {
    let upstream = window.upstream.as_ref().expect("the upstream was seen");
    let (requests, books) = (upstream.requests.expect("it counts"), &window.load.books);
    assert!(books.balance() && books.ok > 0 && requests >= books.ok, "{name}: {requests} {books:?}");
    assert!(requests <= books.issued, "{name}: {requests} {books:?}");
    assert_eq!(window.straight.is_some(), window.cell.offered.is_rate(), "{name}");
    let Some(straight) = &window.straight else { return };
    assert_eq!((&straight.cell, &straight.load.arrival), (&window.cell, &window.load.arrival));
    assert!(straight.load.books.balance() && straight.load.books.ok > 0, "{:?}", straight.load.books);
    assert_ne!(straight.load.target, window.load.target);
    assert!(straight.server.as_ref().is_some_and(|usage| usage.cpu_ns().0 > 0), "{straight:?}");
}

fn goes_straight_first(window: &Measurement) -> Option<bool> {
    Some(window.straight.as_ref()?.offset_ns < window.offset_ns)
}

#[test]
fn a_proxy_that_answers_by_itself_is_found() {
    let lab = Lab::new();
    lab.limit("limit");
    lab.contender("cache", "proxy", SERVE);
    let ran = lab.run(&["cache"]).assert();
    // As it stands, wherever lines are broken.
    let text = stdout(&ran).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("itself: its upstream received no request for them"), "{text}");
    let record = lab.record();
    let upstream = windows(&record, "cache")[0].upstream.clone().expect("the upstream was seen");
    assert_eq!(upstream.requests, Some(0));
}

#[test]
fn a_command_as_a_proxy_finds_its_upstream_and_without_a_reference_server_there_is_none() {
    let lab = Lab::new();
    lab.limit("limit");
    let told = lab.path("told");
    let assay = env!("CARGO_BIN_EXE_assay");
    let command = format!(
        "echo $UPSTREAM $UPSTREAM_HOST $UPSTREAM_PORT >{}; exec {assay} serve --address $ADDRESS --port $PORT --cpus $CPUS",
        told.display()
    );
    lab.run(&["--cmd", &command, "--upstream"]).assert().code(0);
    let record = lab.record();
    let text = std::fs::read_to_string(told).expect("told");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.len() == 3 && words[0] == format!("{}:{}", words[1], words[2]), "{text}");
    assert!(record.upstream.is_some() && record.experiment.measures[0].workload == "hello", "{record:?}");

    let bare = Lab::new();
    bare.contender("proxy", "proxy", SERVE);
    bare.run(&["proxy"]).assert().stderr(contains("there is no reference server to start behind it"));
}

#[test]
fn an_upstream_that_dies_is_not_the_proxys_fault() {
    if !has("nginx") {
        return;
    }
    let lab = Lab::new();
    let root = catalogue();
    let words = [
        "run",
        "--no-check",
        "nginx-proxy",
        "!assay",
        "-w",
        "hello",
        "-d",
        "300ms",
        "--rounds",
        "1",
        "-c",
        "2",
    ];
    let more = ["--no-aa", "--catalogue", root.to_str().expect("UTF-8")];
    let mut run = Running::start(lab.command(&[&words[..], &more].concat()));
    let upstream = || {
        let all = lab.processes();
        let is_server = |command: &str| command.starts_with(concat!(env!("CARGO_BIN_EXE_assay"), " serve "));
        let found = all.iter().filter_map(|line| line.split_once(": "));
        let (pid, _) = found.into_iter().find(|(_, command)| is_server(command))?;
        Pid::from_raw(pid.parse().ok()?)
    };
    eventually("an upstream lives", || upstream().is_some());
    kill_process(upstream().expect("an upstream"), Signal::KILL).expect("killed");
    run.end();
    let record = lab.record();
    let why = not_run(&record, "nginx-proxy");
    assert!(why.reason.starts_with("the upstream behind it: it ended with signal 9"), "{why:?}");
    assert!(why.remedy.as_deref().is_some_and(|remedy| remedy.contains("not the contender's")), "{why:?}");
}

/// A proxy of the catalogue before nobody, as a child of the test.
struct BeforeNobody {
    child: Child,
    port: u16,
}

impl BeforeNobody {
    fn start(lab: &Lab, name: &str) -> Self {
        let [port, nobody] = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("port");
            listener.local_addr().expect("address").port()
        });
        let scratch = lab.path("scratch");
        std::fs::create_dir(&scratch).expect("scratch");
        let root = catalogue();
        let folder = root.join(format!("contenders/c/{name}-proxy"));
        let mut command = Command::new(root.join(format!("contenders/c/{name}/serve.sh")));
        command.current_dir(folder).env("ADDRESS", "127.0.0.1").env("PORT", port.to_string());
        command.env("WORKERS", "1").env("SCRATCH", scratch).env("FILES", root.join("workloads/files"));
        command.env("UPSTREAM", format!("127.0.0.1:{nobody}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect(name);
        eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, port }
    }
}

impl Drop for BeforeNobody {
    fn drop(&mut self) {
        // Its workers end with it.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_proxy_says_of_an_upstream_that_is_not_there_has_a_class() {
    for (name, class) in [("nginx", ErrorClass::BadGateway), ("haproxy", ErrorClass::UnexpectedStatus)] {
        if !has(name) {
            continue;
        }
        let lab = Lab::new();
        let proxy = BeforeNobody::start(&lab, name);
        let url = format!("http://127.0.0.1:{}/", proxy.port);
        let words = ["load", &url, "-n", "20", "-c", "2", "--cpus", "0", "--json", "--expect-body", "hello"];
        let ran = lab.assay(&words).assert().code(11);
        let report = report(&ran);
        assert!(report.books.balance(), "{name}: {:?}", report.books);
        assert_eq!(report.books.errors.get(&class), Some(&20), "{name}: {:?}", report.books);
        let said = report.samples.first().map(|sample| sample.detail.as_str());
        assert!(said.is_some_and(|said| said.contains("200 to 299")), "{name}: {said:?}");
    }
}
