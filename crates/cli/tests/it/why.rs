//! `assay why`: where the time of real servers goes, told when it was measured and told again.

use assay_model::cause::Cause;
use assay_model::part::Part;
use assay_model::profile::{Facet, Waiter};
use assay_model::profiling::Profiling;
use assay_model::record::Record;
use assay_model::why::Why;
use assay_skip::skip;
use predicates::str::contains;

use crate::profile::NGINX;
use crate::support::{Lab, has, preload_library, server_runs, stderr, stdout};

/// A rate at which servers and generator use little of a CPU, so that the test takes time and not work.
const ASKED: [&str; 13] =
    ["why", "one", "other", "-c", "2", "-r", "400/s", "-d", "200ms", "--rounds", "2", "--warmup", "0s"];

#[test]
fn two_servers_are_profiled_and_explained() {
    let lab = Lab::new();
    lab.good("one");
    lab.good("other");
    let told = lab.assay(&ASKED).assert();
    if told.get_output().status.code() == Some(4) {
        return skip("root", stderr(&told));
    }
    // Whether windows count on a machine that is busy with other tests is another matter.
    let explained = stdout(&told.code(0));
    assert!(
        explained.contains("Where the time of an answer goes: hello, 2 connections, at 400/s"),
        "{explained}"
    );
    assert!(explained.contains(" of CPU time on an answer: "), "{explained}");
    assert!(explained.contains("Energy is "), "told, or why not: {explained}");
    assert!(explained.contains("one less other") || explained.contains("other less one"), "{explained}");
    let record = lab.record();
    for run in server_runs(&record) {
        let [profile] = run.profiles.as_slice() else {
            panic!("{} has one load: {:?}", run.contender, run.profiles)
        };
        let sampled = &profile.sampled;
        assert!(
            sampled.answers > 0 && sampled.usage.cpu_ns().0 > 0 && !sampled.stacks.is_empty(),
            "{sampled:?}"
        );
    }
    let again = lab.assay(&["show", "--why"]).assert().code(0);
    assert_eq!(stdout(&again), explained, "a record tells it again");
    lab.assay(&["show", "--why", &without_profiles(&lab, record)])
        .assert()
        .code(2)
        .stderr(contains("has no profiles; `assay why` makes them"));
}

/// nginx does little but answer, so the stack is most of what it takes.
#[test]
fn what_the_stack_saves_is_told_of_a_server_on_both() {
    let Some(library) = preload_library() else { return };
    if !has("nginx") {
        return;
    }
    let lab = Lab::new();
    // The ring is its user's alone, and workers of root's would be somebody else's.
    lab.script("nginx", &NGINX.replace("daemon off;", "daemon off; user root;"));
    let load = ["-c", "4", "-r", "max", "-d", "200ms", "--rounds", "2", "--warmup", "0s"];
    let asked = [&["why", "nginx", "-s", "kernel,user"][..], &load].concat();
    let told = lab.assay(&asked).env("ASSAY_PRELOAD", &library).assert();
    if told.get_output().status.code() == Some(4) {
        return skip("root", stderr(&told));
    }
    let explained = stdout(&told);
    let heading = "nginx on the user-space stack less nginx on the kernel's stack";
    assert!(explained.contains(heading), "{explained}{}", stderr(&told));
    let verdict = assay_verdict::judge(&lab.record()).expect("a verdict");
    let [kernel, user] = verdict.why.as_slice() else { panic!("two cells: {explained}") };
    let share = |why: &Why, part: Part| {
        let spending = why.spendings.iter().find(|of| of.contender == "nginx").expect("profiled");
        let of = spending.parts.iter().find(|of| of.part == part);
        of.map_or(0.0, |of| of.ns.estimate) / spending.cpu_ns.estimate
    };
    assert!(share(kernel, Part::Sockets) > 0.0, "{explained}");
    // Our own TCP is known by its names, and is no code of nginx.
    let of_stack = [Part::Receive, Part::Send, Part::Network, Part::Sockets].map(|part| share(user, part));
    assert!(of_stack.iter().sum::<f64>() > 0.2, "{explained}");
}

/// A run of which nobody was profiled: this one without its profiles.
fn without_profiles(lab: &Lab, mut record: Record) -> String {
    record.experiment.profile = Profiling::Never;
    record.rounds.iter_mut().flat_map(|round| &mut round.runs).for_each(|run| run.profiles.clear());
    lab.write("plain/record.json", &serde_json::to_string(&record).expect("JSON"));
    lab.path("plain/record.json").display().to_string()
}

/// A server that sends an answer in 66 pieces: that these are many and small does not depend on how busy the machine is.
#[test]
fn a_fault_is_named_with_its_remedy() {
    let lab = Lab::new();
    let server = concat!(env!("CARGO_BIN_EXE_assay"), " stub --port $PORT --wrong small-buffers");
    let mut asked = vec!["why", "--cmd", server, "--rounds", "1", "--warmup", "0s"];
    asked.extend(&ASKED[3..9]);
    let told = lab.assay(&asked).assert();
    let record = lab.record();
    let profiles = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.profiles);
    if profiles.clone().any(|profile| profile.traced.is_none() || !profile.refused.is_empty()) {
        return skip("root", stderr(&told));
    }
    let explained = stdout(&told).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, fault) =
        explained.split_once(" is held up by small buffers: it sends an answer with ").expect("named");
    assert!(fault.contains("Use a buffer of several KiB"), "{explained}");
}

/// Where the servers are that make one answer at a time, by a lock or by one worker.
const SHOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/locks");

/// The locks that a shop is held up by, as far as they are named; `None`, and a word, where its memory may not be read.
fn locks_of(shop: &str) -> Option<Vec<Cause>> {
    let lab = Lab::new();
    let load = ["-c", "4", "-r", "max", "-d", "200ms", "--rounds", "1", "--warmup", "0s"];
    let told = lab.assay(&[&["why", "--cmd", shop][..], &load].concat()).assert();
    let record = lab.record();
    let runs = server_runs(&record);
    let profiles = || runs.iter().flat_map(|run| &run.profiles);
    assert!(profiles().next().is_some(), "{}{}", stdout(&told), stderr(&told));
    let refused = profiles().flat_map(|profile| &profile.refused);
    if let Some(refused) = refused.clone().find(|refused| refused.what == Facet::Runtime) {
        skip("root", &refused.why);
        return None;
    }
    let verdict = assay_verdict::judge(&record).expect("a verdict");
    let held = verdict.why.iter().flat_map(|why| &why.spendings).flat_map(|spending| &spending.held_up);
    Some(held.filter(|held| matches!(held.by, Cause::Lock { .. })).map(|held| held.by.clone()).collect())
}

#[test]
fn a_mutex_of_go_is_named_by_who_takes_it_and_a_channel_is_no_lock() {
    if !has("go") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("shop");
    let mut build = std::process::Command::new("go");
    build.env("CGO_ENABLED", "0").args(["build", "-buildvcs=false", "-o"]).arg(&program).arg("shop.go");
    let built = build.current_dir(SHOPS).output().expect("go");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let shop = |how| locks_of(&format!("{} {how}", program.display()));
    let Some(locks) = shop("lock") else { return };
    let [Cause::Lock { function, waiter, threads, .. }] = &locks[..] else { panic!("one lock: {locks:?}") };
    assert_eq!((function.as_deref(), *waiter, *threads), (Some("main.reserve"), Waiter::Goroutine, 4));
    assert_eq!(shop("worker").expect("allowed before"), [], "its handlers wait for their answers");
}

#[test]
fn a_lock_of_javas_library_is_named_by_its_class_and_a_pool_is_no_lock() {
    // Java alone does not compile what it starts.
    if !has("javac") {
        return;
    }
    let shop = |how| locks_of(&format!("java {SHOPS}/Shop.java {how}"));
    let Some(locks) = shop("lock") else { return };
    let [Cause::Lock { class, function, waiter, .. }] = &locks[..] else { panic!("one lock: {locks:?}") };
    assert_eq!(class.as_deref(), Some("java.util.concurrent.locks.ReentrantLock$NonfairSync"));
    assert!(function.as_ref().is_some_and(|function| function.starts_with("Shop")), "{function:?}");
    assert_eq!(*waiter, Waiter::Thread);
    assert_eq!(shop("worker").expect("allowed before"), [], "its pool waits for work");
}

#[test]
fn a_fault_that_nobody_knows_is_refused_with_those_that_are_known() {
    let lab = Lab::new();
    let refused = contains("`slow` is none of run-queue, lock, accept-queue");
    lab.assay(&["stub", "--wrong", "slow"]).assert().code(2).stderr(refused);
    let both = contains("cannot be used with");
    lab.assay(&["stub", "--wrong", "lock", "--service", "5ms"]).assert().code(2).stderr(both);
}

#[test]
fn why_of_nobody_is_no_question() {
    let lab = Lab::new();
    lab.assay(&["why"])
        .assert()
        .code(2)
        .stderr(contains("why what? Name servers, as in `assay why nginx node`"));
}
