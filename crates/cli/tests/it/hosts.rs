//! Other hosts of a lab, as far as one machine has them: network namespaces, and a real sshd.

mod quiet;

use std::path::Path;
use std::process::Command;

use assay_link::{Cable, Link, Spec};
use assay_model::lab::{LAB_SCHEMA, LabReport};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use rustix::process::{Signal, kill_process};

use crate::support::{Lab, Running, Sshd, Star, eventually, listing, process_on, stdout, windows};

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        assay_skip::skip("root", "a network namespace needs root here");
    }
    is_root
}

#[test]
fn every_host_is_looked_at_and_the_network_between_them() {
    let lab = Lab::new();
    let Some(star) = Star::new(3) else { return };
    let (server, address) = (star.transport(1, 0), star.address(1));
    let hosts = format!(
        "[[host]]\nname = \"load\"\n{}roles = [\"generator\"]\n\n\
         [[host]]\nname = \"apart\"\n{server}roles = [\"server\"]\naddress = \"{address}\"\n",
        star.transport(2, 0)
    );
    lab.write("lab.toml", &hosts);
    let doctor = |more: &[&str]| {
        let command = lab.command(&[&["doctor", "--lab", "lab.toml"], more].concat());
        assert_cmd::Command::from_std(star.on(0, &command)).assert()
    };
    let report: LabReport = serde_json::from_str(&stdout(&doctor(&["--json"]))).expect("a report");
    assert_eq!(report.schema, LAB_SCHEMA);
    assert_eq!(report.hosts.iter().map(|host| &*host.host.name).collect::<Vec<_>>(), ["load", "apart"]);
    for host in &report.hosts {
        assert_eq!(host.problems, Vec::<String>::new());
        let found = host.found.as_ref().expect("found");
        // One machine has one monotonic clock.
        assert!(found.clock.offset_ns.unsigned_abs() <= found.clock.error_ns.0, "{:?}", found.clock);
        assert!(found.diagnosis.host.cpus > 0 && found.free_bytes.is_some());
    }
    let [link] = report.links.as_slice() else { panic!("one link: {:?}", report.links) };
    assert_eq!(
        (link.server.as_deref(), &link.hosts[..], &link.problem),
        (Some("apart"), &["load".to_owned()][..], &None)
    );
    assert!(link.round_trip_ns.is_some() && link.carried.is_some() && link.to_server.is_some(), "{link:?}");
    let shown = doctor(&[]).stdout(contains("round trip").and(contains("apart  server")));
    shown.stdout(contains("bit/s from apart to load").and(contains("bit/s from load to apart")));
    let quietly = stdout(&doctor(&["--no-network"]));
    assert!(!quietly.contains("the network"), "{quietly}");
    lab.write("lab.toml", &hosts.replace(&address, "127.0.0.1"));
    doctor(&[]).code(4).stdout(contains("→ what the network carries between apart and load is not known"));
    eventually("nobody is left", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
}

#[test]
fn what_fails_is_told_host_by_host() {
    let lab = Lab::new();
    let hosts = "[[host]]\nname = \"broken\"\ntransport = \"command\"\ncommand = [\"false\"]\n\n\
                 [[host]]\nname = \"chatty\"\ntransport = \"command\"\ncommand = [\"echo\", \"Welcome\"]\n\n\
                 [[host]]\nname = \"here\"\ntransport = \"local\"\naddress = \"192.0.2.1\"\ncpus = \"8000\"\n";
    lab.write("lab.toml", hosts);
    let shown = lab.assay(&["doctor", "--lab", "lab.toml"]).assert().code(4);
    let words = [
        "→ broken: no agent answers (its transport ended with exit status: 1",
        "→ chatty: no agent answers (what answers there is no agent of assay: it says `Welcome",
        "→ here: cannot listen on 192.0.2.1",
        "is to use 8000; mend its `cpus`",
    ];
    words.iter().fold(shown, |shown, word| shown.stdout(contains(*word)));
    lab.write("lab.toml", "[[host]]\nname = \"a\"\ntransport = \"shh\"\n");
    let refused = lab.assay(&["doctor", "--lab", "lab.toml"]).assert().code(2);
    refused.stderr(contains("lab.toml:3:13: unknown variant `shh`"));
}

#[test]
fn what_speaks_against_a_host_follows_below() {
    let lab = Lab::new();
    lab.write("lab.toml", "[[host]]\nname = \"here\"\ntransport = \"local\"\n");
    let text = stdout(&lab.assay(&["doctor", "--lab", "lab.toml", "--no-network"]).assert());
    let row = text.lines().find(|line| line.starts_with("here ")).expect("a row");
    let (_, rules) = row.rsplit_once(": ").unwrap_or_default();
    for rule in rules.split(", ").filter(|rule| !rule.is_empty()) {
        let tells = |line: &str| line.split_whitespace().nth(1) == Some(rule);
        assert!(text.lines().any(tells), "{rule}: {text}");
    }
}

#[test]
fn over_ssh_keys_stay_strict_and_passwords_are_asked_of_nobody() {
    let lab = Lab::new();
    let Some(sshd) = Sshd::start(&lab) else { return };
    let host = format!(
        "[[host]]\nname = \"box1\"\ntransport = \"ssh\"\ndestination = \"root@127.0.0.1\"\nprogram = \"{}\"\narguments = {}\n",
        env!("CARGO_BIN_EXE_assay"),
        sshd.arguments()
    );
    lab.write("lab.toml", &host);
    let unknown = lab.assay(&["doctor", "--lab", "lab.toml"]).assert().code(4);
    unknown.stdout(contains("Host key verification failed").and(contains("compare the key")));
    sshd.make_known();
    let text = stdout(&lab.assay(&["doctor", "--lab", "lab.toml", "--json"]).assert());
    let report: LabReport = serde_json::from_str(&text).expect("a report");
    assert_eq!(report.hosts[0].problems, Vec::<String>::new());
    assert!(report.hosts[0].found.is_some());
    sshd.forget_the_user();
    let refused = lab.assay(&["doctor", "--lab", "lab.toml"]).assert().code(4);
    refused.stdout(contains("Permission denied").and(contains("assay answers no password")));
}

/// Server and load are on hosts that are typed: no file says anything of them, and assay travels there.
#[test]
fn hosts_may_be_typed_in_place_of_a_lab_file() {
    let lab = Lab::new();
    let Some(sshd) = Sshd::start(&lab) else { return };
    sshd.make_known();
    lab.good("one");
    let path = format!("{}:{}", sshd.programs().display(), std::env::var("PATH").expect("PATH"));
    let words = ["one", "--server", "ssh:root@127.0.0.1", "--from", "ssh:root@localhost"];
    lab.run(&words).env("PATH", &path).assert().code(0);
    let record = lab.record();
    let host = record.server_hosts.first().expect("a host");
    assert_eq!((host.name.as_str(), host.address.as_str()), ("127-0-0-1", "127.0.0.1"));
    assert_eq!(record.generator_hosts.iter().map(|host| &*host.name).collect::<Vec<_>>(), ["localhost"]);
    assert!(windows(&record).iter().all(|window| window.load.books.ok > 0));
    let refused = |words: &[&str]| {
        let assert = lab.run(words).env("PATH", &path).assert().code(2);
        String::from_utf8(assert.get_output().stderr.clone()).expect("text")
    };
    assert!(refused(&["one", "--server", "box1"]).contains("give one with --lab, or write ssh:box1"));
    assert!(
        refused(&["one", "--from", "ssh:root@localhost"]).contains("say where these are to be with --server")
    );
    eventually("nobody is left", || lab.processes().is_empty());
}

/// Two network namespaces with a cable between them: the lab's own host is in one, the server's in the other.
fn two_hosts(lab: &Lab) -> Option<Link> {
    two_hosts_over(lab, Spec::Veth(Cable::default()))
}

fn two_hosts_over(lab: &Lab, cable: Spec) -> Option<Link> {
    if !is_root() {
        return None;
    }
    let link = Link::open(Path::new(env!("CARGO_BIN_EXE_assay")), cable)
        .map_err(|error| assay_skip::skip("netns", error))
        .ok()?;
    let server = link.server_side().expect("a side").network;
    let host = format!(
        "[[host]]\nname = \"box1\"\ntransport = \"command\"\ncommand = [\"nsenter\", \"--net={}\", \"--\"]\n\
         roles = [\"server\"]\naddress = \"{}\"\ncpus = \"0\"\n",
        server.display(),
        link.server_address()
    );
    lab.write("lab.toml", &host);
    // It is built where it runs, and what was built is gone with the run.
    lab.contender(
        "one",
        "server",
        "[build]\ncommand = [\"sh\", \"-c\", \"echo built here > built\"]\n\
         [run]\ncommand = [\"sh\", \"-c\", 'cat built && exec \"$ASSAY\" serve --address \"$ADDRESS\" --port \"$PORT\" --cpus \"$CPUS\"']",
    );
    Some(link)
}

/// `assay run` on the lab's own host.
fn run_apart(lab: &Lab, link: &Link, arguments: &[&str]) -> Command {
    let own = link.generator_side().expect("a side").network;
    let words = ["run", "one", "--no-check", "--no-aa", "--lab", "lab.toml", "-c", "2", "--warmup", "50ms"];
    let inner = lab.command(&[&words[..], arguments].concat());
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", own.display())).arg("--").arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().expect("folder"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn a_server_is_built_measured_and_ended_on_another_host() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let mut run = assert_cmd::Command::from_std(run_apart(&lab, &link, &["--rounds", "2", "-d", "100ms"]));
    run.assert().code(0);
    let record = lab.record();
    let host = record.server_hosts.first().expect("a host");
    assert_eq!((host.name.as_str(), host.address.as_str(), host.cpus.as_str()), ("box1", "198.18.0.1", "0"));
    assert_eq!(record.isolation.server_cpus, "");
    let warmups: Vec<_> =
        record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.warmups).collect();
    assert!(warmups.iter().any(|warmup| warmup.counted.is_some()), "{warmups:?}");
    for counted in warmups.iter().filter_map(|warmup| warmup.counted.as_ref()) {
        // This host's CPUs are not the server's.
        assert!(counted.answers == 0 && !counted.is_known() && counted.absent.len() == 3, "{counted:?}");
    }
    for window in windows(&record) {
        assert!(window.load.books.ok > 0);
        let used = window.server.as_ref().expect("its use is known");
        assert!(used.rss_bytes > 0 && used.cpu_ns().0 > 0);
    }
    let built = lab.path("contenders/test/one/built");
    assert!(!built.exists(), "it was built there");
    let logs = lab.run_folder().join("logs");
    let log = listing(&logs)
        .into_iter()
        .find(|name| name.contains("one") && !name.contains("build"))
        .expect("a log");
    let text = std::fs::read_to_string(logs.join(log)).expect("its log");
    assert!(text.starts_with("built here"), "{text}");
}

/// The memory of the servers' host is told by a file that only its agent sees in the place of the kernel's.
#[test]
fn servers_on_a_host_without_memory_live_in_groups_whatever_this_host_has() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let kernels = std::fs::read_to_string("/proc/meminfo").expect("the kernel's");
    let scarce: Vec<&str> = kernels
        .lines()
        .map(|line| if line.starts_with("MemAvailable:") { "MemAvailable: 1 kB" } else { line })
        .collect();
    lab.write("meminfo", &(scarce.join("\n") + "\n"));
    let mount = format!("mount --bind {} /proc/meminfo && exec \"$@\"", lab.path("meminfo").display());
    let around = format!("\"--\", \"unshare\", \"--mount\", \"sh\", \"-c\", '{mount}', \"sh\"]");
    let hosts = std::fs::read_to_string(lab.path("lab.toml")).expect("hosts");
    lab.write("lab.toml", &hosts.replace("\"--\"]", &around));
    lab.good("two");
    lab.good("three");
    let words = ["two", "three", "--rounds", "1", "-d", "100ms"];
    assert_cmd::Command::from_std(run_apart(&lab, &link, &words)).assert().code(0);
    let record = lab.record();
    let lives: Vec<_> = record.rounds[0].runs.iter().map(|run| (&*run.contender, run.group)).collect();
    // One of them in each group, beside the common one.
    assert!(lives.len() == 4 && lives.iter().any(|(_, group)| *group == 1), "{lives:?}");
}

#[test]
fn the_load_of_a_run_comes_from_its_hosts() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let server = std::fs::read_to_string(lab.path("lab.toml")).expect("hosts");
    let asked = lab.path("asked");
    let near = format!("command = [\"sh\", \"-c\", 'tee -a {} | \"$@\"', \"sh\"]", asked.display());
    let generators = format!(
        "[[host]]\nname = \"near\"\ntransport = \"command\"\n{near}\nroles = [\"generator\"]\n\n\
         [[host]]\nname = \"here\"\ntransport = \"local\"\nroles = [\"generator\"]\ncpus = \"0\"\n"
    );
    lab.write("lab.toml", &format!("{server}\n{generators}"));
    let mut run = assert_cmd::Command::from_std(run_apart(&lab, &link, &["--rounds", "1", "-d", "100ms"]));
    run.assert().code(0);
    let record = lab.record();
    let names: Vec<&str> = record.generator_hosts.iter().map(|host| &*host.name).collect();
    assert_eq!((names, record.generator_hosts[1].cpus.as_str()), (vec!["near", "here"], "0"));
    assert!(record.isolation.statement.ends_with("; load from the hosts near, here"));
    // Whoever is cut off ends after two minutes and a window.
    let leases = leases(&std::fs::read(asked).expect("what was asked"));
    assert!(leases.len() > 4 && leases.iter().all(|lease| (120..122).contains(lease)), "{leases:?} s");
    let links: Vec<_> = record.host_links.iter().map(|link| link.hosts.join(" ")).collect();
    assert_eq!(links, ["near", "here", "near here"], "each by itself, and all at once");
    for link in &record.host_links {
        assert!(link.problem.is_none() && link.carried.is_some(), "{link:?}");
        assert_eq!(link.round_trip_ns.is_some(), link.hosts.len() == 1, "{link:?}");
    }
    let told = stdout(&lab.assay(&["export", "--format", "md"]).assert());
    assert!(told.contains("### Hosts") && told.contains("| near | generator | "), "{told}");
    let windows: Vec<_> =
        record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells).collect();
    assert!(!windows.is_empty());
    for window in windows {
        let shares = &window.load.generators;
        let names: Vec<&str> = shares.iter().map(|share| &*share.name).collect();
        assert_eq!(names, ["near", "here"]);
        let own = shares.iter().map(|share| share.report.as_deref().expect("its own report"));
        assert_eq!(own.map(|own| own.books.ok).sum::<u64>(), window.load.books.ok);
        assert!(window.load.window.ok > 0 && window.load.books.failed() == 0);
    }
}

/// The leases, in seconds, in what was said to agents.
fn leases(said: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(said);
    let after = text.split("\"silence_ns\":").skip(1);
    let number = |rest: &str| -> String { rest.chars().take_while(char::is_ascii_digit).collect() };
    after.map(|rest| number(rest).parse::<u64>().expect("a number") / 1_000_000_000).collect()
}

/// The run's certificate and key travel to the servers' host, and its authority to those of the load.
#[test]
fn a_run_over_tls_has_its_servers_and_its_load_on_other_hosts() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    lab.secured("one");
    let server = std::fs::read_to_string(lab.path("lab.toml")).expect("hosts");
    let near = "[[host]]\nname = \"near\"\ntransport = \"command\"\ncommand = [\"env\"]\nroles = [\"generator\"]\ncpus = \"0\"\n";
    lab.write("lab.toml", &format!("{server}\n{near}"));
    let words = ["--protocol", "h1,h1+tls", "--rounds", "1", "-d", "100ms"];
    assert_cmd::Command::from_std(run_apart(&lab, &link, &words)).assert().code(0);
    let record = lab.record();
    let secured: Vec<bool> = windows(&record).iter().map(|window| window.load.tls.is_some()).collect();
    assert_eq!(secured.iter().filter(|secured| **secured).count() * 2, secured.len(), "{secured:?}");
    for window in windows(&record) {
        assert!(window.load.window.ok > 0 && window.load.books.failed() == 0, "{:?}", window.load.samples);
        assert_eq!(window.load.generators.len(), 1);
        let Some(tls) = &window.load.tls else { continue };
        assert_eq!((tls.insecure, tls.otherwise, tls.failed), (false, 0, 0), "{tls:?}");
    }
    eventually("nobody is left", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new(), "the key is gone");
    let load =
        ["load", "https://198.18.0.1:1/", "--yes", "--lab", "lab.toml", "--cert", "c.pem", "--key", "k.pem"];
    lab.assay(&load).assert().code(2).stderr(contains("a key does not leave this host"));
}

#[test]
fn what_others_take_of_the_cpus_of_another_host_is_seen_there() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    // For as long as the run, on the server's CPU.
    let spin = "while :; do :; done";
    let mut spinner = Command::new("taskset").args(["-c", "0", "sh", "-c", spin]).spawn().expect("a spinner");
    let words = ["--rounds", "1", "-d", "300ms"];
    let ran = run_apart(&lab, &link, &words).output().expect("a run");
    spinner.kill().expect("killed");
    spinner.wait().expect("ended");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let record = lab.record();
    for window in windows(&record) {
        let machine = &window.machine;
        assert!(
            machine.server_other_share > 0.15 && machine.server_cpu_busy_shares.len() == 1,
            "{machine:?}"
        );
    }
    let told = stdout(&lab.assay(&["show"]).assert());
    assert!(told.contains("other programs used"), "{told}");
}

#[test]
fn servers_on_another_host_are_profiled_there() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let words = ["--profile", "--rounds", "1", "-d", "100ms"];
    assert_cmd::Command::from_std(run_apart(&lab, &link, &words)).assert().code(0);
    let record = lab.record();
    let [profile] = record.rounds[0].runs[0].profiles.as_slice() else { panic!("one cell") };
    assert!(profile.sampled.answers > 0 && !profile.sampled.stacks.is_empty(), "{:?}", profile.refused);
    assert!(
        profile
            .sampled
            .frames
            .iter()
            .any(|frame| frame.symbol.as_deref().is_some_and(|name| name.contains("tcp"))),
        "{:?}",
        profile.refused
    );
    let traced = profile.traced.as_ref().unwrap_or_else(|| panic!("{:?}", profile.refused));
    assert!(traced.answers > 0 && !traced.calls.is_empty(), "{traced:?}");
    eventually("nobody is left", || lab.processes().is_empty());
}

#[test]
fn a_killed_run_leaves_nothing_on_the_other_host() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let mut run =
        run_apart(&lab, &link, &["--rounds", "2", "-d", "30s", "--budget", "10m"]).spawn().expect("a run");
    let serves = || lab.processes().iter().any(|line| line.contains("serve") && line.contains("198.18.0.1"));
    eventually("the server is there", serves);
    run.kill().expect("killed");
    run.wait().expect("ended");
    eventually("nobody is left", || lab.processes().is_empty());
    eventually("nothing is left", || listing(&lab.path("tmp")).is_empty());
}

/// A host whose transport is a line of the shell.
fn through_shell(lab: &Lab, line: &str, role: &str) {
    let text = format!(
        "[[host]]\nname = \"apart\"\ntransport = \"command\"\ncommand = [\"sh\", \"-c\", '{line}', \"sh\"]\n\
         roles = [\"{role}\"]\naddress = \"127.0.0.1\"\n"
    );
    lab.write("lab.toml", &text);
}

const RUN_APART: &[&str] = &["run", "one", "--lab", "lab.toml", "--no-check"];
const LOOK_APART: &[&str] = &["doctor", "--lab", "lab.toml"];

/// A queue that does not start looks at no input, by which everybody else ends. A shell that waits for it is ended before it.
#[test]
fn a_transport_that_waits_ends_with_the_lab_however_that_ends() {
    let lab = Lab::new();
    lab.good("one");
    let is_waiting = || lab.processes().iter().any(|line| line.ends_with(": sleep 1000 "));
    for (line, arguments, signal, code) in [
        ("exec sleep 1000", RUN_APART, Signal::INT, Some(130)),
        ("exec sleep 1000", RUN_APART, Signal::KILL, None),
        ("exec sleep 1000", LOOK_APART, Signal::TERM, Some(130)),
        ("sleep 1000; exit 1", RUN_APART, Signal::INT, Some(130)),
        ("sleep 1000; exit 1", RUN_APART, Signal::KILL, None),
    ] {
        through_shell(&lab, line, "server");
        let mut going_on = Running::start(lab.command(arguments));
        eventually("it waits", is_waiting);
        going_on.signal(signal);
        assert_eq!(going_on.end().0.code(), code, "{}", going_on.said);
        eventually("nobody is left", || lab.processes().is_empty());
    }
}

#[test]
fn nobody_waits_for_a_host_that_greets_and_falls_silent_once_they_want_to_stop() {
    let lab = Lab::new();
    lab.good("one");
    let is_there = || lab.processes().iter().any(|line| line.contains("agent --parent"));
    let load = &["load", "http://127.0.0.1:1/", "--yes", "--lab", "lab.toml", "-c", "1", "-d", "1s"][..];
    for (arguments, role) in [(RUN_APART, "server"), (LOOK_APART, "server"), (load, "generator")] {
        // Nothing that is asked reaches the agent.
        through_shell(&lab, "sleep 1000 | \"$@\"", role);
        let mut going_on = Running::start(lab.command(arguments));
        eventually("an agent is there", is_there);
        going_on.signal(Signal::INT);
        assert_eq!(going_on.end().0.code(), Some(130), "{}", going_on.said);
        eventually("nobody is left", || lab.processes().is_empty());
        eventually("nothing is left", || listing(&lab.path("tmp")).is_empty());
    }
}

#[test]
fn an_agent_without_a_folder_to_work_in_says_which_and_how_to_mend_that() {
    let lab = Lab::new();
    through_shell(&lab, "TMPDIR=/proc/none exec \"$@\"", "server");
    let told = "no folder can be made in /proc/none: No such file or directory (os error 2); set TMPDIR there to a folder";
    lab.assay(LOOK_APART).assert().code(4).stdout(contains(told));
}

#[test]
fn what_cannot_be_on_another_host_is_refused_before_anything_starts() {
    let lab = Lab::new();
    lab.good("one");
    let box1 = "[[host]]\nname = \"box1\"\ntransport = \"command\"\ncommand = [\"false\"]\naddress = \"198.18.0.1\"\n";
    lab.write("lab.toml", box1);
    let refused = |arguments: &[&str], code: i32| {
        let words = [&["run", "one", "--lab", "lab.toml"], arguments].concat();
        String::from_utf8(lab.assay(&words).assert().code(code).get_output().stderr.clone()).expect("text")
    };
    assert!(refused(&[], 2).contains("none of its hosts has the role server; say which with --server: box1"));
    assert!(refused(&["--server", "box2"], 2).contains("there is no host `box2` in it; known are `box1`"));
    assert!(refused(&["--server", "box1", "--link", "veth"], 2).contains("leave --link and --stack out"));
    assert!(refused(&["--server", "box1"], 4).contains("box1: no agent answers"));
    let (here, away) =
        ("name = \"here\"\ntransport = \"local\"\nroles = [\"server\"]", "roles = [\"generator\"]");
    lab.write("lab.toml", &format!("{box1}{away}\n[[host]]\n{here}\n"));
    assert!(refused(&[], 2).contains("here has no address for the load"));
}

#[test]
fn a_host_of_servers_that_is_lost_has_no_more_turns() {
    let lab = Lab::new();
    let host = |name: &str| {
        format!(
            "[[host]]\nname = \"{name}\"\ntransport = \"command\"\ncommand = [\"env\", \"ON={name}\"]\nroles = [\"server\"]\n\
             address = \"127.0.0.1\"\ncpus = \"0\"\n"
        )
    };
    lab.write("lab.toml", &(host("left") + &host("right")));
    lab.good("one");
    let words = "run one --no-check --no-aa --lab lab.toml -c 2 --warmup 0s -d 200ms --rounds 6";
    let mut run = Running::start(lab.command(&words.split(' ').collect::<Vec<_>>()));
    run.wait_for("round 2 of 6");
    kill_process(process_on(&lab, "left", "assay agent"), Signal::KILL).expect("killed");
    assert_eq!(run.end().0.code(), Some(10), "{}", run.said);
    let record = lab.record();
    let served: Vec<&str> = record.rounds.iter().filter_map(|round| round.server_host.as_deref()).collect();
    // The third round may have begun on the left.
    assert_eq!((served.len(), &served[..2], &served[3..]), (6, &["left", "right"][..], &["right"; 3][..]));
    for round in [0, 1, 3, 4, 5].map(|number| &record.rounds[number]) {
        let windows: Vec<_> = round.runs.iter().flat_map(|run| &run.cells).collect();
        assert!(
            windows.iter().all(|window| window.load.window.ok > 0) && !windows.is_empty(),
            "{}",
            run.said
        );
    }
    eventually("nobody is left", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
}
