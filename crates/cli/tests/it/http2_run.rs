//! Servers compared over HTTP/2: who takes part, what is told of it, and what it costs beside HTTP/1.1.

use assay_model::experiment::Protocol;
use assay_model::load::LoadReport;
use assay_model::record::Record;
use assay_model::setting::Setting;
use predicates::str::contains;

use crate::support::{Lab, Running, has, not_run, server_runs, stdout, windows};

/// The run section of assay's own server, which is not set up for HTTP/2.
const SERVE: &str = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                     \"--cpus\", \"${CPUS}\"]\ntls_arguments = [\"--tls-cert\", \"${CERT}\", \"--tls-key\", \"${KEY}\"]";

/// The run section of a server that is set up for HTTP/2.
fn with_http2() -> String {
    format!("{SERVE}\nhttp2 = [\"h2c\", \"h2\"]")
}

/// What the generator reported of every window of a contender.
fn reports<'r>(record: &'r Record, contender: &str) -> Vec<&'r LoadReport> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let own = runs.filter(|run| run.contender == contender).flat_map(|run| &run.cells);
    own.map(|window| &window.load).collect()
}

#[test]
fn a_run_over_http2_says_so_everywhere_and_passes_by_who_is_not_set_up_for_it() {
    let lab = Lab::new();
    lab.contender("one", "server", &with_http2());
    lab.contender("other", "server", &with_http2());
    lab.contender("former", "server", SERVE);
    let words = ["one", "other", "former", "--tls", "--http", "2", "--streams", "4", "-o", "out.csv"];
    let text = stdout(&lab.run(&words).assert());
    assert!(text.contains("hello, 2 connections × 4 streams, h2"), "{text}");
    let record = lab.record();
    for name in ["one", "other"] {
        let reports = reports(&record, name);
        assert!(reports.len() >= 2, "{} windows", reports.len());
        for load in reports {
            assert_eq!((load.protocol, load.connections, load.pipeline), (Protocol::H2, 2, 4));
            let agreed = load.tls.as_ref().and_then(|tls| tls.agreed.as_ref()).expect("agreed");
            assert_eq!(agreed.protocol.as_deref(), Some("h2"));
            assert!(load.books.balance() && load.books.failed() == 0, "{load:?}");
        }
    }
    assert_eq!(not_run(&record, "former").reason, "it is not set up for HTTP/2 here");
    let csv = std::fs::read_to_string(lab.path("out.csv")).expect("written");
    assert!(csv.contains(",h2,"), "{csv}");
}

#[test]
fn a_run_over_http2_asks_for_its_rules_first() {
    let lab = Lab::new();
    lab.contender("one", "server", &with_http2());
    let quick = ["-d", "50ms", "--warmup", "0s", "--rounds", "1", "-c", "1", "--no-aa"];
    let run = lab.assay(&[&["run", "one", "--tls", "--http", "2"], &quick[..]].concat()).assert().code(0);
    assert!(stdout(&run).contains("conform"), "{}", stdout(&run));
    let record = lab.record();
    let conformance = record.contenders[0].conformance.as_ref().expect("asked");
    assert!(conformance.findings.iter().all(|finding| finding.rule.starts_with("h2-")), "{conformance:?}");
    assert_eq!(conformance.broken().count(), 0, "{conformance:?}");
    assert!(conformance.score().kept > 0);
}

#[test]
fn one_run_over_both_versions_tells_what_http2_costs() {
    let lab = Lab::new();
    lab.contender("one", "server", &with_http2());
    lab.contender("former", "server", SERVE);
    // Eight requests are in flight in both: on connections of their own, and on streams.
    let experiment = "name = \"both\"\ncontenders = [\"one\", \"former\"]\nrounds = 2\nwarmup_s = 0.05\nwindow_s = 0.1\naa = false\n\
                      [[measure]]\nworkload = \"hello\"\nconnections = [8]\n\
                      [[measure]]\nworkload = \"hello\"\nconnections = [2]\nstreams = 4\nprotocols = [\"h2c\"]\n";
    lab.write("experiments/both.toml", experiment);
    let run = lab.assay(&["run", "--no-check", "-e", "both", "-o", "out.md"]).assert();
    let text = stdout(&run);
    for said in
        ["hello, 8 connections", "hello, 2 connections × 4 streams, h2c", "Protocol cost, h2c against h1"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let record = lab.record();
    let [h1, h2c] = [Protocol::H1, Protocol::H2c].map(|protocol| Setting { network: None, protocol });
    assert_eq!(record.rounds.len(), 2);
    for round in &record.rounds {
        assert!(round.run_of("one", h1).is_some() && round.run_of("one", h2c).is_some(), "{round:?}");
        assert!(round.run_of("former", h1).is_some() && round.run_of("former", h2c).is_none());
    }
    let former = record.contenders.iter().find(|entry| entry.identity.name == "former").expect("former");
    assert_eq!(former.absence_on(h2c).expect("told").reason, "it is not set up for HTTP/2 here");
    let written = std::fs::read_to_string(lab.path("out.md")).expect("written");
    assert!(written.contains("### Protocol cost, h2c against h1"), "{written}");
}

/// nginx that speaks what it is told to.
const NGINX: &str = r#"case $PROTOCOL in
h2c) listen=http2 pair= ;;
h2) listen="ssl http2" pair="ssl_certificate $CERT; ssl_certificate_key $KEY;" ;;
*) exit 1 ;;
esac
echo "daemon off; worker_processes 1; pid $SCRATCH/pid; error_log stderr crit; events {} http { access_log off;
client_body_temp_path $SCRATCH/a; proxy_temp_path $SCRATCH/b; fastcgi_temp_path $SCRATCH/c; uwsgi_temp_path $SCRATCH/d;
scgi_temp_path $SCRATCH/e; server { listen $ADDRESS:$PORT $listen; $pair location / { return 200 hello; } } }" >"$SCRATCH/conf"
exec nginx -e stderr -p "$SCRATCH" -c "$SCRATCH/conf""#;

/// Node's own module for HTTP/2, which answers nothing in HTTP/1.1.
const NODE: &str = "const { readFileSync } = require('node:fs');
const http2 = require('node:http2');
const { ADDRESS, CERT, KEY, PORT, PROTOCOL } = process.env;
const answer = (request, response) => response.end('hello');
const server = PROTOCOL === 'h2'
  ? http2.createSecureServer({ cert: readFileSync(CERT), key: readFileSync(KEY) }, answer)
  : http2.createServer(answer);
server.listen(Number(PORT), ADDRESS);
";

#[test]
fn servers_of_others_are_started_asked_and_measured_over_http2_alone() {
    let lab = Lab::new();
    lab.write("server.js", NODE);
    let node = format!("\"node\", \"{}\"", lab.path("server.js").display());
    let nginx = format!("\"sh\", \"-c\", '''{NGINX}'''");
    let all = [("nginx", nginx), ("node", node)].into_iter().filter(|(name, _)| has(name));
    let names: Vec<&str> = all
        .map(|(name, command)| {
            let run = format!("[run]\ncommand = [{command}]\ntls_arguments = []\nhttp2 = [\"h2c\", \"h2\"]");
            lab.contender(name, "server", &run);
            name
        })
        .collect();
    if names.is_empty() {
        return;
    }
    let text = stdout(&lab.run(&[&names[..], &["--protocol", "h2c,h2", "--streams", "3"]].concat()).assert());
    for said in ["hello, 2 connections × 3 streams, h2c", "hello, 2 connections × 3 streams, h2"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let record = lab.record();
    for name in names {
        let reports = reports(&record, name);
        assert!(reports.len() >= 4, "{name}: {} windows: {record:?}", reports.len());
        for load in reports {
            assert!(load.protocol.is_http2() && load.books.balance(), "{name}: {load:?}");
            assert!(load.books.ok > 0 && load.books.failed() == 0, "{name}: {load:?}");
        }
    }
}

#[test]
fn a_server_that_runs_already_is_learnt_from_and_measured_without_tls() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let url = format!("{}/json", url.replace("http://", "h2c://"));
    let text = stdout(&lab.run(&[&url, "--http", "2"]).assert());
    assert!(text.contains("2 connections × 1 stream, h2c"), "{text}");
    let record = lab.record();
    assert!(server_runs(&record).iter().all(|run| !run.learnt.is_empty()), "{record:?}");
    assert!(windows(&record).iter().all(|window| window.load.protocol == Protocol::H2c));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let lab = Lab::new();
    lab.contender("one", "server", &with_http2());
    let socket = "name = \"socket\"\nabout = \"\"\nwebsocket = \"text\"\n[[request]]\npath = \"/ws\"\nbody = \"x\"\n\
                  expect = { body = \"x\" }\n";
    lab.write("workloads/socket.toml", socket);
    for (words, said) in [
        (&["one", "--streams", "4"][..], "--streams is for HTTP/2"),
        (&["one", "--http", "2", "--pipeline", "4"], "--streams in HTTP/2"),
        (&["one", "--http", "2", "--streams", "0"], "0 requests in flight"),
        (&["one", "--http", "2", "--protocol", "h2"], "cannot be used with"),
        (&["h2c://127.0.0.1:1/"], "add --http 2"),
        (&["http://127.0.0.1:1/", "--http", "2", "--tls"], "with a certificate of its own"),
    ] {
        lab.run(words).assert().code(2).stderr(contains(said));
    }
    lab.run(&["one", "-w", "socket", "--http", "2"])
        .assert()
        .code(2)
        .stderr(contains("which are opened in HTTP/1.1"));
}
