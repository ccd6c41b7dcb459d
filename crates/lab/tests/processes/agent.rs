//! An agent with real processes: it does what is asked, and nothing that it started survives it, whoever is killed.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::path::Path;
use std::time::Duration;

use assay_lab::HostError;
use assay_lab::hosts::asking::{Agent as _, bring};
use assay_lab::hosts::message::{Answer, Detail, JobUse, Request, Start};
use assay_lab::hosts::parcels::pack;
use assay_lab::hosts::session::{OwnProgram, Session};
use assay_lab::supervisor::SupervisorOptions;
use assay_model::lab::LabHost;
use assay_model::units::Nanos;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{eventually, processes_with, testkit};

/// A child, an orphan, one in another session, and one that ignores SIGTERM.
const FAMILY: &str = "
    sh -c ': MARK; sleep 1000; :' &
    (sh -c ': MARK orphan; sleep 1000; :' &)
    setsid sh -c ': MARK session; sleep 1000; :' &
    sh -c ': MARK stubborn; trap \"\" TERM; while :; do sleep 1000; done' &
    wait";

fn host(rest: &str) -> LabHost {
    toml::from_str(&format!("name = \"box1\"\n{rest}")).expect("a host")
}

fn open(host: &LabHost, version: &str) -> Result<Session, HostError> {
    Session::open(host, &OwnProgram { path: testkit(), version: version.to_owned() }, &mut || true)
}

fn local() -> Session {
    open(&host("transport = \"local\""), "1.0.0").expect("an agent")
}

/// A job of `sh` in a folder of the agent's; its number.
fn start(session: &Session, folder: &Path, script: &str) -> u64 {
    let job = session.new_job();
    let mut options = SupervisorOptions::new(
        session.work.join(format!("{job}.log")),
        ["sh", "-c", script].map(Into::into).to_vec(),
    );
    options.grace = Duration::from_millis(200);
    let start = Start {
        job,
        arguments: options.to_arguments(),
        folder: folder.to_owned(),
        inherited: Some(Vec::new()),
        is_building: false,
        variables: vec![("GREETING".into(), "hello".into())],
        is_spoken_to: false,
    };
    let answer = session.ask(Request::Start(start)).expect("started");
    assert!(matches!(answer, Answer::Started { pid } if pid > 0), "{answer:?}");
    job
}

fn log(session: &Session, job: u64) -> String {
    let (answer, body) = session.ask_job(Request::Log { job }).expect("a log");
    assert_eq!(answer, Answer::Log);
    String::from_utf8(body).expect("text")
}

#[test]
fn a_folder_travels_and_is_run_watched_and_ended() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("say.sh"), "echo \"$GREETING\"; exec sleep 1000\n").expect("file");
    let session = local();
    let packed = pack(folder.path(), None).expect("packed");
    let there = bring(&session, "contender", folder.path(), &packed, &mut || true).expect("brought");
    assert!(there.starts_with(&session.work) && there.join("say.sh").is_file());
    let job = start(&session, &there, "exec sh say.sh");
    eventually("it speaks", || log(&session, job) == "hello\n");
    let detail = Detail::ByThread;
    session.ask(Request::BeginSpan { jobs: vec![job], detail, cpus: None }).expect("begun");
    let span = session.ask(Request::EndSpan { jobs: vec![job], detail, with_memory: true }).expect("ended");
    let Answer::Span(used) = span else { panic!("no span: {span:?}") };
    assert!(
        matches!(&used.jobs[..], [Some(JobUse::ByThread(threads))] if threads.usage.rss_bytes > 0),
        "{used:?}"
    );
    let used = session.ask(Request::UsedSinceStart { job }).expect("used");
    assert!(matches!(&used, Answer::Used { usage } if usage.rss_bytes > 0), "{used:?}");
    let listening = session.ask(Request::Listening { job }).expect("listening");
    assert_eq!(listening, Answer::Listening { addresses: Vec::new() });
    assert_eq!(session.ended(job, Duration::ZERO), Ok(None));
    let stopped = session.ask(Request::Stop { job, at_once: false }).expect("stopped");
    assert_eq!(stopped, Answer::Stopped { nothing_left: true });
    assert_eq!(log(&session, job), "hello\n", "the log outlives it");
    let short = start(&session, &there, "exit 7");
    let ended = session.ended(short, Duration::from_secs(60)).expect("there").expect("ended");
    assert_eq!(ended.code, Some(7));
    let work = session.work.clone();
    session.end().expect("nothing is left");
    assert!(!work.exists());
}

#[test]
fn what_cannot_be_done_is_refused_and_the_agent_goes_on() {
    let session = local();
    let refused = |request| session.ask(request).expect_err("refused").to_string();
    assert_eq!(refused(Request::Log { job: 9 }), "box1: there is no job 9");
    let job = start(&session, &session.work, "exec sleep 1000");
    let unheard = format!("box1: there is no job {job} that is spoken to");
    assert_eq!(refused(Request::Say { job }), unheard);
    let end = Request::EndSpan { jobs: vec![job], detail: Detail::ByClock, with_memory: false };
    assert_eq!(refused(end), "box1: no such span has begun");
    let address = "192.0.2.1".parse().expect("address");
    assert!(refused(Request::Port { address, fixed: None }).starts_with("box1: cannot listen on 192.0.2.1"));
    let clock = session.clock(&mut || true).expect("a clock");
    assert!(clock.round_trips == 50 && clock.offset_ns.unsigned_abs() <= clock.error_ns.0, "{clock:?}");
    session.end().expect("nothing is left");
}

#[test]
fn an_agent_that_is_none_or_another_is_told() {
    let greeting = "transport = \"command\"\ncommand = [\"sh\", \"-c\", \"echo Welcome to box1\", \"sh\"]";
    let error = open(&host(greeting), "1.0.0").map(|_| ()).expect_err("no agent").to_string();
    assert!(error.contains("it says `Welcome to box1`"), "{error}");
    let failing =
        "transport = \"command\"\ncommand = [\"sh\", \"-c\", \"echo No space left >&2; exit 3\", \"sh\"]";
    let error = open(&host(failing), "1.0.0").map(|_| ()).expect_err("no agent").to_string();
    assert_eq!(error, "box1: no agent answers (No space left); make room there");
    let silent = "transport = \"command\"\ncommand = [\"sleep\", \"1000\"]\nready_timeout_s = 0.2";
    let error =
        open(&host(&silent.replace("\"sleep\", \"1000\"", "\"sh\", \"-c\", \"exec sleep 1000\"")), "1.0.0");
    assert!(error.map(|_| ()).expect_err("silent").to_string().contains("not within 0.2 s"));
    let error = open(&host("transport = \"local\""), "2.0.0").map(|_| ()).expect_err("other").to_string();
    assert!(error.starts_with("box1 has assay 1.0.0, and this is 2.0.0"), "{error}");
}

/// The outer and the inner process of the agent whose folder is `work`.
fn parts(work: &Path) -> [u32; 2] {
    let inner = processes_with(&format!("--work {}", work.display()));
    let inner: u32 = inner[0].split(':').next().expect("pid").parse().expect("pid");
    let outer = assay_host::process::find(inner).expect("alive").parent;
    [outer, inner]
}

#[test]
fn a_file_that_changes_on_its_way_is_told_with_its_name() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("server.log");
    std::fs::write(&file, "a line\n").expect("file");
    let packed = pack(folder.path(), None).expect("packed");
    std::fs::write(&file, "a line\nand another\n").expect("grown");
    let told = bring(&local(), "contender", folder.path(), &packed, &mut || true).expect_err("it is another");
    assert!(told.to_string().contains("server.log has changed on its way"), "{told}");
    assert!(matches!(told, HostError::Travel { .. }), "{told:?}");
}

#[test]
fn nothing_of_an_agent_survives_whoever_is_killed() {
    // Nobody: its input closes. Then each of the two, and both in one moment.
    for victims in [&[][..], &[0], &[1], &[0, 1]] {
        let folder = tempfile::tempdir().expect("folder");
        let mark = folder.path().display().to_string();
        let session = local();
        let work = session.work.clone();
        start(&session, &work, &FAMILY.replace("MARK", &mark));
        let family =
            || processes_with(&mark).into_iter().filter(|line| !line.contains(" supervise ")).count();
        eventually("the family is there", || family() >= 4);
        let parts = parts(&work);
        for signal in [Signal::STOP, Signal::KILL] {
            for &victim in victims {
                kill_process(Pid::from_raw(parts[victim].cast_signed()).expect("pid"), signal).expect("sent");
            }
        }
        drop(session);
        eventually("nobody is left", || processes_with(&mark).is_empty());
        eventually("nothing is left", || victims.len() == 2 || !work.exists());
        let _ = std::fs::remove_dir_all(&work);
    }
}

/// By its outer part, after which the lab knows that nothing is left.
#[test]
fn an_agent_that_stands_still_is_ended_when_its_input_closes() {
    let folder = tempfile::tempdir().expect("folder");
    let mark = folder.path().display().to_string();
    let session = local();
    let work = session.work.clone();
    start(&session, &work, &format!(": {mark}; sleep 1000; :"));
    let [_, inner] = parts(&work);
    kill_process(Pid::from_raw(inner.cast_signed()).expect("pid"), Signal::STOP).expect("sent");
    session.end().expect("nothing is left");
    assert_eq!((processes_with(&mark), work.exists()), (Vec::new(), false));
}

#[test]
fn what_is_left_of_the_memory_of_its_host_is_told() {
    let session = local();
    let told = session.ask(Request::Memory).expect("an answer");
    let Answer::Memory { available_bytes: Some(bytes) } = told else { panic!("{told:?}") };
    let here = assay_host::memory::available().expect("known");
    // It is the same host, on which others come and go.
    assert!(bytes > here / 4 && bytes / 4 < here, "{bytes} of {here}");
    session.end().expect("nothing is left");
}

#[test]
fn an_agent_that_is_cut_off_ends_after_its_lease() {
    let folder = tempfile::tempdir().expect("folder");
    let mark = folder.path().display().to_string();
    let session = local();
    let work = session.work.clone();
    start(&session, &work, &FAMILY.replace("MARK", &mark));
    session.ask(Request::Lease { silence_ns: Nanos::from_millis(300) }).expect("granted");
    eventually("nobody is left", || processes_with(&mark).is_empty() && !work.exists());
    let lost = session.ask(Request::Clock).expect_err("it is gone");
    assert!(matches!(lost, HostError::Lost { .. }), "{lost}");
}
