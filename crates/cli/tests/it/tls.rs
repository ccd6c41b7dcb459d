//! TLS from end to end: our server with clients of others, our generator with servers of others.

use std::io::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;

use assay_model::experiment::Protocol;
use assay_model::load::ErrorClass;
use assay_model::setting::Setting;
use assay_tls::Made;
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, Witness, has, not_run, report, stderr, stdout};

/// A number instead of a time: a busy machine may answer nothing in any time.
const BRIEF: [&str; 6] = ["-n", "100", "-c", "2", "--cpus", "0"];

/// A lab with a certificate for localhost.
struct Tls {
    lab: Lab,
}

impl Tls {
    fn new() -> Self {
        let lab = Lab::new();
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = Made::new(&names).expect("certificate");
        for (name, text) in
            [("ca.pem", &made.authority), ("cert.pem", &made.certificate), ("key.pem", &made.key)]
        {
            lab.write(name, text);
        }
        let others = Made::new(&names).expect("certificate");
        lab.write("other-ca.pem", &others.authority);
        Self { lab }
    }

    fn file(&self, name: &str) -> String {
        self.lab.path(name).into_os_string().into_string().expect("a path in UTF-8")
    }

    /// `assay serve` or `stub` over TLS, and its port.
    fn start(&self, command: &str, more: &[&str]) -> (Running, u16) {
        let (cert, key) = (self.file("cert.pem"), self.file("key.pem"));
        let words = [command, "--port", "0", "--cpus", "0", "--tls-cert", &cert, "--tls-key", &key];
        let mut server = Running::start(self.lab.command(&[&words, more].concat()));
        let line = server.wait_for("https://");
        let url = line.split_whitespace().find(|word| word.starts_with("https://")).expect("URL");
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("port");
        (server, port)
    }

    fn load(&self, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
        self.lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
    }
}

#[test]
fn drives_our_server_and_tells_what_was_agreed_on() {
    let tls = Tls::new();
    for engine in ["epoll", "auto"] {
        let (mut server, port) = tls.start("serve", &["--engine", engine]);
        let (url, ca) = (format!("https://localhost:{port}/hello"), tls.file("ca.pem"));
        let words = ["--cacert", &ca, "--engine", engine];
        tls.load(&url, &words).code(0).stdout(contains("TLS 1.3")).stdout(contains("valid for localhost"));
        let report = report(&tls.load(&url, &[&words[..], &["--json"]].concat()).code(0));
        assert!(report.books.balance() && report.books.ok == 100, "{report:?}");
        assert!(report.target.starts_with("https://") && !report.learnt.is_empty(), "{report:?}");
        let seen = report.tls.expect("TLS");
        let agreed = seen.agreed.expect("agreed");
        assert_eq!((agreed.version.as_str(), agreed.key.as_str()), ("TLS 1.3", "ECDSA P-256"));
        assert_eq!((seen.full.count + seen.resumed.count, seen.failed, seen.insecure), (2, 0, false));
        assert!(
            seen.sent_bytes > report.books.sent_bytes && seen.received_bytes > report.books.received_bytes
        );
        server.signal(Signal::TERM);
        assert_eq!(server.end().0.code(), Some(0));
        assert!(server.said.contains("full handshakes"), "{}", server.said);
    }
}

#[test]
fn connections_that_close_make_full_handshakes_or_resume_sessions() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let (url, ca) = (format!("https://127.0.0.1:{port}/hello"), tls.file("ca.pem"));
    let seen = |more: &[&str]| {
        let report =
            report(&tls.load(&url, &[&["--cacert", &ca, "--close", "--json"], more].concat()).code(0));
        assert!(report.books.balance() && report.books.ok == 100, "{report:?}");
        report.tls.expect("TLS")
    };
    let resumed = seen(&[]);
    assert!(resumed.resumption && resumed.resumed.count >= 90, "{resumed:?}");
    assert!(resumed.full.count >= 1 && resumed.resumed.time_hdr.is_some(), "{resumed:?}");
    let full = seen(&["--no-resumption"]);
    assert!(!full.resumption && full.full.count >= 100, "{full:?}");
    assert!(full.resumed.count == 0 && full.full.in_window >= 90, "{full:?}");
}

#[test]
fn the_only_cipher_that_is_offered_is_agreed_on() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let (url, ca) = (format!("https://localhost:{port}/hello"), tls.file("ca.pem"));
    for cipher in ["TLS_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] {
        let report = report(&tls.load(&url, &["--cacert", &ca, "--json", "--cipher", cipher]).code(0));
        let agreed = report.tls.and_then(|tls| tls.agreed).expect("agreed");
        assert_eq!(agreed.cipher, cipher);
    }
}

#[test]
fn the_stub_counts_what_the_generator_counts() {
    let tls = Tls::new();
    let (mut stub, port) = tls.start("stub", &[]);
    let (url, ca) = (format!("https://localhost:{port}/"), tls.file("ca.pem"));
    let words = ["--cacert", &ca, "--json", "--expect-body", "as programmed", "-r", "500"];
    let report = report(&tls.load(&url, &words).code(0));
    stub.signal(Signal::TERM);
    let (_, counts) = stub.end();
    let counts: assay_serve::stub::Counts = serde_json::from_str(&counts).expect("counts");
    assert_eq!((report.books.ok, report.books.ok), (counts.right, 100));
    assert_eq!(
        (report.books.sent_bytes, report.books.received_bytes),
        (counts.received_bytes, counts.sent_bytes)
    );
}

#[test]
fn clients_of_others_understand_our_server() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let ca = tls.file("ca.pem");
    if has("curl") {
        let url = format!("https://localhost:{port}/bytes/300000");
        for version in [&["--tlsv1.3"][..], &["--tls-max", "1.2"]] {
            let curl = Command::new("curl").args(["-sS", "--cacert", &ca]).args(version).arg(&url).output();
            let output = curl.expect("curl");
            assert_eq!(output.stdout.len(), 300_000, "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    if has("openssl") {
        let ask = format!(
            "printf 'GET /hello HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' | \
             openssl s_client -quiet -verify_return_error -CAfile {ca} -servername localhost -connect localhost:{port}"
        );
        let output = Command::new("sh").args(["-c", &ask]).output().expect("openssl");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.ends_with("\r\n\r\nhello"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// nginx over TLS, whose log tells what was agreed on and how many bytes there were.
fn nginx(tls: &Tls, directives: &str) -> Witness {
    let pair =
        format!("ssl_certificate {}; ssl_certificate_key {};", tls.file("cert.pem"), tls.file("key.pem"));
    let format = "$ssl_protocol $ssl_cipher $request_length $bytes_sent $status";
    Witness::nginx(&tls.lab, "ssl", format, &format!("{pair} {directives}"))
}

#[test]
fn the_books_are_those_of_nginx() {
    if !has("nginx") {
        return;
    }
    for version in ["TLSv1.3", "TLSv1.2"] {
        let tls = Tls::new();
        let mut nginx = nginx(&tls, &format!("ssl_protocols {version};"));
        let (url, ca) = (format!("https://localhost:{}/", nginx.port), tls.file("ca.pem"));
        let words = ["--cacert", &ca, "--json", "--expect-body", "hello", "--requests-per-connection", "10"];
        let report = report(&tls.load(&url, &words).code(0));
        let lines = nginx.lines();
        assert_eq!((report.books.ok, report.books.failed(), lines.len()), (100, 0, 100), "{report:?}");
        let sum = |column: usize| -> u64 {
            lines.iter().filter_map(|line| line.split(' ').nth(column)?.parse::<u64>().ok()).sum()
        };
        assert_eq!((report.books.sent_bytes, report.books.received_bytes), (sum(2), sum(3)));
        let agreed = report.tls.and_then(|tls| tls.agreed).expect("agreed");
        assert!(lines.iter().all(|line| line.starts_with(version)), "{lines:?}");
        assert_eq!(agreed.version, version.replace("TLSv", "TLS "));
    }
}

#[test]
fn a_client_certificate_is_shown_to_a_server_that_asks_for_one() {
    if !has("nginx") {
        return;
    }
    let tls = Tls::new();
    let verify = format!("ssl_verify_client on; ssl_client_certificate {};", tls.file("ca.pem"));
    let nginx = nginx(&tls, &verify);
    let url = format!("https://localhost:{}/", nginx.port);
    let (ca, cert, key) = (tls.file("ca.pem"), tls.file("cert.pem"), tls.file("key.pem"));
    let with = ["--cacert", &ca, "--cert", &cert, "--key", &key, "--json", "--expect-body", "hello"];
    assert_eq!(report(&tls.load(&url, &with).code(0)).books.ok, 100);
    let without = ["--cacert", &ca, "--json", "--expect-body", "hello"];
    let without = report(&tls.load(&url, &without).code(11));
    assert!(without.books.balance() && without.books.ok == 0, "{without:?}");
}

#[test]
fn a_connection_that_cannot_be_secured_is_named_with_the_remedy() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let (_plain, plain_url) = Running::serve(&tls.lab);
    let plain = plain_url.replace("http://", "https://");
    let url = format!("https://localhost:{port}/hello");
    let (ca, other) = (tls.file("ca.pem"), tls.file("other-ca.pem"));
    for (url, words, said) in [
        (
            &url,
            &["--cacert", &ca, "--server-name", "other.example"][..],
            "for another name; name what it is for",
        ),
        (&url, &["--cacert", &other], "nobody who is trusted here; name the authority"),
        (&plain, &["--insecure"], "no TLS; see that it listens for TLS"),
    ] {
        tls.load(url, words).code(10).stderr(contains(said));
    }
    tls.load(&url, &["--insecure"]).code(0).stdout(contains("any certificate was taken"));
}

#[test]
fn arguments_of_tls_that_make_no_sense_are_refused() {
    let tls = Tls::new();
    let (ca, key) = (tls.file("ca.pem"), tls.file("key.pem"));
    for (url, words, said) in [
        ("http://localhost:1/", &["--cacert", &ca][..], "grpcs:// in the URL"),
        ("https://localhost:1/", &["--cacert", "/none.pem"], "cannot read /none.pem"),
        ("https://localhost:1/", &["--cacert", &key], "holds no certificate"),
        ("https://localhost:1/", &["--insecure", "--cert", &ca, "--key", &ca], "holds no private key"),
        (
            "https://localhost:1/",
            &["--insecure", "--cert", &ca, "--key", &key],
            "the key is the certificate's own",
        ),
        ("https://localhost:1/", &["--insecure", "--server-name", "a b"], "no name or address"),
        ("https://localhost:1/", &["--insecure", "--cipher", "ROT13"], "there are TLS_AES_256_GCM_SHA384"),
    ] {
        let assert = tls.load(url, words).code(2);
        assert!(stderr(&assert).contains(said), "{words:?}: {}", stderr(&assert));
    }
}

/// Lets so many connections through to `port`, and answers the others without TLS; returns where it listens.
fn fading(through: usize, port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let own = listener.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for (number, mut client) in listener.incoming().flatten().enumerate() {
            if number >= through {
                let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                std::thread::spawn(move || std::io::copy(&mut client, &mut std::io::sink()));
                continue;
            }
            let server = TcpStream::connect(("127.0.0.1", port)).expect("connected");
            let ends = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
            for (from, to) in ends {
                std::thread::spawn(move || {
                    let (mut from, mut to) = (from.expect("clone"), to.expect("clone"));
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    own
}

#[test]
fn requests_fail_by_class_when_connections_can_be_secured_no_longer() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let (url, ca) = (format!("https://localhost:{}/hello", fading(8, port)), tls.file("ca.pem"));
    let words =
        ["load", &url, "--cacert", &ca, "--json", "--close", "-n", "20", "-c", "1", "--expect-body", "hello"];
    let report = report(&tls.lab.assay(&words).assert().code(11));
    assert!(report.books.balance(), "{report:?}");
    let not_spoken = report.books.errors.get(&ErrorClass::TlsNotSpoken);
    assert_eq!((report.books.issued, report.books.ok, not_spoken), (20, 8, Some(&12)), "{report:?}");
    let said = report.samples.iter().find(|sample| sample.class == ErrorClass::TlsNotSpoken);
    assert_eq!(said.map(|sample| sample.detail.as_str()), Some("what it sends is no TLS"));
}

#[test]
fn a_run_over_tls_hands_out_a_certificate_and_says_so_everywhere() {
    let lab = Lab::new();
    lab.secured("one");
    lab.secured("other");
    lab.good("plain");
    let ran = lab.run(&["one", "other", "plain", "--tls"]).assert();
    assert!(stdout(&ran).contains("hello, 2 connections, h1+tls"), "{}", stdout(&ran));
    let record = lab.record();
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let mut count = 0;
    for window in windows {
        assert_eq!(window.cell.protocol, Protocol::H1Tls);
        let tls = window.load.tls.as_ref().expect("TLS");
        assert_eq!((tls.insecure, tls.otherwise, tls.failed), (false, 0, 0), "{tls:?}");
        let agreed = tls.agreed.as_ref().expect("agreed");
        assert_eq!((agreed.key.as_str(), agreed.cipher.as_str()), ("ECDSA P-256", "TLS_AES_256_GCM_SHA384"));
        count += 1;
    }
    assert!(count >= 4, "{count} windows");
    assert_eq!(not_run(&record, "plain").reason, "it is not set up for TLS here");
}

#[test]
fn one_run_over_both_protocols_tells_what_tls_costs() {
    let lab = Lab::new();
    let serve = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                 \"--cpus\", \"${CPUS}\"]";
    let secured =
        format!("{serve}\ntls_arguments = [\"--tls-cert\", \"${{CERT}}\", \"--tls-key\", \"${{KEY}}\"]");
    lab.contender("one", "server", &secured);
    lab.contender("plain", "server", serve);
    let ran = lab.run(&["one", "plain", "--protocol", "h1,h1+tls", "-o", "out.csv", "-o", "out.md"]).assert();
    let text = stdout(&ran);
    // The whole title of a table: further right is what the columns show.
    let titles: Vec<&str> = text.lines().filter_map(|line| line.trim_start().split("  ").next()).collect();
    for said in ["hello, 2 connections", "hello, 2 connections, h1+tls", "Protocol cost, h1+tls against h1"] {
        assert!(titles.contains(&said), "{said}: {text}");
    }
    let record = lab.record();
    let [plain, tls] = [Protocol::H1, Protocol::H1Tls].map(|protocol| Setting { network: None, protocol });
    assert_eq!(record.rounds.len(), 2);
    for round in &record.rounds {
        let run = round.run_of("one", plain).expect("without TLS");
        assert_eq!(run.cells.len(), 1);
        assert!(run.cells[0].load.tls.is_none() && run.cells[0].cell.protocol == Protocol::H1, "{run:?}");
        let run = round.run_of("one", tls).expect("over TLS");
        assert!(run.cells.len() == 1 && run.cells[0].load.tls.is_some(), "{run:?}");
        assert!(round.run_of("plain", plain).is_some() && round.run_of("plain", tls).is_none());
    }
    let entry = record.contenders.iter().find(|entry| entry.identity.name == "plain").expect("plain");
    assert_eq!(entry.not_run, None);
    let absence = entry.absence_on(tls).expect("told");
    assert_eq!(absence.reason, "it is not set up for TLS here");
    let asked = record.tls.expect("what was asked for");
    assert_eq!((asked.version.as_str(), asked.key.as_str()), ("TLS 1.3", "ECDSA P-256"));
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("written");
    let csv = read("out.csv");
    assert!(csv.lines().next().is_some_and(|head| head.contains(",protocol,")), "{csv}");
    assert!(csv.contains(",h1,") && csv.contains(",h1+tls,"), "{csv}");
    assert!(read("out.md").contains("### Protocol cost, h1+tls against h1"), "{}", read("out.md"));
}

#[test]
fn a_server_that_speaks_only_an_older_version_is_measured_and_marked() {
    if !has("nginx") {
        return;
    }
    let lab = Lab::new();
    let nginx = "daemon off; worker_processes 1; pid $SCRATCH/pid; error_log stderr crit; events {} http { access_log off;\n\
         client_body_temp_path $SCRATCH/a; proxy_temp_path $SCRATCH/b; fastcgi_temp_path $SCRATCH/c; uwsgi_temp_path $SCRATCH/d;\n\
         scgi_temp_path $SCRATCH/e; server { listen $ADDRESS:$PORT ssl; ssl_certificate $CERT; ssl_certificate_key $KEY;\n\
         ssl_protocols TLSv1.2; location / { return 200 hello; } } }";
    let script =
        format!("cat >$SCRATCH/conf <<END\n{nginx}\nEND\nexec nginx -e stderr -p $SCRATCH -c $SCRATCH/conf");
    let run = format!("[run]\ncommand = [\"sh\", \"-c\", '''{script}''']\ntls_arguments = []");
    lab.contender("older", "server", &run);
    let ran = lab.run(&["older", "--tls"]).assert();
    let text = stdout(&ran);
    assert!(text.contains("tls otherwise") && text.contains("TLS 1.2 instead of TLS 1.3"), "{text}");
    let record = lab.record();
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let versions: Vec<_> = windows.filter_map(|window| window.load.tls.as_ref()?.agreed.clone()).collect();
    assert!(
        !versions.is_empty() && versions.iter().all(|agreed| agreed.version == "TLS 1.2"),
        "{versions:?}"
    );
}

#[test]
fn the_rules_are_asked_over_tls_as_without() {
    let tls = Tls::new();
    let (_server, port) = tls.start("serve", &[]);
    let (url, ca) = (format!("https://localhost:{port}/hello"), tls.file("ca.pem"));
    let check = |words: &[&str]| tls.lab.assay(&[&["check"], words].concat()).assert();
    check(&[&url, "--cacert", &ca]).code(0).stdout(contains("broken: 0 must, 0 should"));
    check(&[&url, "--insecure", "--only", "no-host"]).code(0);
    let other = tls.file("other-ca.pem");
    check(&[&url, "--cacert", &other, "--only", "no-host"])
        .code(10)
        .stdout(contains("nobody who is trusted"));
    check(&["http://localhost:1/", "--insecure"]).code(2).stderr(contains("write its URL, https://"));
    check(&[&url, "--insecure", "--tls"]).code(2).stderr(contains("write https:// in the URL"));
    let serve = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                 \"--cpus\", \"${CPUS}\"]";
    tls.lab.contender("plain", "server", serve);
    let secured =
        format!("{serve}\ntls_arguments = [\"--tls-cert\", \"${{CERT}}\", \"--tls-key\", \"${{KEY}}\"]");
    tls.lab.contender("one", "server", &secured);
    check(&["one", "--tls", "--only", "no-host,date"]).code(0).stdout(contains("2/2 rules kept"));
    check(&["plain", "--tls"]).code(10).stdout(contains("it is not set up for TLS here"));
}

#[test]
fn a_run_over_tls_refuses_a_server_whose_certificate_it_did_not_make() {
    let lab = Lab::new();
    lab.run(&["http://127.0.0.1:1/", "--tls"])
        .assert()
        .code(2)
        .stderr(contains("with a certificate of its own"));
}
