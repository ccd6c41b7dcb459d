//! Runs over a link of two network namespaces: measured through it, named as the limit where it is, and gone afterwards.

mod quiet;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use assay_host::cpuset::{self, CpuSet};
use assay_link::{Cable, Link, Spec};
use assay_model::check::CheckOutcome;
use assay_model::load::Latency;
use assay_model::record::{Measurement, Record, State};
use assay_model::rule::Rule;
use assay_verdict::judge;
use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use rustix::process::{Signal, kill_process_group};

use crate::support::{Lab, Running, eventually, listing, not_run, preload_library, stderr, stdout};
use assay_skip::skip;

/// Somebody without rights.
const NOBODY: u32 = 65_534;

/// Whether this machine lets us have namespaces; says so where it does not.
fn is_possible() -> bool {
    match Link::open(Path::new(env!("CARGO_BIN_EXE_assay")), Spec::Veth(Cable::default())) {
        Ok(_) => true,
        Err(error) => {
            skip("netns", error);
            false
        }
    }
}

/// A contender that answers rightly and has the user-space stack of its own.
fn own(lab: &Lab, name: &str) {
    let run = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \"--cpus\", \
               \"${CPUS}\"]\nstack_arguments = [\"--stack\", \"user\", \"--wire\", \"${WIRE}\", \"--wire-address\", \
               \"${WIRE_ADDRESS}\"]\nqueue_per_worker = true";
    lab.contender(name, "server", run);
}

/// All windows with the networks that they were measured on.
fn windows(record: &Record) -> impl Iterator<Item = (String, &Measurement)> {
    let all = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    all.map(|window| (record.network_of(&window.cell).expect("known").to_string(), window))
}

/// Whether all networks of a run had windows; says which had none, for want of rights to AF_XDP.
fn all_were_measured(record: &Record) -> bool {
    let failures = record.rounds.iter().flat_map(|round| &round.runs).filter_map(|run| run.failure.as_ref());
    let absent = record.contenders.iter().filter_map(|entry| entry.not_run.as_ref());
    let tails = failures.chain(absent).map(|failure| format!("{}: {:?}", failure.reason, failure.log_tail));
    let xdp: Vec<String> = tails.filter(|tail| tail.contains("XDP")).collect();
    xdp.first().is_none_or(|reason| {
        skip("xdp", reason);
        false
    })
}

/// The record of a run in which all networks had windows.
fn measured(lab: &Lab, arguments: &[&str]) -> Option<Record> {
    let assert = lab.run(arguments).assert();
    let record = lab.record();
    all_were_measured(&record).then(|| {
        assert.code(0);
        record
    })
}

#[test]
fn frames_are_lost_as_asked_on_both_stacks_and_nobody_objects() {
    if !is_possible() {
        return;
    }
    let lab = Lab::new();
    own(&lab, "one");
    let run = ["one", "-s", "kernel,user", "--link", "veth:loss=5%", "-c", "16", "-d", "500ms"];
    let Some(record) = measured(&lab, &run) else { return };
    let mut networks = BTreeSet::new();
    for (network, window) in windows(&record) {
        assert_eq!(record.link_facts_of(&window.cell).and_then(|facts| facts.loss_per_million), Some(50_000));
        let used = window.link_use.expect("counted");
        assert!(used.to_server.lost_frames + used.to_generator.lost_frames > 0, "{network}: {used:?}");
        assert!(
            window.load.books.ok > 0 && window.load.books.balance(),
            "{network}: {:?}",
            window.load.books
        );
        let sent_again = window.load.checks.iter().find(|check| check.rule == Rule::Retransmissions);
        assert!(sent_again.is_none_or(|check| check.outcome == CheckOutcome::Pass), "{sent_again:?}");
        // The kernel counts where the server lives.
        let has_told = window.machine.tcp_retransmits > 0;
        assert_eq!(has_told, network.starts_with("kernel"), "{network}: {:?}", window.machine);
        networks.insert(network);
    }
    assert_eq!(networks, ["kernel/veth:loss=5%", "user/xdp:loss=5%"].map(str::to_owned).into());
    let trust = judge(&record).expect("readable").trust;
    for rule in [Rule::LinkLoss, Rule::Tcp] {
        assert!(trust.iter().any(|c| c.rule == rule && c.outcome == CheckOutcome::Pass), "{trust:?}");
    }
}

/// Two CPUs, where there are as many.
fn two_cpus() -> Option<String> {
    let cpus = cpuset::allowed();
    if cpus.len() < 2 {
        skip("cpus", "two workers need two CPUs");
        return None;
    }
    Some(cpus.iter().take(2).collect::<CpuSet>().to_string())
}

#[test]
fn two_workers_have_a_queue_each_and_both_serve() {
    if !is_possible() {
        return;
    }
    let Some(two) = two_cpus() else { return };
    let lab = Lab::new();
    own(&lab, "one");
    let run = [
        "one",
        "-s",
        "user",
        "--link",
        "loopback,veth",
        "--server-cpus",
        &two,
        "--generator-cpus",
        &two,
        "-c",
        "4",
    ];
    // Shared CPUs measure nothing, which voids the run, but not what is counted.
    let Some(record) = measured(&lab, &run) else { return };
    let mut networks = BTreeSet::new();
    for (network, window) in windows(&record) {
        // Each thread of the generator has two connections, to the worker on the queue that faces its own and no other.
        assert_eq!(window.load.thread_busy_shares.len(), 2, "{network}");
        assert_eq!(window.load.books.connections_opened, 4, "{network}: {:?}", window.load.books);
        assert_eq!(window.load.books.failed(), 0, "{network}: {:?}", window.load.books);
        networks.insert(network);
    }
    assert_eq!(networks, ["user/ring", "user/xdp"].map(str::to_owned).into());
}

/// A server on Node.js, one process for each worker.
const NODE: &str = "const cluster = require('node:cluster');
if (cluster.isPrimary) {
  for (let i = 0; i < Number(process.env.WORKERS); i++) cluster.fork();
  process.on('SIGTERM', () => { for (const worker of Object.values(cluster.workers)) worker.kill(); });
} else {
  const { ADDRESS, PORT } = process.env;
  require('node:http').createServer((_, response) => response.end('hello')).listen(Number(PORT), ADDRESS);
  process.on('SIGTERM', () => process.exit());
}
";

/// nginx with its workers, which could not have their queues if they gave up root's rights. It ends no connection of itself, as
/// it does by default after 1000 requests, which the faster of the two connections of a thread may reach.
const NGINX: &str = r#"echo "worker_processes $WORKERS; daemon off; user root; pid $SCRATCH/pid; events {} http { access_log off;
keepalive_requests 1000000000; server { listen $ADDRESS:$PORT reuseport; location / { return 200 hello; } } }" >"$SCRATCH/conf"
exec nginx -e stderr -p "$SCRATCH" -c "$SCRATCH/conf""#;

/// Servers of which each worker is a process, and which know nothing of our stack, as far as they are installed.
fn with_processes(lab: &Lab) -> Vec<&'static str> {
    lab.write("server.js", NODE);
    let server = lab.path("server.js");
    let node = format!("\"node\", \"{}\"", server.display());
    let nginx = format!("\"sh\", \"-c\", \'\'\'{NGINX}\'\'\'");
    let all = [("node", node), ("nginx", nginx)].into_iter().filter_map(|(name, command)| {
        if !std::process::Command::new(name).arg("-v").output().is_ok_and(|out| out.status.success()) {
            skip("tools", format_args!("needs {name}"));
            return None;
        }
        lab.contender(name, "server", &format!("[run]\ncommand = [{command}]\nqueue_per_worker = true"));
        Some(name)
    });
    all.collect()
}

#[test]
fn two_processes_of_an_unmodified_program_have_a_queue_each_and_both_serve() {
    let Some((two, library)) = two_cpus().zip(preload_library()).filter(|_| is_possible()) else { return };
    let lab = Lab::new();
    let names = with_processes(&lab);
    if names.is_empty() {
        return;
    }
    let cpus = ["--server-cpus", &two, "--generator-cpus", &two];
    let run = [&names[..], &["-s", "user", "--link", "loopback,veth", "-c", "4"], &cpus].concat();
    let assert = lab.run(&run).env("ASSAY_PRELOAD", &library).assert();
    let record = lab.record();
    if !all_were_measured(&record) {
        return;
    }
    if let Some(fault) = fault_with_two_processes(&record, &names) {
        panic!("{fault}\n{}{}", stderr(&assert), logs(&lab));
    }
    assert.code(0);
}

/// All that the programs of the only run have said.
fn logs(lab: &Lab) -> String {
    let folder = lab.run_folder().join("logs");
    let logs = listing(&folder).into_iter().map(|name| {
        let text = std::fs::read_to_string(folder.join(&name)).unwrap_or_else(|error| error.to_string());
        format!("{name}: {text}\n")
    });
    logs.collect()
}

/// A window without its histograms, as the record has it.
fn in_full(window: &Measurement) -> String {
    let mut window = window.clone();
    window.load.latency = Latency::default();
    serde_json::to_string(&window).expect("JSON")
}

/// What is wrong with a record of servers of two processes, measured over four connections on both networks.
fn fault_with_two_processes(record: &Record, names: &[&str]) -> Option<String> {
    let mut measured = BTreeSet::new();
    for run in record.rounds.iter().flat_map(|round| &round.runs) {
        for window in &run.cells {
            // A connection of one thread of the generator reaches no other worker than the one on the queue that faces its own.
            let (load, network) = (&window.load, record.network_of(&window.cell).expect("known").to_string());
            let seen = (load.thread_busy_shares.len(), load.books.connections_opened, load.books.failed());
            if seen != (2, 4, 0) || load.books.ok == 0 || !load.books.balance() {
                return Some(format!("{} on {network}: {}", run.contender, in_full(window)));
            }
            measured.insert((run.contender.clone(), network));
        }
    }
    let networks =
        |name: &&str| ["user/ring", "user/xdp"].map(|network| ((*name).to_owned(), network.to_owned()));
    let wanted: BTreeSet<_> = names.iter().flat_map(networks).collect();
    (measured != wanted).then(|| {
        let failures =
            record.rounds.iter().flat_map(|round| &round.runs).filter_map(|run| run.failure.as_ref());
        format!("measured: {measured:?}, failed: {:?}", failures.collect::<Vec<_>>())
    })
}

#[test]
fn without_a_rate_everything_is_measured_and_counted_all_the_same() {
    if !is_possible() {
        return;
    }
    let lab = Lab::new();
    lab.good("one");
    lab.script("broken", "exit 3");
    lab.run(&["one", "broken", "--link", "veth"]).assert().code(10);
    let record = lab.record();
    assert_eq!((record.link_text().as_str(), record.state), ("veth", State::Complete));
    assert!(record.link_facts.as_ref().is_some_and(|facts| facts.shape.is_none()), "{:?}", record.link_facts);
    assert!(not_run(&record, "broken").reason.contains("exit status 3"));
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let used: Vec<_> = windows.map(|window| window.link_use.expect("counted")).collect();
    assert_eq!(used.len(), 2);
    assert!(used.iter().all(|used| used.to_server.bytes > 0 && used.to_generator.bytes > 0), "{used:?}");
}

#[test]
fn rules_are_asked_for_over_a_link() {
    if !is_possible() {
        return;
    }
    let lab = Lab::new();
    lab.good("one");
    let assert = lab.assay(&["check", "one", "--link", "veth:1gbit"]).assert().code(0);
    assert!(stdout(&assert).contains("broken: 0 must"), "{}", stdout(&assert));
}

/// Where the network namespaces stand that processes are in or hold.
fn namespaces_of(processes: &[u32]) -> Vec<PathBuf> {
    let of = |pid: &u32| {
        let held = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        held.map(|entry| entry.path()).chain([format!("/proc/{pid}/ns/net").into()]).collect::<Vec<_>>()
    };
    processes.iter().flat_map(of).filter(|path| name_of(path).starts_with("net:[")).collect()
}

/// The name of a namespace, which is that of another when it is gone; empty where there is none.
fn name_of(path: &Path) -> String {
    std::fs::read_link(path).map(|link| link.display().to_string()).unwrap_or_default()
}

/// Network namespaces of processes that are not ours, kept open: so long their names are nobody else's.
fn kept_open(processes: &[u32]) -> BTreeMap<String, File> {
    let own = name_of(Path::new("/proc/self/ns/net"));
    let open = namespaces_of(processes).into_iter().filter_map(|path| File::open(path).ok());
    let named = open.map(|file| (name_of(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd()))), file));
    named.filter(|(name, _)| *name != own).collect()
}

/// Whether a process is `assay load`.
fn is_generator(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|words| words.split(|b| *b == 0).nth(1) == Some(b"load"))
}

/// Every process that can be seen but this one.
fn others() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("proc").flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|pid| *pid != std::process::id()).collect()
}

/// Ends a run in the middle by `end`; what it had must be gone.
fn nothing_is_left_after(lab: &Lab, end: impl FnOnce(&Running)) {
    let mut command = lab.command(&[
        "run",
        "one",
        "--no-check",
        "--no-aa",
        "-c",
        "2",
        "-d",
        "1s",
        "--warmup",
        "0s",
        "--rounds",
        "100",
        "--link",
        "veth:200mbit",
    ]);
    command.process_group(0);
    let mut run = Running::start(command);
    run.wait_for("round 1 of 100 saved");
    let assay = run.pid().as_raw_nonzero().get().cast_unsigned();
    let descendants = || -> Vec<u32> {
        assay_host::process::descendants(assay).into_iter().map(|process| process.pid).collect()
    };
    // In the middle of a window, where every folder has somebody who will remove it.
    eventually("it measures", || descendants().into_iter().any(is_generator));
    let namespaces = kept_open(&descendants());
    assert_eq!(namespaces.len(), 3, "the two sides and the middle: {namespaces:?}");
    end(&run);
    run.end();
    eventually("the processes end", || lab.processes().is_empty());
    let is_left = |path: &PathBuf| namespaces.contains_key(&name_of(path));
    eventually("nobody has the namespaces any more", || !namespaces_of(&others()).iter().any(is_left));
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    if !is_possible() {
        return;
    }
    let lab = Lab::new();
    lab.calm("one");
    nothing_is_left_after(&lab, |run| kill_process_group(run.pid(), Signal::INT).expect("signalled"));
    assert_eq!(lab.record().state, State::Interrupted);
    assert_eq!(stdout(&lab.assay(&["clean"]).assert().code(0)), "nothing is left behind\n");
}

#[test]
fn nothing_is_left_after_a_kill_but_files_which_clean_removes() {
    if !is_possible() {
        return;
    }
    let lab = Lab::new();
    lab.calm("one");
    nothing_is_left_after(&lab, |run| {
        // A run that goes on is none of its business.
        assert_eq!(stdout(&lab.assay(&["clean"]).assert().code(0)), "nothing is left behind\n");
        run.signal(Signal::KILL);
    });
    let work = lab.run_folder().join("work");
    for (arguments, words) in [(&["clean", "--dry-run"][..], "would remove"), (&["clean"], "removed")] {
        assert!(work.is_dir());
        let out = stdout(&lab.assay(arguments).assert().code(0));
        assert!(out.contains(&format!("{words} {}\n", work.display())), "{out}");
    }
    let files = listing(&lab.run_folder());
    assert!(files.contains(&"record.json".to_owned()) && !files.contains(&"work".to_owned()), "{files:?}");
}

#[test]
fn somebody_without_rights_has_a_link_in_a_user_namespace() {
    if !rustix::process::geteuid().is_root() || !is_possible() {
        return skip("root", "only root can try it as somebody else; the other tests have tried it as you");
    }
    let lab = Lab::new();
    lab.calm("one");
    let open = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("opened");
    };
    std::fs::create_dir(lab.runs()).expect("runs");
    for path in [lab.path(""), lab.path("tmp"), lab.runs()] {
        open(&path);
    }
    // Where they may not look there is no program to start.
    let program = lab.path("assay");
    std::fs::copy(env!("CARGO_BIN_EXE_assay"), &program).expect("copied");
    open(&program);
    let like = lab.command::<&str>(&[]);
    let mut command = std::process::Command::new(&program);
    command.args(
        "run one --no-check --no-aa -c 2 -d 100ms --warmup 0s --rounds 2 --link veth:1gbit,loss=1%"
            .split(' '),
    );
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(lab.path("")).uid(NOBODY).gid(NOBODY);
    let assert = command.assert();
    let said = stderr(&assert);
    if assert.get_output().status.code() == Some(4) {
        assert!(said.contains("could not be made") && said.contains("run as root"), "{said}");
        return skip("userns", said);
    }
    assert.code(0);
    let record = lab.record();
    assert!(record.link_facts.as_ref().is_some_and(|facts| facts.user_namespace), "{:?}", record.link_facts);
    assert!(record.rounds.iter().flat_map(|round| &round.runs).all(|run| run.failure.is_none()));
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let lab = Lab::new();
    lab.calm("one");
    lab.assay(&["run", "one", "--link", "veth:fast"]).assert().code(2).stderr(contains("such as veth:1gbit"));
    lab.assay(&["run", "one", "--link", "veth:loss=60%"])
        .assert()
        .code(2)
        .stderr(contains("from 0.0001% to 50%"));
    lab.assay(&["run", "one", "--link", "loopback:loss=1%"])
        .assert()
        .code(2)
        .stderr(contains("loses nothing"));
    let elsewhere = ["run", "http://127.0.0.1:1/", "--link", "veth"];
    lab.assay(&elsewhere).assert().code(2).stderr(contains("outside the link veth"));
    assert_eq!(listing(&lab.runs()), Vec::<String>::new());
    let plan = stdout(&lab.assay(&["run", "one", "--link", "veth:1gbit", "--dry-run"]).assert().code(0));
    assert!(plan.contains("networks    kernel/veth:1gbit"), "{plan}");
    let both = ["run", "one", "-s", "kernel,user", "--link", "loopback,veth:1gbit,loss=1%", "--dry-run"];
    let plan = stdout(&lab.assay(&both).assert().code(0));
    let networks =
        "networks    kernel/loopback, user/ring, kernel/veth:1gbit,loss=1%, user/xdp:1gbit,loss=1%";
    assert!(plan.contains(networks), "{plan}");
}
