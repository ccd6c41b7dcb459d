//! HTTP/2 from end to end: our server with clients of others, our generator with servers of others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use assay_model::experiment::Protocol;
use assay_model::load::LoadReport;
use assay_skip::skip;
use assay_tls::Made;
use predicates::str::contains;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Lab, Running, Stranger, Witness, free_port, has, report, stderr, stdout};

/// A number instead of a time: a busy machine may answer nothing in any time.
const BRIEF: [&str; 6] = ["-n", "1000", "-c", "2", "--cpus", "0"];

fn load(lab: &Lab, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
}

#[test]
fn our_generator_and_our_server_understand_each_other() {
    let lab = Lab::new();
    for (more, protocol) in [(&[][..], Protocol::H2c), (&["--tls"], Protocol::H2)] {
        let (mut server, url) = Running::serve_with(&lab, more);
        for engine in ["epoll", "auto"] {
            let words =
                ["--http", "2", "--streams", "8", "--expect-body", "hello", "--json", "--engine", engine];
            let insecure: &[&str] = if more.is_empty() { &[] } else { &["--insecure"] };
            let report =
                report(&load(&lab, &format!("{url}/hello"), &[&words[..], insecure].concat()).code(0));
            assert_eq!((report.protocol, report.pipeline), (protocol, 8));
            assert!(report.books.balance() && report.books.ok == 1000, "{report:?}");
            let agreed = report.tls.and_then(|tls| tls.agreed).and_then(|agreed| agreed.protocol);
            assert_eq!(agreed.as_deref(), (protocol == Protocol::H2).then_some("h2"));
        }
        let insecure: &[&str] = if more.is_empty() { &[] } else { &["--insecure"] };
        let words = [&["--http", "2", "--json"], insecure].concat();
        let learnt = report(&load(&lab, &format!("{url}/hello"), &words).code(0));
        assert!(!learnt.learnt.is_empty() && learnt.books.ok == 1000, "{learnt:?}");
        server.signal(Signal::TERM);
        assert_eq!(server.end().0.code(), Some(0));
        assert!(server.said.contains("refused 0"), "{}", server.said);
    }
}

#[test]
fn bodies_both_ways_and_an_open_loop_are_checked_to_the_last_byte() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let url = url.replace("http://", "h2c://");
    let body = format!("{}${{sequence}}", "x".repeat(100_000));
    let words = ["-m", "POST", "--body", &body, "--expect-body", &body, "--json", "--streams", "4"];
    let echo = report(&load(&lab, &format!("{url}/echo"), &words).code(0));
    assert!(echo.books.balance() && echo.books.ok == 1000, "{echo:?}");
    let words = ["--json", "-r", "2000", "--streams", "4", "--requests-per-connection", "100"];
    let open = report(&load(&lab, &format!("{url}/json"), &words).code(0));
    assert!(open.books.balance() && open.books.ok == 1000, "{open:?}");
    assert!(open.books.connections_opened >= 10, "{open:?}");
}

#[test]
fn clients_of_others_understand_our_server() {
    let lab = Lab::new();
    let (_plain, plain) = Running::serve(&lab);
    let (_secured, secured) = Running::serve_with(&lab, &["--tls"]);
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().expect("run");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{program} {words:?}: {text} {}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    };
    if has("curl") {
        let told = ["-sS", "-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}"];
        let [long, both] = [format!("{plain}/bytes/3000000"), format!("{secured}/bytes/3000000")];
        assert_eq!(run("curl", &[&told[..], &["--http2-prior-knowledge", &long]].concat()), "2 200 3000000");
        assert_eq!(run("curl", &[&told[..], &["-k", "--http2", &both]].concat()), "2 200 3000000");
        assert_eq!(run("curl", &[&told[..], &["-k", "--http1.1", &both]].concat()), "1.1 200 3000000");
    }
    if has("nghttp") {
        let text = run("nghttp", &["-v", &format!("{plain}/hello")]);
        assert!(text.contains(":status: 200") && text.contains("content-length: 5"), "{text}");
    }
    if has("h2load") {
        for url in [&plain, &secured] {
            let text = run("h2load", &["-n", "2000", "-c", "2", "-m", "16", &format!("{url}/json")]);
            assert!(text.contains("2000 succeeded, 0 failed, 0 errored"), "{text}");
        }
    }
}

#[test]
fn the_books_are_those_of_nginx_though_it_sends_connections_away() {
    if !has("nginx") {
        return;
    }
    for (listen, scheme) in [("http2", "h2c"), ("ssl http2", "https")] {
        let lab = Lab::new();
        let keys = keys_in(&lab);
        // A GOAWAY after so many requests, while others are on their way.
        let mut nginx = Witness::nginx(
            &lab,
            listen,
            "$server_protocol $status",
            &format!("{keys} keepalive_requests 30;"),
        );
        let url = format!("{scheme}://localhost:{}/", nginx.port);
        let ca = lab.path("ca.pem").display().to_string();
        let trust: &[&str] = if scheme == "https" { &["--cacert", &ca] } else { &[] };
        let words = ["--http", "2", "--streams", "10", "--expect-body", "hello", "--json"];
        let report = report(&load(&lab, &url, &[&words[..], trust].concat()).code(0));
        let lines = nginx.lines();
        let right =
            lines.iter().filter(|line| line.starts_with("HTTP/2.0") && line.ends_with(" 200")).count();
        assert_eq!((report.books.ok, report.books.failed(), right), (1000, 0, 1000), "{report:?}");
        assert!(report.books.balance() && report.books.connections_opened > 30, "{report:?}");
    }
}

/// Requests, bytes, connections and resumed sessions, over TLS in both versions of HTTP and without it in the second.
#[test]
fn the_books_are_those_of_caddy() {
    if !has("caddy") {
        return;
    }
    let lab = Lab::new();
    keys_in(&lab);
    let (ca, plain) = (lab.path("ca.pem").display().to_string(), free_port());
    let mut caddy = Witness::caddy(&lab, plain);
    let (https, h2c) = (format!("https://localhost:{}/", caddy.port), format!("h2c://localhost:{plain}/"));
    let (http1, http2) = (
        ["--requests-per-connection", "20"],
        ["--requests-per-connection", "100", "--http", "2", "--streams", "10"],
    );
    let secured = ["--cacert", &ca];
    let reports = [
        ("HTTP/1.1", true, &https, [&http1[..], &secured].concat()),
        ("HTTP/2.0", true, &https, [&http2[..], &secured].concat()),
        ("HTTP/2.0", false, &h2c, http2.to_vec()),
    ]
    .map(|(version, is_secured, url, words)| {
        let words = [&words[..], &["--expect-body", "hello", "--json"]].concat();
        (version, is_secured, report(&load(&lab, url, &words).code(0)))
    });
    let lines: Vec<Value> =
        caddy.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (version, is_secured, report) in reports {
        let is_own = |line: &&Value| {
            line["request"]["proto"] == version && line["request"]["tls"].is_object() == is_secured
        };
        assert_books(&report, &lines.iter().filter(is_own).collect::<Vec<_>>());
    }
}

/// Asserts that a report agrees with the lines of Caddy's log that are of its load.
fn assert_books(report: &LoadReport, lines: &[&Value]) {
    assert!(report.books.balance() && report.books.failed() == 0, "{report:?}");
    let right = lines.iter().filter(|line| line["status"] == 200).count() as u64;
    assert_eq!((report.books.ok, right), (1000, 1000));
    let bytes: u64 = lines.iter().filter_map(|line| line["size"].as_u64()).sum();
    assert_eq!(report.window.body_bytes, bytes);
    let connections = |is_meant: &dyn Fn(&Value) -> bool| {
        let own = lines.iter().map(|line| &line["request"]).filter(|request| is_meant(request));
        own.filter_map(|request| request["remote_port"].as_str()).collect::<BTreeSet<_>>().len() as u64
    };
    // In the place of each that was used up another is opened, for which at the end no request may be left.
    let (opened, asked) = (report.books.connections_opened, connections(&|_| true));
    assert!(asked >= 10 && (asked..=asked + 2).contains(&opened), "{asked}: {report:?}");
    let resumed = connections(&|request| request["tls"]["resumed"] == true);
    let told = report.tls.as_ref().map_or(0, |tls| tls.resumed.count);
    assert!((resumed..=resumed + opened - asked).contains(&told), "{resumed}: {report:?}");
    assert!(report.tls.is_none() || resumed > 0, "{report:?}");
}

#[test]
fn the_rules_that_h2spec_asks_for_are_kept() {
    let lab = Lab::new();
    let Some(h2spec) = h2spec(&lab) else { return };
    let (_plain, plain) = Running::serve(&lab);
    let (_secured, secured) = Running::serve_with(&lab, &["--tls"]);
    // Without TLS the same port speaks HTTP/1.1, in which it refuses what begins no connection of HTTP/2.
    for (url, words, passed) in [
        (plain, &[][..], "144 passed, 0 skipped, 1 failed"),
        (secured, &["-t", "-k"], "145 passed, 0 skipped, 0 failed"),
    ] {
        let port = url.rsplit(':').next().expect("port");
        let more = ["-h", "127.0.0.1", "-p", port, "-P", "/hello", "-o", "10"];
        let output = Command::new(&h2spec).args(words).args(more).output().expect("h2spec");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(passed), "{text}");
    }
}

/// The program h2spec, built where Go and its modules can be had.
fn h2spec(lab: &Lab) -> Option<PathBuf> {
    if !has("go") {
        return None;
    }
    let folder = lab.path("h2spec");
    let built = Command::new("go")
        .args(["install", "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"])
        .env("GOBIN", &folder)
        // As FerretDB is built: Go compiles its standard library once for both, and no C.
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod")
        .output();
    if built.is_ok_and(|output| output.status.success()) {
        return Some(folder.join("h2spec"));
    }
    skip("tools", format_args!("needs the Go module h2spec, which could not be built"));
    None
}

#[test]
fn a_server_that_does_not_speak_it_is_told_as_such() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let url = format!("h2c://127.0.0.1:{}/", stranger.port);
    let words = ["load", &url, "-n", "5", "-c", "1", "--cpus", "0", "--expect-body", "x"];
    let assert = lab.assay(&words).assert().code(11);
    assert!(stdout(&assert).contains("the server answers in HTTP/1.1"), "{}", stdout(&assert));
}

#[test]
fn a_server_that_agrees_on_no_protocol_is_told_as_such() {
    if !has("nginx") {
        return;
    }
    let lab = Lab::new();
    let keys = keys_in(&lab);
    let nginx = Witness::nginx(&lab, "ssl", "$status", &keys);
    let url = format!("https://localhost:{}/", nginx.port);
    lab.assay(&["load", &url, "--http", "2", "--insecure", "-n", "5", "-c", "1", "--cpus", "0"])
        .assert()
        .code(10)
        .stderr(contains("no application protocol"));
}

/// Writes a certificate and its authority into the lab; returns what tells nginx of it.
fn keys_in(lab: &Lab) -> String {
    let made = Made::new(&["localhost".to_owned()]).expect("certificate");
    for (name, text) in [("ca.pem", &made.authority), ("cert.pem", &made.certificate), ("key.pem", &made.key)]
    {
        lab.write(name, text);
    }
    let file = |name: &str| lab.path(name).display().to_string();
    format!("ssl_certificate {}; ssl_certificate_key {};", file("cert.pem"), file("key.pem"))
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let lab = Lab::new();
    for (url, words, said) in [
        ("http://localhost:1/", &["--streams", "8"][..], "add --http 2"),
        ("h2c://localhost:1/", &["--http", "1.1"], "h2c:// is HTTP/2"),
        ("h2c://localhost:1/", &["--pipeline", "8"], "--streams in HTTP/2"),
        ("h2c://localhost:1/", &["--insecure"], "write https://"),
        ("ftp://localhost:1/", &[], "grpc:// or grpcs://host[:port]"),
    ] {
        let assert = load(&lab, url, words).code(2);
        assert!(stderr(&assert).contains(said), "{words:?}: {}", stderr(&assert));
    }
}
