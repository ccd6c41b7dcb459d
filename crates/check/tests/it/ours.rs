//! The reference server keeps every rule, on either engine, with and without a folder of files.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use assay_check::{Pace, Patience, Planted, Route, Rule, Target, Tempo, TestType, ask, of_http, of_http2};
use assay_engine::EngineKind;
use assay_host::cpuset::{self, CpuSet};
use assay_model::conformance::Ruling;
use assay_serve::{Config, Limits, run};
use assay_tls::{Client, ClientTerms, Made, Server, Trust};

/// Longest wait for the server to be there.
const PATIENCE: Duration = Duration::from_secs(60);

struct Serving {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn start(engine: EngineKind, root: Option<PathBuf>) -> Self {
        Self::secured(engine, root, None)
    }

    fn secured(engine: EngineKind, root: Option<PathBuf>, tls: Option<Server>) -> Self {
        crate::room_for_slow_clients();
        let config = Config {
            dot_files: false,
            requests: None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            shares_port: false,
            cpus: CpuSet::from_iter(cpuset::allowed().first()),
            stack: engine.into(),
            tls,
            root,
            hello: false,
            limits: Limits::default(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let (told, ready) = channel();
        let thread = std::thread::spawn(move || {
            run(&config, &flag, |address| told.send(address).expect("somebody waits")).expect("served");
        });
        let address = ready.recv_timeout(PATIENCE).expect("ready");
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

fn engines() -> Vec<EngineKind> {
    let mut engines = vec![EngineKind::Epoll, EngineKind::best().0];
    engines.dedup();
    engines
}

fn assert_keeps(target: &Target, rules: &[&'static Rule], not_applicable: &[&str]) {
    let conformance = ask(target, rules, Pace::Full, &|| true).expect("an answer");
    for finding in &conformance.findings {
        let wanted = match not_applicable.contains(&finding.rule.as_str()) {
            true => Ruling::NotApplicable,
            false => Ruling::Kept,
        };
        assert_eq!(finding.ruling, wanted, "{finding:#?}");
    }
}

#[test]
fn the_reference_server_keeps_every_rule() {
    let routes = vec![
        Route { kind: TestType::Json, path: "/json".to_owned(), page: None },
        Route { kind: TestType::Plaintext, path: "/plaintext".to_owned(), page: None },
        Route { kind: TestType::WebSocket, path: "/ws".to_owned(), page: None },
    ];
    let types =
        [TestType::Json, TestType::Plaintext, TestType::WebSocket].into_iter().flat_map(TestType::rules);
    let rules: Vec<&Rule> = of_http().chain(types).collect();
    for engine in engines() {
        let serving = Serving::start(engine, None);
        let target = Target::new(&serving.address.to_string(), "/hello").expect("target");
        assert_keeps(&target.routes(routes.clone()), &rules, &[]);
    }
}

/// A client that takes any certificate.
pub(crate) fn credulous() -> Client {
    let (server_name, trust) = ("localhost".to_owned(), Trust::Anybody);
    let terms = ClientTerms { server_name, trust, identity: None, resumption: true, ciphers: Vec::new() };
    Client::new(terms).expect("client")
}

/// Dialogues over TLS: what the rules find does not depend on what carries them.
#[test]
fn the_reference_server_keeps_every_rule_over_tls() {
    let made = Made::new(&["localhost".to_owned()]).expect("certificate");
    let client = credulous();
    let rules: Vec<&Rule> = of_http().collect();
    for engine in engines() {
        let server = Server::new(made.identity().expect("identity")).expect("server");
        let serving = Serving::secured(engine, None, Some(server));
        let target = Target::new(&serving.address.to_string(), "/hello").expect("target");
        assert_keeps(&target.secured(client.clone()), &rules, &[]);
    }
}

/// With prior knowledge and agreed on by ALPN; the answer is long enough for every rule about windows.
#[test]
fn the_reference_server_keeps_every_rule_of_http2() {
    let made = Made::new(&["localhost".to_owned()]).expect("certificate");
    let rules: Vec<&Rule> = of_http2().collect();
    for engine in engines() {
        let plain = Serving::start(engine, None);
        let target = Target::new(&plain.address.to_string(), "/bytes/1500").expect("target");
        assert_keeps(&target.over_http2(), &rules, &[]);
        let server = Server::new(made.identity().expect("identity")).expect("server").with_http2();
        let secured = Serving::secured(engine, None, Some(server));
        let target = Target::new(&secured.address.to_string(), "/bytes/1500").expect("target");
        assert_keeps(&target.secured(credulous()).over_http2(), &rules, &[]);
    }
}

/// A hundred answers of 200 KB on one connection are no answer without end, and one is more than a window is at first.
#[test]
fn answers_may_be_long() {
    let serving = Serving::start(EngineKind::Epoll, None);
    let target = Target::new(&serving.address.to_string(), "/bytes/200000").expect("target");
    let together = |rule: &&'static Rule| rule.tempo == Tempo::Together;
    assert_keeps(&target, &of_http().filter(together).collect::<Vec<_>>(), &[]);
    assert_keeps(&target.over_http2(), &of_http2().filter(together).collect::<Vec<_>>(), &[]);
}

#[test]
fn a_server_without_tls_is_told_as_such() {
    let serving = Serving::start(EngineKind::Epoll, None);
    let target = Target::new(&serving.address.to_string(), "/hello").expect("target");
    let target = target.secured(credulous());
    let error = ask(&target, &of_http().collect::<Vec<_>>(), Pace::Full, &|| true).expect_err("no TLS");
    assert!(error.contains("could not be secured: what it sends is no TLS"), "{error}");
}

/// Each byte comes in time, and the record that they begin would take minutes.
#[test]
fn a_record_that_dribbles_is_not_waited_for() {
    const BYTES: usize = 500;
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let address = listener.local_addr().expect("address").to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("connection");
        // A record of a handshake, of 16 KiB.
        stream.write_all(&[22, 3, 3, 0x40, 0]).expect("the client is there");
        let dribble = || {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(&[2]).is_ok()
        };
        std::iter::repeat_with(dribble).take(BYTES).take_while(|is_taken| *is_taken).count()
    });
    let answer = Duration::from_millis(400);
    let target = Target::new(&address, "/").expect("target").secured(credulous());
    let target = target.patience(Patience { answer, ..Patience::SHORT });
    let error = ask(&target, &of_http().collect::<Vec<_>>(), Pace::Full, &|| true).expect_err("no TLS");
    assert!(error.contains("could not be secured"), "{error}");
    assert!(server.join().expect("the server") < BYTES, "all of it was waited for");
}

#[test]
fn the_reference_server_keeps_every_rule_with_files_and_gives_no_other_away() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("root");
    std::fs::write(root.join("index.html"), "<p>hello</p>").expect("index");
    let planted = Planted { name: "planted.txt".to_owned(), secret: "nobody may read this".to_owned() };
    std::fs::write(folder.path().join(&planted.name), &planted.secret).expect("planted");
    for engine in engines() {
        let serving = Serving::start(engine, Some(root.clone()));
        let target = Target::new(&serving.address.to_string(), "/index.html").expect("target");
        let rules: Vec<&Rule> = of_http().collect();
        assert_keeps(&target.planted(planted.clone()), &rules, &[]);
    }
}
