//! Generators on other hosts, as far as one machine has them: network namespaces with a cable between them, and a clock that is wrong.

use std::path::Path;

use assay_link::{Cable, Link, Spec};
use assay_model::check::CheckOutcome;
use assay_model::load::LoadReport;
use assay_model::rule::Rule;
use predicates::str::contains;
use rustix::process::{Signal, kill_process};

use crate::support::{Lab, Running, Slurm, Stranger, eventually, listing, process_on};

/// Two namespaces with a cable between them: the hosts `box1` and `box2`, in the file `lab.toml`. The clock of `box2` is ten seconds
/// ahead. Neither end is an address of the lab's own host.
fn two_hosts(lab: &Lab) -> Option<Link> {
    if !rustix::process::geteuid().is_root() {
        assay_skip::skip("root", "a network namespace needs root here");
        return None;
    }
    let ahead = ["--time", "--monotonic", "10", "--fork", "--kill-child", "--"];
    let tried = std::process::Command::new("unshare").args(ahead).arg("true").status();
    if !tried.is_ok_and(|status| status.success()) {
        assay_skip::skip("kernel", "no clock can be wrong here: it needs time namespaces");
        return None;
    }
    let link = Link::open(Path::new(env!("CARGO_BIN_EXE_assay")), Spec::Veth(Cable::default()))
        .map_err(|error| assay_skip::skip("netns", error))
        .ok()?;
    let side = |side: Option<assay_link::Side>| side.expect("a side").network.display().to_string();
    let (far, near) = (side(link.generator_side()), side(link.server_side()));
    let host = |name: &str, network: &str, more: &str| {
        format!(
            "[[host]]\nname = \"{name}\"\ntransport = \"command\"\nroles = [\"generator\"]\ncpus = \"0\"\n\
             command = [\"nsenter\", \"--net={network}\", \"--\"{more}]\n\n"
        )
    };
    let ahead: String = ["unshare"].iter().chain(&ahead).map(|word| format!(", \"{word}\"")).collect();
    lab.write("lab.toml", &(host("box1", &far, "") + &host("box2", &near, &ahead)));
    Some(link)
}

/// A server of assay's in the namespace of `box2`, and its URL.
fn server_at(lab: &Lab, link: &Link) -> (Running, String) {
    let network = link.server_side().expect("a side").network;
    let address = link.server_address().to_string();
    let inner = lab.command(&["serve", "--address", &address, "--port", "0", "--cpus", "0"]);
    let mut command = std::process::Command::new("nsenter");
    command
        .arg(format!("--net={}", network.display()))
        .arg("--")
        .arg(inner.get_program())
        .args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = Running::start(command);
    let line = server.wait_for(" http://");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("URL").to_owned();
    (server, url)
}

/// `assay load` from both hosts with these arguments.
fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let both = ["load", url, "--yes", "--lab", "lab.toml", "-c", "4", "--expect-status", "200", "--json"];
    [&both[..], more].concat()
}

/// A load of ten minutes from two hosts that are this one, and what says that it is under way.
fn going_on(lab: &Lab, stranger: &Stranger) -> Running {
    going_on_with(lab, stranger, &[])
}

/// [`going_on`] with further arguments.
fn going_on_with(lab: &Lab, stranger: &Stranger, more: &[&str]) -> Running {
    let host = |name: &str| {
        format!(
            "[[host]]\nname = \"{name}\"\ntransport = \"command\"\nroles = [\"generator\"]\ncommand = [\"env\", \"ON={name}\"]\n"
        )
    };
    lab.write("lab.toml", &(host("box1") + &host("box2")));
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    // A gentle load, which leaves the CPUs to other tests.
    let load = Running::start(lab.command(&arguments(&url, &[&["-d", "10m", "-r", "200"], more].concat())));
    eventually("they drive the server", || stranger.answered() > 20);
    load
}

fn outcome(report: &LoadReport) -> CheckOutcome {
    report.checks.iter().find(|check| check.rule == Rule::Generators).expect("checked").outcome
}

#[test]
fn the_books_of_all_hosts_are_the_servers() {
    let lab = Lab::new();
    let Some(link) = two_hosts(&lab) else { return };
    let (mut server, url) = server_at(&lab, &link);
    let assert = lab.assay(&arguments(&url, &["-n", "600"])).assert().code(0).stderr("");
    let report = crate::support::report(&assert);
    assert_eq!((report.books.ok, report.books.failed(), report.connections), (600, 0, 4), "{report:?}");
    let names: Vec<&str> = report.generators.iter().map(|share| &*share.name).collect();
    assert_eq!(names, ["box1", "box2"]);
    for share in &report.generators {
        let own = share.report.as_deref().expect("its own report");
        assert_eq!((own.connections, own.books.ok, own.cpus.as_str()), (2, 300, "0"), "{own:?}");
        assert!(share.clock.round_trips >= 50 && share.began_ns.is_some() && share.lost.is_none());
    }
    let apart = |share: usize, by: i64| report.generators[share].clock.offset_ns.abs_diff(by);
    let error = |share: usize| report.generators[share].clock.error_ns.0;
    assert!(apart(0, 0) <= error(0) && apart(1, 10_000_000_000) <= error(1), "{:?}", report.generators);
    server.signal(Signal::INT);
    assert!(server.end().0.success());
    assert!(server.said.contains("served 600 "), "{}", server.said);
}

#[test]
fn a_generator_that_is_killed_on_its_host_is_lost_by_name() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let mut load = going_on(&lab, &stranger);
    kill_process(process_on(&lab, "box2", " --participant "), Signal::KILL).expect("killed");
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(12), "{}", load.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert_eq!(outcome(&report), CheckOutcome::Void);
    let lost: Vec<_> = report.generators.iter().map(|share| (&*share.name, share.lost.as_deref())).collect();
    assert_eq!(lost, [("box1", None), ("box2", Some("it ended with signal 9 (SIGKILL)"))]);
    assert!(report.books.balance() && report.books.ok > 0 && report.books.ok as usize <= stranger.answered());
}

#[test]
fn what_is_asked_is_not_in_the_arguments_of_processes_on_other_hosts() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let mut load = going_on_with(&lab, &stranger, &["-H", "Authorization: Bearer tok-0123456789"]);
    let with_token: Vec<String> =
        lab.processes().into_iter().filter(|line| line.contains("tok-0123456789")).collect();
    assert!(with_token.len() == 1, "only the user's own command: {with_token:?}");
    load.signal(Signal::INT);
    let (_, out) = load.end();
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert!(report.books.ok > 20 && report.books.failed() == 0, "{report:?}");
}

#[test]
fn a_host_that_is_lost_voids_the_window_by_name_and_nothing_is_left_there() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let mut load = going_on(&lab, &stranger);
    kill_process(process_on(&lab, "box1", "assay agent"), Signal::KILL).expect("killed");
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(12), "{}", load.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    let lost = report.generators[0].lost.as_deref().expect("lost");
    assert!(lost.starts_with("its host is lost ("), "{lost}");
    assert!(report.generators[1].lost.is_none() && outcome(&report) == CheckOutcome::Void);
}

#[test]
fn a_load_whose_only_host_is_lost_ends_as_where_others_are_left() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let mut alone = going_on_with(&lab, &stranger, &["--from", "box1"]);
    kill_process(process_on(&lab, "box1", "assay agent"), Signal::KILL).expect("killed");
    let (status, out) = alone.end();
    assert_eq!((status.code(), &*out), (Some(12), ""), "{}", alone.said);
    assert!(alone.said.contains("the host box1 of the load was lost: its host is lost ("), "{}", alone.said);
}

#[test]
fn hosts_end_with_whoever_leads_them() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let load = going_on(&lab, &stranger);
    load.signal(Signal::KILL);
    eventually("nobody is left", || lab.processes().is_empty());
    eventually("nothing is left", || listing(&lab.path("tmp")).is_empty());
}

#[test]
fn an_interrupted_load_reports_what_all_hosts_have() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let mut load = going_on(&lab, &stranger);
    load.signal(Signal::INT);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(130), "{}", load.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert_eq!((report.books.ok as usize, report.books.failed()), (stranger.answered(), 0));
    assert!(report.books.balance() && report.generators.iter().all(|share| share.lost.is_none()));
}

#[test]
fn load_comes_from_the_nodes_of_a_real_slurm_and_nothing_is_left_there() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let Some(slurm) = Slurm::start(&lab) else { return };
    let program = env!("CARGO_BIN_EXE_assay");
    let host = |node: &str| {
        format!(
            "[[host]]\nname = \"{node}\"\ntransport = \"slurm\"\nroles = [\"generator\"]\nprogram = \"{program}\"\n"
        )
    };
    lab.write("lab.toml", &Slurm::NODES.map(host).concat());
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    let (name, settings) = slurm.variable();
    let assert = lab.assay(&arguments(&url, &["-n", "200"])).env(name, settings).assert().code(0).stderr("");
    let report = crate::support::report(&assert);
    let names: Vec<&str> = report.generators.iter().map(|share| &*share.name).collect();
    assert_eq!((names, report.books.ok, stranger.answered()), (Slurm::NODES.to_vec(), 200, 200));
    let mut command = lab.command(&arguments(&url, &["-d", "10m", "-r", "200"]));
    command.env(name, settings);
    let load = Running::start(command);
    eventually("they drive the server", || stranger.answered() > 220);
    load.signal(Signal::KILL);
    eventually("nobody is left", || lab.processes().is_empty());
    eventually("nothing is left", || listing(&lab.path("tmp")).is_empty());
}

#[test]
fn what_cannot_come_from_other_hosts_is_refused() {
    let lab = Lab::new();
    lab.good("one");
    let host = |name: &str, rest: &str| {
        format!("[[host]]\nname = \"{name}\"\ntransport = \"command\"\ncommand = [\"false\"]\n{rest}\n")
    };
    let box1 = host("box1", "roles = [\"server\"]\naddress = \"198.18.0.1\"");
    lab.write("lab.toml", &(box1 + &host("box2", "") + &host("box3", "")));
    let load = ["load", "http://127.0.0.1:1/", "--lab", "lab.toml"];
    let run = ["run", "one", "--lab", "lab.toml", "--from", "box2,box3"];
    let cases: [(&[&str], &[&str], i32, &str); 8] = [
        (
            &load,
            &[],
            2,
            "lab.toml: none of its hosts has the role generator; say which with --from: box1, box2, box3",
        ),
        (&load, &["--from", "box4"], 2, "lab.toml: there is no host `box4` in it"),
        (&load, &["--from", "box2,box3", "-c", "1"], 2, "2 generators cannot share 1 connections"),
        (&load, &["--from", "box2", "-n", "9"], 4, "box2: no agent answers"),
        (
            &run,
            &["-c", "1"],
            2,
            "`--from box2,box3`: they cannot share 1 connections; give at least 2 with -c",
        ),
        (&run, &["--generators", "2"], 2, "leave --generators out"),
        (&run, &["--generator", "wrk"], 2, "leave --generator out"),
        (&run, &["--server", "box2"], 2, "lab.toml: box2 has no address for the load; write `address`"),
    ];
    for (command, more, code, said) in cases {
        lab.assay(&[command, more].concat()).assert().code(code).stdout("").stderr(contains(said));
    }
}
